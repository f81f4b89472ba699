//! Splits bytes into lines of bounded length. Knows nothing of their meaning, and accepts any bytes.

use memchr::memchr;

/// The longest message from a server: enough for large results, and a bound for a server that never ends its line.
pub(crate) const MESSAGE_LIMIT: usize = 64 * 1024 * 1024;

/// A buffer that one long line grew beyond this size is shrunk after it.
const KEPT: usize = 1024 * 1024;

/// A complete line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// The line, without its end.
    Whole(&'a [u8]),
    /// The line was longer than the limit, and was skipped.
    TooLong,
}

/// The state of the splitter.
#[derive(Debug)]
pub(crate) struct Lines {
    limit: usize,
    begun: Vec<u8>,
    /// Whether the rest of a line that is too long is being skipped.
    skipping: bool,
}

impl Default for Lines {
    fn default() -> Self {
        Self::up_to(MESSAGE_LIMIT)
    }
}

impl Lines {
    /// A splitter for lines of at most this many bytes.
    pub(crate) fn up_to(limit: usize) -> Self {
        Self { limit, begun: Vec::new(), skipping: false }
    }

    /// Takes more bytes and passes on the lines that they complete.
    pub(crate) fn push(&mut self, mut bytes: &[u8], mut take: impl FnMut(Line<'_>)) {
        while let Some(end) = memchr(b'\n', bytes) {
            self.keep(&bytes[..end]);
            self.finish(&mut take);
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
    }

    /// Drops the incomplete line, of which a part was lost: its rest is not a valid line.
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
