//! Turns bytes into messages: joins frames and separates control frames, whatever the other side sends. Does no I/O.

use std::ops::Range;

use super::frame::{Header, Opcode, Violation, mask};

/// The buffer is freed after a long message if it grew beyond this.
const KEPT: usize = 1024 * 1024;

/// A message longer than this is returned with its buffer, and a shorter one copied.
const COPIED: usize = 64 * 1024;

/// The length of the beginning that is kept of a message that is too long.
const BEGINNING: usize = 1024;

/// The sender of the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    /// A client, which must mask them.
    Client,
    /// A server, which must not mask them.
    Server,
}

/// An event of the bytes so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FrameEvent {
    /// A message, to be fetched with [`Assembler::take_message`] before the next call.
    Message,
    /// A message longer than the limit, skipped but for its beginning, which is fetched likewise.
    TooLong,
    /// A ping, to be answered with the same bytes.
    Ping(Vec<u8>),
    /// A pong, which needs no reply.
    Pong,
    /// The other side closes, perhaps with a status.
    Close(Option<u16>),
}

/// Assembles messages.
#[derive(Debug)]
pub(crate) struct Assembler {
    sender: Sender,
    limit: usize,
    /// Received bytes; those from `start` on are not parsed yet.
    incoming: Vec<u8>,
    start: usize,
    /// The frame whose payload is being read.
    frame: Option<Frame>,
    message: Message,
    /// The payload of a control frame.
    control: Vec<u8>,
}

#[derive(Debug)]
struct Frame {
    header: Header,
    taken: u64,
}

/// The message that is being assembled.
#[derive(Debug, Default)]
struct Message {
    bytes: Vec<u8>,
    state: MessageState,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum MessageState {
    /// No message has begun.
    #[default]
    None,
    Taking,
    /// The message is too long: its bytes are discarded.
    Skipping,
}

impl Assembler {
    pub(crate) fn new(sender: Sender, limit: usize) -> Self {
        Self {
            sender,
            limit,
            incoming: Vec::new(),
            start: 0,
            frame: None,
            message: Message::default(),
            control: Vec::new(),
        }
    }

    /// The buffer to which received bytes are appended.
    pub(crate) fn incoming(&mut self) -> &mut Vec<u8> {
        self.incoming.drain(..self.start);
        self.start = 0;
        &mut self.incoming
    }

    /// The number of bytes not parsed yet.
    pub(crate) fn unread(&self) -> usize {
        self.incoming.len() - self.start
    }

    /// The message that [`FrameEvent::Message`] announced.
    pub(crate) fn take_message(&mut self) -> Vec<u8> {
        if self.message.bytes.len() <= COPIED {
            self.message.bytes.clone()
        } else {
            std::mem::take(&mut self.message.bytes)
        }
    }

    /// The next event; `None` until more bytes arrive. After a violation the rest cannot be parsed.
    pub(crate) fn next(&mut self) -> Result<Option<FrameEvent>, Violation> {
        loop {
            let Some(mut frame) = self.frame.take() else {
                match self.begin()? {
                    Begun::No => return Ok(None),
                    Begun::Yes => continue,
                }
            };
            self.take(&mut frame);
            if frame.taken < frame.header.length {
                self.frame = Some(frame);
                return Ok(None);
            }
            if let Some(event) = self.finish(frame.header)? {
                return Ok(Some(event));
            }
        }
    }

    /// Begins a frame if its whole header has arrived.
    fn begin(&mut self) -> Result<Begun, Violation> {
        let Some((header, length)) = Header::read(&self.incoming[self.start..])? else {
            return Ok(Begun::No);
        };
        match (self.sender, header.mask) {
            (Sender::Client, None) => return Err(Violation::NotMasked),
            (Sender::Server, Some(_)) => return Err(Violation::Masked),
            _ => {}
        }
        self.start += length;
        self.frame = Some(Frame { header, taken: 0 });
        if header.opcode.is_control() {
            self.control.clear();
            return Ok(Begun::Yes);
        }
        self.message.go_on(header.opcode)?;
        // The length in the header shows that a message is too long before its payload has arrived.
        if header.length > self.limit.saturating_sub(self.message.bytes.len()) as u64 {
            self.message.skip();
        }
        Ok(Begun::Yes)
    }

    /// Takes the bytes of a frame's payload that have arrived.
    fn take(&mut self, frame: &mut Frame) {
        let missing = usize::try_from(frame.header.length - frame.taken).unwrap_or(usize::MAX);
        let range: Range<usize> = self.start..self.start + missing.min(self.unread());
        let bytes = &mut self.incoming[range.clone()];
        if let Some(key) = frame.header.mask {
            mask(bytes, key, frame.taken);
        }
        if frame.header.opcode.is_control() {
            self.control.extend_from_slice(bytes);
        } else {
            self.message.take(bytes);
        }
        self.start = range.end;
        frame.taken += range.len() as u64;
    }

