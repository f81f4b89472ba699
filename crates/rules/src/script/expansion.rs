//! Expansions: what they leave is unknown, and what runs in them is found.

use super::ShellKind;
use super::cursor::{Parse, Parser};
use crate::word::{Split, WordBuilder, variable_name};

impl Parser<'_> {
    /// Whatever a dollar sign begins.
    pub(super) fn dollar(&mut self, builder: &mut WordBuilder, split: Split) -> Parse<()> {
        self.at += 1;
        match self.peek() {
            Some(b'\\') if self.peek_at(1) == Some(b'\n') => {
                return Err(self.wrong("a dollar sign stands at the end of a line that goes on"));
            }
            Some(b'(') => self.parenthesised(builder, split)?,
            Some(b'{') => self.parameter(builder, split)?,
            Some(b'[') => return Err(self.wrong("`$[` is arithmetic in some shells only")),
            Some(b'\'') if split != Split::Never => self.escape_quoted(builder)?,
            Some(b'"') if split != Split::Never => {
                self.double_quoted(&mut WordBuilder::default())?;
                builder.unknown(Split::Never);
            }
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => {
                self.variable();
                builder.unknown(split);
            }
            Some(byte) if b"@*#?-$!0123456789".contains(&byte) => {
                self.at += 1;
                builder.unknown(if byte == b'@' { Split::Words } else { split });
            }
            Some(b'^' | b'=' | b'~' | b'+') if self.shell == ShellKind::Zsh => {
                self.at += 1;
                builder.unknown(Split::Words);
            }
            _ => builder.quoted("$"),
        }
        Ok(())
    }

    /// A variable's name. A line that goes on may stand in its middle.
    fn variable(&mut self) {
        loop {
            match (self.peek(), self.peek_at(1)) {
                (Some(b'\\'), Some(b'\n')) => self.at += 2,
                (Some(byte), _) if byte.is_ascii_alphanumeric() || byte == b'_' => self.at += 1,
                _ => return,
            }
        }
    }

    /// `$(…)` or `$((…))`.
    fn parenthesised(&mut self, builder: &mut WordBuilder, split: Split) -> Parse<()> {
        self.at += 1;
        self.ends_operator(b"(")?;
        if self.eat("(") {
            self.arithmetic()?;
        } else {
            self.substitution()?;
        }
        builder.unknown(split);
        Ok(())
    }

    /// The commands of a substitution, from behind its opening parenthesis to behind the closing one.
    pub(super) fn substitution(&mut self) -> Parse<()> {
        let outside = std::mem::take(&mut self.pending);
        let start = self.at;
        self.list()?;
        self.no_pending()?;
        if !self.eat(")") {
            return Err(self.unexpected());
        }
        if !outside.is_empty() && self.text[start..self.at].contains('\n') {
            return Err(self.wrong("a here-document is followed by a substitution over several lines"));
        }
        self.pending = outside;
        Ok(())
    }

    /// An expression, from behind `((` to behind `))`.
    pub(super) fn arithmetic(&mut self) -> Parse<()> {
        self.deeper(|parser| {
            let (mut open, mut ignored) = (0_usize, WordBuilder::default());
            loop {
                match parser.peek() {
                    None => return Err(parser.wrong("arithmetic is not closed")),
                    Some(b'(') => open += 1,
                    Some(b')') if open == 0 && parser.eat("))") => return Ok(()),
                    Some(b')') if open == 0 => {
                        return Err(parser.wrong("this is arithmetic or a subshell, it cannot be told which"));
                    }
                    Some(b')') => open -= 1,
                    Some(b'\'' | b'\\') => return Err(parser.unexpected()),
                    Some(b'"') => {
                        parser.double_quoted(&mut ignored)?;
                        continue;
                    }
                    Some(b'$') => {
                        parser.found.evaluates = true;
                        parser.dollar(&mut ignored, Split::Never)?;
                        continue;
                    }
                    Some(b'`') => {
                        parser.backquotes(&mut ignored, Split::Never)?;
                        continue;
                    }
                    Some(byte) => parser.found.evaluates |= byte.is_ascii_alphabetic() || byte == b'_',
                }
                parser.bump();
            }
        })
    }

    /// `` `…` ``: a script with one level of backslashes taken off.
    pub(super) fn backquotes(&mut self, builder: &mut WordBuilder, split: Split) -> Parse<()> {
        let opened = self.wrong("a backquote is not closed");
        self.at += 1;
        let mut script = String::new();
        loop {
            match self.bump() {
                None => return Err(opened),
                Some("`") => break,
                Some("\\") => match self.bump() {
                    Some(character @ ("`" | "$" | "\\")) => script.push_str(character),
                    Some("\"") if split == Split::Never => script.push('"'),
                    Some(character) => {
                        script.push('\\');
                        script.push_str(character);
                    }
                    None => return Err(opened),
                },
                Some(character) => script.push_str(character),
            }
        }
        if !self.pending.is_empty() && script.contains('\n') {
            return Err(self.wrong("a here-document is followed by a substitution over several lines"));
        }
        builder.unknown(split);
        self.inside(&script, whole)
    }

    /// `${…}`.
    fn parameter(&mut self, builder: &mut WordBuilder, split: Split) -> Parse<()> {
        self.at += 1;
        let start = self.at;
        if matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'|' | b'(' | b'\\')) {
            return Err(self.wrong("this kind of `${` is not understood"));
        }
        self.found.evaluates |= self.peek() == Some(b'!');
        self.note_assignment();
        self.deeper(|parser| parser.parameter_body(split))?;
        let body = &self.text[start..self.at - 1];
        self.found.evaluates |= body.contains('[');
        if body.ends_with("@P") {
            let doubt = self.wrong("`@P` runs what stands in a variable's value");
            self.found.doubts.push(doubt);
        }
        builder.unknown(if body.contains('@') { Split::Words } else { split });
        Ok(())
    }

    /// `${name=value}` and `${name:=value}` set a variable.
    fn note_assignment(&mut self) {
        let Some(name) = variable_name(self.rest()) else { return };
        let after = &self.rest()[name.len()..];
        if after.starts_with('=') || after.starts_with(":=") {
            self.found.assigned.push(name.to_owned());
        }
    }

    fn parameter_body(&mut self, split: Split) -> Parse<()> {
        let mut ignored = WordBuilder::default();
        loop {
            match self.peek() {
                None => return Err(self.wrong("`${` is not closed")),
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'{') => return Err(self.unexpected()),
                Some(b'\'') if split == Split::Never => self.doubtful_quote()?,
                _ => self.word_piece(&mut ignored, split)?,
            }
        }
    }

    /// Inside double quotes a single quote quotes in some expansions and in others it does not. Where that makes a
    /// difference, nothing is understood.
    fn doubtful_quote(&mut self) -> Parse<()> {
        self.at += 1;
        let end = self.rest().find('\'').unwrap_or(self.rest().len());
        if self.rest()[..end].contains(['$', '`', '"', '}', '\\']) {
            return Err(self.wrong("a single quote in `${` is not understood"));
        }
        self.at += end;
        self.eat("'");
        Ok(())
    }
}

/// A text that is a script of its own.
fn whole(parser: &mut Parser<'_>) -> Parse<()> {
    parser.script()
}
