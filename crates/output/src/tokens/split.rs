//! Splits text as the models' tokenizers do before they look for tokens: words, numbers, punctuation, white space. Each
//! vocabulary has rules of its own, published as a regular expression; here they are written out, with a short way
//! through ASCII. A piece depends on nothing before it and on little after it.

use super::classes::{Class, byte_class, class_at};
use super::vocabulary::{CL100K, O200K, Vocabulary, eight_bytes};
use super::window;

/// How one tokenizer splits text.
pub(super) trait Rules {
    /// The vocabulary in which each piece is then looked up.
    const VOCABULARY: &'static Vocabulary;

    /// The rule for words in ASCII.
    const WORDS: window::Words;

    /// Where the piece that begins at `at` ends. There is text at `at`.
    fn piece_end(text: &[u8], at: usize) -> usize;
}

/// Words are split where their case changes, and a contraction belongs to its word:
///
/// ```text
/// [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
/// [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
/// \p{N}{1,3}
///  ?[^\s\p{L}\p{N}]+[\r\n/]*
/// \s*[\r\n]+
/// \s+(?!\S)
/// \s+
/// ```
pub(super) struct O200kRules;

/// Words are letters, and a contraction is a piece of its own:
///
/// ```text
/// (?i:'s|'t|'re|'ve|'m|'ll|'d)
/// [^\r\n\p{L}\p{N}]?\p{L}+
/// \p{N}{1,3}
///  ?[^\s\p{L}\p{N}]+[\r\n]*
/// \s*[\r\n]+
/// \s+(?!\S)
/// \s+
/// ```
pub(super) struct Cl100kRules;

impl Rules for O200kRules {
    const VOCABULARY: &'static Vocabulary = &O200K;
    const WORDS: window::Words = window::Words::SplitByCase;

    #[inline]
    fn piece_end(text: &[u8], at: usize) -> usize {
        ascii_piece_end::<Self>(text, at).unwrap_or_else(|| any_piece_end::<Self>(text, at))
    }
}

impl Rules for Cl100kRules {
    const VOCABULARY: &'static Vocabulary = &CL100K;
    const WORDS: window::Words = window::Words::Whole;

    #[inline]
    fn piece_end(text: &[u8], at: usize) -> usize {
        match text[at] {
            b'\'' if contraction(text, at) > 0 => at + contraction(text, at),
            _ => ascii_piece_end::<Self>(text, at).unwrap_or_else(|| any_piece_end::<Self>(text, at)),
        }
    }
}

/// The differences between the rules of the tokenizers.
trait Words {
    /// Whether `byte` may follow the line ends after punctuation.
    fn is_tail(byte: u8) -> bool;

    /// Where the ASCII word ends whose first letter is at `from`, if nothing beyond ASCII could belong to it.
    fn ascii_word_end(text: &[u8], from: usize) -> Option<usize>;

    /// Where the word ends that begins at `at`, with the character that may stand before its letters; none if there is
    /// no word.
    fn any_word_end(text: &[u8], at: usize) -> Option<usize>;
}

impl Words for O200kRules {
    #[inline]
    fn is_tail(byte: u8) -> bool {
        matches!(byte, b'\r' | b'\n' | b'/')
    }

    #[inline]
    fn ascii_word_end(text: &[u8], from: usize) -> Option<usize> {
        let end = cased_run(text, from);
        match text.get(end) {
            Some(0x80..) => None,
            Some(b'\'') => Some(end + contraction(text, end)),
            _ => Some(end),
        }
    }

    fn any_word_end(text: &[u8], at: usize) -> Option<usize> {
        let (class, length) = class_at(text, at);
        let after = at + length;
        let end = match class {
            Class::OTHER | Class::SPACE => {
                cased_word_end(text, after).or_else(|| upper_word_end(text, after))
            }
            Class::MARK => cased_word_end(text, after).or_else(|| cased_word_end(text, at)),
            Class::NUMBER | Class::NEWLINE => None,
            _ => cased_word_end(text, at).or_else(|| upper_word_end(text, at)),
        };
        end.map(|end| end + contraction(text, end))
    }
}

impl Words for Cl100kRules {
    #[inline]
    fn is_tail(byte: u8) -> bool {
        matches!(byte, b'\r' | b'\n')
    }

    #[inline]
    fn ascii_word_end(text: &[u8], from: usize) -> Option<usize> {
        let end = letter_run(text, from);
        text.get(end).is_none_or(u8::is_ascii).then_some(end)
    }

