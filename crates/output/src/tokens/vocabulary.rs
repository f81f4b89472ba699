//! The vocabularies: which bytes are a token, and its rank. They are tables in the program's read-only data, made by
//! the build script; pages of them come into memory when they are looked at, and nothing else does. The vocabularies
//! themselves are OpenAI's, published under the MIT licence; the build takes them from the `tiktoken` crate.

use super::placing::{self, MEDIUM, NO_TOKEN, PADDING, SHORT};

/// The tokens of one tokenizer, by length.
pub(super) struct Vocabulary {
    /// The rank of each pair of bytes.
    pairs: &'static [[u8; 3]],
    short: Table<SHORT>,
    medium: Table<MEDIUM>,
    long: LongTable,
}

/// Tokens padded to a common width.
struct Table<const WIDTH: usize> {
    pilots: &'static [[u8; 2]],
    keys: &'static [[u8; WIDTH]],
    ranks: &'static [[u8; 3]],
}

/// Tokens of any length, by where they begin in `texts`.
struct LongTable {
    pilots: &'static [[u8; 2]],
    slots: &'static [[u8; 4]],
    /// Each behind its length and its rank.
    texts: &'static [u8],
}

/// So that no key lies across two lines of the processor's cache.
#[repr(align(64))]
struct Aligned<T: ?Sized>(T);

macro_rules! table {
    ($vocabulary:literal, $part:literal) => {{
        static BYTES: &Aligned<[u8]> =
            &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/", $vocabulary, ".", $part)));
        BYTES.0.as_chunks().0
    }};
}

macro_rules! vocabulary {
    ($name:literal) => {
        Vocabulary {
            pairs: table!($name, "pairs"),
            short: Table {
                pilots: table!($name, "short.pilots"),
                keys: table!($name, "short.keys"),
                ranks: table!($name, "short.ranks"),
            },
            medium: Table {
                pilots: table!($name, "medium.pilots"),
                keys: table!($name, "medium.keys"),
                ranks: table!($name, "medium.ranks"),
            },
            long: LongTable {
                pilots: table!($name, "long.pilots"),
                slots: table!($name, "long.slots"),
                texts: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".long.texts")),
            },
        }
    };
}

pub(super) static O200K: Vocabulary = vocabulary!("o200k_base");
pub(super) static CL100K: Vocabulary = vocabulary!("cl100k_base");

impl Vocabulary {
    /// Whether the bytes of `text` from `from` to `to` are one token.
    #[inline]
    pub(super) fn contains(&self, text: &[u8], from: usize, to: usize) -> bool {
        match to - from {
            ..=1 => true,
            2 => self.pair(text, from) != NO_TOKEN,
            length @ ..=SHORT => self.short.find(short_key(text, from, length)).is_some(),
            length @ ..=MEDIUM => self.medium.find(medium_key(text, from, length)).is_some(),
            _ => self.long.find(&text[from..to]).is_some(),
        }
    }

    /// The rank of the token that the bytes from `from` to `to` are: the lower, the earlier it is merged. There are at
    /// least two bytes.
    #[inline]
    pub(super) fn rank(&self, text: &[u8], from: usize, to: usize) -> Option<u32> {
        let rank = match to - from {
            2 => Some(self.pair(text, from)).filter(|rank| *rank != NO_TOKEN)?,
            length @ ..=SHORT => self.short.ranks[self.short.find(short_key(text, from, length))?],
            length @ ..=MEDIUM => self.medium.ranks[self.medium.find(medium_key(text, from, length))?],
            _ => self.long.find(&text[from..to])?,
        };
        let [low, middle, high] = rank;
        Some(u32::from_le_bytes([low, middle, high, 0]))
    }

    #[inline]
    fn pair(&self, text: &[u8], from: usize) -> [u8; 3] {
        let bytes = text.get(from..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
        self.pairs[usize::from(u16::from_be_bytes(bytes))]
    }
}

impl Table<SHORT> {
    #[inline]
    fn find(&self, key: u64) -> Option<usize> {
        let slot = slot(placing::hash_short(key), self.pilots, self.keys.len());
        (u64::from_le_bytes(self.keys[slot]) == key).then_some(slot)
    }
}

impl Table<MEDIUM> {
    #[inline]
    fn find(&self, key: [u64; 2]) -> Option<usize> {
        let slot = slot(placing::hash_medium(key), self.pilots, self.keys.len());
        let both = u128::from(key[0]) | u128::from(key[1]) << 64;
        (u128::from_le_bytes(self.keys[slot]) == both).then_some(slot)
    }
}

impl LongTable {
    const LONGEST: usize = 128;

    fn find(&self, token: &[u8]) -> Option<[u8; 3]> {
        if token.len() > Self::LONGEST {
            return None;
        }
        let slot = slot(placing::hash_long(token), self.pilots, self.slots.len());
        let place = u32::from_le_bytes(self.slots[slot]) as usize;
        let ([length, rank @ ..], rest) = self.texts.get(place..)?.split_first_chunk::<4>()?;
        (rest.get(..usize::from(*length))? == token).then_some(*rank)
    }
}

#[inline]
fn slot(hash: u64, pilots: &[[u8; 2]], slots: usize) -> usize {
    let pilot = u16::from_le_bytes(pilots[placing::bucket(hash, pilots.len())]);
    placing::slot(hash, pilot, slots)
}

#[inline]
pub(super) fn short_key(text: &[u8], from: usize, length: usize) -> u64 {
    eight_bytes(text, from) | padding(length)
}

#[inline]
pub(super) fn medium_key(text: &[u8], from: usize, length: usize) -> [u64; 2] {
    [eight_bytes(text, from), eight_bytes(text, from + 8) | padding(length - 8)]
}

/// [`PADDING`] in all but so many bytes.
#[inline]
fn padding(length: usize) -> u64 {
    u64::MAX.unbounded_shl(8 * length as u32)
}

/// Eight bytes of text, and [`PADDING`] where there are no more.
#[inline]
pub(super) fn eight_bytes(text: &[u8], from: usize) -> u64 {
    match text.get(from..).and_then(<[u8]>::first_chunk) {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => last_bytes(text, from),
    }
}

#[cold]
fn last_bytes(text: &[u8], from: usize) -> u64 {
    let rest = text.get(from..).unwrap_or_default();
    let mut bytes = [PADDING; 8];
    bytes[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(bytes)
}
