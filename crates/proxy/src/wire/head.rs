//! The head of an HTTP message: a first line, fields, an empty line. Parsing is strict, because requests are smuggled
//! through texts that two programs read in two ways: lines end with CR LF and nothing else, and no field goes on in the
//! next line.

/// A head in its parts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    pub(crate) first: &'a [u8],
    pub(crate) fields: Vec<Field<'a>>,
}

/// A header field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field<'a> {
    pub(crate) name: &'a str,
    /// Without the spaces around it. Old servers send letters that are no UTF-8.
    pub(crate) value: &'a [u8],
}

/// The faults of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadHead {
    #[error("a line of the head does not end with CR LF")]
    LineEnd,
    #[error("the head is longer than {0} bytes")]
    TooLong(usize),
    #[error("the head has more than {0} fields")]
    TooManyFields(usize),
    #[error("a field of the head is malformed")]
    Field,
    #[error("the first line is malformed")]
    FirstLine,
}

/// The limits of a head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeadLimits {
    pub(crate) bytes: usize,
    pub(crate) fields: usize,
}

/// Finds where the head ends in bytes that come bit by bit, and looks at each of them once.
#[derive(Debug, Default)]
pub(crate) struct EndOfHead {
    seen: usize,
}

impl EndOfHead {
    /// How long the head is, with its empty line; none if it goes on. `bytes` begins as it did the last time.
    pub(crate) fn find(&mut self, bytes: &[u8], limits: HeadLimits) -> Result<Option<usize>, BadHead> {
        while let Some(found) = bytes[self.seen..].iter().position(|&byte| byte == b'\n') {
            let end = self.seen + found + 1;
            if end > limits.bytes {
                return Err(BadHead::TooLong(limits.bytes));
            }
            match &bytes[..end] {
                [.., b'\r', b'\n', b'\r', b'\n'] => return Ok(Some(end)),
                [.., b'\r', b'\n'] => self.seen = end,
                _ => return Err(BadHead::LineEnd),
            }
        }
        self.seen = bytes.len();
        if bytes.len() >= limits.bytes { Err(BadHead::TooLong(limits.bytes)) } else { Ok(None) }
    }
}

impl<'a> Head<'a> {
    /// Takes a whole head apart.
    pub(crate) fn parse(bytes: &'a [u8], limits: HeadLimits) -> Result<Self, BadHead> {
        let bytes = bytes.strip_suffix(b"\r\n\r\n").ok_or(BadHead::LineEnd)?;
        let mut lines = Lines(Some(bytes));
        let first = lines.next().filter(|line| is_text(line)).ok_or(BadHead::FirstLine)?;
        let mut fields = Vec::new();
        for line in lines {
            if fields.len() == limits.fields {
                return Err(BadHead::TooManyFields(limits.fields));
            }
            fields.push(Field::parse(line).ok_or(BadHead::Field)?);
        }
        Ok(Self { first, fields })
    }

    /// The values of all fields of a name.
    pub(crate) fn values<'b>(&'b self, name: &'b str) -> impl Iterator<Item = &'a [u8]> + 'b {
        self.fields.iter().filter(move |field| field.is(name)).map(|field| field.value)
    }

    /// The parts of the lists that all fields of a name make together.
    pub(crate) fn listed<'b>(&'b self, name: &'b str) -> impl Iterator<Item = &'a [u8]> + 'b {
        self.values(name).flat_map(|value| value.split(|&byte| byte == b',')).map(<[u8]>::trim_ascii)
    }

    /// The fields that are for the far side: neither those of one connection, nor those that `Connection` calls so.
    pub(crate) fn end_to_end<'b>(&'b self) -> impl Iterator<Item = Field<'a>> + 'b {
        let of_connection = move |field: &Field<'_>| {
            HOP_BY_HOP.iter().any(|name| field.is(name))
                || (!field.frames()
                    && self.listed("connection").any(|name| name.eq_ignore_ascii_case(field.name.as_bytes())))
        };
        self.fields.iter().copied().filter(move |field| !of_connection(field))
    }
}

/// Fields that speak of one connection and not of the message.
const HOP_BY_HOP: [&str; 7] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "upgrade",
];

