//! The bodies of the fuzz targets. The ordinary tests run them too; each panics when an invariant of the crate is
//! broken. Not part of the public interface.

use windlass_protocol::envelope::{self, Message, Salvaged};

use crate::jsonrpc::websocket::Sender;
use crate::jsonrpc::websocket::assembler::{Assembler, FrameEvent};
use crate::mcp::repair::without_lone_surrogates;

/// A small limit, so that short inputs exceed it.
const LIMIT: usize = 256;

/// Frames mean the same in one piece as in chunks, no message exceeds the limit, and no more than a header stays in the
/// buffer.
pub fn frames_any(data: &[u8]) {
    let Some((&seed, bytes)) = data.split_first() else { return };
    let sender = if seed & 1 == 0 { Sender::Client } else { Sender::Server };
    let whole = assemble(sender, std::iter::once(bytes));
    let chunks = assemble(sender, bytes.chunks(usize::from(seed >> 1) % 31 + 1));
    assert_eq!(whole, chunks);
}

/// The messages in some frames; other events by name.
fn assemble<'a>(sender: Sender, chunks: impl Iterator<Item = &'a [u8]>) -> Vec<Result<Vec<u8>, String>> {
    let mut assembler = Assembler::new(sender, LIMIT);
    let mut all = Vec::new();
    for chunk in chunks {
        assembler.incoming().extend_from_slice(chunk);
        loop {
            match assembler.next() {
                Ok(None) => break,
                Ok(Some(FrameEvent::Message)) => {
                    let message = assembler.take_message();
                    assert!(message.len() <= LIMIT);
                    all.push(Ok(message));
                }
                Ok(Some(event)) => all.push(Err(format!("{event:?}"))),
                Err(violation) => {
                    all.push(Err(violation.to_string()));
                    return all;
                }
            }
        }
        // At most an incomplete header is left.
        assert!(assembler.unread() < 14);
    }
    all
}

/// A parsed message survives serialising and parsing again.
pub fn envelope_any(data: &[u8]) {
    let Ok(Message::Request { id, method, params }) = envelope::read(data) else { return };
    let written = serde_json::json!({ "id": id, "method": method, "params": params }).to_string();
    assert_eq!(envelope::read(written.as_bytes()), Ok(Message::Request { id, method, params }));
}

/// Salvaging finds the id of a valid message in its bytes, too. A repaired message has no lone surrogates.
pub fn salvage_any(data: &[u8]) {
    let salvaged = envelope::salvage(data);
    if let Ok(Message::Request { id, .. }) = envelope::read(data) {
        assert_eq!(salvaged, Salvaged::Request(id));
    }
    if let Some((repaired, _)) = without_lone_surrogates(data) {
        assert_eq!(repaired.len(), data.len());
        assert_eq!(without_lone_surrogates(&repaired), None);
    }
}

#[cfg(test)]
mod tests {
    use windlass_testkit::bytes::Noise;

    use super::*;

    /// Pieces that random bytes alone would rarely form.
    const WORDS: &[&[u8]] = &[
        b"\x81\x80abcd",
        b"\x01\x83abcdxyz",
        b"\x80\x81abcdx",
        b"\x89\x84abcdping",
        b"\x88\x82abcd\x03\xe8",
        b"\x81\xfe\x01\x01abcd",
        b"\x81\x05hello",
        b"\x88\x00",
        b"{\"id\":1,",
        b"\"method\":\"x\"",
        b",\"params\":",
        b"\"id\":\"a\"",
        b"}",
        b"[]",
        b"null",
        b"1e999",
        b"\\ud800",
    ];

    #[test]
    fn every_body_survives_random_bytes() {
        let mut noise = Noise::new(7);
        for _ in 0..3000 {
            let mut data = vec![0; usize::try_from(noise.word() % 8).unwrap_or_default()];
            noise.fill(&mut data);
            for _ in 0..noise.word() % 12 {
                let choice = usize::try_from(noise.word() % WORDS.len() as u64).unwrap_or_default();
                data.extend_from_slice(WORDS[choice]);
            }
            frames_any(&data);
            envelope_any(&data);
            salvage_any(&data);
        }
    }
}
