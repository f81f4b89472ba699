//! Text that a person decides on, escaped so that it can be trusted: it moves no cursor, hides nothing, does not change
//! the direction of writing, and two different texts never look the same.
//!
//! Escapes are `<U+001B>` for a character and `<0xff>` for a byte that is not UTF-8. Backslashes would have been
//! shorter, but commands are full of them: a tab and a typed `\t` would look alike, or every backslash would have to be
//! doubled.

use std::path::Path;

use unicode_width::UnicodeWidthChar as _;

/// Escaped text. Only this module makes one, so a function that takes it cannot be given raw text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    text: String,
    left_out: usize,
}

impl Shown {
    /// All of a text. Lines stay lines; every other character that could mislead is escaped.
    pub fn whole(text: &str) -> Self {
        Self::of_bytes(text.as_bytes())
    }

    /// All of a text that may not be UTF-8.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        let mut shown = String::with_capacity(bytes.len());
        escape(bytes, &mut shown);
        Self { text: shown, left_out: 0 }
    }

    /// A text of at most so many characters; of a longer one its beginning and its end, and how much is missing
    /// between.
    pub fn within(text: &str, most: usize) -> Self {
        Self::cut(text, most, "\n")
    }

    /// The same on one line: newlines are escaped too. For a text whose lines could be taken for lines of the program,
    /// such as a path or the value of a variable.
    pub fn on_one_line(text: &str, most: usize) -> Self {
        Self::cut(text, most, " ").without_newlines()
    }

    /// All of a path, on one line.
    pub fn of_path(path: &Path) -> Self {
        Self::of_bytes(path.as_os_str().as_encoded_bytes()).without_newlines()
    }

    fn cut(text: &str, most: usize, around: &str) -> Self {
        let characters = text.chars().count();
        if characters <= most {
            return Self::whole(text);
        }
        let (head, tail) = (most - most / 3, most / 3);
        let start = |at: usize| text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte);
        let left_out = characters - head - tail;
        let mut shown = String::new();
        escape(&text.as_bytes()[..start(head)], &mut shown);
        shown.push_str(&format!(
            "{around}{LEFT_OUT} {left_out} characters are not shown {LEFT_OUT_END}{around}"
        ));
        escape(&text.as_bytes()[start(characters - tail)..], &mut shown);
        Self { text: shown, left_out }
    }

    fn without_newlines(mut self) -> Self {
        self.text = self.text.replace('\n', "<U+000A>");
        self
    }

    /// A word of the program and a foreign text on one line.
    pub fn beside(word: &'static str, shown: &Self) -> Self {
        Self { text: format!("{word} {}", shown.text), left_out: shown.left_out }
    }

    /// A text, and how it was given.
    pub fn with_origin(shown: &Self, given: &Self) -> Self {
        let text = format!("{} (given as {})", shown.text, given.text);
        Self { text, left_out: shown.left_out + given.left_out }
    }

    /// Several texts, each on lines of its own.
    pub fn joined(texts: impl IntoIterator<Item = Self>) -> Self {
        let (mut lines, mut left_out) = (Vec::new(), 0);
        for shown in texts {
            lines.push(shown.text);
            left_out += shown.left_out;
        }
        Self { text: lines.join("\n"), left_out }
    }

    /// The escaped text. Its only control character is the newline.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its lines; an empty text has one, which is empty.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.text.split('\n')
    }

    /// Whether nothing was left out.
    pub fn is_whole(&self) -> bool {
        self.left_out == 0
    }
}

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// The visible characters of a text that are not ASCII, each once: letters of other alphabets can look like Latin ones.
pub fn beyond_ascii(text: &str) -> Vec<char> {
    let mut found: Vec<char> = Vec::new();
    for char in text.chars().filter(|char| !char.is_ascii() && !misleads(*char)) {
        if !found.contains(&char) {
            found.push(char);
        }
    }
    found
}

