//! Parses server-sent events from bytes. Pure: the caller feeds the bytes, in whatever pieces they arrive.
//!
//! A line ends with LF, CR or CRLF, and the CR and the LF of one may come in different pieces. A character may be split
//! as well, so bytes become text only when a line is complete.

use crate::failure::Failure;

/// The longest event. An event holds at most a response's last item, which is far smaller.
pub const LONGEST_EVENT: usize = 64 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// An event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Its name; empty where it has none.
    pub event: String,
    /// Its data, the lines joined by a line feed.
    pub data: String,
}

/// Parses bytes into events.
#[derive(Debug)]
pub struct Decoder {
    longest: usize,
    /// The line that is not complete yet.
    line: Vec<u8>,
    /// The name of the current event, so far.
    event: String,
    data: Option<String>,
    /// Whether the last byte was a CR: then a LF that follows belongs to it.
    after_return: bool,
    /// Whether nothing was read yet except, perhaps, a part of a byte order mark.
    at_start: bool,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::bounded(LONGEST_EVENT)
    }
}

impl Decoder {
    /// A decoder that rejects events longer than this.
    pub fn bounded(longest: usize) -> Self {
        Self {
            longest,
            line: Vec::new(),
            event: String::new(),
            data: None,
            after_return: false,
            at_start: true,
        }
    }

    /// Takes more bytes, and returns the events that they complete.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<Vec<SseEvent>, Failure> {
        let mut events = Vec::new();
        if !bytes.is_empty() && std::mem::take(&mut self.after_return) {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.extend_line(&bytes[..end])?;
            let after = &bytes[end + 1..];
            bytes = if bytes[end] == b'\r' { self.skip_feed(after) } else { after };
            events.extend(self.end_line()?);
        }
        self.extend_line(bytes)?;
        Ok(events)
    }

    fn skip_feed<'b>(&mut self, after: &'b [u8]) -> &'b [u8] {
        self.after_return = after.is_empty();
        after.strip_prefix(b"\n").unwrap_or(after)
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let held = self.line.len() + self.event.len() + self.data.as_ref().map_or(0, String::len);
        if held + bytes.len() > self.longest {
            return Err(Failure::passing(format!(
                "an event of the answer is longer than {} bytes",
                self.longest
            )));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Handles a complete line; an empty one ends the event.
    fn end_line(&mut self) -> Result<Option<SseEvent>, Failure> {
        let line = std::mem::take(&mut self.line);
        let line = match std::mem::take(&mut self.at_start) {
            true => line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line),
            false => &line,
        };
        if line.is_empty() {
            return Ok(self.end_event());
        }
        self.field(&String::from_utf8_lossy(line));
        // The replacement character of an invalid byte is longer than the byte, so the length is checked again.
        self.extend_line(&[]).map(|()| None)
    }

    fn end_event(&mut self) -> Option<SseEvent> {
        let event = std::mem::take(&mut self.event);
        // By the standard, a name without data is not an event.
        self.data.take().map(|data| SseEvent { event, data })
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match (name, &mut self.data) {
            ("data", Some(data)) => {
                data.push('\n');
                data.push_str(value);
            }
            ("data", none) => *none = Some(value.to_owned()),
            ("event", _) => value.clone_into(&mut self.event),
            // Comments have an empty field name; ids and reconnection times have no use here.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(event: &str, data: &str) -> SseEvent {
        SseEvent { event: event.to_owned(), data: data.to_owned() }
    }

    fn check(bytes: &str, expected: &[SseEvent]) {
        assert_eq!(Decoder::default().feed(bytes.as_bytes()).unwrap(), expected, "{bytes:?}");
    }

    #[test]
    fn events_are_read_whatever_ends_their_lines() {
        check("data: a\n\n", &[event("", "a")]);
        check("event: x\r\ndata: a\r\n\r\n", &[event("x", "a")]);
        check("event: x\rdata: a\r\r", &[event("x", "a")]);
        check("data: a\r\n\rdata: b\n\r\n", &[event("", "a"), event("", "b")]);
    }

    #[test]
    fn data_of_several_lines_is_joined_and_one_blank_is_not_data() {
        check("data:a\ndata:  b\ndata\ndata:\n\n", &[event("", "a\n b\n\n")]);
    }

    #[test]
    fn what_is_no_event_is_passed_over() {
        check("\u{feff}data: a\n\n", &[event("", "a")]);
        check(": ping\n\nevent: lonely\n\nid: 3\nretry: 1\ndata: a\n\n", &[event("", "a")]);
        check("data: never finished\n", &[]);
        check("data: \u{feff}\n\n", &[event("", "\u{feff}")]);
    }

    #[test]
    fn bytes_that_are_no_text_are_marked() {
        let events = Decoder::default().feed(b"data: \xff\xc3\n\n").unwrap();
        assert_eq!(events, [event("", "\u{fffd}\u{fffd}")]);
    }

    #[test]
    fn an_event_that_is_too_long_is_a_failure() {
        let feed = |bytes: &[u8]| Decoder::bounded(16).feed(bytes);
        assert!(feed(b"data: 0123456789").is_ok());
        assert!(feed(b"data: 01234567890").is_err());
        assert!(feed(b"data: 0123456\ndata: 0123456\ndata: 0\n").is_err());
        assert!(feed(b"data: 0123456\n\ndata: 0123456\n\n").is_ok(), "each one counts alone");
        assert!(feed(b"data: \xff\xff\xff\xff\xff\xff\n").is_err());
    }

    /// Random streams that look like events often enough to be interesting, and other bytes.
    fn streams() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just(b"data: ".to_vec()),
            Just(b"event: x".to_vec()),
            Just(b"\n".to_vec()),
            Just(b"\r".to_vec()),
            Just(b"\r\n".to_vec()),
            Just(BYTE_ORDER_MARK.to_vec()),
            Just("né€😀".as_bytes().to_vec()),
            proptest::collection::vec(any::<u8>(), 0..4),
        ];
        proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_events(
            stream in streams(),
            cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..40),
        ) {
            let whole = Decoder::default().feed(&stream).unwrap();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let mut decoder = Decoder::default();
            let pieces = cuts.windows(2).flat_map(|ends| decoder.feed(&stream[ends[0]..ends[1]]).unwrap());
            prop_assert_eq!(pieces.collect::<Vec<_>>(), whole.clone());
            let mut decoder = Decoder::default();
            let bytes = stream.iter().flat_map(|byte| decoder.feed(&[*byte]).unwrap());
            prop_assert_eq!(bytes.collect::<Vec<_>>(), whole);
        }
    }
}
