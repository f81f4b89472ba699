//! Splits bytes into lines of bounded length, and does not interpret them.

use std::io;
use std::ops::Range;

use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt};

/// The longest line, and so the largest message, that is accepted by default. Calls of tools are small; this leaves
/// room for a client that pastes whole files, and keeps a client that never ends its line from filling memory.
pub const LINE_LIMIT: usize = 16 * 1024 * 1024;

/// How much is read at once.
const STEP: usize = 64 * 1024;

/// The read-ahead while no lines are wanted.
const READ_AHEAD: usize = 1024 * 1024;

/// The buffer is freed after a long line if it grew beyond this.
const KEPT: usize = 1024 * 1024;

/// The length of the beginning that is kept of a line that is too long.
const BEGINNING: usize = 1024;

/// A line longer than this is returned with its buffer, and a shorter one copied.
const COPIED: usize = 64 * 1024;

/// The lines of a source. Cancel safe: dropping a wait for the next one loses nothing.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    source: R,
    limit: usize,
    buffer: Vec<u8>,
    /// The start of the current line.
    start: usize,
    /// The buffer holds no end of line before this index.
    scanned: usize,
    /// Whether the rest of a line that was too long is being skipped.
    skipping: bool,
}

/// A line of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line, to be read with [`Lines::bytes`] before the next call.
    Whole(Range<usize>),
    /// The beginning of a line that is longer than the limit; the rest is skipped.
    TooLong(Vec<u8>),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(source: R) -> Self {
        Self::up_to(LINE_LIMIT, source)
    }

    /// Lines of at most this many bytes.
    pub(crate) fn up_to(limit: usize, source: R) -> Self {
        Self { source, limit, buffer: Vec::new(), start: 0, scanned: 0, skipping: false }
    }

    /// The next line; `None` at the end of the source. Bytes after the last end of line count as a line.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            if let Some(line) = self.buffered() {
                return Ok(Some(line));
            }
            if self.fill().await? == 0 {
                return Ok(self.rest());
            }
        }
    }

    /// Waits for the end of the source without taking a line. Reads ahead a little, and no further.
    pub(crate) async fn ended(&mut self) {
        while self.buffer.len() - self.start < READ_AHEAD {
            // A read error counts as the end of the input.
            if self.fill().await.unwrap_or_default() == 0 {
                return;
            }
        }
        std::future::pending::<()>().await;
    }

    /// The bytes of a line.
    pub(crate) fn bytes(&self, line: &Range<usize>) -> &[u8] {
        &self.buffer[line.clone()]
    }

    /// The bytes of the last line, owned.
    pub(crate) fn take(&mut self, line: &Range<usize>) -> Vec<u8> {
        if line.start > 0 || line.len() <= COPIED {
            return self.bytes(line).to_vec();
        }
        // A long line took several reads, so little of the next one has arrived yet.
        let rest = self.buffer.split_off(self.start);
        (self.start, self.scanned) = (0, 0);
        let mut whole = std::mem::replace(&mut self.buffer, rest);
        whole.truncate(line.end);
        whole
    }

    /// A line that is already in the buffer.
    fn buffered(&mut self) -> Option<Line> {
        while let Some(found) = memchr(b'\n', &self.buffer[self.scanned..]) {
            let line = self.start..self.scanned + found;
            self.start = line.end + 1;
            self.scanned = self.start;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if line.len() > self.limit {
                return Some(Line::TooLong(self.beginning(line.start)));
            }
            return Some(Line::Whole(line));
        }
        self.scanned = self.buffer.len();
        let too_long = self.buffer.len() - self.start > self.limit;
        let found_out = (too_long && !self.skipping).then(|| Line::TooLong(self.beginning(self.start)));
        if self.skipping || too_long {
            self.start = self.buffer.len();
        }
        self.skipping |= too_long;
        found_out
    }

    /// The beginning of a line, enough to find the id in it.
    fn beginning(&self, start: usize) -> Vec<u8> {
        self.buffer[start..].iter().take(BEGINNING).copied().collect()
    }

    async fn fill(&mut self) -> io::Result<usize> {
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        if self.buffer.is_empty() && self.buffer.capacity() > KEPT {
            self.buffer = Vec::new();
        }
        self.buffer.reserve(STEP);
        self.source.read_buf(&mut self.buffer).await
    }

    fn rest(&mut self) -> Option<Line> {
        let line = self.start..self.buffer.len();
        self.start = self.buffer.len();
        (!line.is_empty() && !self.skipping).then_some(Line::Whole(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The lines of a source as text; `None` stands for one that was too long.
    async fn lines_of(source: impl AsyncRead + Unpin) -> Vec<Option<String>> {
        let mut lines = Lines::new(source);
        let mut seen = Vec::new();
        while let Some(line) = lines.next().await.expect("memory can be read") {
            seen.push(match line {
                Line::Whole(range) => {
                    let text = String::from_utf8_lossy(lines.bytes(&range)).into_owned();
                    assert!(lines.take(&range) == text.as_bytes() || text.contains('\u{fffd}'));
                    Some(text)
                }
                Line::TooLong(_) => None,
            });
        }
        seen
    }

    async fn check(bytes: &[u8], expected: &[Option<&str>]) {
        let expected: Vec<_> = expected.iter().map(|line| line.map(str::to_owned)).collect();
        assert_eq!(lines_of(bytes).await, expected);
    }

    #[tokio::test]
    async fn a_line_is_what_stands_before_its_end() {
        check(b"", &[]).await;
        check(b"a\n", &[Some("a")]).await;
        check(b"a\n\nb\n", &[Some("a"), Some(""), Some("b")]).await;
        check(b"a\nb", &[Some("a"), Some("b")]).await;
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_skipped_and_the_next_one_read() {
        let long = vec![b'x'; LINE_LIMIT + 1];
        let exact = vec![b'y'; LINE_LIMIT];
        let bytes = [b"a\n".as_slice(), &long, b"\nb\n", &exact, b"\n", &long, b"\n", &long].concat();
        let seen = lines_of(bytes.as_slice()).await;
        let lengths: Vec<_> = seen.iter().map(|line| line.as_ref().map(String::len)).collect();
        assert_eq!(lengths, [Some(1), None, Some(1), Some(LINE_LIMIT), None, None]);
    }

    #[tokio::test]
    async fn lines_that_are_kept_are_whole_whatever_their_length() {
        let long = "x".repeat(3 * COPIED);
        let text = [long.as_str(), "a", &long, &long, "", "b", &long].join("\n");
        let expected: Vec<_> = text.split('\n').map(|line| Some(line.to_owned())).collect();
        assert!(lines_of(text.as_bytes()).await == expected);
    }

    #[tokio::test]
    async fn a_buffer_that_grew_is_given_back() {
        let bytes = [vec![b'x'; 4 * KEPT], b"\na\n".to_vec()].concat();
        let mut lines = Lines::new(bytes.as_slice());
        while lines.next().await.expect("memory can be read").is_some() {}
        assert!(lines.buffer.capacity() <= KEPT, "{}", lines.buffer.capacity());
    }

    proptest! {
        #[test]
        fn lines_are_what_splitting_gives_however_the_bytes_arrive(
            bytes in proptest::collection::vec(prop_oneof![3 => any::<u8>(), 1 => Just(b'\n')], 0..400),
            pieces in proptest::collection::vec(1usize..50, 1..20),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            let mut expected: Vec<_> = bytes.split(|&byte| byte == b'\n').collect();
            if expected.last().is_some_and(|rest| rest.is_empty()) {
                expected.pop();
            }
            let expected: Vec<_> = expected.into_iter().map(|line| Some(String::from_utf8_lossy(line).into_owned())).collect();
            let source = Piecemeal { bytes: bytes.clone(), pieces, turn: 0 };
            prop_assert_eq!(runtime.block_on(lines_of(source)), expected);
        }
    }

    /// A source that gives a few bytes at a time.
    struct Piecemeal {
        bytes: Vec<u8>,
        pieces: Vec<usize>,
        turn: usize,
    }

    impl AsyncRead for Piecemeal {
        fn poll_read(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            buffer: &mut tokio::io::ReadBuf<'_>,
        ) -> std::task::Poll<io::Result<()>> {
            let piece =
                self.pieces[self.turn % self.pieces.len()].min(self.bytes.len()).min(buffer.remaining());
            self.turn += 1;
            let rest = self.bytes.split_off(piece);
            buffer.put_slice(&std::mem::replace(&mut self.bytes, rest));
            std::task::Poll::Ready(Ok(()))
        }
    }
}
