//! Expansions: their results are unknown, and the commands inside them are found.

use super::ShellKind;
use super::cursor::{Parse, Parser};
use crate::word::{ExpansionOrigin, Split, Word, WordBuilder, variable_name};

impl Parser<'_> {
    /// Any expansion that a dollar sign begins.
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
                let start = self.at;
                self.variable();
                builder.expansion(split, origin(&self.text[start..self.at]));
                self.subscript_of_zsh(split)?;
            }
            Some(byte) if b"@*#?-$!0123456789".contains(&byte) => {
                self.at += 1;
                let origin =
                    if b"#?$!".contains(&byte) { ExpansionOrigin::Number } else { ExpansionOrigin::Anywhere };
                builder.expansion(if byte == b'@' { Split::Words } else { split }, origin);
            }
            Some(byte @ (b'^' | b'=' | b'~' | b'+')) if self.shell == ShellKind::Zsh => {
                self.note_pattern(byte == b'~');
                self.at += 1;
                builder.unknown(Split::Words);
            }
            _ => builder.quoted("$"),
        }
        Ok(())
    }

    /// zsh expands patterns in a value that is asked for with `~`, and a pattern can hold code that it runs.
    fn note_pattern(&mut self, is_pattern: bool) {
        if is_pattern {
            let doubt = self.wrong("`~` expands a pattern in a variable's value, which can run commands");
            self.found.doubts.push(doubt);
        }
    }

    /// In zsh an index may stand behind a variable without braces. Only its expression is noted here.
    fn subscript_of_zsh(&mut self, split: Split) -> Parse<()> {
        if self.shell != ShellKind::Zsh || self.peek() != Some(b'[') {
            return Ok(());
        }
        let start = self.at;
        self.subscript(split)?;
        self.at = start;
        Ok(())
    }

    /// A variable's name. A line continuation may stand in its middle.
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
            builder.expansion(split, ExpansionOrigin::Number);
        } else {
            self.nested(Self::substitution)?;
            builder.unknown(split);
        }
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
            let (start, mut builder) = (parser.at, WordBuilder::default());
            parser.until_arithmetic_ends(&mut builder)?;
            let expression = builder.finish(&parser.text[start..parser.at - 2]);
            parser.found.evaluated.push(expression);
            Ok(())
        })
    }

    fn until_arithmetic_ends(&mut self, builder: &mut WordBuilder) -> Parse<()> {
        let mut open = 0_usize;
        loop {
            match self.peek() {
                None => return Err(self.wrong("arithmetic is not closed")),
                Some(b'(') => open += 1,
                Some(b')') if open == 0 && self.eat("))") => return Ok(()),
                Some(b')') if open == 0 => {
                    return Err(self.wrong("this is arithmetic or a subshell, it cannot be told which"));
                }
                Some(b')') => open -= 1,
                Some(b'\'' | b'\\') => return Err(self.unexpected()),
                Some(b'"') => {
                    self.double_quoted(builder)?;
                    continue;
                }
                Some(b'$') => {
                    self.dollar(builder, Split::Never)?;
                    continue;
                }
                Some(b'`') => {
                    self.backquotes(builder, Split::Never)?;
                    continue;
                }
                Some(_) => {}
            }
            builder.bare(self.bump().unwrap_or_default());
        }
    }

    /// A whole text that a shell evaluates: substitutions count in it, whatever is quoted around them.
    pub(super) fn expression(&mut self) -> Parse<()> {
        self.expanded_text(&mut WordBuilder::default())
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
        let flags = self.rest().bytes().take_while(|byte| b"=^~+".contains(byte));
        let is_pattern = self.shell == ShellKind::Zsh && flags.into_iter().any(|byte| byte == b'~');
        self.note_pattern(is_pattern);
        let assigned = self.assigned_name();
        self.note_indirect_assignment();
        let mut default = WordBuilder::default();
        self.deeper(|parser| {
            parser.parameter_head(split)?;
            parser.parameter_body(&mut default, split)
        })?;
        let body = &self.text[start..self.at - 1];
        let default = default.finish(body);
        self.found.assigned.extend(assigned.map(|name| (name, Some(default))));
        if body.ends_with("@P") {
            let doubt = self.wrong("`@P` runs what stands in a variable's value");
            self.found.doubts.push(doubt);
        }
        builder.expansion(if body.contains('@') { Split::Words } else { split }, origin(body));
        Ok(())
    }

    /// The name in `${…}` with its key, and the expressions of `${name:offset:length}`.
    fn parameter_head(&mut self, split: Split) -> Parse<()> {
        let is_indirect = self.peek() == Some(b'!') && self.peek_at(1) != Some(b'}') && self.eat("!");
        if !is_indirect && self.peek() == Some(b'#') && self.peek_at(1) != Some(b'}') {
            self.at += 1;
        }
        let name = variable_name(self.rest()).unwrap_or_default();
        self.at += name.len();
        if name.is_empty() {
            let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
            let is_special = self.peek().is_some_and(|byte| b"@*?-$!#".contains(&byte));
            self.at += if is_special { 1 } else { digits };
        }
        let lists = ["*}", "@}", "[@]}", "[*]}"].iter().any(|end| self.starts_with(end));
        if is_indirect && !lists {
            self.found.evaluated.push(Word::variable(name));
        }
        if self.peek() == Some(b'[') {
            self.subscript(split)?;
        }
        if self.begins_offset() {
            self.at += 1;
            self.evaluated_until(b'}', split)?;
        }
        Ok(())
    }

    /// `[…]` behind a name.
    fn subscript(&mut self, split: Split) -> Parse<()> {
        self.at += 1;
        if !self.eat("@]") && !self.eat("*]") {
            self.evaluated_until(b']', split)?;
            self.at += 1;
        }
        Ok(())
    }

    /// Whether `:` stands here and an offset follows, not a default value and not one of the modifiers of zsh.
    fn begins_offset(&self) -> bool {
        let is_modifier = |byte: u8| byte.is_ascii_alphabetic() || b"#^|*&".contains(&byte);
        self.peek() == Some(b':')
            && match self.peek_at(1) {
                None | Some(b'-' | b'=' | b'?' | b'+' | b'}') => false,
                Some(byte) => self.shell != ShellKind::Zsh || !is_modifier(byte),
            }
    }

    /// An expression up to where it is closed.
    fn evaluated_until(&mut self, close: u8, split: Split) -> Parse<()> {
        let (start, mut open) = (self.at, 0_usize);
        let mut builder = WordBuilder::default();
        loop {
            match self.peek() {
                None => return Err(self.wrong("`${` is not closed")),
                Some(byte) if byte == close && open == 0 => break,
                Some(b'{' | b'}') => return Err(self.unexpected()),
                Some(b'\'') if split == Split::Never => self.doubtful_quote()?,
                Some(b'$' | b'`' | b'"' | b'\'' | b'\\') => self.word_piece(&mut builder, Split::Never)?,
                Some(byte) => {
                    open = match byte {
                        b'[' => open + 1,
                        b']' => open.saturating_sub(1),
                        _ => open,
                    };
                    builder.bare(self.bump().unwrap_or_default());
                }
            }
        }
        self.found.evaluated.push(builder.finish(&self.text[start..self.at]));
        Ok(())
    }

    /// `${name=value}` and `${name:=value}` set a variable, and so does `${name[key]:=value}`.
    fn assigned_name(&self) -> Option<String> {
        let name = variable_name(self.rest())?;
        let after = &self.rest()[name.len()..];
        let after = after.strip_prefix('[').and_then(|key| key.split_once(']')).map_or(after, |it| it.1);
        (after.starts_with('=') || after.starts_with(":=")).then(|| name.to_owned())
    }

    /// `${!name:=value}` sets the variable that `name` names.
    fn note_indirect_assignment(&mut self) {
        let Some(name) = self.rest().strip_prefix('!').and_then(variable_name) else { return };
        let after = &self.rest()[name.len() + 1..];
        if after.starts_with('=') || after.starts_with(":=") {
            let doubt = self.wrong("which variable is set is known only when it runs");
            self.found.doubts.push(doubt);
        }
    }

    fn parameter_body(&mut self, body: &mut WordBuilder, split: Split) -> Parse<()> {
        loop {
            match self.peek() {
                None => return Err(self.wrong("`${` is not closed")),
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'{') => return Err(self.unexpected()),
                Some(b'\'') if split == Split::Never => self.doubtful_quote()?,
                _ => self.word_piece(body, split)?,
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

/// The source of the text of `${…}` or `$name`, by the text between the braces.
fn origin(body: &str) -> ExpansionOrigin {
    let is_name = |text: &str| variable_name(text) == Some(text);
    match body.strip_prefix('#') {
        Some(counted) if is_name(counted.trim_end_matches("[@]")) || counted.is_empty() => {
            ExpansionOrigin::Number
        }
        None if is_name(body) => ExpansionOrigin::Variable(body.to_owned()),
        None if matches!(body, "?" | "$" | "!") => ExpansionOrigin::Number,
        _ => ExpansionOrigin::Anywhere,
    }
}

/// A text that is parsed as a script of its own.
fn whole(parser: &mut Parser<'_>) -> Parse<()> {
    parser.script()
}
