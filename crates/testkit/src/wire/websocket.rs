//! The client's side of a WebSocket: a message per text message, in and out, as lines.

use std::io::{Error, ErrorKind, Read, Result, Write};

/// A fixed key: the server's response to it would prove nothing to this client, so any key will do.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

/// The longest head of an answer that is read.
const HEAD: usize = 16 * 1024;

/// Frames that have come in, on their way to be lines.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    raw: Vec<u8>,
    /// The server has said that it is done.
    pub(super) closed: bool,
}

/// Asks for a WebSocket and reads the answer to its end; `Err` with what was answered if it is refused.
pub(super) fn upgrade(stream: &mut (impl Read + Write), headers: &[(&str, &str)]) -> Result<Decoder> {
    let mut request = format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {KEY}\r\n\
         Sec-WebSocket-Version: 13\r\n"
    );
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    stream.write_all((request + "\r\n").as_bytes())?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
        if head.len() > HEAD {
            return Err(Error::new(ErrorKind::InvalidData, "the answer has no end"));
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    if !head.starts_with("HTTP/1.1 101 ") {
        return Err(Error::new(ErrorKind::ConnectionRefused, head));
    }
    Ok(Decoder::default())
}

/// A frame around a message. Clients have to mask, but nothing forbids the mask that changes nothing.
pub(super) fn frame(opcode: u8, message: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x80 | opcode];
    match message.len() {
        length @ 0..126 => frame.push(0x80 | length as u8),
        length @ 126..0x1_0000 => {
            frame.push(0x80 | 126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(message);
    frame
}

pub(super) const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

impl Decoder {
    /// Takes what came in: messages become lines, and what has to be sent back is returned.
    pub(super) fn take(&mut self, bytes: &[u8], lines: &mut Vec<u8>) -> Vec<u8> {
        self.raw.extend_from_slice(bytes);
        let (mut at, mut back) = (0, Vec::new());
        while let Some((first, payload)) = whole_frame(&self.raw[at..]) {
            let (from, to) = (at + payload.start, at + payload.end);
            let payload = &self.raw[from..to];
            match first & 0x0f {
                CLOSE => self.closed = true,
                PING => back.extend(frame(PONG, payload)),
                PONG => {}
                _ => {
                    lines.extend_from_slice(payload);
                    if first & 0x80 != 0 {
                        lines.push(b'\n');
                    }
                }
            }
            at = to;
        }
        self.raw.drain(..at);
        back
    }
}

/// The first byte of the frame that begins here, and where its payload lies, if all of it is there.
fn whole_frame(bytes: &[u8]) -> Option<(u8, std::ops::Range<usize>)> {
    let (first, second) = (*bytes.first()?, *bytes.get(1)?);
    let (start, length) = match second & 0x7f {
        126 => (4, usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?))),
        127 => (10, usize::try_from(u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?)).ok()?),
        length => (2, usize::from(length)),
    };
    let end = start + length;
    (bytes.len() >= end).then_some((first, start..end))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server's frame: as ours, without the mask.
    fn from_server(first: u8, message: &[u8]) -> Vec<u8> {
        let mut frame = frame(0, message);
        frame[0] = first;
        frame[1] &= 0x7f;
        let mask = frame.len() - message.len() - 4;
        frame.drain(mask..mask + 4);
        frame
    }

    #[test]
    fn messages_of_all_lengths_in_pieces_of_any_size_become_lines() {
        let messages = [vec![], vec![b'a'; 125], vec![b'b'; 126], vec![b'c'; 65_535], vec![b'd'; 70_000]];
        let sent: Vec<u8> = messages.iter().flat_map(|message| from_server(0x81, message)).collect();
        for size in [1, 7, 4096, sent.len()] {
            let (mut decoder, mut lines) = (Decoder::default(), Vec::new());
            for piece in sent.chunks(size) {
                assert!(decoder.take(piece, &mut lines).is_empty());
            }
            let seen: Vec<&[u8]> = lines.split(|byte| *byte == b'\n').collect();
            assert_eq!(seen[..messages.len()], messages.each_ref().map(Vec::as_slice));
        }
    }

    #[test]
    fn a_message_in_parts_is_one_line_and_a_ping_between_them_is_answered() {
        let (mut decoder, mut lines) = (Decoder::default(), Vec::new());
        let sent = [from_server(0x01, b"a"), from_server(0x89, b"?"), from_server(0x80, b"b")].concat();
        assert_eq!(decoder.take(&sent, &mut lines), frame(PONG, b"?"));
        assert_eq!(lines, b"ab\n");
        decoder.take(&from_server(0x88, b""), &mut lines);
        assert!(decoder.closed);
    }
}
