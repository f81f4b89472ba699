//! Text that repeats itself, as of a program that is caught in a loop: counted once, and multiplied.

use super::counter::first_cut;

/// A stretch of a text that is one unit, many times. It begins and ends where the text can be cut, and so does each
/// unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Repeated {
    pub(super) from: usize,
    pub(super) unit: usize,
    pub(super) times: usize,
}

/// Shorter stretches are counted as fast as they are found.
const WORTH_FINDING: usize = 16 << 10;

/// The longest unit, several lines as a rule.
const LONGEST_UNIT: usize = 4 << 10;

/// Length of the probe, the text that is searched for again.
const PROBE: usize = 64;

/// Length of the blocks that are compared at a time.
const BLOCK: usize = 4 << 10;

/// No character is longer.
const LONGEST_CHARACTER: usize = 4;

/// The repetition that `text` begins with, after its first line at most.
pub(super) fn repeated(text: &str) -> Option<Repeated> {
    let bytes = text.as_bytes();
    let start = 1 + memchr::memchr(b'\n', &bytes[..bytes.len().min(LONGEST_UNIT)])?;
    let probe = bytes.get(start..start + PROBE)?;
    let near = &bytes[start + 1..bytes.len().min(start + LONGEST_UNIT + PROBE)];
    let unit = 1 + memchr::memmem::find(near, probe)?;
    let same = common_prefix(&bytes[start..], &bytes[start + unit..]);
    let end = start + unit + same;
    // The text around a cut decides whether it is one, so where the text goes on as before it can be cut as before.
    let once = &text[start..text.floor_char_boundary(start + unit + LONGEST_CHARACTER)];
    let from = start + first_cut(once)?;
    let times = end.saturating_sub(from + LONGEST_CHARACTER) / unit;
    (same >= WORTH_FINDING).then_some(Repeated { from, unit, times })
}

/// How many bytes are the same from the beginning on.
fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    let pairs = || one.chunks(BLOCK).zip(other.chunks(BLOCK));
    let blocks = pairs().take_while(|(one, other)| one == other).count();
    let rest = pairs()
        .nth(blocks)
        .map_or(0, |(one, other)| one.iter().zip(other).take_while(|(one, other)| one == other).count());
    (blocks * BLOCK).min(one.len()).min(other.len()) + rest
}

#[cfg(test)]
mod tests {
    use super::super::{TokenCounter, Tokenizer};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_that_is_printed_for_ever_is_one_unit() {
        let line = "12:00:00.000 DEBUG pool: connection reused by worker seven (idle for 250 ms)\n";
        let text = line.repeat(1000);
        let Some(Repeated { from, unit, times }) = repeated(&text) else { panic!("not found") };
        assert_eq!(unit, line.len());
        assert!(from < 2 * unit && times >= 997, "{from} {times}");
        assert!(from + unit * times <= text.len());
    }

    #[test]
    fn what_ends_somewhere_is_told_no_further() {
        let line = "the same line again and again, whatever the machine does about it now\n";
        let text = [&line.repeat(300), "something else\n", &line.repeat(300)].concat();
        let Some(Repeated { from, unit, times }) = repeated(&text) else { panic!("not found") };
        assert!(from + unit * times <= 300 * line.len());
        assert!(from + unit * (times + 2) >= 300 * line.len());
    }

    #[test]
    fn different_lines_and_short_texts_are_no_repetition() {
        let lines: String = (0..2000)
            .map(|line| format!("request {line:08} was served without any trouble at all, as ever\n"))
            .collect();
        assert_eq!(repeated(&lines), None);
        assert_eq!(repeated("short\nshort\n"), None);
        assert_eq!(repeated(""), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

        #[test]
        fn repetitions_count_as_if_each_were_counted(
            first in "[ -~]{0,40}\n?",
            unit in "([ -~é日\\t\\r]{0,90}\n){1,3}[ /'.a1]{0,2}",
            last in "[ -~\n]{0,200}",
            tokenizer in prop_oneof![Just(Tokenizer::O200k), Just(Tokenizer::Cl100k)],
        ) {
            let text = [first.as_str(), &unit.repeat(40_000 / unit.len()), &last].concat();
            let mut counter = TokenCounter::new(tokenizer);
            counter.feed(&text);
            prop_assert_eq!(counter.finish(), tokenizer.count(&text));
        }
    }
}
