//! Interpreters of other languages. Code that stands in their arguments or is fed to them is opaque: it is asked about,
//! unless a rule allows the interpreter together with that option, as in `["python3", "-c"]`. A file is judged by its name.

use super::builtins::is_made_up;
use super::{Given, Look};
use crate::word::{Split, Word};

/// An interpreter: how its name begins, the options that take code, and those that take some other value.
struct Interpreter {
    names: &'static [&'static str],
    code: &'static [&'static str],
    values: &'static [&'static str],
}

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        names: &["python", "pypy", "ipython", "bpython"],
        code: &["-c"],
        values: &["-W", "-X", "-Q"],
    },
    Interpreter { names: &["perl"], code: &["-e", "-E", "-M", "-m", "-d"], values: &["-I"] },
    Interpreter { names: &["ruby", "jruby", "irb"], code: &["-e", "-r"], values: &["-I", "-C"] },
    Interpreter {
        names: &["node", "nodejs"],
        code: &["-e", "--eval", "-p", "--print", "-pe", "-r", "--require", "--import", "--loader"],
        values: &["-C"],
    },
    Interpreter { names: &["deno"], code: &["eval", "repl"], values: &[] },
    Interpreter { names: &["bun"], code: &["-e", "--eval", "-p", "--print"], values: &[] },
    Interpreter { names: &["php"], code: &["-r", "-R", "-B", "-E", "-d", "-a"], values: &["-c"] },
    Interpreter { names: &["lua", "luajit"], code: &["-e", "-l", "-i"], values: &[] },
    Interpreter {
        names: &["Rscript", "R", "julia", "ghci", "elixir", "iex", "scala", "groovy"],
        code: &["-e", "-E", "--eval"],
        values: &[],
    },
    Interpreter { names: &["tclsh", "wish", "expect"], code: &["-c"], values: &[] },
    Interpreter { names: &["osascript"], code: &["-e"], values: &[] },
    Interpreter {
        names: &["guile", "racket", "clojure", "clj", "sbcl"],
        code: &["-c", "-e", "--eval"],
        values: &[],
    },
];

/// Programs that have code in their arguments only when asked.
const EDITORS: &[(&[&str], &[&str])] = &[
    (&["vim", "vi", "nvim", "ex", "view", "gvim", "vimdiff", "ed"], &["-c", "--cmd", "-S", "+", "-u", "-l"]),
    (
        &["emacs", "emacsclient"],
        &["-e", "--eval", "-eval", "-f", "-l", "--load", "-load", "--funcall", "-batch", "--batch"],
    ),
    (
        &["gdb", "lldb"],
        &[
            "-ex",
            "--ex",
            "-iex",
            "-x",
            "--command",
            "-ix",
            "--eval-command",
            "-o",
            "-O",
            "-s",
            "--batch",
            "-batch",
        ],
    ),
    (&["sqlite3", "psql", "mysql"], &["-cmd", "\\!"]),
    (&["jshell"], &["-"]),
];

const CODE: &str = "it runs code of another language that is not looked at";

pub(super) fn look(name: &str, given: &Given<'_>, look: &mut Look) {
    let arguments = &given.words[1..];
    if matches!(name, "awk" | "gawk" | "mawk" | "nawk") {
        return awk(arguments, look);
    }
    if matches!(name, "sed" | "gsed") {
        return sed(arguments, look);
    }
    if let Some((_, options)) = EDITORS.iter().find(|(names, _)| names.contains(&name)) {
        let takes_code = |word: &Word| options.iter().any(|option| word.beginning().starts_with(option));
        if arguments.iter().any(|word| takes_code(word) || word.split() == Split::Words) {
            look.ask_unless_named(CODE);
        }
        return;
    }
    let is = |known: &&str| name.strip_prefix(*known).is_some_and(is_version);
    if let Some(interpreter) = INTERPRETERS.iter().find(|it| it.names.iter().any(is)) {
        interpreter.look(arguments, look);
    }
}

/// What may follow a language's name in that of its interpreter: `python3.11`.
fn is_version(rest: &str) -> bool {
    rest.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | 't' | 'w'))
}

impl Interpreter {
    fn look(&self, arguments: &[Word], look: &mut Look) {
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let text = word.beginning();
            let is_option = text.starts_with('-') && !word.is("-");
            if word.split() == Split::Words || self.takes_code(word) {
                return look.ask_unless_named(CODE);
            }
            if matches!(word.text(), Some("--version" | "-V" | "--help" | "-h")) || text.starts_with("-m") {
                // A module is judged by its name, as a file is.
                return;
            }
            if is_option {
                if self.values.contains(&text) {
                    words.next();
                }
                continue;
            }
            if word.text().is_none_or(is_made_up) {
                look.ask_unless_named(CODE);
            }
            return;
        }
        look.ask_unless_named("it reads code of another language from its input");
    }

    /// Also in a word with several short options, as in `perl -ne`.
    fn takes_code(&self, word: &Word) -> bool {
        let text = word.beginning();
        let is_cluster = text.starts_with('-') && !text.starts_with("--") && text.len() > 1;
        self.code.iter().any(|option| {
            let letter = option.strip_prefix('-').filter(|letter| letter.len() == 1);
            let in_cluster = letter.is_some_and(|letter| is_cluster && text[1..].contains(letter));
            text == *option || text.starts_with(&format!("{option}=")) || in_cluster
        })
    }
}

/// Its programs are everywhere and mostly only print; those that can run commands are asked about.
fn awk(arguments: &[Word], look: &mut Look) {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.text() {
            Some("-F" | "-v" | "--field-separator" | "--assign") => {
                words.next();
            }
            Some("-f" | "--file") => {
                if words.next().and_then(Word::text).is_none_or(is_made_up) {
                    look.ask_unless_named(CODE);
                }
                return;
            }
            Some(option) if option.len() > 1 && option.starts_with('-') && !runs_in_awk(option) => {}
            Some(program) if !runs_in_awk(program) => return,
            _ => return look.ask_unless_named(CODE),
        }
    }
}

fn runs_in_awk(program: &str) -> bool {
    program.contains("system") || program.contains(['|', '@']) || program.contains("getline")
}

/// GNU sed runs commands with `e`, alone or as a flag of `s`.
fn sed(arguments: &[Word], look: &mut Look) {
    let may_run = |word: &Word| match word.text() {
        Some(text) => !text.starts_with("--") && runs_in_sed(text),
        None => {
            word.texts().any(runs_in_sed) || word.texts().next().is_none() && word.split() != Split::Files
        }
    };
    if arguments.iter().any(may_run) {
        look.ask_unless_named("its script may run commands");
    }
}

/// An `e` behind which a command of sed may end or an argument begin, and before which nothing of a word stands.
fn runs_in_sed(script: &str) -> bool {
    let flags = |c: char| c.is_ascii_digit() || "gpiImM".contains(c);
    let bytes: Vec<char> = script.chars().collect();
    (0..bytes.len()).any(|place| {
        if bytes[place] != 'e' {
            return false;
        }
        let before = bytes[..place].iter().rev().find(|c| !flags(**c));
        let after = bytes[place + 1..].iter().find(|c| !flags(**c));
        let begins = before.is_none_or(|c| !c.is_alphanumeric() && *c != '-' && *c != '_' && *c != '.');
        let ends = after.is_none_or(|c| c.is_whitespace() || matches!(c, ';' | '}'));
        begins && ends
    })
}
