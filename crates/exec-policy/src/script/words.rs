//! Words: quotes are removed, expansions are marked as unknown, commands in substitutions are found.

use super::ShellKind;
use super::cursor::{Parse, Parser};
use crate::word::{Split, Word, WordBuilder};

/// Braces that may stand for several words.
#[derive(Default)]
struct Braces {
    open: usize,
    lists: bool,
}

impl Parser<'_> {
    /// The word that begins here; `None` if none does.
    pub(super) fn word(&mut self) -> Parse<Option<Word>> {
        let start = self.at;
        let (mut builder, mut braces) = (WordBuilder::default(), Braces::default());
        let mut begun = false;
        loop {
            if self.peek() == Some(b'\\') && self.peek_at(1) == Some(b'\n') {
                self.at += 2;
                continue;
            }
            let Some(byte) = self.peek() else { break };
            let substitutes = matches!(byte, b'<' | b'>') && self.peek_at(1) == Some(b'(');
            if b" \t\n;&|()<>".contains(&byte) && !substitutes {
                break;
            }
            if !begun && self.special_beginning(byte, &mut builder) {
                begun = true;
                continue;
            }
            begun = true;
            braces.see(byte, self.peek_at(1), &mut builder);
            self.word_piece(&mut builder, Split::Words)?;
        }
        Ok(begun.then(|| builder.finish(&self.text[start..self.at])))
    }

    /// Parses a construct that is special only at the beginning of a word.
    fn special_beginning(&mut self, byte: u8, builder: &mut WordBuilder) -> bool {
        match byte {
            b'~' => {
                self.at += 1;
                let user = self.rest().find(|c: char| !c.is_alphanumeric() && !"_.-+".contains(c));
                self.at += user.unwrap_or(self.rest().len());
                builder.unknown(Split::Never);
                true
            }
            // zsh replaces it by the path of the program.
            b'=' if self.shell == ShellKind::Zsh => {
                self.at += 1;
                builder.unknown(Split::Never);
                true
            }
            _ => false,
        }
    }

    /// One character, or one quoted or expanded piece of a word. `split`: the number of words that an expansion may
    /// become here.
    pub(super) fn word_piece(&mut self, builder: &mut WordBuilder, split: Split) -> Parse<()> {
        match self.peek() {
            Some(b'\\') => {
                self.at += 1;
                match self.bump() {
                    Some("\n") => {}
                    Some(character) => builder.quoted(character),
                    None => builder.quoted("\\"),
                }
            }
            Some(b'\'') => {
                let text = self.single_quoted()?;
                builder.quoted(text);
            }
            Some(b'"') => self.double_quoted(builder)?,
            Some(b'$') => self.dollar(builder, split)?,
            Some(b'`') => self.backquotes(builder, split)?,
            Some(b'<' | b'>') if self.peek_at(1) == Some(b'(') => {
                self.at += 2;
                self.nested(Self::substitution)?;
                builder.unknown(Split::Never);
            }
            Some(b'*' | b'?') => {
                self.at += 1;
                builder.unknown(Split::Files);
            }
            Some(b'[') if self.closes_bracket() => {
                self.at += 1;
                builder.bare("[");
                builder.anything(Split::Files);
            }
            _ => builder.bare(self.bump().unwrap_or_default()),
        }
        Ok(())
    }

    /// Whether a set of characters may begin here. `[` alone is a program.
    fn closes_bracket(&self) -> bool {
        // The search ends here: a bracket that has not ended by then counts as the beginning of a set.
        const FAR: usize = 64;
        let rest = &self.rest()[1..];
        let near = &rest[..rest.floor_char_boundary(FAR)];
        let Some(end) =
            near.find([' ', '\t', '\n', ';', '&', '|']).or((near.len() == rest.len()).then_some(near.len()))
        else {
            return true;
        };
        // The text between an assignment's name and its `=` is an index, not a set.
        let word = &near[..end];
        word.contains(']') && !word.contains("]=") && !word.contains("]+=")
    }
}

impl Braces {
    fn see(&mut self, byte: u8, next: Option<u8>, builder: &mut WordBuilder) {
        match byte {
            b'{' => self.open += 1,
            b',' => self.lists |= self.open > 0,
            b'.' => self.lists |= self.open > 0 && next == Some(b'.'),
            b'}' if self.open > 0 && self.lists => builder.anything(Split::Words),
            _ => {}
        }
    }
}
