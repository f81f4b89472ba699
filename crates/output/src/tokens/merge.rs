//! Counts the tokens of a piece that is not a token itself. Text is read as the vocabulary was made: of all neighbours
//! that together are a token, those with the lowest rank are merged first, the leftmost of equals.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::vocabulary::Vocabulary;

/// Up to this length, looking through all neighbours for the lowest is faster than keeping them in order.
const SHORT_PIECE: usize = 64;

/// The most that is merged at once, which bounds the memory it takes to 2 MB.
const LONGEST_STRETCH: usize = 64 << 10;

/// So near to the end of a stretch its tokens may depend on what follows; they are left to the next stretch. No token
/// is longer than an eighth of this.
const SEAM: usize = 1 << 10;

/// The rank of a pair that does not exist, or is not a token.
const NEVER: u32 = u32::MAX;

/// How many tokens the bytes of `text` from `from` to `to` are.
pub(super) fn merged(vocabulary: &Vocabulary, text: &[u8], from: usize, to: usize) -> u64 {
    if to - from <= SHORT_PIECE {
        merged_short(vocabulary, text, from, to)
    } else {
        merged_long(vocabulary, &text[from..to])
    }
}

fn merged_long(vocabulary: &Vocabulary, piece: &[u8]) -> u64 {
    let (mut rest, mut count) = (piece, 0);
    while let Some((stretch, _)) = rest.split_at_checked(LONGEST_STRETCH) {
        let (tokens, bytes) = LongPiece::new(vocabulary, stretch).merged().up_to(LONGEST_STRETCH - SEAM);
        count += tokens;
        rest = &rest[bytes..];
    }
    count + LongPiece::new(vocabulary, rest).merged().parts
}

fn merged_short(vocabulary: &Vocabulary, text: &[u8], from: usize, to: usize) -> u64 {
    let rank = |begin: u8, end: u8| {
        vocabulary.rank(text, from + usize::from(begin), from + usize::from(end)).unwrap_or(NEVER)
    };
    let mut parts = to - from;
    // Where each part begins, and the end of the last; how early each part merges with the next.
    let mut begins = [0_u8; SHORT_PIECE + 1];
    let mut ranks = [NEVER; SHORT_PIECE + 1];
    for (part, begin) in begins[..=parts].iter_mut().enumerate() {
        *begin = part as u8;
    }
    for (part, known) in ranks[..parts - 1].iter_mut().enumerate() {
        *known = rank(part as u8, part as u8 + 2);
    }
    while let Some(part) = lowest(&ranks[..parts - 1]) {
        begins.copy_within(part + 2..=parts, part + 1);
        ranks.copy_within(part + 1..parts, part);
        parts -= 1;
        ranks[parts - 1] = NEVER;
        if part + 1 < parts {
            ranks[part] = rank(begins[part], begins[part + 2]);
        }
        if part > 0 {
            ranks[part - 1] = rank(begins[part - 1], begins[part + 1]);
        }
    }
    parts as u64
}

fn lowest(ranks: &[u32]) -> Option<usize> {
    let mut lowest = NEVER;
    let mut found = None;
    for (part, &rank) in ranks.iter().enumerate() {
        if rank < lowest {
            lowest = rank;
            found = Some(part);
        }
    }
    found
}

/// A piece whose parts are a linked list, and whose mergers wait in a heap.
struct LongPiece<'t> {
    vocabulary: &'t Vocabulary,
    text: &'t [u8],
    /// The parts before and after the part that begins at each place.
    before: Vec<u32>,
    after: Vec<u32>,
    /// How early the part that begins there merges with the next; entries of the heap that differ are out of date.
    ranks: Vec<u32>,
    waiting: BinaryHeap<Reverse<(u32, u32)>>,
    parts: u64,
}

impl<'t> LongPiece<'t> {
    fn new(vocabulary: &'t Vocabulary, text: &'t [u8]) -> Self {
        let length = text.len() as u32;
        let mut piece = Self {
            vocabulary,
            text,
            before: (0..length).map(|at| at.saturating_sub(1)).collect(),
            after: (1..=length).collect(),
            ranks: vec![NEVER; text.len()],
            waiting: BinaryHeap::with_capacity(text.len()),
            parts: u64::from(length),
        };
        (0..length).for_each(|at| piece.wait(at));
        piece
    }

    fn merged(mut self) -> Self {
        while let Some(Reverse((rank, at))) = self.waiting.pop() {
            if self.ranks[at as usize] == rank {
                self.merge(at);
            }
        }
        self
    }

    /// How many parts end at `limit` or before, and where the last of them ends.
    fn up_to(&self, limit: usize) -> (u64, usize) {
        let ends = std::iter::successors(self.after.first(), |end| self.after.get(**end as usize));
        let ends = ends.map(|end| *end as usize).take_while(|end| *end <= limit);
        ends.fold((0, 0), |(parts, _), end| (parts + 1, end))
    }

    /// Takes the part after the one at `at` into it.
    fn merge(&mut self, at: u32) {
        let taken = self.after[at as usize];
        let next = self.after[taken as usize];
        self.after[at as usize] = next;
        if let Some(before) = self.before.get_mut(next as usize) {
            *before = at;
        }
        self.ranks[taken as usize] = NEVER;
        self.parts -= 1;
        self.wait(at);
        if at > 0 {
            self.wait(self.before[at as usize]);
        }
    }

    /// Works out anew when the part at `at` merges with the next.
    fn wait(&mut self, at: u32) {
        let next = self.after[at as usize] as usize;
        let end = self.after.get(next).map(|&end| end as usize);
        let rank = end.and_then(|end| self.vocabulary.rank(self.text, at as usize, end));
        self.ranks[at as usize] = rank.unwrap_or(NEVER);
        if let Some(rank) = rank {
            self.waiting.push(Reverse((rank, at)));
        }
    }
}