impl<'a> Field<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        if name.is_empty() || !name.iter().all(|&byte| is_token(byte)) || !is_text(value) {
            return None;
        }
        Some(Self { name: std::str::from_utf8(name).ok()?, value: value.trim_ascii() })
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Whether the field gives the length of the body. Such a field must not be removed, even if `Connection` names it.
    fn frames(&self) -> bool {
        self.is("content-length") || self.is("transfer-encoding")
    }

    /// Writes the field as a line.
    pub(crate) fn write(&self, into: &mut Vec<u8>) {
        for part in [self.name.as_bytes(), b": ", self.value, b"\r\n"] {
            into.extend_from_slice(part);
        }
    }
}

/// The characters of methods and field names.
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// No control characters but the tab.
fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == b'\t' || !byte.is_ascii_control())
}

/// Pieces between CR LF. A CR of its own stays in its piece, where [`is_text`] finds it.
struct Lines<'a>(Option<&'a [u8]>);

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.0?;
        let (line, rest) = match rest.windows(2).position(|pair| pair == b"\r\n") {
            Some(end) => (&rest[..end], Some(&rest[end + 2..])),
            None => (rest, None),
        };
        self.0 = rest;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: HeadLimits = HeadLimits { bytes: 200, fields: 3 };

    /// `expected` is the head as it is written again, with one kind of space and line end.
    fn check(bytes: &[u8], expected: Result<&[u8], BadHead>) {
        let written = Head::parse(bytes, LIMITS).map(|head| {
            let mut written = [head.first, b"\r\n"].concat();
            head.fields.iter().for_each(|field| field.write(&mut written));
            written
        });
        assert_eq!(written, expected.map(<[u8]>::to_vec), "{:?}", String::from_utf8_lossy(bytes));
    }

    #[test]
    fn heads_come_apart() {
        check(b"GET / HTTP/1.1\r\n\r\n", Ok(b"GET / HTTP/1.1\r\n"));
        check(b"a\r\nB: \t c d \r\nE:\r\n\r\n", Ok(b"a\r\nB: c d\r\nE: \r\n"));
        check(b"a\r\nB: \xe9\r\n\r\n", Ok(b"a\r\nB: \xe9\r\n"));
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        check(b"a\r\nB : c\r\n\r\n", Err(BadHead::Field));
        check(b"a\r\n folded\r\n\r\n", Err(BadHead::Field));
        check(b"a\r\nB: c\rD: e\r\n\r\n", Err(BadHead::Field));
        check(b"a\r\nB: c\0\r\n\r\n", Err(BadHead::Field));
        check(b"a\r\n: c\r\n\r\n", Err(BadHead::Field));
        check(b"a\r\nnothing\r\n\r\n", Err(BadHead::Field));
        check(b"a\rb\r\n\r\n", Err(BadHead::FirstLine));
        check(b"a\r\nA: 1\r\nA: 2\r\nA: 3\r\nA: 4\r\n\r\n", Err(BadHead::TooManyFields(3)));
    }

    fn check_end(bytes: &[u8], expected: Result<Option<usize>, BadHead>) {
        assert_eq!(EndOfHead::default().find(bytes, LIMITS), expected);
        let mut end = EndOfHead::default();
        let by_byte = (0..=bytes.len()).map(|length| end.find(&bytes[..length], LIMITS));
        let first = by_byte.into_iter().find(|found| !matches!(found, Ok(None)));
        assert_eq!(first.unwrap_or(Ok(None)), expected);
    }

    #[test]
    fn the_end_is_found_however_the_bytes_come() {
        check_end(b"", Ok(None));
        check_end(b"a\r\nB: c\r\n", Ok(None));
        check_end(b"a\r\nB: c\r\n\r\n", Ok(Some(11)));
        check_end(b"a\r\n\r\nrest\n", Ok(Some(5)));
        check_end(b"a\nB: c\n\n", Err(BadHead::LineEnd));
        check_end(b"a\r\n\n", Err(BadHead::LineEnd));
        check_end(&[b'a'; 199], Ok(None));
        check_end(&[b'a'; 200], Err(BadHead::TooLong(200)));
    }

    #[test]
    fn fields_of_the_connection_stay_behind() {
        let head = b"a\r\nConnection: x-mine, Content-Length\r\nX-Mine: 1\r\nContent-Length: 2\r\n\r\n";
        let head = Head::parse(head, LIMITS).expect("a head");
        let kept: Vec<&str> = head.end_to_end().map(|field| field.name).collect();
        assert_eq!(kept, ["Content-Length"]);
    }
}
