//! The class of a character, as far as splitting text asks: from a table of 64 KB that the build script makes of the
//! Unicode database.

/// The class of a character. The numbers are those the build script writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class(u8);

impl Class {
    /// Punctuation, symbols, control characters, and unassigned characters.
    pub(super) const OTHER: Self = Self(0);
    /// A letter in upper or title case.
    pub(super) const UPPER: Self = Self(1);
    /// A letter in lower case.
    pub(super) const LOWER: Self = Self(2);
    /// A letter of a script without cases, or a modifier.
    pub(super) const CASELESS: Self = Self(3);
    /// A mark that combines with the letter before it.
    pub(super) const MARK: Self = Self(4);
    /// A digit or another number.
    pub(super) const NUMBER: Self = Self(5);
    /// White space that does not end a line.
    pub(super) const SPACE: Self = Self(6);
    /// A line feed or carriage return.
    pub(super) const NEWLINE: Self = Self(7);
    /// Not a class: the first byte of a character beyond ASCII.
    pub(super) const BEYOND: Self = Self(8);
    /// Not a class: there is no character.
    pub(super) const END: Self = Self(9);

    pub(super) fn is_letter(self) -> bool {
        matches!(self, Self::UPPER | Self::LOWER | Self::CASELESS)
    }

    pub(super) fn is_blank(self) -> bool {
        matches!(self, Self::SPACE | Self::NEWLINE)
    }
}

/// Which block describes each 64 characters.
static PLACES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/classes.places"));
static BLOCKS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/classes.blocks"));
static ASCII: [Class; 256] = ascii();

/// The class of the byte at `at`, if it is a character of its own.
#[inline]
pub(super) fn byte_class(text: &[u8], at: usize) -> Class {
    text.get(at).map_or(Class::END, |&byte| ASCII[usize::from(byte)])
}

/// The class of the character at `at` and its length in bytes; `END` and nothing at the end.
#[inline]
pub(super) fn class_at(text: &[u8], at: usize) -> (Class, usize) {
    let bits = |ahead: usize| text.get(at + ahead).map_or(0, |&byte| usize::from(byte) & 0x3f);
    match text.get(at) {
        None => (Class::END, 0),
        Some(&byte @ ..0x80) => (ASCII[usize::from(byte)], 1),
        Some(&lead @ ..0xe0) => (in_block(usize::from(lead) & 0x1f, bits(1)), 2),
        Some(&lead @ ..0xf0) => (in_block((usize::from(lead) & 0xf) << 6 | bits(1), bits(2)), 3),
        Some(&lead) => (in_block((usize::from(lead) & 7) << 12 | bits(1) << 6 | bits(2), bits(3)), 4),
    }
}

#[inline]
fn in_block(block: usize, character: usize) -> Class {
    let place = PLACES.as_chunks().0.get(block).map_or(0, |place| usize::from(u16::from_le_bytes(*place)));
    BLOCKS.get(place << 6 | character).map_or(Class::OTHER, |&class| Class(class))
}

const fn ascii() -> [Class; 256] {
    let mut classes = [Class::BEYOND; 256];
    let mut byte = 0_u8;
    while byte < 0x80 {
        classes[byte as usize] = match byte {
            b'A'..=b'Z' => Class::UPPER,
            b'a'..=b'z' => Class::LOWER,
            b'0'..=b'9' => Class::NUMBER,
            b'\n' | b'\r' => Class::NEWLINE,
            b' ' | b'\t' | 0x0b | 0x0c => Class::SPACE,
            _ => Class::OTHER,
        };
        byte += 1;
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_and_the_shortcut_for_ascii_agree() {
        for (byte, class) in ASCII.iter().enumerate().take(0x80) {
            assert_eq!(in_block(byte >> 6, byte & 0x3f), *class, "{byte:#x}");
        }
    }

    /// One-sided: the standard library may know a newer Unicode than the crate that the table is made with.
    #[test]
    fn every_character_has_a_class_the_standard_library_agrees_with() {
        for character in ('\0'..=char::MAX).filter(|character| *character != '\n' && *character != '\r') {
            let mut bytes = [0; 4];
            let (class, length) = class_at(character.encode_utf8(&mut bytes).as_bytes(), 0);
            assert_eq!(length, character.len_utf8(), "{character:?}");
            assert_eq!(class == Class::SPACE, character.is_whitespace(), "{character:?}");
            assert!(class != Class::NUMBER || character.is_numeric(), "{character:?}");
            assert!(!class.is_letter() || character.is_alphabetic(), "{character:?}");
        }
    }
}
