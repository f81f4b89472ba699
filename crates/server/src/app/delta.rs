//! Notifications of output, written straight into bytes: they are most of what a server sends.

use windlass_engine::Offset;

use super::output::Channel;

/// Writes the delta notifications of one process.
#[derive(Debug)]
pub(super) struct Deltas {
    /// The message up to the name of the stream.
    opening: String,
    seq: u64,
    /// The buffer is reused for the next delta, up to [`KEPT`].
    buffer: Vec<u8>,
}

/// The capacity that is kept: a buffer for one delta of the largest size. Larger buffers are freed.
const KEPT: usize = 128 * 1024;

/// Output on its way to the client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delta<'a> {
    pub(super) channel: Channel,
    pub(super) offset: Offset,
    pub(super) bytes: &'a [u8],
    pub(super) cap_reached: bool,
}

impl Deltas {
    /// Deltas of this method about the process with this name, which is sent in this member.
    pub(super) fn new(method: &str, member: &str, quoted_name: &str) -> Self {
        let opening = format!(r#"{{"method":"{method}","params":{{"{member}":{quoted_name},"stream":""#);
        Self { opening, seq: 0, buffer: Vec::new() }
    }

    /// The next delta as a whole message.
    pub(super) fn write(&mut self, delta: Delta<'_>, stamp: Option<u64>) -> &[u8] {
        self.seq += 1;
        let Self { opening, seq, buffer } = self;
        if buffer.capacity() > KEPT {
            *buffer = Vec::new();
        }
        buffer.clear();
        buffer.extend_from_slice(opening.as_bytes());
        buffer.extend_from_slice(delta.channel.name().as_bytes());
        buffer.extend_from_slice(br#"","deltaBase64":""#);
        encode(delta.bytes, buffer);
        let (cap, offset) = (delta.cap_reached, delta.offset);
        let rest = format!(r#"","capReached":{cap},"seq":{seq},"offset":{offset}}}"#);
        buffer.extend_from_slice(rest.as_bytes());
        if let Some(stamp) = stamp {
            buffer.extend_from_slice(format!(r#","emittedAtMs":{stamp}"#).as_bytes());
        }
        buffer.push(b'}');
        buffer
    }
}

/// Appends bytes as base64.
pub(super) fn encode(bytes: &[u8], into: &mut Vec<u8>) {
    base64_simd::STANDARD.encode_append(bytes, into);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_delta_is_one_json_object() {
        let mut deltas = Deltas::new("command/exec/outputDelta", "processId", r#""a\"b""#);
        for (seq, bytes, encoded) in [(1, b"\xff\n".as_slice(), "/wo="), (2, b"", "")] {
            let (channel, offset) = (Channel::Stderr, Offset::new(7));
            let message = deltas.write(Delta { channel, offset, bytes, cap_reached: true }, Some(5));
            let read: Value = serde_json::from_slice(message).expect("it is JSON");
            let expected = json!({
                "method": "command/exec/outputDelta",
                "params": {
                    "processId": "a\"b", "stream": "stderr", "deltaBase64": encoded,
                    "capReached": true, "seq": seq, "offset": 7,
                },
                "emittedAtMs": 5,
            });
            assert_eq!(read, expected);
        }
    }
}
