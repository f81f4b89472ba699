//! The pieces seen last, with their counts. Programs repeat themselves, and this is nearer to the processor than the
//! vocabulary. A piece is known by all its bytes; a new one takes the place of the one that was in its slot.

use std::ops::Range;

use super::placing::{MEDIUM, SHORT, hash_long, hash_medium, hash_short};
use super::vocabulary::{medium_key, short_key};

/// Longer pieces are not remembered.
const LONGEST: usize = 128;

/// The key of an empty slot: no text has it.
const NOTHING: u64 = u64::MAX;

/// Pieces by length, as in the vocabulary.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    /// Keys and counts apart, so that the keys fill half of the innermost cache and no more.
    short_keys: Vec<u64>,
    short_counts: Vec<u8>,
    medium: Vec<([u64; 2], u8)>,
    long: Vec<LongPiece>,
}

#[derive(Clone, Debug)]
struct LongPiece {
    bytes: [u8; LONGEST],
    length: u8,
    count: u8,
}

const SHORT_SLOTS: usize = 8192;
const MEDIUM_SLOTS: usize = 2048;
const LONG_SLOTS: usize = 512;

impl Default for Memory {
    fn default() -> Self {
        let no_piece = LongPiece { bytes: [0; LONGEST], length: 0, count: 0 };
        Self {
            short_keys: vec![NOTHING; SHORT_SLOTS],
            short_counts: vec![0; SHORT_SLOTS],
            medium: vec![([NOTHING; 2], 0); MEDIUM_SLOTS],
            long: vec![no_piece; LONG_SLOTS],
        }
    }
}

impl Memory {
    /// The count of a piece of `text`, which is worked out if it is not known.
    #[inline]
    pub(super) fn count(&mut self, text: &[u8], piece: Range<usize>, count: impl Fn() -> u64) -> u64 {
        match piece.len() {
            length @ ..=SHORT => {
                let key = short_key(text, piece.start, length);
                let slot = hash_short(key) as usize % SHORT_SLOTS;
                if self.short_keys[slot] != key {
                    self.short_keys[slot] = key;
                    self.short_counts[slot] = count() as u8;
                }
                u64::from(self.short_counts[slot])
            }
            length @ ..=MEDIUM => {
                let key = medium_key(text, piece.start, length);
                let slot = hash_medium(key) as usize % MEDIUM_SLOTS;
                let known = &mut self.medium[slot];
                if known.0 != key {
                    *known = (key, count() as u8);
                }
                u64::from(known.1)
            }
            ..=LONGEST => self.count_long(&text[piece], count),
            _ => count(),
        }
    }

    fn count_long(&mut self, piece: &[u8], count: impl Fn() -> u64) -> u64 {
        let slot = hash_long(piece) as usize % LONG_SLOTS;
        let known = &mut self.long[slot];
        if &known.bytes[..usize::from(known.length)] != piece {
            known.bytes[..piece.len()].copy_from_slice(piece);
            known.length = piece.len() as u8;
            known.count = count() as u8;
        }
        u64::from(known.count)
    }
}
