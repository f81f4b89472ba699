//! A cache of lines that differ only in their digits, as those of a log do: they have equally many tokens, as every
//! group of up to three digits is a token. So each digit is replaced by a zero, which makes many lines equal: each is
//! counted once and remembered with all its bytes.

use super::placing::folded;

/// Copies the text with zeros for all digits. It has as many tokens.
pub(super) fn without_digits<'a>(text: &str, room: &'a mut Vec<u8>) -> &'a str {
    room.clear();
    room.extend_from_slice(text.as_bytes());
    for byte in &mut *room {
        *byte = if byte.is_ascii_digit() { b'0' } else { *byte };
    }
    // It is still valid UTF-8: each character was replaced by another of the same length.
    std::str::from_utf8(room).unwrap_or_default()
}

/// The lines that were seen, with their counts, of one tokenizer.
#[derive(Clone, Debug)]
pub(super) struct Shapes {
    slots: Vec<Slot>,
    /// The remembered lines.
    lines: Vec<u8>,
    /// The share of recent lines that were not in the memory, as a part of [`ALL_NEW`]: each line counts for a
    /// sixteenth.
    newness: u32,
    /// How many bytes are skipped before the memory is tried again.
    rest: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    hash: u64,
    from: u32,
    /// Zero for an empty slot: no empty line is remembered.
    length: u16,
    count: u16,
}

const SLOTS: usize = 8192;

/// The most bytes of all remembered lines; when there are more, everything is forgotten.
const MOST_BYTES: usize = 512 << 10;

/// Shorter lines are counted as fast as they are found.
const SHORTEST: usize = 40;
const LONGEST: usize = 512;

/// The newness from which remembering lines does not pay.
const TOO_NEW: u32 = 10 << 10;
const ALL_NEW: u32 = 16 << 10;

/// How many bytes are then counted without the cache.
const REST: usize = 256 << 10;

/// Words that are hashed beside each other, and their bytes.
const LANES: usize = 4;
const GROUP: usize = LANES * 8;

impl Default for Shapes {
    fn default() -> Self {
        Self { slots: vec![Slot::default(); SLOTS], lines: Vec::new(), newness: 0, rest: 0 }
    }
}

impl Shapes {
    /// The tokens of a text that begins and ends where it could be cut. `count` counts any such text.
    pub(super) fn count(&mut self, text: &[u8], mut count: impl FnMut(&[u8]) -> u64) -> u64 {
        let (mut counted, mut sum, mut at) = (0, 0, 0);
        while at < text.len() {
            if self.rest > 0 {
                let rest = self.rest.min(text.len() - at);
                (at, self.rest) = (at + rest, self.rest - rest);
                // It goes on with the next line.
                at += memchr::memchr(b'\n', &text[at..]).map_or(text.len() - at, |end| end + 1);
                continue;
            }
            let Some(end) = memchr::memchr(b'\n', &text[at..]).map(|end| at + end + 1) else { break };
            let line = &text[at..end];
            let is_apart = begins_apart(text, at) && begins_apart(text, end);
            if is_apart && (SHORTEST..=LONGEST).contains(&line.len()) {
                if counted < at {
                    sum += count(&text[counted..at]);
                }
                sum += self.count_line(line, &mut count);
                counted = end;
            } else {
                self.note_new();
            }
            at = end;
        }
        if counted < text.len() { sum + count(&text[counted..]) } else { sum }
    }

    #[inline]
    fn count_line(&mut self, line: &[u8], count: &mut impl FnMut(&[u8]) -> u64) -> u64 {
        let hash = hash_of(line);
        let slot = self.slots[hash as usize % SLOTS];
        let (from, length) = (slot.from as usize, usize::from(slot.length));
        if slot.hash == hash && self.lines.get(from..from + length) == Some(line) {
            self.newness -= self.newness / 16;
            return u64::from(slot.count);
        }
        self.note_new();
        let tokens = count(line);
        self.remember(line, hash, tokens);
        tokens
    }

    /// Notes a line that is not in the memory.
    fn note_new(&mut self) {
        self.newness += (ALL_NEW - self.newness) / 16;
        if self.newness > TOO_NEW {
            (self.rest, self.newness) = (REST, TOO_NEW / 2);
        }
    }

    #[cold]
    fn remember(&mut self, line: &[u8], hash: u64, tokens: u64) {
        if self.lines.len() + line.len() > MOST_BYTES {
            self.lines.clear();
            self.slots.fill(Slot::default());
        }
        let slot = (u32::try_from(self.lines.len()), u16::try_from(line.len()), u16::try_from(tokens));
        if let (Ok(from), Ok(length), Ok(count)) = slot {
            self.lines.extend_from_slice(line);
            self.slots[hash as usize % SLOTS] = Slot { hash, from, length, count };
        }
    }
}

/// Whether the text can be cut here, which must be at its beginning, after the end of a line, or at its end. White
/// space could belong to that end, and so could a slash after punctuation.
#[inline]
fn begins_apart(text: &[u8], at: usize) -> bool {
    at == 0 || text.get(at).is_none_or(|byte| byte.is_ascii_graphic() && *byte != b'/')
}

