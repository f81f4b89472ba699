//! Lists and pipelines: the operators between commands.

use super::cursor::{Parse, Parser};

/// Words that end a list, where a command could begin.
const CLOSERS: [&str; 8] = ["then", "do", "done", "fi", "elif", "else", "esac", "}"];

impl Parser<'_> {
    /// Commands until something closes the list.
    pub(super) fn list(&mut self) -> Parse<()> {
        self.deeper(|parser| {
            let mut depends = false;
            loop {
                parser.lines()?;
                if parser.at_closer() {
                    return Ok(());
                }
                let first = parser.found.functions.len();
                let is_piped = parser.pipeline()?;
                let joins = parser.joins();
                if depends || is_piped || parser.is_in_background() {
                    parser.found.functions[first..].iter_mut().for_each(|function| function.certain = false);
                }
                depends = joins;
                if !parser.separator()? {
                    return Ok(());
                }
            }
        })
    }

    /// Whether `&&` or `||` follows: the command after it may not run.
    fn joins(&mut self) -> bool {
        self.blanks();
        self.starts_with("&&") || self.starts_with("||")
    }

    fn is_in_background(&self) -> bool {
        self.starts_with("&") && !self.starts_with("&&")
    }

    /// A list that must not be empty, and what closes it.
    pub(super) fn list_until(&mut self, closer: &str) -> Parse<()> {
        self.list()?;
        self.expect(closer)
    }

    /// A word that must stand here.
    pub(super) fn expect(&mut self, word: &str) -> Parse<()> {
        self.lines()?;
        if self.peek_plain() == word && self.eat(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn at_closer(&self) -> bool {
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => matches!(self.peek_at(1), Some(b';' | b'&')),
            _ => CLOSERS.contains(&self.peek_plain()),
        }
    }

    /// Whether the list may go on.
    fn separator(&mut self) -> Parse<bool> {
        self.blanks();
        match (self.peek(), self.peek_at(1)) {
            (Some(b'&'), Some(b'&')) | (Some(b'|'), Some(b'|')) => {
                self.at += 2;
                self.lines()?;
                if self.at_closer() { Err(self.unexpected()) } else { Ok(true) }
            }
            (Some(b';'), Some(b';' | b'&')) | (None | Some(b')'), _) => Ok(false),
            (Some(b';'), _) => {
                self.at += 1;
                self.ends_operator(b";&|").map(|()| true)
            }
            (Some(b'&'), _) => {
                self.at += 1;
                self.ends_operator(b"&>|!").map(|()| true)
            }
            (Some(b'\n'), _) => Ok(true),
            _ => Err(self.unexpected()),
        }
    }

    /// Commands with bars between them. Returns whether there are several.
    fn pipeline(&mut self) -> Parse<bool> {
        let mut is_piped = false;
        loop {
            let first = self.found.simples.len();
            self.command()?;
            if is_piped {
                self.feed(first);
            }
            self.blanks();
            if self.peek() != Some(b'|') || self.peek_at(1) == Some(b'|') {
                return Ok(is_piped);
            }
            is_piped = true;
            self.at += 1;
            self.ends_operator(b"|&")?;
            self.eat("&");
            self.lines()?;
        }
    }
}

/// Whether a word may not be a command's name.
pub(super) fn is_closer(word: &str) -> bool {
    CLOSERS.contains(&word) || word == "in"
}
