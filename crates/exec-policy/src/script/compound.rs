//! Commands that hold others: groups, loops, branches, functions.

use super::cursor::{Parse, Parser};
use super::list::is_closer;
use super::{Function, ShellKind, simple};
use crate::word::Word;

impl Parser<'_> {
    /// One command of any kind, with its redirections.
    pub(super) fn command(&mut self) -> Parse<()> {
        self.deeper(Self::any_command)
    }

    fn any_command(&mut self) -> Parse<()> {
        self.blanks();
        let first = self.found.simples.len();
        if self.peek() == Some(b'(') {
            self.nested(Self::parentheses)?;
            return self.compound_redirections(first);
        }
        if self.at_redirection() {
            return self.simple(None);
        }
        let Some(word) = self.word()? else { return Err(self.unexpected()) };
        match word.plain() {
            Some(keyword) if self.keyword(keyword)? => self.compound_redirections(first),
            Some(prefix @ ("!" | "time" | "coproc")) => {
                self.nested(|parser| parser.prefixed(prefix, word.clone()))
            }
            Some(closer) if is_closer(closer) => Err(self.wrong(&format!("`{closer}` is not expected here"))),
            Some(name) if self.at_function() => self.function(name.to_owned()),
            _ => self.simple(Some(word)),
        }
    }

    /// Parses the construct that a keyword begins; `false` if it is not a keyword.
    fn keyword(&mut self, keyword: &str) -> Parse<bool> {
        if keyword == "function" {
            self.blanks();
            let name = self.word()?.and_then(|word| word.plain().map(str::to_owned));
            let name = name.filter(|name| name != "{").ok_or_else(|| self.unexpected())?;
            self.blanks();
            self.at_function();
            self.function(name)?;
            return Ok(true);
        }
        self.nested(|parser| parser.holding(keyword))
    }

    /// Parses a construct that holds other commands, but is not a function.
    fn holding(&mut self, keyword: &str) -> Parse<bool> {
        match keyword {
            "{" => self.list_until("}")?,
            "if" => self.branches()?,
            "while" | "until" => {
                self.list_until("do")?;
                self.list_until("done")?;
            }
            "for" | "select" => self.for_loop()?,
            "case" => self.cases()?,
            "[[" => self.conditional()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `!`, `time` and `coproc` before a command.
    fn prefixed(&mut self, prefix: &str, word: Word) -> Parse<()> {
        self.blanks();
        match prefix {
            // With other options it is the program of that name.
            "time" if self.peek() == Some(b'-') && !matches!(self.peek_plain(), "-p" | "--") => {
                self.simple(Some(word))
            }
            "time" => {
                while matches!(self.peek_plain(), "-p" | "--") {
                    let option = self.peek_plain();
                    self.eat(option);
                    self.blanks();
                }
                if simple::ends_here(self.peek()) { Ok(()) } else { self.command() }
            }
            "coproc" => {
                self.found.arrays = true;
                self.skip_coproc_name();
                self.command()
            }
            _ => self.command(),
        }
    }

    /// A name stands only before a compound command.
    fn skip_coproc_name(&mut self) {
        const COMPOUND: [&str; 9] = ["{", "if", "while", "until", "for", "select", "case", "[[", "(("];
        let (start, name) = (self.at, self.peek_plain());
        if COMPOUND.contains(&name) || name.is_empty() {
            return;
        }
        self.at += name.len();
        self.blanks();
        if !COMPOUND.contains(&self.peek_plain()) && self.peek() != Some(b'(') {
            self.at = start;
            return;
        }
        // It becomes an array of descriptors.
        self.found.assigned.push((name.to_owned(), None));
    }

    /// A subshell, or an arithmetic command.
    fn parentheses(&mut self) -> Parse<()> {
        self.at += 1;
        self.ends_operator(b"(")?;
        if self.peek() != Some(b'(') {
            self.list()?;
            return if self.eat(")") { Ok(()) } else { Err(self.unexpected()) };
        }
        if self.shell == ShellKind::Posix {
            return Err(self.wrong("`((` is arithmetic to some shells and two subshells to others"));
        }
        self.at += 1;
        self.arithmetic()
    }

    fn branches(&mut self) -> Parse<()> {
        self.list_until("then")?;
        loop {
            self.list()?;
            self.lines()?;
            match self.peek_plain() {
                word @ "elif" => {
                    self.eat(word);
                    self.list_until("then")?;
                }
                word @ "else" => {
                    self.eat(word);
                    return self.list_until("fi");
                }
                _ => return self.expect("fi"),
            }
        }
    }

    fn for_loop(&mut self) -> Parse<()> {
        self.blanks();
        if self.eat("((") {
            self.arithmetic()?;
        } else {
            let name = self.peek_plain();
            let Some(name) = crate::word::variable_name(name).filter(|whole| *whole == name) else {
                return Err(self.unexpected());
            };
            self.at += name.len();
            self.lines()?;
            if self.peek_plain() == "in" {
                self.eat("in");
                self.blanks();
                while let Some(word) = self.word()? {
                    let word = if is_range(word.source()) { Word::literal("1") } else { word };
                    self.found.assigned.push((name.to_owned(), Some(word)));
                    self.blanks();
                }
            } else {
                self.found.assigned.push((name.to_owned(), None));
            }
        }
        self.blanks();
        self.eat(";");
        self.lines()?;
        if self.peek_plain() == "{" {
            self.eat("{");
            return self.list_until("}");
        }
        self.expect("do")?;
        self.list_until("done")
    }

    fn cases(&mut self) -> Parse<()> {
        self.blanks();
        if self.word()?.is_none() {
            return Err(self.unexpected());
        }
        self.expect("in")?;
        loop {
            self.lines()?;
            if self.peek_plain() == "esac" {
                self.eat("esac");
                return Ok(());
            }
            self.patterns()?;
            self.list()?;
            self.lines()?;
            let _ended = self.eat(";;&") || self.eat(";;") || self.eat(";&");
        }
    }

    fn patterns(&mut self) -> Parse<()> {
        self.eat("(");
        loop {
            self.blanks();
            if self.word()?.is_none() {
                return Err(self.unexpected());
            }
            self.blanks();
            if self.eat(")") {
                return Ok(());
            }
            if !self.eat("|") {
                return Err(self.unexpected());
            }
        }
    }

    /// Steps over `()`, if they stand here.
    fn at_function(&mut self) -> bool {
        let start = self.at;
        self.blanks();
        if self.eat("(") {
            self.blanks();
            if self.eat(")") {
                return true;
            }
        }
        self.at = start;
        false
    }

    fn function(&mut self, name: String) -> Parse<()> {
        let (first, certain) = (self.found.simples.len(), self.nesting == 0);
        self.lines()?;
        let outcome = self.nested(Self::command);
        let body = first..self.found.simples.len();
        self.found.functions.push(Function { name, body, certain });
        outcome
    }
}

/// Whether this is `{1..10}` or `{1..10..2}`, which stands for numbers only.
fn is_range(source: &str) -> bool {
    let inner = source.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let is_number = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    inner.is_some_and(|inner| inner.contains("..") && inner.split("..").all(is_number))
}
