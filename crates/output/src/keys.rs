//! Names of keys, and the bytes a terminal sends for them: tmux names (`C-c`, `M-x`, `PPage`), spelled-out ones
//! (`ctrl+c`, `alt+x`, `page-up`) and single characters. Codes with modifiers are those of xterm.

use thiserror::Error;

/// Whether the program asked for application cursor keys (DECCKM), which changes what the arrows send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CursorKeys {
    /// `ESC [ A`.
    #[default]
    Normal,
    /// `ESC O A`.
    Application,
}

/// The reason why a name is not that of a key.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum KeyError {
    /// No key has this name.
    #[error("unknown key {name:?}; the nearest known name is {nearest:?}")]
    Unknown {
        /// The name as given.
        name: String,
        /// A known name that looks most like it.
        nearest: String,
    },
    /// The key exists, the combination sends nothing on any terminal.
    #[error("key {name:?} cannot be sent: no terminal has a code for it")]
    Unsendable {
        /// The name as given.
        name: String,
    },
}

/// The bytes of one named key.
///
/// # Errors
/// When no key has this name, or no terminal has a code for it.
pub fn key(name: &str, cursor_keys: CursorKeys) -> Result<Vec<u8>, KeyError> {
    let (modifiers, base) = split_modifiers(name);
    let found = find(base).ok_or_else(|| unknown(name, base))?;
    encode(found, modifiers, cursor_keys).ok_or_else(|| KeyError::Unsendable { name: name.to_owned() })
}

