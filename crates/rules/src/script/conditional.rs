//! `[[ … ]]`: nothing runs in it but what is substituted.

use super::ShellKind;
use super::cursor::{Parse, Parser};
use crate::word::{Split, WordBuilder};

impl Parser<'_> {
    /// From behind `[[` to behind `]]`.
    pub(super) fn conditional(&mut self) -> Parse<()> {
        if self.shell == ShellKind::Posix {
            return Err(self.wrong("`[[` is a test to some shells and a program to others"));
        }
        self.found.evaluates = true;
        let mut after_comparison = false;
        loop {
            self.lines()?;
            if after_comparison {
                self.pattern()?;
                after_comparison = false;
                continue;
            }
            if self.peek_plain() == "]]" {
                self.eat("]]");
                return Ok(());
            }
            if ["&&", "||", "(", ")", "<", ">"].iter().any(|operator| self.eat(operator)) {
                continue;
            }
            let Some(word) = self.word()? else { return Err(self.unexpected()) };
            after_comparison = matches!(word.plain(), Some("==" | "=" | "!=" | "=~"));
        }
    }

    /// What is compared with: parentheses and bars are part of it.
    fn pattern(&mut self) -> Parse<()> {
        let (mut open, start) = (0_usize, self.at);
        let mut ignored = WordBuilder::default();
        loop {
            match self.peek() {
                None => return Err(self.unexpected()),
                Some(b' ' | b'\t' | b'\n') if open > 0 => {
                    return Err(self.wrong("a pattern in `[[` has blanks in its parentheses"));
                }
                Some(b' ' | b'\t' | b'\n') => break,
                Some(b'(') => {
                    open += 1;
                    self.at += 1;
                }
                Some(b')') if open > 0 => {
                    open -= 1;
                    self.at += 1;
                }
                Some(b')') => break,
                Some(b'|' | b'&' | b';' | b'<' | b'>') => self.at += 1,
                _ => self.word_piece(&mut ignored, Split::Never)?,
            }
        }
        if self.at == start { Err(self.unexpected()) } else { Ok(()) }
    }
}
