//! A parser of our own that splits shell scripts into the simple commands they can run: exact where shells agree, and
//! bounded in depth and length. Where it does not understand a script, or shells would disagree about it, it reports
//! the line; commands found up to there still count.
//!
//! It expands nothing. Every branch of a script counts, whether it would be taken or not.

mod compound;
mod conditional;
mod cursor;
mod expansion;
mod here;
mod list;
mod quotes;
mod simple;
mod words;

use crate::word::Word;

use self::cursor::Parser;

/// A family of shells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellKind {
    /// GNU bash.
    Bash,
    /// zsh.
    Zsh,
    /// `sh`, whichever shell that is here: constructs about which its kinds disagree are not understood.
    Posix,
}

impl ShellKind {
    /// The kind of a shell by its file name; `None` if that names no shell of these kinds.
    pub fn of_program(name: &str) -> Option<Self> {
        match name {
            "bash" | "rbash" => Some(Self::Bash),
            "zsh" | "rzsh" => Some(Self::Zsh),
            "sh" | "dash" | "ash" | "ksh" | "ksh93" | "mksh" | "lksh" | "oksh" | "yash" | "posh" => {
                Some(Self::Posix)
            }
            _ => None,
        }
    }
}

/// The longest script that is parsed. Longer ones are asked about.
pub(crate) const LONGEST: usize = 256 * 1024;
/// How many commands a script may hold.
const MOST_COMMANDS: usize = 2000;

/// The effects that a script can have.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    /// Every simple command in it.
    pub(crate) simples: Vec<Simple>,
    /// Functions it defines.
    pub(crate) functions: Vec<Function>,
    /// Variables it sets otherwise than by assignments: in loops, arrays and expansions. Without a value, it is
    /// unknown.
    pub(crate) assigned: Vec<(String, Option<Word>)>,
    /// Texts that the shell evaluates as expressions: that runs commands which stand in them or in variables they name.
    pub(crate) evaluated: Vec<Word>,
    /// Whether it has variables that are arrays.
    pub(crate) arrays: bool,
    /// Redirections that write a file, or open a connection, and belong to no command.
    pub(crate) redirections: Vec<String>,
    /// Parts that are understood and yet can hide a command.
    pub(crate) doubts: Vec<Unparsable>,
    /// The first part that was not understood. Parsing ends there.
    pub(crate) broken: Option<Unparsable>,
}

/// One simple command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Simple {
    pub(crate) words: Vec<Word>,
    /// `name=value` before the first word.
    pub(crate) assignments: Vec<Word>,
    /// The here-document or here-string that is its input.
    pub(crate) input: Option<Word>,
    /// The redirection by which it writes a file or opens a connection.
    pub(crate) writes: Option<String>,
    /// Whether its standard input is, or may be, a pipe, a file or a text of the script.
    pub(crate) fed: bool,
}

/// A function that a script defines.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// The commands of its body, by their places among those of the script.
    pub(crate) body: std::ops::Range<usize>,
    /// Whether it is defined whenever the script gets past the definition.
    pub(crate) certain: bool,
}

/// A part that is not understood, and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unparsable {
    pub(crate) line: usize,
    pub(crate) what: String,
}

/// Finds what the evaluation of a text as an expression can run.
pub(crate) fn parse_expression(text: &str, shell: ShellKind, depth: usize) -> Parsed {
    let mut parser = Parser::new(text, shell, depth);
    let outcome = parser.expression();
    let mut found = parser.into_found();
    found.broken = outcome.err();
    found
}

/// Splits a script. `depth`: how deeply it may be nested.
pub(crate) fn parse(text: &str, shell: ShellKind, depth: usize) -> Parsed {
    let mut parser = Parser::new(text, shell, depth);
    let outcome = parser.script();
    let mut found = parser.into_found();
    found.broken = outcome.err();
    found.feed_functions();
    found
}

impl Parsed {
    /// A function reads what its caller reads, and `exec <file` changes the input of everything in its shell.
    fn feed_functions(&mut self) {
        for body in self.functions.iter().map(|function| function.body.clone()) {
            let inside = self.simples.get_mut(body).unwrap_or_default();
            inside.iter_mut().for_each(|simple| simple.fed = true);
        }
        let is_exec = |simple: &Simple| simple.words.first().is_some_and(|word| word.is("exec"));
        if self.simples.iter().any(|simple| simple.fed && is_exec(simple)) {
            self.simples.iter_mut().for_each(|simple| simple.fed = true);
        }
    }
}
