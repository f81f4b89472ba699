//! Finds the end of a body while its bytes pass by. The bytes themselves are not touched.

use super::head::Head;

/// The most digits of a chunk's length, and the most bytes of a line around chunks, extensions and trailers included.
const LENGTH_DIGITS: usize = 15;
const LINE_LIMIT: usize = 8 * 1024;

/// A body that passes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// This many bytes are still to come.
    Length(u64),
    /// Chunks are still to come.
    Chunked(Chunks),
}

/// The faults of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadBody {
    #[error("the length of the body is malformed or said twice")]
    Length,
    #[error("the body is encoded in a way other than chunks")]
    Encoding,
    #[error("a chunk of the body is malformed")]
    Chunk,
}

/// Where in a row of chunks we are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunks {
    at: At,
    /// Bytes of the line we are in.
    line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// In a length of which this much is known.
    Length {
        value: u64,
        digits: usize,
    },
    /// In the rest of the line after a length.
    Extension(u64),
    /// At the line feed after a length.
    LengthEnd(u64),
    /// In the bytes of a chunk.
    Data(u64),
    /// At the carriage return, and at the line feed, after a chunk.
    DataReturn,
    DataEnd,
    /// At the start of a line after the last chunk, in it, at its line feed.
    Trailer,
    TrailerLine,
    TrailerEnd,
    /// At the line feed of the empty line.
    LastEnd,
    Over,
}

impl Body {
    /// The body of a request with this head. A request that gives its length in two ways is refused as an attempt at
    /// request smuggling.
    pub(crate) fn of_request(head: &Head<'_>) -> Result<Self, BadBody> {
        let mut encodings = head.listed("transfer-encoding");
        let mut lengths = head.listed("content-length");
        match (encodings.next(), lengths.next()) {
            (None, None) => Ok(Self::Length(0)),
            (None, Some(length)) if lengths.all(|other| other == length) => parse_length(length),
            (Some(encoding), None)
                if encoding.eq_ignore_ascii_case(b"chunked") && encodings.next().is_none() =>
            {
                Ok(Self::Chunked(Chunks { at: At::Length { value: 0, digits: 0 }, line: 0 }))
            }
            (Some(_), None) => Err(BadBody::Encoding),
            _ => Err(BadBody::Length),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::Length(left) => *left == 0,
            Self::Chunked(chunks) => chunks.at == At::Over,
        }
    }

    /// How many of these bytes belong to the body. The bytes after them are not part of it.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<usize, BadBody> {
        match self {
            Self::Length(left) => {
                let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= taken as u64;
                Ok(taken)
            }
            Self::Chunked(chunks) => chunks.take(bytes),
        }
    }
}

fn parse_length(text: &[u8]) -> Result<Body, BadBody> {
    let digits = std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|digits| digits.parse().ok()).map(Body::Length).ok_or(BadBody::Length)
}

impl Chunks {
    fn take(&mut self, bytes: &[u8]) -> Result<usize, BadBody> {
        let mut taken = 0;
        while taken < bytes.len() && self.at != At::Over {
            if let At::Data(left) = self.at {
                let now = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len() - taken);
                taken += now;
                let left = left - now as u64;
                self.at = if left == 0 { At::DataReturn } else { At::Data(left) };
            } else {
                self.at = self.after(bytes[taken])?;
                taken += 1;
            }
        }
        Ok(taken)
    }

    /// Where we are after a byte outside of data.
    fn after(&mut self, byte: u8) -> Result<At, BadBody> {
        self.line = if byte == b'\n' { 0 } else { self.line + 1 };
        if self.line > LINE_LIMIT {
            return Err(BadBody::Chunk);
        }
        match (self.at, byte) {
            (At::Length { value, digits }, _) => after_digit(value, digits, byte),
            (At::Extension(length), b'\r') => Ok(At::LengthEnd(length)),
            (At::Extension(length), _) if byte != b'\n' => Ok(At::Extension(length)),
            (At::LengthEnd(0), b'\n') => Ok(At::Trailer),
            (At::LengthEnd(length), b'\n') => Ok(At::Data(length)),
            (At::DataReturn, b'\r') => Ok(At::DataEnd),
            (At::DataEnd, b'\n') => Ok(At::Length { value: 0, digits: 0 }),
            (At::Trailer, b'\r') => Ok(At::LastEnd),
            (At::TrailerLine, b'\r') => Ok(At::TrailerEnd),
            (At::Trailer | At::TrailerLine, _) if byte != b'\n' => Ok(At::TrailerLine),
            (At::TrailerEnd, b'\n') => Ok(At::Trailer),
            (At::LastEnd, b'\n') => Ok(At::Over),
            _ => Err(BadBody::Chunk),
        }
    }
}