    fn any_word_end(text: &[u8], at: usize) -> Option<usize> {
        let (class, length) = class_at(text, at);
        let from = match class {
            Class::OTHER | Class::SPACE | Class::MARK => at + length,
            _ => at,
        };
        let end = run(text, from, Class::is_letter);
        (end > from).then_some(end)
    }
}

/// The piece at `at` as long as only ASCII is involved.
#[inline]
fn ascii_piece_end<W: Words>(text: &[u8], at: usize) -> Option<usize> {
    let first = byte_class(text, at);
    match first {
        Class::LOWER | Class::UPPER => return W::ascii_word_end(text, at),
        Class::NUMBER => return ascii_number_end(text, at),
        Class::NEWLINE => return ascii_blank_end(text, at),
        Class::BEYOND => return None,
        _ => {}
    }
    let from = at + usize::from(text[at] == b' ');
    match byte_class(text, at + 1) {
        Class::LOWER | Class::UPPER => W::ascii_word_end(text, at + 1),
        Class::BEYOND => None,
        Class::OTHER if from > at => ascii_punctuation_end::<W>(text, from),
        _ if first == Class::OTHER => ascii_punctuation_end::<W>(text, at),
        _ => ascii_blank_end(text, at),
    }
}

/// Up to three digits.
#[inline]
fn ascii_number_end(text: &[u8], at: usize) -> Option<usize> {
    let digits = leading(within(eight_bytes(text, at), b'0', b'9')).min(3);
    let is_beyond = digits < 3 && byte_class(text, at + digits) == Class::BEYOND;
    (!is_beyond).then_some(at + digits)
}

#[inline]
fn ascii_punctuation_end<W: Words>(text: &[u8], from: usize) -> Option<usize> {
    let mut end = run_of(text, from, others);
    match text.get(end) {
        Some(0x80..) => return None,
        Some(&byte) if W::is_tail(byte) => {}
        _ => return Some(end),
    }
    while text.get(end).is_some_and(|&byte| W::is_tail(byte)) {
        end += 1;
    }
    Some(end)
}

#[inline]
fn ascii_blank_end(text: &[u8], at: usize) -> Option<usize> {
    let lines_end = at + usize::from(byte_class(text, at) == Class::NEWLINE);
    let end = run_of(text, at + 1, |bytes| within(bytes, b' ', b' '));
    match byte_class(text, end) {
        Class::SPACE | Class::NEWLINE | Class::BEYOND => None,
        _ if lines_end > at => Some(lines_end),
        Class::END => Some(end),
        // The last blank is left to the word after it, unless it is the only one.
        _ => Some((end - 1).max(at + 1)),
    }
}

/// The piece at `at`, whatever it is made of.
#[cold]
fn any_piece_end<W: Words>(text: &[u8], at: usize) -> usize {
    let word = W::any_word_end(text, at);
    let or_number = word.or_else(|| number_end(text, at));
    or_number.or_else(|| punctuation_end::<W>(text, at)).unwrap_or_else(|| blank_end(text, at))
}

fn number_end(text: &[u8], at: usize) -> Option<usize> {
    let mut end = at;
    for _ in 0..3 {
        match class_at(text, end) {
            (Class::NUMBER, length) => end += length,
            _ => break,
        }
    }
    (end > at).then_some(end)
}

fn punctuation_end<W: Words>(text: &[u8], at: usize) -> Option<usize> {
    let from = at + usize::from(text[at] == b' ');
    let mut end = run(text, from, |class| matches!(class, Class::OTHER | Class::MARK));
    if end == from {
        return None;
    }
    while text.get(end).is_some_and(|&byte| W::is_tail(byte)) {
        end += 1;
    }
    Some(end)
}

fn blank_end(text: &[u8], at: usize) -> usize {
    let (mut end, mut last, mut lines_end) = (at, at, at);
    loop {
        let (class, length) = class_at(text, end);
        if !class.is_blank() {
            break;
        }
        last = end;
        end += length;
        if class == Class::NEWLINE {
            lines_end = end;
        }
    }
    if lines_end > at {
        lines_end
    } else if end == text.len() || last == at {
        end
    } else {
        last
    }
}

