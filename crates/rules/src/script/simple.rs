//! Simple commands: assignments, words and redirections.

use super::cursor::{Parse, Parser};
use super::here::HereDocument;
use super::{ShellKind, Simple};
use crate::word::{Word, variable_name};

/// Programs whose arguments may be arrays.
const DECLARING: [&str; 5] = ["declare", "typeset", "local", "export", "readonly"];

/// Whether a command cannot begin with this.
pub(super) fn ends_here(byte: Option<u8>) -> bool {
    byte.is_none_or(|byte| b"\n;&|)".contains(&byte))
}

impl Parser<'_> {
    /// A simple command, of which the first word was read already.
    pub(super) fn simple(&mut self, first: Option<Word>) -> Parse<()> {
        let place = self.found.simples.len();
        // It comes before what is substituted in it, and what is found of it counts even if its end is not understood.
        self.found.simples.push(Simple::default());
        let mut next = first;
        loop {
            let word = match next.take() {
                Some(word) => Some(word),
                None => {
                    self.blanks();
                    if self.at_redirection() {
                        self.redirection(Some(place))?;
                        continue;
                    }
                    self.word()?
                }
            };
            let Some(word) = word else { return Ok(()) };
            self.take_word(place, word)?;
        }
    }

    fn take_word(&mut self, place: usize, word: Word) -> Parse<()> {
        let is_first = self.found.simples[place].words.is_empty();
        if is_first && word.assignment().is_some() {
            self.array_after(&word)?;
            self.found.simples[place].assignments.push(word);
            return Ok(());
        }
        if is_first && hides_assignment(&word) {
            return Err(self.wrong("an element of an array is assigned under a key that is not plain"));
        }
        let declares = self.found.simples[place].words.first().and_then(Word::text);
        if declares.is_some_and(|name| DECLARING.contains(&name)) && word.assignment().is_some() {
            self.array_after(&word)?;
        }
        self.found.simples[place].words.push(word);
        Ok(())
    }

    /// `(…)` right behind `name=`.
    fn array_after(&mut self, word: &Word) -> Parse<()> {
        let is_empty = word.assignment().is_some_and(|(_, value)| value.is("") && word.plain().is_some());
        if !is_empty || !self.eat("(") {
            return Ok(());
        }
        loop {
            self.lines()?;
            if self.eat(")") {
                return Ok(());
            }
            match self.word()? {
                Some(word) => self.found.evaluates |= word.beginning().starts_with('['),
                None => return Err(self.unexpected()),
            }
        }
    }

    /// Redirections behind a compound command hold for everything in it.
    pub(super) fn compound_redirections(&mut self, first: usize) -> Parse<()> {
        loop {
            self.blanks();
            if !self.at_redirection() {
                return Ok(());
            }
            if self.redirection(None)? {
                self.found.simples[first..].iter_mut().for_each(|simple| simple.writes = true);
            }
        }
    }

    /// Whether a redirection begins here, with or without a descriptor before it.
    pub(super) fn at_redirection(&self) -> bool {
        let rest = self.rest();
        let operator = self.after_descriptor();
        match operator.as_bytes() {
            [b'<' | b'>', b'(', ..] => operator.len() < rest.len(),
            [b'<' | b'>', ..] => true,
            [b'&', b'>', ..] => operator.len() == rest.len(),
            _ => false,
        }
    }

    fn after_descriptor(&self) -> &str {
        let rest = self.rest();
        let number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if number.len() < rest.len() {
            return number;
        }
        let named = rest.strip_prefix('{').and_then(|rest| {
            let name = variable_name(rest)?;
            rest[name.len()..].strip_prefix('}')
        });
        named.filter(|after| after.starts_with(['<', '>'])).unwrap_or(rest)
    }

    /// One redirection. Says whether it writes into a file.
    fn redirection(&mut self, owner: Option<usize>) -> Parse<bool> {
        const OPERATORS: [&str; 12] =
            ["&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">>", ">|", ">&", "<", ">"];
        self.at += self.rest().len() - self.after_descriptor().len();
        let operator = OPERATORS.into_iter().find(|operator| self.eat(operator));
        let Some(operator) = operator else { return Err(self.unexpected()) };
        self.ends_operator(b"<>&|-(!")?;
        if self.shell == ShellKind::Posix && operator.starts_with('&') {
            return Err(self.wrong("`&>` redirects in some shells and starts two commands in others"));
        }
        if matches!(operator, "<&" | ">&") && self.eat("-") {
            return self.closed_descriptor();
        }
        self.blanks();
        let line = self.line();
        let Some(target) = self.word()? else { return Err(self.unexpected()) };
        if self.shell == ShellKind::Zsh && target.beginning().starts_with(['!', '|']) {
            return Err(self.wrong("this way to redirect is not understood"));
        }
        match operator {
            "<<" | "<<-" => {
                let document = HereDocument::new(&target, operator == "<<-", owner);
                let document = document.ok_or_else(|| self.wrong("the here-document's end is not plain"))?;
                self.pending.push(document.at(line));
            }
            "<<<" => self.give_input(owner, target.clone()),
            _ => {}
        }
        let writes = operator.contains('>') && !is_harmless(operator, &target);
        if let (true, Some(owner)) = (writes, owner) {
            self.found.simples[owner].writes = true;
        }
        Ok(writes)
    }

    /// `<&-` is a whole operator to some shells, so that a command may follow it at once; to others it is not.
    fn closed_descriptor(&mut self) -> Parse<bool> {
        let ends = self.peek().is_none_or(|byte| b" \t\n;&|()<>".contains(&byte));
        if ends { Ok(false) } else { Err(self.wrong("a descriptor is closed right before a word")) }
    }

    pub(super) fn give_input(&mut self, owner: Option<usize>, input: Word) {
        if let Some(owner) = owner {
            self.found.simples[owner].input = Some(input);
        }
    }
}

/// `name[$(…)]=value`, which is an assignment though its beginning is not plain.
fn hides_assignment(word: &Word) -> bool {
    let name = variable_name(word.beginning()).unwrap_or_default();
    let keyed = !name.is_empty() && word.beginning()[name.len()..].starts_with('[');
    let source = word.source();
    keyed && word.text().is_none_or(|text| text.contains('=')) && source.contains('=')
        || word.plain().is_none() && source.contains("]=") && source.contains('[')
}

fn is_harmless(operator: &str, target: &Word) -> bool {
    let Some(target) = target.text() else { return false };
    let copies = operator.ends_with('&') && target.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    copies || matches!(target, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty")
}
