//! A parser of server-sent events, byte-exact across the boundaries of its chunks. It accepts any bytes.

use std::time::Duration;

use memchr::memchr2;

use crate::lines::MESSAGE_LIMIT;

/// The longest event id that is stored.
const ID_LIMIT: usize = 1024;

/// The state of the parser.
#[derive(Debug, Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    /// Whether the event has a line of data, even an empty one.
    has_data: bool,
    /// Whether the last byte was a carriage return: a newline after it ends no further line.
    after_return: bool,
    /// Whether the event that is being read is too long.
    too_long: bool,
    /// Whether the line has any bytes, even if they were not stored.
    in_line: bool,
    /// Whether any byte came yet: the first ones may be a byte order mark.
    begun: bool,
    last_id: Option<String>,
    retry: Option<Duration>,
}

/// A complete event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEvent<'a> {
    /// Its data.
    Data(&'a [u8]),
    /// It was longer than the limit for messages, and was skipped.
    TooLong,
}

impl Events {
    /// Parses more bytes and passes on the events that they complete.
    pub(crate) fn push(&mut self, mut bytes: &[u8], mut take: impl FnMut(StreamEvent<'_>)) {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_return) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', bytes) else {
                self.keep(bytes);
                return;
            };
            self.keep(&bytes[..end]);
            self.after_return = bytes[end] == b'\r';
            self.end_line(&mut take);
            bytes = &bytes[end + 1..];
        }
    }

    /// The parser for a stream that is resumed: it keeps the id and drops the incomplete event.
    pub(crate) fn restarted(self) -> Self {
        Self { last_id: self.last_id, retry: self.retry, ..Self::default() }
    }

    /// The id of the last event, from which the stream can be resumed.
    pub(crate) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// The pause that the server asks for before the stream is resumed.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    fn keep(&mut self, part: &[u8]) {
        self.in_line |= !part.is_empty();
        if self.line.len() + self.data.len() + part.len() > MESSAGE_LIMIT {
            self.too_long = true;
            (self.line, self.data) = (Vec::new(), Vec::new());
        } else if !self.too_long {
            self.line.extend_from_slice(part);
        }
    }

    fn end_line(&mut self, take: &mut impl FnMut(StreamEvent<'_>)) {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.begun, true) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        let is_empty = !std::mem::take(&mut self.in_line) || line.is_empty() && !self.too_long;
        if is_empty {
            self.end_event(take);
        } else if !self.too_long {
            self.field(&line);
        }
        line.clear();
        self.line = line;
    }

    fn field(&mut self, line: &[u8]) {
        let (name, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            // The id is sent back in a header, so it must be valid in one.
            b"id" if value.len() <= ID_LIMIT && value.iter().all(|byte| (b' '..=b'~').contains(byte)) => {
                self.last_id = Some(String::from_utf8_lossy(value).into_owned()).filter(|id| !id.is_empty());
            }
            b"retry" => {
                let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                self.retry = number.map(Duration::from_millis).or(self.retry);
            }
            // Comments, event types, and unknown fields.
            _ => {}
        }
    }

    fn end_event(&mut self, take: &mut impl FnMut(StreamEvent<'_>)) {
        if std::mem::take(&mut self.too_long) {
            take(StreamEvent::TooLong);
        } else if self.has_data && !self.data.is_empty() {
            take(StreamEvent::Data(&self.data));
        }
        self.has_data = false;
        self.data = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events_of(chunks: &[&[u8]]) -> (Vec<String>, Option<String>, Option<Duration>) {
        let (mut events, mut seen) = (Events::default(), Vec::new());
        for chunk in chunks {
            events.push(chunk, |event| match event {
                StreamEvent::Data(data) => seen.push(String::from_utf8_lossy(data).into_owned()),
                StreamEvent::TooLong => seen.push("too long".into()),
            });
        }
        (seen, events.last_id().map(str::to_owned), events.retry())
    }

    fn check(stream: &str, expected: &[&str]) {
        assert_eq!(events_of(&[stream.as_bytes()]).0, expected, "{stream:?}");
    }

    #[test]
    fn events_end_at_an_empty_line() {
        check("data: a\n\ndata:b\n\n", &["a", "b"]);
        check("data: a\r\n\r\ndata: b\r\rdata: c\n\r\n", &["a", "b", "c"]);
        check("data: a\ndata: b\n\n", &["a\nb"]);
        check("data\n\n", &[]);
        check("data: \n\n", &[]);
        check("data: a", &[]);
        check("data: a\n", &[]);
        check(": comment\nevent: message\ndata: a\nother: x\n\n", &["a"]);
        check("\u{feff}data: a\n\n", &["a"]);
        check("\n\n\ndata:  a\n\n", &[" a"]);
    }

    #[test]
    fn ids_and_pauses_are_remembered() {
        let (_, id, retry) = events_of(&[b"id: 7\nretry: 250\ndata:\n\n"]);
        assert_eq!((id.as_deref(), retry), (Some("7"), Some(Duration::from_millis(250))));
        let (_, id, retry) = events_of(&[b"id: 7\n\nid: \x01\nretry: soon\n\n"]);
        assert_eq!((id.as_deref(), retry), (Some("7"), None));
    }

    #[test]
    fn an_event_that_is_too_long_is_skipped() {
        let long = vec![b'x'; MESSAGE_LIMIT];
        let (seen, ..) = events_of(&[b"data: ", &long, b"\ndata: y\n\ndata: z\n\n"]);
        assert_eq!(seen, ["too long", "z"]);
    }

    proptest! {
        #[test]
        fn cutting_changes_nothing(stream in "(data: ?|id|:|\r|\n|\r\n|a|retry: 1|é){0,30}", at in 0usize..200) {
            let bytes = stream.as_bytes();
            let at = at.min(bytes.len());
            prop_assert_eq!(events_of(&[bytes]), events_of(&[&bytes[..at], &bytes[at..]]));
        }

        #[test]
        fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let whole = events_of(&[&bytes]);
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(whole, events_of(&single));
        }
    }
}
