//! Splits plain ASCII many pieces at a time: 64 bytes become masks of one bit a byte, and where pieces begin is worked
//! out for all of them at once. A loop from piece to piece would stumble over every one, as their lengths cannot be
//! foreseen. What is rare or looks far ahead is left to the rules that are written out in `split`.

/// How many bytes are looked at together: one for each bit of a mask.
pub(super) const WIDTH: usize = 64;

/// What the rules of the vocabularies differ in, as far as ASCII goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    /// A capital after a small letter begins a word.
    SplitByCase,
    /// Letters are a word.
    Whole,
}

/// The bits of the places where pieces begin, given that one begins at the first byte. There may be more than are told,
/// but only after the last one told.
#[inline]
pub(super) fn piece_starts(bytes: &[u8; WIDTH], words: Words) -> u64 {
    let classes = Classes::of(bytes);
    (classes.starts(words) & classes.certain()) | 1
}

/// One mask for each class: whether each byte is of it.
struct Classes {
    lower: u64,
    upper: u64,
    digit: u64,
    space: u64,
    /// White space that is neither a space nor ends a line.
    tab: u64,
    newline: u64,
    apostrophe: u64,
    slash: u64,
    /// All other ASCII, and the two before.
    other: u64,
}

impl Classes {
    #[inline]
    fn of(bytes: &[u8; WIDTH]) -> Self {
        let codes = bytes.map(code);
        let mut rows = [[0; 8]; 8];
        for (column, word) in codes.as_chunks::<8>().0.iter().enumerate() {
            let turned = transposed(u64::from_le_bytes(*word)).to_le_bytes();
            for (row, byte) in rows.iter_mut().zip(turned) {
                row[column] = byte;
            }
        }
        let [lower, upper, digit, space, tab, newline, other, slash] = rows.map(u64::from_le_bytes);
        Self { lower, upper, digit, space, tab: tab & !other, newline, apostrophe: tab & other, slash, other }
    }

    /// Where pieces begin, if nothing is in the way.
    #[inline]
    fn starts(&self, words: Words) -> u64 {
        let letter = self.lower | self.upper;
        let blank = self.space | self.tab;
        let newline = self.newline & !self.tail();
        let after_blanks = !(blank | self.newline) >> 1;
        let single = self.other & !(self.other << 1) & !(self.space << 1);
        let mut starts = single | self.digit_starts();
        // What stands before a word belongs to it, if it is one character and no line end.
        starts |= letter & !((letter | blank | single) << 1);
        starts |= newline & !(newline << 1);
        // White space before something else is split before its last character.
        starts |= blank & (!(blank << 1) | after_blanks);
        if words == Words::SplitByCase {
            starts |= self.upper & (self.lower << 1);
        }
        starts
    }

    /// Line ends that belong to the punctuation before them.
    #[inline]
    fn tail(&self) -> u64 {
        let first = self.newline & (self.other << 1);
        self.newline & !self.newline.wrapping_add(first)
    }

    /// Every third digit of a run.
    #[inline]
    fn digit_starts(&self) -> u64 {
        let three = self.digit & (self.digit << 1) & (self.digit << 2);
        let mut starts = self.digit & !(self.digit << 1);
        loop {
            let more = starts | ((starts << 3) & three);
            if more == starts {
                return starts;
            }
            starts = more;
        }
    }

    /// Where nothing that follows can change what begins: up to the last byte before something in the way that is not
    /// white space, as that waits for what comes after it.
    #[inline]
    fn certain(&self) -> u64 {
        let letter = self.lower | self.upper;
        let blank = self.space | self.tab;
        let ascii = letter | self.digit | blank | self.newline | self.other;
        // Slashes may belong to punctuation at the end of the line before.
        let contraction = self.apostrophe & (letter >> 1);
        let blank_end = blank & (self.newline >> 1);
        let late_slash = self.slash & (self.newline << 1);
        let in_the_way = !ascii | contraction | blank_end | late_slash;
        let before = !in_the_way & in_the_way.wrapping_sub(1);
        let solid = before & !(blank | self.newline) & (u64::MAX >> 1);
        u64::MAX.unbounded_shr(solid.leading_zeros())
    }
}

/// The class of a byte as a bit. An apostrophe and a slash have two, so that eight are enough.
#[inline]
fn code(byte: u8) -> u8 {
    let within = |first: u8, last: u8| u8::from(byte.wrapping_sub(first) <= last - first);
    let lower = within(b'a', b'z');
    let upper = within(b'A', b'Z') << 1;
    let digit = within(b'0', b'9') << 2;
    let space = within(b' ', b' ') << 3;
    let newline = (within(b'\n', b'\n') | within(b'\r', b'\r')) << 5;
    let tab = (within(b'\t', b'\r') << 4) & !(newline >> 1);
    let apostrophe = within(b'\'', b'\'') << 4;
    let slash = within(b'/', b'/') << 7;
    let known =
        lower | (upper >> 1) | (digit >> 2) | (space >> 3) | (tab >> 4) | (newline >> 5) | (byte >> 7);
    lower | upper | digit | space | tab | newline | apostrophe | slash | ((known ^ 1) << 6)
}

/// Eight bytes of eight bits, mirrored: bit 3 of byte 5 becomes bit 5 of byte 3.
#[inline]
const fn transposed(bits: u64) -> u64 {
    let bits = swapped(bits, 7, 0x00aa_00aa_00aa_00aa);
    let bits = swapped(bits, 14, 0x0000_cccc_0000_cccc);
    swapped(bits, 28, 0x0000_0000_f0f0_f0f0)
}

#[inline]
const fn swapped(bits: u64, distance: u32, lower: u64) -> u64 {
    let difference = (bits ^ (bits >> distance)) & lower;
    bits ^ difference ^ (difference << distance)
}

#[cfg(test)]
mod tests {
    use super::super::split::{Cl100kRules, O200kRules, Rules};
    use super::*;
    use proptest::prelude::*;

    /// Every piece that the masks tell is one by the rules, too.
    fn check<R: Rules>(text: &str) -> usize {
        let Some(window) = text.as_bytes().first_chunk() else { return 0 };
        let mut starts = piece_starts(window, R::WORDS) & !1;
        let (mut at, mut told) = (0, 0);
        while starts != 0 {
            let end = starts.trailing_zeros() as usize;
            assert_eq!(R::piece_end(text.as_bytes(), at), end, "{at} {text:?}");
            (at, told, starts) = (end, told + 1, starts & (starts - 1));
        }
        told
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

        #[test]
        fn pieces_begin_where_the_rules_say(text in "[ -~\\t\\r\\n\u{b}\0]{64,80}") {
            check::<O200kRules>(&text);
            check::<Cl100kRules>(&text);
        }

        #[test]
        fn they_do_among_few_characters(text in "[ \\t\\n\\r/'.(aAsS12é\u{3000}]{80}") {
            check::<O200kRules>(&text);
            check::<Cl100kRules>(&text);
        }

        #[test]
        fn they_do_among_white_space(text in "[ \\t\\n]{0,20}[x.]?[ \\n]{0,20}[ /.x7]{64}") {
            check::<O200kRules>(&text);
            check::<Cl100kRules>(&text);
        }
    }

    #[test]
    fn most_of_plain_text_is_told() {
        let log = "2026-01-01T00:00:07 INFO worker request 1234567 served in 93 us\n(ok)";
        assert_eq!(check::<O200kRules>(log), 23);
        assert_eq!(check::<Cl100kRules>(log), 23);
    }
}
