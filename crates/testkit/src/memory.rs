//! Looks for a text in this process's own memory, for tests of secrets that must be wiped.
//!
//! A search must not find itself. So the text exists only masked, in the program and in the search; a test reveals it
//! for the code under test and wipes its own copy.

use std::fs::{self, File};
use std::hint::black_box;
use std::os::unix::fs::FileExt;

const MASK: u8 = 0xa5;

/// How much memory is looked at in one piece.
const PIECE: usize = 1 << 20;

/// A text that memory does not hold in the clear unless a test reveals it.
pub struct MaskedText<const LENGTH: usize>([u8; LENGTH]);

impl<const LENGTH: usize> MaskedText<LENGTH> {
    /// Masks a text. Only in a `const` does the clear text stay out of the program.
    #[must_use]
    pub const fn new(text: &[u8; LENGTH]) -> Self {
        // An allocator writes over the first bytes of what it takes back, so only the second half is searched for.
        assert!(LENGTH >= 64, "the text is too short to be found in freed memory");
        let mut masked = [0; LENGTH];
        let mut at = 0;
        while at < LENGTH {
            masked[at] = text[at] ^ MASK;
            at += 1;
        }
        Self(masked)
    }

    /// The clear text, in one allocation that its owner must wipe.
    #[must_use]
    pub fn reveal(&self) -> String {
        let mut text = String::with_capacity(LENGTH);
        text.extend(self.0.iter().map(|byte| char::from(byte ^ MASK)));
        text
    }

    /// Whether writable memory of this process holds the text.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        let wanted = &self.0[LENGTH / 2..];
        let maps = fs::read_to_string("/proc/self/maps").expect("a process can look at its own maps");
        let memory = File::open("/proc/self/mem").expect("a process can look at its own memory");
        let mut buffer = vec![0; PIECE + LENGTH];
        let found = maps.lines().filter_map(writable).any(|(begin, end)| {
            // Pieces overlap, so that no text lies between two of them.
            (begin..end).step_by(PIECE).any(|at| {
                let length = buffer.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
                let read = memory.read_at(&mut buffer[..length], at).unwrap_or(0);
                holds(&buffer[..read], wanted)
            })
        });
        // The next search must not find the text in the buffer of this one.
        buffer.fill(0);
        black_box(&buffer);
        found
    }
}

/// The range of addresses of a line of the maps, if it can be read and written.
fn writable(line: &str) -> Option<(u64, u64)> {
    let (range, rest) = line.split_once(' ')?;
    let (begin, end) = range.split_once('-')?;
    let address = |digits| u64::from_str_radix(digits, 16).ok();
    rest.starts_with("rw").then_some((address(begin)?, address(end)?))
}

fn holds(memory: &[u8], masked: &[u8]) -> bool {
    let first = masked[0] ^ MASK;
    let is_at = |at: usize| {
        let candidate = memory.get(at..at + masked.len());
        candidate.is_some_and(|text| text.iter().zip(masked).all(|(byte, masked)| byte ^ MASK == *masked))
    };
    memchr::memchr_iter(first, memory).any(is_at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: MaskedText<64> =
        MaskedText::new(b"what this test looks for is sixty-four bytes long, all of them!!");

    #[test]
    fn a_text_is_found_also_after_its_memory_was_freed() {
        assert!(!TEXT.is_in_memory(), "it was not revealed yet");
        let clear = TEXT.reveal();
        assert!(TEXT.is_in_memory());
        drop(black_box(clear));
        assert!(TEXT.is_in_memory(), "it was not wiped");
    }
}
