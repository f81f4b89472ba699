//! Bytes into lines of bounded length. Knows nothing of what a line means, and cannot fail on any bytes.

use memchr::memchr;

/// The longest message that is taken from a server: room for large results, and an end to one that never ends its line.
pub(crate) const MESSAGE_LIMIT: usize = 64 * 1024 * 1024;

/// A buffer that grew beyond this for one long line is given back after it.
const KEPT: usize = 1024 * 1024;

/// What came up to an end of line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// A line, without its end.
    Whole(&'a [u8]),
    /// One longer than the limit, which was skipped.
    TooLong,
}

/// Lines that come in pieces.
#[derive(Debug)]
pub(crate) struct Lines {
    limit: usize,
    begun: Vec<u8>,
    /// Whether we are in the rest of a line that is too long.
    skipping: bool,
}

impl Default for Lines {
    fn default() -> Self {
        Self::up_to(MESSAGE_LIMIT)
    }
}

impl Lines {
    /// Lines of at most this many bytes.
    pub(crate) fn up_to(limit: usize) -> Self {
        Self { limit, begun: Vec::new(), skipping: false }
    }

    /// Takes more bytes and hands over the lines that they complete.
    pub(crate) fn push(&mut self, mut bytes: &[u8], mut take: impl FnMut(Line<'_>)) {
        while let Some(end) = memchr(b'\n', bytes) {
            self.keep(&bytes[..end]);
            self.finish(&mut take);
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
    }

    /// Forgets the line that was begun, of which a part is missing: its rest is no line.
    pub(crate) fn interrupt(&mut self) {
        self.begun = Vec::new();
        self.skipping = true;
    }

    fn keep(&mut self, part: &[u8]) {
        if self.skipping {
            return;
        }
        if self.begun.len() + part.len() > self.limit {
            self.interrupt();
        } else {
            self.begun.extend_from_slice(part);
        }
    }

    fn finish(&mut self, take: &mut impl FnMut(Line<'_>)) {
        if std::mem::take(&mut self.skipping) {
            take(Line::TooLong);
            return;
        }
        take(Line::Whole(&self.begun));
        self.begun.clear();
        if self.begun.capacity() > KEPT {
            self.begun = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines_of(limit: usize, chunks: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
        let (mut lines, mut seen) = (Lines::up_to(limit), Vec::new());
        for chunk in chunks {
            lines.push(chunk, |line| {
                seen.push(match line {
                    Line::Whole(bytes) => Some(bytes.to_vec()),
                    Line::TooLong => None,
                });
            });
        }
        seen
    }

    fn check(limit: usize, chunks: &[&[u8]], expected: &[Option<&str>]) {
        let expected: Vec<_> =
            expected.iter().map(|line| line.map(|line| line.as_bytes().to_vec())).collect();
        assert_eq!(lines_of(limit, chunks), expected);
    }

    #[test]
    fn lines_are_whole_however_they_come() {
        check(9, &[b"a\nb", b"c\n\nd"], &[Some("a"), Some("bc"), Some("")]);
        check(9, &[b""], &[]);
        check(3, &[b"abc\nabcd\nab", b"cd", b"ef\nx\n"], &[Some("abc"), None, None, Some("x")]);
    }

    #[test]
    fn the_rest_of_an_interrupted_line_is_no_line() {
        let (mut lines, mut seen) = (Lines::up_to(9), Vec::new());
        lines.push(b"ab", |_| ());
        lines.interrupt();
        lines.push(b"c\nd\n", |line| seen.push(line == Line::TooLong));
        assert_eq!(seen, [true, false]);
    }

    proptest! {
        #[test]
        fn cutting_changes_nothing(bytes in proptest::collection::vec(0u8..12, 0..200), at in 0usize..200) {
            let at = at.min(bytes.len());
            prop_assert_eq!(lines_of(6, &[&bytes]), lines_of(6, &[&bytes[..at], &bytes[at..]]));
        }
    }
}