/// Letters in upper case, then at least one that can be in lower case: the first of o200k's rules, without what stands
/// around the letters.
fn cased_word_end(text: &[u8], from: usize) -> Option<usize> {
    let (mut end, mut last_caseless) = (from, None);
    loop {
        let (class, length) = class_at(text, end);
        end += match class {
            Class::UPPER | Class::CASELESS | Class::MARK => length,
            Class::LOWER => return Some(run(text, end, is_lower_or_caseless)),
            _ => return last_caseless,
        };
        if class != Class::UPPER {
            last_caseless = Some(end);
        }
    }
}

/// The second of o200k's rules, where the first does not hold: upper case only.
fn upper_word_end(text: &[u8], from: usize) -> Option<usize> {
    let end = run(text, from, |class| class == Class::UPPER);
    (end > from).then_some(end)
}

fn is_lower_or_caseless(class: Class) -> bool {
    matches!(class, Class::LOWER | Class::CASELESS | Class::MARK)
}

/// The length of the contraction at `at`, or 0. The case does not matter, so that the long s is an s.
fn contraction(text: &[u8], at: usize) -> usize {
    let Some([b'\'', rest @ ..]) = text.get(at..) else { return 0 };
    let lower = |at: usize| rest.get(at).map(u8::to_ascii_lowercase);
    match (lower(0), lower(1)) {
        (Some(b's' | b't' | b'm' | b'd'), _) => 2,
        (Some(b'r' | b'v'), Some(b'e')) | (Some(b'l'), Some(b'l')) => 3,
        _ if rest.starts_with("ſ".as_bytes()) => 3,
        _ => 0,
    }
}

/// Where the characters from `from` on cease to be as asked.
fn run(text: &[u8], from: usize, is_part: impl Fn(Class) -> bool) -> usize {
    let mut end = from;
    loop {
        match class_at(text, end) {
            (class, length) if is_part(class) => end += length,
            _ => return end,
        }
    }
}

/// Where the ASCII letters from `from` on end, of which those in upper case come first.
#[inline]
fn cased_run(text: &[u8], from: usize) -> usize {
    let bytes = eight_bytes(text, from);
    let uppers = leading(within(bytes, b'A', b'Z'));
    let lowers = leading(within(bytes, b'a', b'z').unbounded_shr(8 * uppers as u32));
    match uppers + lowers {
        8 => long_cased_run(text, from),
        letters => from + letters,
    }
}

fn long_cased_run(text: &[u8], from: usize) -> usize {
    let uppers = run_of(text, from, |bytes| within(bytes, b'A', b'Z'));
    run_of(text, uppers, |bytes| within(bytes, b'a', b'z'))
}

/// Where the ASCII letters from `from` on end.
#[inline]
fn letter_run(text: &[u8], from: usize) -> usize {
    run_of(text, from, letters)
}

/// Examines eight bytes at a time: a piece is seldom longer, and the branch predictor could not foresee the end of a
/// loop over its bytes. Bytes past the end of the text are of no kind.
#[inline]
fn run_of(text: &[u8], from: usize, kind: impl Fn(u64) -> u64) -> usize {
    let mut end = from;
    loop {
        match leading(kind(eight_bytes(text, end))) {
            8 => end += 8,
            bytes => return end + bytes,
        }
    }
}

/// One in every byte.
const EACH: u64 = 0x0101_0101_0101_0101;

/// The highest bit of each byte from `first` to `last`, which are ASCII.
#[inline]
const fn within(bytes: u64, first: u8, last: u8) -> u64 {
    let low = bytes & (EACH * 0x7f);
    let from_first = low + EACH * (0x80 - first as u64);
    let past_last = low + EACH * (0x7f - last as u64);
    from_first & !past_last & !bytes & (EACH * 0x80)
}

/// The highest bit of each byte that is an ASCII letter.
#[inline]
const fn letters(bytes: u64) -> u64 {
    // Only this bit distinguishes upper from lower case; it makes letters of nothing else.
    within(bytes | (EACH * 0x20), b'a', b'z')
}

/// The highest bit of each byte that is ASCII and neither letter nor digit nor blank.
#[inline]
const fn others(bytes: u64) -> u64 {
    let blanks = within(bytes, b'\t', b'\r') | within(bytes, b' ', b' ');
    !(letters(bytes) | within(bytes, b'0', b'9') | blanks | bytes) & (EACH * 0x80)
}

/// In how many of the first bytes the highest bit is set.
#[inline]
const fn leading(marks: u64) -> usize {
    ((!marks & (EACH * 0x80)).trailing_zeros() / 8) as usize
}
