//! `[[ … ]]`: it runs commands in substitutions, and in operands that are evaluated as a number or as the name of a
//! variable.

use super::ShellKind;
use super::cursor::{Parse, Parser};
use crate::word::{Split, Word, WordBuilder};

/// Operators whose operands are evaluated as expressions.
const NUMERIC: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

impl Parser<'_> {
    /// From behind `[[` to behind `]]`.
    pub(super) fn conditional(&mut self) -> Parse<()> {
        if self.shell == ShellKind::Posix {
            return Err(self.wrong("`[[` is a test to some shells and a program to others"));
        }
        let mut after_comparison = false;
        let mut last: Option<Word> = None;
        loop {
            self.lines()?;
            if after_comparison {
                self.pattern()?;
                (after_comparison, last) = (false, None);
                continue;
            }
            if self.peek_plain() == "]]" {
                self.eat("]]");
                return Ok(());
            }
            if ["&&", "||", "(", ")", "<", ">"].iter().any(|operator| self.eat(operator)) {
                last = None;
                continue;
            }
            let Some(word) = self.word()? else { return Err(self.unexpected()) };
            after_comparison = matches!(word.plain(), Some("==" | "=" | "!=" | "=~"));
            self.note_evaluated(&word, last.as_ref());
            if word.plain() == Some("=~") {
                self.found.assigned.push(("BASH_REMATCH".to_owned(), last.clone()));
            }
            last = Some(word);
        }
    }

    /// Operands of numeric comparisons are expressions; `-v` and `-R` evaluate the key of an array's element.
    fn note_evaluated(&mut self, word: &Word, last: Option<&Word>) {
        let before = last.and_then(Word::plain).unwrap_or_default();
        if word.plain().is_some_and(|operator| NUMERIC.contains(&operator)) {
            self.found.evaluated.extend(last.cloned());
        }
        let names = matches!(before, "-v" | "-R") && !word.is_reference();
        if names || before == "-t" || NUMERIC.contains(&before) {
            self.found.evaluated.push(word.clone());
        }
    }

    /// The pattern behind a comparison: parentheses and bars are part of it.
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