fn after_digit(value: u64, digits: usize, byte: u8) -> Result<At, BadBody> {
    match char::from(byte).to_digit(16) {
        Some(digit) if digits < LENGTH_DIGITS => {
            Ok(At::Length { value: value * 16 + u64::from(digit), digits: digits + 1 })
        }
        None if digits > 0 && byte == b'\r' => Ok(At::LengthEnd(value)),
        None if digits > 0 && byte == b';' => Ok(At::Extension(value)),
        _ => Err(BadBody::Chunk),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::head::HeadLimits;
    use super::*;

    fn body(fields: &str) -> Result<Body, BadBody> {
        let head = format!("POST / HTTP/1.1\r\n{fields}\r\n");
        let head = Head::parse(head.as_bytes(), HeadLimits { bytes: 1000, fields: 9 }).expect("a good head");
        Body::of_request(&head)
    }

    fn chunked() -> Body {
        body("Transfer-Encoding: Chunked\r\n").expect("a good body")
    }

    #[test]
    fn the_head_says_how_long_the_body_is() {
        assert_eq!(body(""), Ok(Body::Length(0)));
        assert_eq!(body("Content-Length: 12\r\n"), Ok(Body::Length(12)));
        assert_eq!(body("Content-Length: 12\r\nContent-Length: 12\r\n"), Ok(Body::Length(12)));
        assert!(matches!(chunked(), Body::Chunked(_)));
    }

    #[test]
    fn a_length_that_is_said_in_two_ways_is_refused() {
        assert_eq!(body("Content-Length: 1\r\nContent-Length: 2\r\n"), Err(BadBody::Length));
        assert_eq!(body("Content-Length: 1, 2\r\n"), Err(BadBody::Length));
        assert_eq!(body("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), Err(BadBody::Length));
        for bad in ["+1", "-1", "0x1", "1 2", "", "99999999999999999999999"] {
            assert_eq!(body(&format!("Content-Length: {bad}\r\n")), Err(BadBody::Length), "{bad:?}");
        }
        for bad in ["gzip, chunked", "chunked, chunked", "identity", "xchunked", ""] {
            assert_eq!(body(&format!("Transfer-Encoding: {bad}\r\n")), Err(BadBody::Encoding), "{bad:?}");
        }
    }

    fn check_chunks(bytes: &[u8], expected: Result<(usize, bool), BadBody>) {
        let mut whole = chunked();
        assert_eq!(whole.take(bytes).map(|taken| (taken, whole.is_over())), expected);
        let mut bit_by_bit = chunked();
        let taken = bytes.iter().try_fold(0, |sum, &byte| Ok(sum + bit_by_bit.take(&[byte])?));
        assert_eq!(taken.map(|taken| (taken, bit_by_bit.is_over())), expected);
    }

    #[test]
    fn chunks_end_where_they_say() {
        check_chunks(b"0\r\n\r\nGET /", Ok((5, true)));
        check_chunks(b"3\r\nabc\r\n0\r\n\r\nrest", Ok((13, true)));
        check_chunks(b"A;x=y\r\n0123456789\r\n000\r\nT: v\r\n\r\n", Ok((32, true)));
        check_chunks(b"3\r\nab", Ok((5, false)));
        check_chunks(b"", Ok((0, false)));
    }

    #[test]
    fn chunks_that_could_be_read_in_two_ways_are_refused() {
        for bad in [&b"\r\n"[..], b"g\r\n", b"3\nabc", b"3\r\nabcd\r\n", b"3\r\nabc\n", b" 3\r\n", b"3 \r\n"]
        {
            check_chunks(bad, Err(BadBody::Chunk));
        }
        check_chunks(b"1;a\nb\r\n", Err(BadBody::Chunk));
        check_chunks(b"0\r\nT: v\n\r\n", Err(BadBody::Chunk));
        check_chunks(b"1000000000000000\r\n", Err(BadBody::Chunk));
        check_chunks(&[b"1;".to_vec(), vec![b'x'; LINE_LIMIT]].concat(), Err(BadBody::Chunk));
    }

    proptest! {
        #[test]
        fn chunks_mean_the_same_however_they_are_cut(
            bytes in proptest::collection::vec(proptest::sample::select(b"0123af;\r\n\r\n\r\nx:".to_vec()), 0..60),
            cut in 1usize..9,
        ) {
            let (mut whole, mut cut_up) = (chunked(), chunked());
            let in_one = whole.take(&bytes);
            let in_pieces = bytes.chunks(cut).try_fold(0, |sum, piece| Ok(sum + cut_up.take(piece)?));
            prop_assert_eq!(in_one, in_pieces);
        }
    }
}
