//! The part of a process's output that goes to the client, and the output that is collected for the end.

use windlass_engine::{Stream, StreamBytes};
use windlass_protocol::app::OutputStream;

/// The most bytes of each stream that a client gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cap(Option<u64>);

/// The cap for a client that chooses none.
const DEFAULT_CAP: u64 = 1024 * 1024;

impl Default for Cap {
    fn default() -> Self {
        Self(Some(DEFAULT_CAP))
    }
}

impl Cap {
    /// No cap.
    pub(super) const NONE: Self = Self(None);

    /// A cap of so many bytes.
    pub(super) fn of(bytes: usize) -> Self {
        Self(Some(bytes as u64))
    }

    /// Whether this many bytes fill it.
    pub(super) fn is_filled_by(self, printed: u64) -> bool {
        self.0.is_some_and(|cap| printed >= cap)
    }

    /// Whether this many bytes exceed it.
    pub(super) fn is_exceeded_by(self, printed: u64) -> bool {
        self.0.is_some_and(|cap| printed > cap)
    }
}

/// One of the two streams that the dialect knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    Stdout,
    Stderr,
}

impl Channel {
    /// The stream of the dialect for one of the engine's.
    pub(super) fn of(stream: Stream) -> Self {
        match stream {
            Stream::Stdout | Stream::Terminal => Self::Stdout,
            Stream::Stderr => Self::Stderr,
        }
    }

    /// Its name on the wire.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }

    /// The number of bytes printed to it.
    pub(super) fn bytes(self, printed: StreamBytes) -> u64 {
        match self {
            Self::Stdout => printed.stdout + printed.terminal,
            Self::Stderr => printed.stderr,
        }
    }
}

impl From<Channel> for OutputStream {
    fn from(channel: Channel) -> Self {
        match channel {
            Channel::Stdout => Self::Stdout,
            Channel::Stderr => Self::Stderr,
        }
    }
}

/// The rest of each stream's cap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    cap: Cap,
    stdout: Share,
    stderr: Share,
}

#[derive(Clone, Copy, Debug, Default)]
struct Share {
    taken: u64,
    full: bool,
}

/// The part of some bytes that may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) bytes: usize,
    /// Whether these bytes fill the cap.
    pub(super) fills: bool,
}

impl Allowance {
    pub(super) fn new(cap: Cap) -> Self {
        Self { cap, stdout: Share::default(), stderr: Share::default() }
    }

    /// How many of these bytes may be taken; `None` once the stream is full.
    pub(super) fn take(&mut self, channel: Channel, printed: usize) -> Option<Grant> {
        let cap = self.cap;
        let share = match channel {
            Channel::Stdout => &mut self.stdout,
            Channel::Stderr => &mut self.stderr,
        };
        if share.full {
            return None;
        }
        let left = cap.0.map_or(u64::MAX, |cap| cap - share.taken);
        let bytes = printed.min(usize::try_from(left).unwrap_or(usize::MAX));
        share.taken += bytes as u64;
        share.full = cap.is_filled_by(share.taken);
        Some(Grant { bytes, fills: share.full })
    }

    /// Whether no later output is wanted: one stream is full, and of the other, of which this much was printed,
    /// everything was taken.
    pub(super) fn has_enough_of(&self, printed: StreamBytes) -> bool {
        let is_done = |share: Share, channel: Channel| share.full || share.taken == channel.bytes(printed);
        is_done(self.stdout, Channel::Stdout) && is_done(self.stderr, Channel::Stderr)
    }

    /// Whether any stream is full.
    pub(super) fn is_partly_used_up(&self) -> bool {
        self.stdout.full || self.stderr.full
    }

    /// Whether both streams are full.
    pub(super) fn is_used_up(&self) -> bool {
        self.stdout.full && self.stderr.full
    }
}

