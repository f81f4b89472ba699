//! Counting the tokens of a text: piece by piece, most of them one token.

use super::memory::Memory;
use super::merge::merged;
use super::split::Rules;
use super::window::piece_starts;

/// What counting remembers from one text to the next, of one tokenizer.
#[derive(Clone, Debug, Default)]
pub(super) struct Counting {
    memory: Option<Memory>,
}

/// Shorter texts are counted before remembering pays.
const WORTH_REMEMBERING: usize = 16 << 10;

impl Counting {
    /// How many tokens `text` has, if at most `limit`; gives up as soon as there are more.
    pub(super) fn count<R: Rules>(&mut self, text: &str, limit: u64) -> Option<u64> {
        let text = text.as_bytes();
        let count_piece = |from, to| count_piece::<R>(text, from, to);
        if text.len() < WORTH_REMEMBERING {
            return count::<R>(text, limit, count_piece);
        }
        let memory = self.memory.get_or_insert_default();
        count::<R>(text, limit, |from, to| memory.count(text, from..to, || count_piece(from, to)))
    }
}

#[inline]
fn count<R: Rules>(text: &[u8], limit: u64, mut count_piece: impl FnMut(usize, usize) -> u64) -> Option<u64> {
    let (mut at, mut count) = (0, 0);
    while at < text.len() && count <= limit {
        let window = at;
        let mut starts = next_starts::<R>(text, at);
        while starts != 0 {
            let end = window + starts.trailing_zeros() as usize;
            count += count_piece(at, end);
            at = end;
            starts &= starts - 1;
        }
        if at == window {
            let end = R::piece_end(text, at);
            count += count_piece(at, end);
            at = end;
        }
    }
    Some(count).filter(|count| *count <= limit)
}

/// Where pieces begin after `at`, as bits, as far as that can be told at a glance.
#[inline]
fn next_starts<R: Rules>(text: &[u8], at: usize) -> u64 {
    match text.get(at..).and_then(<[u8]>::first_chunk) {
        Some(bytes) if bytes[..16].is_ascii() => piece_starts(bytes, R::WORDS) & !1,
        _ => 0,
    }
}

#[inline(never)]
fn count_piece<R: Rules>(text: &[u8], from: usize, to: usize) -> u64 {
    if R::VOCABULARY.contains(text, from, to) { 1 } else { merged(R::VOCABULARY, text, from, to) }
}