/// The bytes of several keys, one after the other.
///
/// # Errors
/// The first name that is not that of a key.
pub fn keys<'a>(
    names: impl IntoIterator<Item = &'a str>,
    cursor_keys: CursorKeys,
) -> Result<Vec<u8>, KeyError> {
    let mut bytes = Vec::new();
    for name in names {
        bytes.extend(key(name, cursor_keys)?);
    }
    Ok(bytes)
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Modifiers {
    shift: bool,
    alt: bool,
    control: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Key {
    /// A character typed as itself.
    Char(char),
    /// `ESC [ letter`, with `ESC O letter` in application mode.
    Cursor(u8),
    /// `ESC O letter`: F1 to F4.
    Function(u8),
    /// `ESC [ number ~`.
    Tilde(u8),
    /// Shift and tab.
    BackTab,
}

/// Every name in lower case without separators, and what it is. The first name of each key is the one suggested.
const NAMES: &[(&str, Key)] = &[
    ("Enter", Key::Char('\r')),
    ("Return", Key::Char('\r')),
    ("CR", Key::Char('\r')),
    ("KPEnter", Key::Char('\r')),
    ("Tab", Key::Char('\t')),
    ("BTab", Key::BackTab),
    ("BackTab", Key::BackTab),
    ("BSpace", Key::Char('\x7f')),
    ("Backspace", Key::Char('\x7f')),
    ("BS", Key::Char('\x7f')),
    ("Escape", Key::Char('\x1b')),
    ("Esc", Key::Char('\x1b')),
    ("Space", Key::Char(' ')),
    ("Plus", Key::Char('+')),
    ("Minus", Key::Char('-')),
    ("Up", Key::Cursor(b'A')),
    ("Down", Key::Cursor(b'B')),
    ("Right", Key::Cursor(b'C')),
    ("Left", Key::Cursor(b'D')),
    ("Home", Key::Cursor(b'H')),
    ("End", Key::Cursor(b'F')),
    ("PageUp", Key::Tilde(5)),
    ("PPage", Key::Tilde(5)),
    ("PgUp", Key::Tilde(5)),
    ("PageDown", Key::Tilde(6)),
    ("NPage", Key::Tilde(6)),
    ("PgDn", Key::Tilde(6)),
    ("Insert", Key::Tilde(2)),
    ("IC", Key::Tilde(2)),
    ("Ins", Key::Tilde(2)),
    ("Delete", Key::Tilde(3)),
    ("DC", Key::Tilde(3)),
    ("Del", Key::Tilde(3)),
    ("F1", Key::Function(b'P')),
    ("F2", Key::Function(b'Q')),
    ("F3", Key::Function(b'R')),
    ("F4", Key::Function(b'S')),
    ("F5", Key::Tilde(15)),
    ("F6", Key::Tilde(17)),
    ("F7", Key::Tilde(18)),
    ("F8", Key::Tilde(19)),
    ("F9", Key::Tilde(20)),
    ("F10", Key::Tilde(21)),
    ("F11", Key::Tilde(23)),
    ("F12", Key::Tilde(24)),
    ("F13", Key::Tilde(25)),
    ("F14", Key::Tilde(26)),
    ("F15", Key::Tilde(28)),
    ("F16", Key::Tilde(29)),
    ("F17", Key::Tilde(31)),
    ("F18", Key::Tilde(32)),
    ("F19", Key::Tilde(33)),
    ("F20", Key::Tilde(34)),
];

/// Takes `C-`, `ctrl+`, `^` and their like off the front. What is left may be a single `-` or `+`.
fn split_modifiers(name: &str) -> (Modifiers, &str) {
    let mut modifiers = Modifiers::default();
    let mut rest = name;
    while let Some((word, after)) = first_modifier(rest) {
        match word {
            Modifier::Shift => modifiers.shift = true,
            Modifier::Alt => modifiers.alt = true,
            Modifier::Control => modifiers.control = true,
        }
        rest = after;
    }
    (modifiers, rest)
}

enum Modifier {
    Shift,
    Alt,
    Control,
}

fn first_modifier(name: &str) -> Option<(Modifier, &str)> {
    if let Some(after) = name.strip_prefix('^')
        && !after.is_empty()
    {
        return Some((Modifier::Control, after));
    }
    let (word, after) = name.split_at(name.find(['-', '+'])?);
    let after = &after[1..];
    let modifier = match word.to_ascii_lowercase().as_str() {
        "c" | "ctrl" | "control" => Modifier::Control,
        "m" | "alt" | "meta" | "option" => Modifier::Alt,
        "s" | "shift" => Modifier::Shift,
        _ => return None,
    };
    (!after.is_empty()).then_some((modifier, after))
}

fn find(base: &str) -> Option<Key> {
    let mut chars = base.chars();
    if let (Some(only), None) = (chars.next(), chars.next()) {
        return Some(Key::Char(only));
    }
    let wanted = squeezed(base);
    NAMES.iter().find(|(name, _)| squeezed(name) == wanted).map(|(_, key)| *key)
}

fn squeezed(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).map(|c| c.to_ascii_lowercase()).collect()
}

fn encode(key: Key, modifiers: Modifiers, cursor_keys: CursorKeys) -> Option<Vec<u8>> {
    let parameter = xterm_parameter(modifiers);
    let bytes = match (key, parameter) {
        (Key::Char('\t'), _) if modifiers.shift && !modifiers.control => with_alt(modifiers, b"\x1b[Z"),
        (Key::Char(what), _) => return encode_char(what, modifiers),
        (Key::BackTab, _) => with_alt(modifiers, b"\x1b[Z"),
        (Key::Cursor(letter), 1) if cursor_keys == CursorKeys::Application => vec![0x1b, b'O', letter],
        (Key::Cursor(letter), 1) => vec![0x1b, b'[', letter],
        (Key::Function(letter), 1) => vec![0x1b, b'O', letter],
        (Key::Cursor(letter) | Key::Function(letter), n) => {
            format!("\x1b[1;{n}{}", char::from(letter)).into_bytes()
        }
        (Key::Tilde(number), 1) => format!("\x1b[{number}~").into_bytes(),
        (Key::Tilde(number), n) => format!("\x1b[{number};{n}~").into_bytes(),
    };
    Some(bytes)
}

/// xterm numbers combinations of modifiers from 1, which is none of them.
fn xterm_parameter(modifiers: Modifiers) -> u8 {
    1 + u8::from(modifiers.shift) + 2 * u8::from(modifiers.alt) + 4 * u8::from(modifiers.control)
}

fn encode_char(what: char, modifiers: Modifiers) -> Option<Vec<u8>> {
    let shifted = if modifiers.shift { shift(what) } else { what };
    if !modifiers.control {
        return Some(with_alt(modifiers, shifted.encode_utf8(&mut [0; 4]).as_bytes()));
    }
    Some(with_alt(modifiers, &[control(what)?]))
}

fn shift(what: char) -> char {
    let mut upper = what.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(only), None) => only,
        _ => what,
    }
}

fn control(what: char) -> Option<u8> {
    let byte = match what {
        'a'..='z' | '@'..='_' => what as u8 & 0x1f,
        ' ' | '2' | '`' => 0,
        '3'..='7' => what as u8 - b'3' + 0x1b,
        '8' | '?' => 0x7f,
        '/' => 0x1f,
        '\x7f' => 0x08,
        '\r' | '\t' | '\x1b' => what as u8,
        _ => return None,
    };
    Some(byte)
}