/// The collected output of both streams.
#[derive(Debug, Default)]
pub(super) struct Collected {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Collected {
    pub(super) fn add(&mut self, channel: Channel, bytes: &[u8]) {
        self.stream(channel).extend_from_slice(bytes);
    }

    /// Takes out the text of one stream. Invalid UTF-8 is replaced; a character that the cap cut off is left out.
    pub(super) fn text(&mut self, channel: Channel, is_cut: bool) -> String {
        let mut bytes = std::mem::take(self.stream(channel));
        if is_cut {
            bytes.truncate(whole_characters(&bytes));
        }
        match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }
    }

    fn stream(&mut self, channel: Channel) -> &mut Vec<u8> {
        match channel {
            Channel::Stdout => &mut self.stdout,
            Channel::Stderr => &mut self.stderr,
        }
    }
}

/// The length of the bytes without an incomplete character at their end.
fn whole_characters(bytes: &[u8]) -> usize {
    let longest = bytes.len().saturating_sub(3);
    for at in (longest..bytes.len()).rev() {
        let needed = match bytes[at] {
            0x80..=0xbf => continue,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 1,
        };
        return if at + needed > bytes.len() { at } else { bytes.len() };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stream_has_its_own_cap() {
        let mut allowance = Allowance::new(Cap::of(5));
        assert_eq!(allowance.take(Channel::Stdout, 3), Some(Grant { bytes: 3, fills: false }));
        assert_eq!(allowance.take(Channel::Stderr, 5), Some(Grant { bytes: 5, fills: true }));
        assert_eq!(allowance.take(Channel::Stdout, 9), Some(Grant { bytes: 2, fills: true }));
        assert!(allowance.is_used_up());
        assert_eq!(allowance.take(Channel::Stdout, 1), None);
    }

    #[test]
    fn what_comes_after_a_full_stream_is_wanted_only_if_the_other_printed() {
        let mut allowance = Allowance::new(Cap::of(5));
        allowance.take(Channel::Stdout, 5);
        allowance.take(Channel::Stderr, 2);
        assert!(allowance.is_partly_used_up());
        let printed = |stderr| StreamBytes { stdout: 1000, stderr, terminal: 0 };
        assert!(allowance.has_enough_of(printed(2)));
        assert!(!allowance.has_enough_of(printed(3)));
    }

    #[test]
    fn a_cap_of_nothing_is_filled_by_the_first_output() {
        let mut allowance = Allowance::new(Cap::of(0));
        assert!(!allowance.is_used_up());
        assert_eq!(allowance.take(Channel::Stdout, 4), Some(Grant { bytes: 0, fills: true }));
        assert_eq!(allowance.take(Channel::Stdout, 4), None);
    }

    #[test]
    fn without_a_cap_nothing_is_full() {
        let mut allowance = Allowance::new(Cap::NONE);
        let grant = allowance.take(Channel::Stdout, 1 << 40);
        assert_eq!(grant, Some(Grant { bytes: 1 << 40, fills: false }));
    }

    fn check(bytes: &[u8], is_cut: bool, expected: &str) {
        let mut collected = Collected::default();
        collected.add(Channel::Stdout, bytes);
        assert_eq!(collected.text(Channel::Stdout, is_cut), expected, "{bytes:?}");
    }

    #[test]
    fn text_ends_with_a_whole_character_and_keeps_all_others() {
        let text = "日本語".as_bytes();
        check(&text[..8], true, "日本");
        check(&text[..7], true, "日本");
        check(&text[..6], true, "日本");
        check(&text[..8], false, "日本\u{fffd}");
        check(b"na\xc3\xafve \xff caf\xc3\xa9", false, "naïve \u{fffd} café");
        check("x😀".as_bytes(), true, "x😀");
        check(&"x😀".as_bytes()[..4], true, "x");
        check(b"\x80\x80\x80\x80", true, "\u{fffd}\u{fffd}\u{fffd}\u{fffd}");
        check(b"", true, "");
    }
}
