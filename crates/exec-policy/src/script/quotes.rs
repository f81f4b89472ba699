//! Quotes.

use super::ShellKind;
use super::cursor::{Parse, Parser};
use crate::word::{Split, WordBuilder};

impl<'t> Parser<'t> {
    /// `'…'`.
    pub(super) fn single_quoted(&mut self) -> Parse<&'t str> {
        self.at += 1;
        let rest = self.rest();
        let Some(end) = rest.find('\'') else {
            return Err(self.wrong("a single quote is not closed"));
        };
        self.may_cross(&rest[..end])?;
        self.at += end + 1;
        Ok(&rest[..end])
    }

    /// `"…"`.
    pub(super) fn double_quoted(&mut self, builder: &mut WordBuilder) -> Parse<()> {
        let opened = self.wrong("a double quote is not closed");
        self.at += 1;
        builder.quoted("");
        loop {
            match self.peek() {
                None => return Err(opened),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escaped(builder),
                Some(b'$') => self.dollar(builder, Split::Never)?,
                Some(b'`') => self.backquotes(builder, Split::Never)?,
                Some(b'\n') => {
                    self.may_cross("\n")?;
                    self.at += 1;
                    builder.quoted("\n");
                }
                _ => builder.quoted(self.bump().unwrap_or_default()),
            }
        }
    }

    fn escaped(&mut self, builder: &mut WordBuilder) {
        self.at += 1;
        match self.peek() {
            Some(b'\n') => self.at += 1,
            Some(b'$' | b'`' | b'"' | b'\\') => builder.quoted(self.bump().unwrap_or_default()),
            _ => builder.quoted("\\"),
        }
    }

    /// Shells disagree about a here-document whose text would begin inside quotes.
    fn may_cross(&mut self, text: &str) -> Parse<()> {
        if !self.pending.is_empty() && text.contains('\n') {
            return Err(self.wrong("a here-document is followed by quotes over several lines"));
        }
        Ok(())
    }

    /// `$'…'`, from behind the dollar sign.
    pub(super) fn escape_quoted(&mut self, builder: &mut WordBuilder) -> Parse<()> {
        if self.shell == ShellKind::Posix {
            return Err(self.wrong("`$'` begins a quoted text in some shells only"));
        }
        self.at += 1;
        builder.quoted("");
        loop {
            match self.bump() {
                None => return Err(self.wrong("a single quote is not closed")),
                Some("'") => return Ok(()),
                Some("\\") => self.escape_sequence(builder)?,
                Some(character) => builder.quoted(character),
            }
        }
    }

    fn escape_sequence(&mut self, builder: &mut WordBuilder) -> Parse<()> {
        let Some(letter) = self.bump() else { return Err(self.unexpected()) };
        let plain = match letter {
            "a" => "\u{7}",
            "b" => "\u{8}",
            "e" | "E" => "\u{1b}",
            "f" => "\u{c}",
            "n" => "\n",
            "r" => "\r",
            "t" => "\t",
            "v" => "\u{b}",
            "\\" | "'" | "\"" | "?" => letter,
            "x" => return self.numbered(builder, (16, 2)),
            "u" => return self.numbered(builder, (16, 4)),
            "U" => return self.numbered(builder, (16, 8)),
            "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" => {
                self.at -= 1;
                return self.numbered(builder, (8, 3));
            }
            "c" => {
                // A control character is in no name of a program; which one does not matter.
                self.bump();
                "\u{1}"
            }
            _ => {
                builder.quoted("\\");
                letter
            }
        };
        builder.quoted(plain);
        Ok(())
    }

    fn numbered(&mut self, builder: &mut WordBuilder, (base, most): (u32, usize)) -> Parse<()> {
        let digits = self.rest().chars().take(most).take_while(|c| c.is_digit(base)).count();
        let code = u32::from_str_radix(&self.rest()[..digits], base);
        self.at += digits;
        match code.ok().and_then(char::from_u32) {
            Some('\0') => return Err(self.wrong("a quoted text holds a NUL character")),
            Some(character) if character.is_ascii() => builder.quoted(character.encode_utf8(&mut [0; 4])),
            // Which bytes that makes depends on the locale.
            _ => builder.unknown(Split::Never),
        }
        Ok(())
    }
}