#[inline]
fn hash_of(line: &[u8]) -> u64 {
    let mut lanes = [1_u64, 2, 3, 4];
    let mut add = |group: &[u8; GROUP]| {
        for (lane, word) in lanes.iter_mut().zip(group.as_chunks::<8>().0) {
            *lane = folded(*lane ^ u64::from_le_bytes(*word), 0x9e37_79b9_7f4a_7c15);
        }
    };
    line.as_chunks::<GROUP>().0.iter().for_each(&mut add);
    // The end once more, as far as it fills a group: lines are longer than that.
    line.last_chunk().into_iter().for_each(&mut add);
    let [one, two, three, four] = lanes;
    folded(one ^ two.rotate_left(23), 0xd1b5_4a32_d192_ed03 ^ line.len() as u64)
        ^ folded(three ^ four.rotate_left(23), 0x8cb9_2ba7_2f3d_8dd7)
}

#[cfg(test)]
mod tests {
    use super::super::count::Counting;
    use super::super::split::{Cl100kRules, O200kRules};
    use super::super::{TokenCounter, Tokenizer};
    use super::*;
    use proptest::prelude::*;

    /// The count, and how many bytes were not answered from memory and had to be counted.
    fn counted(text: &str) -> (u64, usize) {
        let (mut asked, mut room) = (0, Vec::new());
        let text = without_digits(text, &mut room);
        let sum = Shapes::default().count(text.as_bytes(), |part| {
            asked += part.len();
            Tokenizer::O200k.count(std::str::from_utf8(part).expect("it is cut between lines")).get()
        });
        (sum, asked)
    }

    #[test]
    fn lines_that_differ_in_digits_are_counted_once() {
        let lines = (1000..3000).map(|n| {
            format!(
                "2026-01-01 00:00:{:02} INFO worker-{} served request {n} in {} ms\n",
                n % 60,
                n % 8,
                n % 90 + 10
            )
        });
        let text: String = lines.collect();
        let (sum, asked) = counted(&text);
        assert_eq!(sum, Tokenizer::O200k.count(&text).get());
        assert!(asked < 100, "{asked} of {}", text.len());
    }

    #[test]
    fn what_is_never_the_same_is_hardly_looked_at() {
        let word = |n: usize| {
            (0..6).map(|place| char::from(b'a' + (n / 7_usize.pow(place) % 7) as u8)).collect::<String>()
        };
        let text: String = (0..20_000)
            .map(|n| format!("the word {} is not like the others of this text\n", word(n * 31)))
            .collect();
        let (sum, asked) = counted(&text);
        assert_eq!(sum, Tokenizer::O200k.count(&text).get());
        assert_eq!(asked, text.len());
    }

    #[test]
    fn more_than_can_be_remembered_is_forgotten_and_counted_again() {
        // Each shape comes three times in a row, so that they are worth remembering.
        let text: String = (0..12_000)
            .map(|n| {
                format!(
                    "{}{} and the rest of the line is long and always the same as it was\n",
                    "x".repeat(n / 3 % 40),
                    "yz".repeat(n / 120 % 100)
                )
            })
            .collect();
        assert_eq!(counted(&text).0, Tokenizer::O200k.count(&text).get());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

        #[test]
        fn whatever_is_printed_counts_as_it_does_piece_by_piece(
            lines in proptest::collection::vec("[ -~é日\\t\\r0-9]{0,60}[0-9]{0,5}[ -~]{0,40}", 1..12),
            picks in proptest::collection::vec((any::<prop::sample::Index>(), any::<u32>()), 300..600),
        ) {
            let digits = |line: &str, number: u32| -> String {
                line.char_indices().map(|(at, c)| if c.is_ascii_digit() {
                    char::from(b'0' + ((number as usize >> (at % 20)) % 10) as u8)
                } else { c }).collect()
            };
            let line = |pick: &prop::sample::Index| lines[pick.index(lines.len())].as_str();
            let text: String = picks.iter().map(|(pick, number)| digits(line(pick), *number) + "\n").collect();
            // Counting with a limit does not use the memory of lines.
            let most = u64::MAX - 1;
            let by_pieces = [
                (Tokenizer::O200k, Counting::default().count::<O200kRules>(&text, most)),
                (Tokenizer::Cl100k, Counting::default().count::<Cl100kRules>(&text, most)),
            ];
            for (tokenizer, expected) in by_pieces {
                prop_assert_eq!(Some(tokenizer.count(&text).get()), expected);
                let mut counter = TokenCounter::new(tokenizer);
                let mut rest = text.as_str();
                while !rest.is_empty() {
                    let (part, later) = rest.split_at(rest.ceil_char_boundary(20_000.min(rest.len())));
                    counter.feed(part);
                    rest = later;
                }
                prop_assert_eq!(Some(counter.finish().get()), expected);
            }
        }
    }
}