fn with_alt(modifiers: Modifiers, bytes: &[u8]) -> Vec<u8> {
    let escape: &[u8] = if modifiers.alt { b"\x1b" } else { b"" };
    [escape, bytes].concat()
}

fn unknown(name: &str, base: &str) -> KeyError {
    // The distance is quadratic in the length, and no key has a long name.
    let wanted: String = squeezed(base).chars().take(24).collect();
    let nearest = NAMES.iter().min_by_key(|(known, _)| distance(&wanted, &squeezed(known)));
    let nearest = nearest.map_or("Enter", |(known, _)| known);
    let prefix = name.strip_suffix(base).unwrap_or_default();
    KeyError::Unknown { name: name.to_owned(), nearest: format!("{prefix}{nearest}") }
}

/// How many characters must be added, removed or changed to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[&str], expected: &str) {
        for name in names {
            let bytes =
                key(name, CursorKeys::Normal).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            assert_eq!(bytes.as_deref(), Ok(expected), "{name}");
        }
    }

    #[test]
    fn characters_are_themselves() {
        check(&["a"], "a");
        check(&["A", "S-a", "shift+a"], "A");
        check(&["é"], "é");
        check(&["-"], "-");
        check(&["+"], "+");
        check(&["^"], "^");
        check(&["C"], "C");
    }

    #[test]
    fn control_and_alt_are_understood_in_every_spelling() {
        check(&["C-c", "c-c", "ctrl+c", "Ctrl-C", "control+c", "^C", "^c"], "\x03");
        check(&["M-x", "alt+x", "meta-x"], "\x1bx");
        check(&["C-M-a", "ctrl+alt+a"], "\x1b\x01");
        check(&["C-Space", "C-@", "ctrl+ "], "\0");
        check(&["C-[", "Escape", "esc"], "\x1b");
        check(&["C-\\"], "\x1c");
        check(&["C-?", "BSpace", "backspace"], "\x7f");
        check(&["C-_", "C-/"], "\x1f");
        check(&["M--", "alt+-"], "\x1b-");
        check(&["M-+"], "\x1b+");
    }

    #[test]
    fn named_keys_are_understood_in_every_spelling() {
        check(&["Enter", "enter", "Return"], "\r");
        check(&["Tab", "C-i"], "\t");
        check(&["S-Tab", "BTab", "shift+tab"], "\x1b[Z");
        check(&["Up", "UP"], "\x1b[A");
        check(&["C-Up", "ctrl+up"], "\x1b[1;5A");
        check(&["C-S-M-Right"], "\x1b[1;8C");
        check(&["PageUp", "PPage", "page-up", "pgup"], "\x1b[5~");
        check(&["S-PPage"], "\x1b[5;2~");
        check(&["Home"], "\x1b[H");
        check(&["IC", "Insert"], "\x1b[2~");
        check(&["DC", "Delete", "del"], "\x1b[3~");
        check(&["F1"], "\x1bOP");
        check(&["F5", "f5"], "\x1b[15~");
        check(&["S-F1"], "\x1b[1;2P");
        check(&["F12"], "\x1b[24~");
        check(&["M-Enter"], "\x1b\r");
    }

    #[test]
    fn application_mode_changes_plain_arrows_only() {
        assert_eq!(key("Up", CursorKeys::Application).unwrap(), b"\x1bOA");
        assert_eq!(key("C-Up", CursorKeys::Application).unwrap(), b"\x1b[1;5A");
        assert_eq!(keys(["q", "Home"], CursorKeys::Application).unwrap(), b"q\x1bOH");
    }

    #[test]
    fn an_unknown_key_is_named_with_its_nearest_neighbour() {
        let error = key("C-Entr", CursorKeys::Normal).unwrap_err();
        assert_eq!(error.to_string(), "unknown key \"C-Entr\"; the nearest known name is \"C-Enter\"");
        assert!(matches!(key("", CursorKeys::Normal), Err(KeyError::Unknown { .. })));
        assert!(matches!(key("C-é", CursorKeys::Normal), Err(KeyError::Unsendable { .. })));
        assert!(key(&"x".repeat(1 << 16), CursorKeys::Normal).is_err());
    }
}