    fn finish(&mut self, header: Header) -> Result<Option<FrameEvent>, Violation> {
        match header.opcode {
            Opcode::Ping => Ok(Some(FrameEvent::Ping(std::mem::take(&mut self.control)))),
            Opcode::Pong => Ok(Some(FrameEvent::Pong)),
            Opcode::Close => match *self.control {
                [] => Ok(Some(FrameEvent::Close(None))),
                [_] => Err(Violation::HalfCode),
                [high, low, ..] => Ok(Some(FrameEvent::Close(Some(u16::from_be_bytes([high, low]))))),
            },
            _ if header.last => {
                let state = std::mem::take(&mut self.message.state);
                Ok(Some(if state == MessageState::Skipping {
                    FrameEvent::TooLong
                } else {
                    FrameEvent::Message
                }))
            }
            _ => Ok(None),
        }
    }
}

enum Begun {
    /// Part of the header is missing.
    No,
    Yes,
}

impl Message {
    fn take(&mut self, bytes: &[u8]) {
        let room = match self.state {
            MessageState::Skipping => BEGINNING.saturating_sub(self.bytes.len()),
            MessageState::None | MessageState::Taking => bytes.len(),
        };
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Discards the message but for its beginning.
    fn skip(&mut self) {
        self.bytes.truncate(BEGINNING);
        self.bytes.shrink_to_fit();
        self.state = MessageState::Skipping;
    }

    /// Begins or continues with a frame of this kind.
    fn go_on(&mut self, opcode: Opcode) -> Result<(), Violation> {
        match (self.state, opcode) {
            (MessageState::None, Opcode::Continuation) => Err(Violation::NothingToContinue),
            (MessageState::None, _) => {
                self.bytes.clear();
                if self.bytes.capacity() > KEPT {
                    self.bytes = Vec::new();
                }
                self.state = MessageState::Taking;
                Ok(())
            }
            (_, Opcode::Continuation) => Ok(()),
            _ => Err(Violation::NotContinued),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: usize = 64;

    /// A frame of a client.
    fn frame(opcode: Opcode, last: bool, payload: &[u8]) -> Vec<u8> {
        let key = [7, 0, 255, 9];
        let header = Header { last, opcode, mask: Some(key), length: payload.len() as u64 };
        let mut masked = payload.to_vec();
        mask(&mut masked, key, 0);
        [header.write().bytes(), &masked].concat()
    }

    /// The events in some bytes: messages with their contents, and other events by name.
    #[derive(Clone, Debug, PartialEq, Eq)]
    enum Seen {
        Message(Vec<u8>),
        Event(FrameEvent),
        Violation(Violation),
    }

    fn seen(bytes: &[u8], piece: usize) -> Vec<Seen> {
        let mut assembler = Assembler::new(Sender::Client, LIMIT);
        let mut all = Vec::new();
        for piece in bytes.chunks(piece.max(1)) {
            assembler.incoming().extend_from_slice(piece);
            loop {
                match assembler.next() {
                    Ok(None) => break,
                    Ok(Some(FrameEvent::Message)) => all.push(Seen::Message(assembler.take_message())),
                    Ok(Some(event)) => all.push(Seen::Event(event)),
                    Err(violation) => {
                        all.push(Seen::Violation(violation));
                        return all;
                    }
                }
            }
        }
        all
    }

    fn check(frames: &[Vec<u8>], expected: &[Seen]) {
        let bytes = frames.concat();
        for piece in 1..=bytes.len() {
            assert_eq!(seen(&bytes, piece), expected, "in pieces of {piece}");
        }
    }

    fn message(text: &str) -> Seen {
        Seen::Message(text.as_bytes().to_vec())
    }

    #[test]
    fn frames_make_messages_with_control_frames_between_them() {
        let frames = [
            frame(Opcode::Text, true, b"one"),
            frame(Opcode::Text, false, b"t"),
            frame(Opcode::Ping, true, b"here?"),
            frame(Opcode::Continuation, false, b""),
            frame(Opcode::Continuation, true, b"wo"),
            frame(Opcode::Binary, true, b"\xff"),
            frame(Opcode::Pong, true, b""),
            frame(Opcode::Text, true, b""),
            frame(Opcode::Close, true, &[3, 232]),
        ];
        let expected = [
            message("one"),
            Seen::Event(FrameEvent::Ping(b"here?".to_vec())),
            message("two"),
            Seen::Message(vec![255]),
            Seen::Event(FrameEvent::Pong),
            message(""),
            Seen::Event(FrameEvent::Close(Some(1000))),
        ];
        check(&frames, &expected);
    }

    #[test]
    fn a_message_that_is_too_long_is_skipped_and_the_next_one_read() {
        let long = [b'x'; LIMIT + 1];
        let frames = [
            frame(Opcode::Text, true, &long),
            frame(Opcode::Text, true, b"a"),
            frame(Opcode::Text, false, &long[..40]),
            frame(Opcode::Continuation, false, &long[..40]),
            frame(Opcode::Continuation, false, &long),
            frame(Opcode::Continuation, true, b""),
            frame(Opcode::Text, true, &long[..LIMIT]),
        ];
        let too_long = Seen::Event(FrameEvent::TooLong);
        let exact = Seen::Message(long[..LIMIT].to_vec());
        check(&frames, &[too_long.clone(), message("a"), too_long, exact]);
    }

    #[test]
    fn of_a_message_that_is_too_long_the_beginning_is_kept() {
        let long: Vec<u8> = (0..=255).cycle().take(4 * BEGINNING).collect();
        for cut in [10, BEGINNING, 2 * BEGINNING] {
            let mut assembler = Assembler::new(Sender::Client, 3 * BEGINNING);
            assembler.incoming().extend(frame(Opcode::Text, false, &long[..cut]));
            assert_eq!(assembler.next(), Ok(None));
            assembler.incoming().extend(frame(Opcode::Continuation, true, &long[cut..]));
            assert_eq!(assembler.next(), Ok(Some(FrameEvent::TooLong)));
            assert_eq!(assembler.take_message(), long[..BEGINNING]);
        }
    }

    #[test]
    fn what_the_protocol_does_not_allow_ends_it() {
        let violation = |violation| [Seen::Violation(violation)];
        check(&[vec![0x81, 1, b'a']], &violation(Violation::NotMasked));
        check(&[frame(Opcode::Continuation, true, b"")], &violation(Violation::NothingToContinue));
        let twice = [frame(Opcode::Text, false, b"a"), frame(Opcode::Text, true, b"b")];
        check(&twice, &violation(Violation::NotContinued));
        check(&[frame(Opcode::Close, true, b"x")], &violation(Violation::HalfCode));
        let mut client = Assembler::new(Sender::Server, LIMIT);
        client.incoming().extend_from_slice(&frame(Opcode::Text, true, b"a"));
        assert_eq!(client.next(), Err(Violation::Masked));
    }

    #[test]
    fn a_buffer_that_grew_is_given_back() {
        let mut assembler = Assembler::new(Sender::Client, 4 * KEPT);
        assembler.incoming().extend(frame(Opcode::Text, true, &vec![b'x'; 2 * KEPT]));
        assert_eq!(assembler.next(), Ok(Some(FrameEvent::Message)));
        assembler.incoming().extend(frame(Opcode::Text, true, b"a"));
        assert_eq!(assembler.next(), Ok(Some(FrameEvent::Message)));
        assert!(assembler.message.bytes.capacity() <= KEPT);
    }

    proptest! {
        #[test]
        fn messages_survive_any_fragmentation_and_any_cut(
            fragments in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..12), 1..6),
            ping_after in 0usize..6,
            piece in 1usize..30,
        ) {
            let count = fragments.len();
            let mut bytes = Vec::new();
            for (place, fragment) in fragments.iter().enumerate() {
                let opcode = if place == 0 { Opcode::Text } else { Opcode::Continuation };
                bytes.extend(frame(opcode, place + 1 == count, fragment));
                if place == ping_after {
                    bytes.extend(frame(Opcode::Ping, true, fragment));
                }
            }
            let mut seen = seen(&bytes, piece);
            seen.retain(|seen| !matches!(seen, Seen::Event(FrameEvent::Ping(_))));
            prop_assert_eq!(seen, vec![Seen::Message(fragments.concat())]);
        }

        #[test]
        fn any_bytes_mean_the_same_however_they_are_cut(
            bytes in proptest::collection::vec(prop_oneof![
                2 => any::<u8>(),
                1 => proptest::sample::select(vec![0x01u8, 0x80, 0x81, 0x82, 0x88, 0x89, 0x8a, 0xfe]),
            ], 0..200),
            piece in 1usize..30,
        ) {
            prop_assert_eq!(seen(&bytes, piece), seen(&bytes, bytes.len()));
        }
    }
}
