//! Simple commands: assignments, words and redirections.

use super::cursor::{Parse, Parser};
use super::here::HereDocument;
use super::{ShellKind, Simple};
use crate::word::{Word, variable_name};

/// Programs whose arguments may be arrays.
const DECLARING: [&str; 5] = ["declare", "typeset", "local", "export", "readonly"];

/// Whether this text cannot begin a command.
pub(super) fn ends_here(byte: Option<u8>) -> bool {
    byte.is_none_or(|byte| b"\n;&|)".contains(&byte))
}

impl Parser<'_> {
    /// A simple command, of which the first word was read already.
    pub(super) fn simple(&mut self, first: Option<Word>) -> Parse<()> {
        let place = self.found.simples.len();
        // The command is noted before those in its substitutions, and counts even if its end is not understood.
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
        let keeps_descriptor = word.source().starts_with('{') && word.source().contains('[');
        if keeps_descriptor && matches!(self.peek(), Some(b'<' | b'>')) {
            return Err(self.wrong("a descriptor is kept in an element of an array"));
        }
        if is_first && word.assignment().is_some() {
            self.note_key(&word);
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

    /// The index in `name[key]=value` or `[key]=value` is an expression, unless the array is known to be associative.
    fn note_key(&mut self, word: &Word) {
        let beginning = word.beginning();
        let name = variable_name(beginning).unwrap_or_default();
        let Some(rest) = beginning[name.len()..].strip_prefix('[') else { return };
        self.found.arrays = true;
        match rest.find("]=").or_else(|| rest.find("]+=")) {
            Some(end) => self.found.evaluated.push(Word::literal(&rest[..end])),
            None => self.found.evaluated.push(word.clone()),
        }
    }

    /// `(…)` right behind `name=`.
    fn array_after(&mut self, word: &Word) -> Parse<()> {
        let assigned = word.assignment().filter(|(_, value)| value.is("") && word.plain().is_some());
        let Some((name, _)) = assigned else { return Ok(()) };
        if !self.eat("(") {
            return Ok(());
        }
        self.found.arrays = true;
        loop {
            self.lines()?;
            if self.eat(")") {
                return Ok(());
            }
            let Some(element) = self.word()? else { return Err(self.unexpected()) };
            if element.beginning().starts_with('[') {
                self.note_key(&element);
            }
            self.found.assigned.push((name.to_owned(), Some(element)));
        }
    }

    /// Redirections behind a compound command hold for everything in it.
    pub(super) fn compound_redirections(&mut self, first: usize) -> Parse<()> {
        loop {
            self.blanks();
            if !self.at_redirection() {
                return Ok(());
            }
            let reads = self.after_descriptor().starts_with('<');
            let writes = self.redirection(None)?;
            if reads {
                self.feed(first);
            }
            let Some(writes) = writes else { continue };
            if self.found.simples.len() == first {
                self.found.redirections.push(writes);
            } else {
                let inside = self.found.simples[first..].iter_mut();
                inside.for_each(|simple| simple.writes = Some(writes.clone()));
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

    /// One redirection; its text, if it writes into a file or opens a connection.
    fn redirection(&mut self, owner: Option<usize>) -> Parse<Option<String>> {
        const OPERATORS: [&str; 12] =
            ["&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">>", ">|", ">&", "<", ">"];
        let start = self.at;
        self.note_descriptor();
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
        if let Some(owner) = owner.filter(|_| operator.starts_with('<') && !target.is("/dev/null")) {
            self.found.simples[owner].fed = true;
        }
        let writes = operator.contains('>') && !is_harmless(operator, &target, self.shell);
        let connects = matches!(operator, "<" | "<>") && may_connect(&target);
        let written = (writes || connects).then(|| self.text[start..self.at].to_owned());
        if let (Some(written), Some(owner)) = (&written, owner) {
            self.found.simples[owner].writes = Some(written.clone());
        }
        Ok(written)
    }

    /// `{name}>` puts the number of a descriptor into a variable.
    fn note_descriptor(&mut self) {
        if let Some(name) = self.rest().strip_prefix('{').and_then(variable_name) {
            self.found.assigned.push((name.to_owned(), Some(Word::literal("10"))));
        }
    }

    /// `<&-` is a whole operator to some shells, so that a command may follow it at once; to others it is not.
    fn closed_descriptor(&mut self) -> Parse<Option<String>> {
        let ends = self.peek().is_none_or(|byte| b" \t\n;&|()<>".contains(&byte));
        if ends { Ok(None) } else { Err(self.wrong("a descriptor is closed right before a word")) }
    }

    /// The commands from this one on do not read from the terminal.
    pub(super) fn feed(&mut self, first: usize) {
        self.found.simples[first..].iter_mut().for_each(|simple| simple.fed = true);
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

fn is_harmless(operator: &str, target: &Word, shell: ShellKind) -> bool {
    let Some(target) = target.text() else { return false };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // In bash `>&5-` moves a descriptor; in zsh it writes a file of that name, as `>& -5` and `>& 5-x` do everywhere.
    let moved = target.strip_suffix('-').filter(|_| shell == ShellKind::Bash);
    let copies = operator.ends_with('&') && (target == "-" || is_number(moved.unwrap_or(target)));
    let is_open = target.strip_prefix("/dev/fd/").is_some_and(is_number);
    copies || is_open || matches!(target, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty")
}

/// Whether bash may open a connection for this path, though it is only read.
fn may_connect(target: &Word) -> bool {
    let (beginning, is_known) = (target.beginning(), target.text().is_some());
    let is_file = target.source().starts_with(['~', '<']);
    ["/dev/tcp/", "/dev/udp/"].iter().any(|network| {
        beginning.starts_with(network) || !is_known && !is_file && network.starts_with(beginning)
    })
}
