//! Splits plain ASCII many pieces at a time: 64 bytes become masks of one bit a byte, from which the beginnings of all
//! pieces are computed at once. A loop from piece to piece would mispredict a branch at every one, as their lengths
//! cannot be foreseen. Rare cases and those that look far ahead are left to the rules in `split`.

use wide::u8x16;

/// How many bytes are looked at together: one for each bit of a mask.
pub(super) const WIDTH: usize = 64;

/// The difference between the rules of the vocabularies in ASCII.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    /// A capital after a small letter begins a word.
    SplitByCase,
    /// Letters are a word.
    Whole,
}

/// The pieces and digits in 64 bytes, given that a piece begins at the first.
#[derive(Clone, Copy)]
pub(super) struct Glance {
    /// The bits of the places where pieces begin, the first among them. More pieces may begin, but only after the last
    /// of these bits.
    pub(super) starts: u64,
    /// The bits of the digits.
    pub(super) digits: u64,
}

impl Glance {
    /// Only the beginning that the caller gave.
    pub(super) const NOTHING: Self = Self { starts: 1, digits: 0 };

    #[inline]
    pub(super) fn at(bytes: &[u8; WIDTH], words: Words) -> Self {
        let classes = Classes::of(bytes);
        Self { starts: (classes.starts(words) & classes.certain()) | 1, digits: classes.digit }
    }
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
        let block = Block::of(bytes);
        let (lower, upper, digit) =
            (block.within(b'a', b'z'), block.within(b'A', b'Z'), block.within(b'0', b'9'));
        let (space, newline) = (block.equal(b' '), block.equal(b'\n') | block.equal(b'\r'));
        let tab = block.within(b'\t', b'\r') & !newline;
        let other = !(lower | upper | digit | space | tab | newline | block.beyond_ascii());
        let (apostrophe, slash) = (block.equal(b'\''), block.equal(b'/'));
        Self { lower, upper, digit, space, tab, newline, apostrophe, slash, other }
    }

    /// The beginnings of pieces, if no rare case interferes.
    #[inline]
    fn starts(&self, words: Words) -> u64 {
        let letter = self.lower | self.upper;
        let blank = self.space | self.tab;
        let newline = self.newline & !self.tail();
        let after_blanks = !(blank | self.newline) >> 1;
        let single = self.other & !(self.other << 1) & !(self.space << 1);
        let mut starts = single | self.digit_starts();
        // A single character before a word belongs to the word, unless it is a line end.
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

    /// Every third digit of a run: three bytes further, then six, then twelve, as far as digits lie between.
    #[inline]
    fn digit_starts(&self) -> u64 {
        let mut starts = self.digit & !(self.digit << 1);
        let mut between = self.digit & (self.digit << 1) & (self.digit << 2);
        for distance in [3, 6, 12, 24, 48] {
            starts |= (starts << distance) & between;
            between &= between << distance;
        }
        starts
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

/// The bytes, as they are compared: sixteen at a time.
struct Block([u8x16; 4]);

impl Block {
    #[inline]
    fn of(bytes: &[u8; WIDTH]) -> Self {
        let lanes = bytes.as_chunks::<16>().0;
        Self([0, 1, 2, 3].map(|lane: usize| u8x16::new(lanes[lane])))
    }

    #[inline]
    fn equal(&self, byte: u8) -> u64 {
        self.mask(|bytes| bytes.simd_eq(u8x16::splat(byte)))
    }

    #[inline]
    fn within(&self, first: u8, last: u8) -> u64 {
        let width = u8x16::splat(last - first);
        self.mask(|bytes| {
            let above = bytes - u8x16::splat(first);
            above.min(width).simd_eq(above)
        })
    }

    #[inline]
    fn beyond_ascii(&self) -> u64 {
        self.mask(|bytes| bytes)
    }

    /// The highest bit of each byte of these.
    #[inline]
    fn mask(&self, marks: impl Fn(u8x16) -> u8x16) -> u64 {
        let [first, second, third, fourth] = self.0.map(|bytes| u64::from(marks(bytes).to_bitmask()));
        first | second << 16 | third << 32 | fourth << 48
    }
}

#[cfg(test)]
mod tests {
    use super::super::split::{Cl100kRules, O200kRules, Rules};
    use super::*;
    use proptest::prelude::*;

    /// Checks that every piece that the masks find is also one by the rules.
    fn check<R: Rules>(text: &str) -> usize {
        let Some(window) = text.as_bytes().first_chunk() else { return 0 };
        let mut starts = Glance::at(window, R::WORDS).starts & !1;
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
