//! Counting the tokens of a text: piece by piece, most of them one token.

use super::memory::Memory;
use super::merge::merged;
use super::shapes::Shapes;
use super::split::Rules;
use super::window::Glance;

/// The caches of one tokenizer, which counting keeps from one text to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Counting {
    memory: Option<Memory>,
    shapes: Option<Shapes>,
}

/// For shorter texts the caches cost more than they save.
const WORTH_REMEMBERING: usize = 16 << 10;

impl Counting {
    /// How many tokens `text` has, if at most `limit`; gives up as soon as there are more.
    pub(super) fn count<R: Rules>(&mut self, text: &str, limit: u64) -> Option<u64> {
        let text = text.as_bytes();
        if text.len() < WORTH_REMEMBERING {
            return count::<R>(text, limit, |from, to| count_piece::<R>(text, from, to));
        }
        let memory = self.memory.get_or_insert_default();
        let mut by_pieces = |text: &[u8]| {
            let piece = |from, to| memory.count(text, from..to, || count_piece::<R>(text, from, to));
            count::<R>(text, limit, piece)
        };
        if limit < u64::MAX {
            return by_pieces(text);
        }
        let shapes = self.shapes.get_or_insert_default();
        Some(shapes.count(text, |part| by_pieces(part).unwrap_or(limit)))
    }
}

#[inline]
fn count<R: Rules>(text: &[u8], limit: u64, mut count_piece: impl FnMut(usize, usize) -> u64) -> Option<u64> {
    let (mut at, mut count) = (0, 0);
    while at < text.len() && count <= limit {
        let Glance { starts, digits } = glance::<R>(text, at);
        let known = last_bit(starts);
        if known == 0 {
            let end = R::piece_end(text, at);
            count += count_piece(at, end);
            at = end;
            continue;
        }
        let pieces = starts ^ (1 << known);
        // Every single byte is a token, and so are up to three digits, which is the most that a piece has of them.
        let mut unsure = pieces & !(starts >> 1) & !digits;
        count += u64::from((pieces ^ unsure).count_ones());
        while unsure != 0 {
            let from = unsure.trailing_zeros() as usize;
            let length = 1 + (starts >> from >> 1).trailing_zeros() as usize;
            count += count_piece(at + from, at + from + length);
            unsure &= unsure - 1;
        }
        at += known;
    }
    Some(count).filter(|count| *count <= limit)
}

/// The places where pieces begin from `at` on, as far as the fast path for ASCII finds them.
#[inline]
fn glance<R: Rules>(text: &[u8], at: usize) -> Glance {
    match text.get(at..).and_then(<[u8]>::first_chunk) {
        Some(bytes) if bytes[..16].is_ascii() => Glance::at(bytes, R::WORDS),
        _ => Glance::NOTHING,
    }
}

/// The place of the highest bit; some bit is set.
#[inline]
fn last_bit(bits: u64) -> usize {
    (u64::BITS - 1 - bits.leading_zeros()) as usize
}

#[inline(never)]
fn count_piece<R: Rules>(text: &[u8], from: usize, to: usize) -> u64 {
    if R::VOCABULARY.contains(text, from, to) { 1 } else { merged(R::VOCABULARY, text, from, to) }
}

#[cfg(test)]
mod tests {
    use super::super::split::{Cl100kRules, O200kRules};
    use super::*;

    #[test]
    fn what_is_counted_unseen_is_one_token() {
        let digits = (0..1000)
            .flat_map(|number| [format!("{number}"), format!("{number:02}"), format!("{number:03}")]);
        let bytes = (0..0x80_u8).map(|byte| char::from(byte).to_string());
        for piece in digits.chain(bytes) {
            assert_eq!(count_piece::<O200kRules>(piece.as_bytes(), 0, piece.len()), 1, "{piece:?}");
            assert_eq!(count_piece::<Cl100kRules>(piece.as_bytes(), 0, piece.len()), 1, "{piece:?}");
        }
    }
}
