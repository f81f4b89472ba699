//! Checks of the end of some output: whether it cuts a character or an escape code in two, and whether a full-screen
//! program may still have the alternate screen.

use super::escape::{ESC, Escapes};
use super::utf8::{Flaw, longest_valid};

/// How far back an unfinished escape code is looked for. Longer ones carry pictures or clipboards, and no reader waits
/// in the middle of those.
const LONGEST_CODE: usize = 4096;

/// How many bytes at the end of `bytes` belong to a character or an escape code whose rest has not come yet.
#[must_use]
pub fn unfinished(bytes: &[u8]) -> usize {
    let near = &bytes[bytes.len().saturating_sub(LONGEST_CODE)..];
    unfinished_code(near).unwrap_or_else(|| unfinished_character(near))
}

/// Whether the alternate screen may have been entered after it was left last, by a search for the ends of the codes
/// that do it. The answer costs next to nothing and may err; a screen that is fed with the same bytes knows for sure.
#[must_use]
pub fn may_end_on_alternate_screen(bytes: &[u8]) -> bool {
    let last =
        |codes: [&[u8]; 2]| codes.into_iter().filter_map(|code| memchr::memmem::rfind(bytes, code)).max();
    let entered = last([b"47h", b"49h"]);
    entered.is_some() && entered > last([b"47l", b"49l"])
}

fn unfinished_code(bytes: &[u8]) -> Option<usize> {
    let start = memchr::memrchr(ESC, bytes)?;
    let mut escapes = Escapes::default();
    escapes.begin();
    let mut rest = &bytes[start + 1..];
    while !rest.is_empty() && !escapes.is_ground() {
        let (used, _) = escapes.step(rest);
        rest = &rest[used..];
    }
    (!escapes.is_ground()).then_some(bytes.len() - start)
}

fn unfinished_character(bytes: &[u8]) -> usize {
    const LONGEST: usize = 4;
    let lead = |byte: &u8| *byte >= 0xc0;
    let near = bytes.len().saturating_sub(LONGEST);
    let Some(start) = bytes[near..].iter().rposition(lead).map(|at| at + near) else { return 0 };
    match longest_valid(&bytes[start..]) {
        ("", Flaw::Unfinished) => bytes.len() - start,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alternate_screen_is_suspected_from_its_codes() {
        for (bytes, expected) in [
            (&b""[..], false),
            (b"\x1b[?1049h", true),
            (b"\x1b[?1049hx\x1b[?1049l", false),
            (b"\x1b[?47h\x1b[?47l\x1b[?25;1049h", true),
        ] {
            assert_eq!(may_end_on_alternate_screen(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn what_has_begun_and_not_ended_is_counted() {
        for (bytes, expected) in [
            (&b""[..], 0),
            (b"plain", 0),
            (b"caf\xc3", 1),
            (b"caf\xc3\xa9", 0),
            (b"\xf0\x9f\x98", 3),
            (b"\x98\x98", 0),
            (b"a\x1b", 1),
            (b"a\x1b[3", 3),
            (b"a\x1b[31m", 0),
            (b"a\x1b]0;title", 9),
            (b"a\x1b]0;title\x07", 0),
            (b"a\x1b[31m\xe2\x82", 2),
        ] {
            assert_eq!(unfinished(bytes), expected, "{bytes:?}");
        }
    }
}