const LEFT_OUT: &str = "<…";
const LEFT_OUT_END: &str = "…>";
/// Beginnings of what only this module writes. A text that contains one has its first character escaped.
const OWN: [&str; 3] = ["<U+", "<0x", LEFT_OUT];

fn escape(bytes: &[u8], shown: &mut String) {
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        let is_last = chunks.peek().is_none() && chunk.invalid().is_empty();
        escape_text(chunk.valid(), is_last, shown);
        for byte in chunk.invalid() {
            shown.push_str(&format!("<0x{byte:02x}>"));
        }
    }
}

fn escape_text(text: &str, is_last: bool, shown: &mut String) {
    for (at, char) in text.char_indices() {
        let rest = &text[at..];
        let after = &rest[char.len_utf8()..];
        let ends_line = after.is_empty() && is_last || after.starts_with('\n');
        match char {
            '\n' => shown.push('\n'),
            // A blank at the end of a line cannot be seen.
            ' ' if !ends_line => shown.push(' '),
            '<' if !OWN.iter().any(|own| rest.starts_with(own)) => shown.push('<'),
            ' ' | '<' => push_escape(char, shown),
            char if misleads(char) => push_escape(char, shown),
            char => shown.push(char),
        }
    }
}

fn push_escape(char: char, shown: &mut String) {
    shown.push_str(&format!("<U+{:04X}>", u32::from(char)));
}

/// Whether a character cannot be seen, looks like a blank, or acts on others. Marks that combine with letters are among
/// them: a letter with its mark looks like the one character for both, and is another name for a shell.
fn misleads(char: char) -> bool {
    char.is_control()
        || char.is_whitespace() && char != ' '
        || char.width().unwrap_or(0) == 0
        || is_format_character(char)
        || looks_blank(char)
        || has_no_meaning_of_its_own(char)
}

