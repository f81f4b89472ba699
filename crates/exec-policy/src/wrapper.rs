//! Wrappers, programs that run others: the commands that they run, the ways to read their words, and the parts that
//! cannot be known.
//!
//! Each kind of wrapper has a file. A program that none of them knows is an ordinary one, judged by its words alone: so
//! are `make`, `npm` and scripts in files, because their contents are not visible here.

mod builtins;
mod git;
mod harmless;
mod interpreters;
mod loaders;
mod options;
mod prefixes;
mod remote;
mod runners;
mod search;
mod shells;
mod tables;
mod toolchains;
mod vague;

pub(crate) use self::toolchains::flags_run_program;
use crate::rule::{CommandWords, is_usual_program};
use crate::script::ShellKind;
use crate::word::{Split, Word};

/// A command as the parser found it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given<'a> {
    pub(crate) words: &'a [Word],
    /// Its input, if the script contains it as a here-document or here-string.
    pub(crate) input: Option<&'a Word>,
    /// The redirection by which it writes a file or opens a connection.
    pub(crate) writes: Option<&'a str>,
    /// Whether its standard input is, or may be, a pipe, a file or a text of the script.
    pub(crate) fed: bool,
    /// The shell that runs it.
    pub(crate) shell: ShellKind,
    /// Whether it stands in the script itself, and is not run by a wrapper.
    pub(crate) direct: bool,
    /// Whether the script has arrays.
    pub(crate) arrays: bool,
}

/// The findings about a command beyond its words.
#[derive(Debug)]
pub(crate) struct Look {
    /// The readings of its words that rules are compared with.
    pub(crate) readings: Vec<CommandWords>,
    /// The commands and scripts that it runs.
    pub(crate) carried: Vec<Carried>,
    /// The name of the wrapper, for people.
    pub(crate) carrier: Option<String>,
    /// The reasons to ask about it at least.
    pub(crate) floors: Vec<Floor>,
    /// Variables it sets.
    pub(crate) settings: Vec<(String, Word)>,
    /// Words that the shell evaluates as expressions. It is harmless only if they are numbers.
    pub(crate) evaluated: Vec<Word>,
    /// Why it needs no rule of its own.
    pub(crate) harmless: Option<&'static str>,
}

/// Something that a command runs.
#[derive(Debug)]
pub(crate) enum Carried {
    /// A program with its arguments.
    Command(Vec<Word>),
    /// A script for a shell.
    Script(Word, ShellKind),
    /// A script that runs in the same shell.
    Inline(Word),
    /// A program with its arguments, if these words are one.
    Perhaps(Vec<Word>),
}

/// A reason to ask.
#[derive(Debug)]
pub(crate) struct Floor {
    pub(crate) why: String,
    pub(crate) strength: Strength,
}

/// When a reason to ask holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strength {
    /// Whatever rules allow.
    Always,
    /// Where some command is restricted.
    UnlessUnrestricted,
    /// Unless a rule allows the command by more than the program's name.
    UnlessNamed,
    /// Where commands need a rule, and the one that allows this neither names an option nor lets it write.
    UnlessDefaultAllows,
    /// Where commands need a rule, and the one that allows this names fewer words.
    UnlessWords(usize),
    /// Where commands need a rule, and the one that allows this does not let it write.
    UnlessWrites,
}

/// Looks at a command.
pub(crate) fn look(given: &Given<'_>) -> Look {
    let mut look = Look::plain(given.words);
    let Some(name) = given.words[0].file_name().map(str::to_owned) else {
        look.ask("its name is known only when it runs");
        return look;
    };
    if given.words[0].text().is_none() {
        look.ask("where the program lies is known only when it runs");
    }
    if given.writes.is_some() {
        look.ask_at_least(Strength::UnlessWrites, "it writes a file or opens a connection");
    }
    builtins::look(&name, given, &mut look);
    prefixes::look(&name, given, &mut look);
    shells::look(&name, given, &mut look);
    search::look(&name, given, &mut look);
    remote::look(&name, given, &mut look);
    loaders::look(&name, given, &mut look);
    vague::look(&name, given, &mut look);
    runners::look(&name, given, &mut look);
    interpreters::look(&name, given, &mut look);
    git::look(&name, given, &mut look);
    tables::look(&name, given, &mut look);
    if given.shell == ShellKind::Zsh {
        builtins::look_in_zsh(&name, given, &mut look);
    }
    look
}

impl Look {
    fn plain(words: &[Word]) -> Self {
        Self {
            readings: vec![CommandWords::plain(words)],
            carried: Vec::new(),
            carrier: None,
            floors: Vec::new(),
            settings: Vec::new(),
            evaluated: Vec::new(),
            harmless: None,
        }
    }

    /// The command is asked about, whatever rules allow.
    fn ask(&mut self, why: impl Into<String>) {
        self.ask_at_least(Strength::Always, why);
    }

    /// The command is asked about, unless a rule allows it by name.
    fn ask_unless_named(&mut self, why: impl Into<String>) {
        self.ask_at_least(Strength::UnlessNamed, why);
    }

    fn ask_at_least(&mut self, strength: Strength, why: impl Into<String>) {
        self.floors.push(Floor { why: why.into(), strength });
    }

    fn carry(&mut self, carrier: &str, carried: Carried) {
        self.carrier = Some(carrier.to_owned());
        self.carried.push(carried);
    }

    /// The command that a wrapper runs as it is; none, if no words are left.
    fn carry_command(&mut self, carrier: &str, words: &[Word]) {
        if !words.is_empty() {
            self.carry(carrier, Carried::Command(words.to_vec()));
        }
    }

    /// The wrapper adds nothing to the command that it runs, if it is the program that it seems to be. A redirection
    /// belongs to the command that it runs; a script may hold none, and then the wrapper itself has made the file.
    fn is_transparent(&mut self, given: &Given<'_>) {
        let carries_command = matches!(self.carried[..], [Carried::Command(_)]);
        let is_usual = given.words[0].text().is_some_and(is_usual_program);
        if is_usual && (given.writes.is_none() || carries_command) {
            self.floors.retain(|floor| floor.strength != Strength::UnlessWrites);
            self.harmless = Some("only what it runs counts");
        }
    }
}

/// Words as one script, the way programs that take several arguments put them together.
fn joined(words: &[Word]) -> Word {
    let texts: Option<Vec<&str>> = words.iter().map(Word::text).collect();
    match texts {
        Some(texts) => Word::literal(texts.join(" ")),
        None => Word::unknown(&crate::word::line(words), Split::Words),
    }
}

/// The first words of a possible command: enough for every rule, and bounded however many follow.
fn head(words: &[Word]) -> Vec<Word> {
    const MOST: usize = 32;
    words[..words.len().min(MOST)].to_vec()
}