/// Directions of writing, joiners, tags and the like (the general category Cf), whatever their width is held to be.
fn is_format_character(char: char) -> bool {
    matches!(char,
        '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}'
        | '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Letters and signs whose picture is empty.
fn looks_blank(char: char) -> bool {
    matches!(
        char,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
    )
}

/// Private use and non-characters: every font shows them as it likes, most as the same box.
fn has_no_meaning_of_its_own(char: char) -> bool {
    let number = u32::from(char);
    matches!(number, 0xe000..=0xf8ff | 0xfdd0..=0xfdef | 0xf0000..) || number & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(Shown::whole(text).text(), expected, "{text:?}");
    }

    #[test]
    fn ordinary_commands_are_shown_as_they_are() {
        for text in ["sed 's/\\(a\\)/b/' <in >out", "cat <<EOF\nà la carte 字\nEOF", "a < b", "", "<u+1>"] {
            check(text, text);
        }
    }

    #[test]
    fn what_moves_cursors_hides_or_turns_writing_around_is_escaped() {
        check("a\x1b[2Jb\u{9b}c\r\n", "a<U+001B>[2Jb<U+009B>c<U+000D>\n");
        check("a\tb", "a<U+0009>b");
        for char in
            ['\u{202e}', '\u{2066}', '\u{2069}', '\u{200e}', '\u{200f}', '\u{61c}', '\u{200b}', '\u{feff}']
        {
            check(&format!("rm {char}x"), &format!("rm <U+{:04X}>x", u32::from(char)));
        }
        check("ls\u{a0}-l", "ls<U+00A0>-l");
        check("a\u{2028}b\u{3164}\u{2800}", "a<U+2028>b<U+3164><U+2800>");
        check("e\u{301}", "e<U+0301>");
        check("\u{e0041}\u{fe0f}\u{f8ff}\u{ffff}", "<U+E0041><U+FE0F><U+F8FF><U+FFFF>");
        check("end ", "end<U+0020>");
        check("two  \nlines", "two <U+0020>\nlines");
    }

    #[test]
    fn no_text_can_pass_for_an_escape() {
        check("<U+001B>", "<U+003C>U+001B>");
        check("<0xff>", "<U+003C>0xff>");
        check("<… 5 characters", "<U+003C>… 5 characters");
        assert_eq!(Shown::of_bytes(b"a\xffb").text(), "a<0xff>b");
        assert_eq!(Shown::of_bytes(b"a \xff").text(), "a <0xff>");
    }

    #[test]
    fn a_long_text_says_how_much_of_it_is_missing() {
        let shown = Shown::within(&("é".repeat(60) + &"x".repeat(60)), 30);
        assert_eq!(
            shown.text(),
            format!("{}\n<… 90 characters are not shown …>\n{}", "é".repeat(20), "x".repeat(10))
        );
        assert!(!shown.is_whole());
        assert!(Shown::within("short", 5).is_whole());
    }

    #[test]
    fn a_path_with_a_newline_is_one_line() {
        assert_eq!(Shown::of_path(Path::new("/a\n/b")).text(), "/a<U+000A>/b");
        assert_eq!(Shown::on_one_line("a\nb", 9).text(), "a<U+000A>b");
        assert_eq!(Shown::on_one_line("a\nbcdef", 3).text(), "a<U+000A> <… 4 characters are not shown …> f");
    }

    #[test]
    fn letters_of_other_alphabets_are_listed_once() {
        assert_eq!(beyond_ascii("аpt аpt é\u{202e}"), ['а', 'é']);
    }

    /// Undoes the escapes: what comes out must be what went in.
    fn read_back(shown: &str) -> Vec<u8> {
        let (mut bytes, mut rest) = (Vec::new(), shown);
        while let Some(at) = rest.find("<U+").into_iter().chain(rest.find("<0x")).min() {
            bytes.extend_from_slice(&rest.as_bytes()[..at]);
            let (escape, after) = rest[at..].split_once('>').expect("an escape ends");
            match escape.strip_prefix("<U+") {
                Some(number) => {
                    let char = u32::from_str_radix(number, 16).ok().and_then(char::from_u32);
                    bytes.extend_from_slice(char.expect("it is a character").to_string().as_bytes());
                }
                None => bytes.push(u8::from_str_radix(&escape[3..], 16).expect("it is a byte")),
            }
            rest = after;
        }
        bytes.extend_from_slice(rest.as_bytes());
        bytes
    }

    fn is_harmless(shown: &str) -> bool {
        shown.chars().all(|char| char == '\n' || !misleads(char))
    }

    /// Characters that mislead are rare among all; half of these do.
    fn misleading() -> impl Strategy<Value = String> {
        let odd = prop::sample::select(vec![
            '\x1b', '\r', '\t', '\n', ' ', '<', 'U', '+', '0', 'x', '…', '>', '\u{202e}', '\u{2066}',
            '\u{200b}', '\u{a0}',
        ]);
        prop::collection::vec(prop_oneof![odd, any::<char>()], 0..60)
            .prop_map(|all| all.into_iter().collect())
    }

    proptest! {
        #[test]
        fn whatever_bytes_come_in_nothing_misleading_goes_out_and_nothing_is_lost(bytes: Vec<u8>) {
            let shown = Shown::of_bytes(&bytes);
            prop_assert!(is_harmless(shown.text()), "{:?}", shown);
            prop_assert_eq!(read_back(shown.text()), bytes);
        }

        #[test]
        fn two_texts_that_differ_look_different(one in misleading(), other in misleading()) {
            let (first, second) = (Shown::whole(&one), Shown::whole(&other));
            prop_assert!(is_harmless(first.text()), "{:?}", first);
            prop_assert_eq!(first.text() == second.text(), one == other);
            prop_assert_eq!(read_back(first.text()), one.into_bytes());
        }

        #[test]
        fn a_text_that_is_cut_is_harmless_too(text in misleading(), most in 0_usize..40) {
            let shown = Shown::within(&text, most);
            prop_assert!(is_harmless(shown.text()), "{:?}", shown);
            prop_assert_eq!(shown.is_whole(), text.chars().count() <= most);
        }
    }
}
