//! Interpreters of other languages. Code that stands in their arguments or is fed to them is opaque: it is asked about,
//! unless a rule allows the interpreter together with that option, as in `["python3", "-c"]`. A file is judged by its
//! name.

use super::builtins::is_made_up;
use super::{Given, Look, tables};
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
        code: &[
            "-e",
            "--eval",
            "-p",
            "--print",
            "-pe",
            "-r",
            "--require",
            "--import",
            "--loader",
            "--experimental-loader",
            "--run",
            "--env-file",
            "--experimental-config-file",
            "--test-reporter",
            "--build-snapshot-config",
        ],
        values: &["-C"],
    },
    Interpreter { names: &["deno"], code: &["eval", "repl"], values: &[] },
    Interpreter { names: &["bun"], code: &["-e", "--eval", "-p", "--print"], values: &[] },
    Interpreter {
        names: &["php"],
        code: &[
            "-r",
            "-R",
            "-B",
            "-E",
            "-d",
            "-a",
            "--run",
            "--process-begin",
            "--process-code",
            "--process-end",
            "--define",
            "--interactive",
        ],
        values: &["-c", "--php-ini", "-z", "--zend-extension"],
    },
    Interpreter { names: &["lua", "luajit"], code: &["-e", "-l", "-i"], values: &[] },
    Interpreter {
        names: &[
            "Rscript", "R", "julia", "ghc", "ghci", "elixir", "iex", "scala", "groovy", "ocaml", "octave",
            "gnuplot", "erl",
        ],
        code: &["-e", "-E", "-L", "--eval", "--print", "--load", "--rpc-eval", "--erl", "-eval", "-run"],
        values: &[],
    },
    Interpreter { names: &["tclsh", "wish", "expect"], code: &["-c"], values: &[] },
    Interpreter {
        names: &["tsx", "ts-node", "ts-node-esm", "esno", "babel-node", "coffee", "electron"],
        code: &[
            "-e",
            "--eval",
            "-p",
            "--print",
            "-pe",
            "-r",
            "--require",
            "--import",
            "--loader",
            "--compiler",
        ],
        values: &["-C", "-P", "--project", "--tsconfig"],
    },
    Interpreter {
        names: &["swift", "raku", "rakudo", "janet", "fennel", "bb", "pike", "gforth", "qjs", "d8", "kotlin"],
        code: &["-e", "-l", "-r", "--eval", "--execute"],
        values: &[],
    },
    Interpreter {
        names: &["jython", "micropython", "hy", "gjs", "sage"],
        code: &["-c"],
        values: &["-I", "-X"],
    },
    Interpreter { names: &["mongo", "mongosh"], code: &["--eval", "--shell"], values: &["--host", "--port"] },
    Interpreter { names: &["swipl", "yap"], code: &["-g", "-t", "-s", "-f", "-l"], values: &[] },
    Interpreter { names: &["osascript"], code: &["-e"], values: &[] },
    Interpreter {
        names: &["guile", "racket", "clojure", "clj", "sbcl"],
        code: &["-c", "-e", "--eval"],
        values: &[],
    },
];

/// Programs that have code in their arguments only when asked.
const EDITORS: &[(&[&str], &[&str])] = &[
    (
        &["vim", "vi", "nvim", "view", "gvim", "vimdiff", "rvim", "rview"],
        &[
            "-c",
            "--cmd",
            "-S",
            "+",
            "-u",
            "-l",
            "-s",
            "-e",
            "-E",
            "-W",
            "-w",
            "-i",
            "-V",
            "--startuptime",
            "--log",
            "--remote",
            "--server",
        ],
    ),
    (&["ed", "ex", "red"], &[""]),
    (
        &["emacs", "emacsclient"],
        &[
            "-e",
            "--eval",
            "-eval",
            "-f",
            "-l",
            "--load",
            "-load",
            "--funcall",
            "-batch",
            "--batch",
            "-x",
            "--script",
            "-script",
            "--execute",
            "-execute",
            "-funcall",
            "-L",
            "--directory",
            "-u",
            "--user",
        ],
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
    (&["jshell"], &["-"]),
    (&["kak"], &["-e", "-E", "-f", "-p"]),
    (&["hx", "helix", "micro"], &["-c", "--config", "-config-dir", "-plugin"]),
];

/// Programs that are useless without commands from their input, some of which run others. Editors and debuggers read
/// theirs from the terminal; where their input is a pipe or a file, they read commands from it too.
const ALWAYS_READING: [&str; 3] = ["ed", "ex", "red"];

const CODE: &str = "it runs code of another language that is not looked at";

pub(super) fn look(name: &str, given: &Given<'_>, look: &mut Look) {
    let arguments = &given.words[1..];
    if let Some((_, options)) = EDITORS.iter().find(|(names, _)| names.contains(&name)) {
        let is_line = |text: &str| text.len() > 1 && text[1..].bytes().all(|byte| byte.is_ascii_digit());
        let takes_code = |word: &Word| {
            let text = word.beginning();
            let goes_to_line = text.starts_with('+') && word.text().is_some_and(is_line);
            !goes_to_line && options.iter().any(|option| text.starts_with(option))
        };
        if arguments.iter().any(|word| takes_code(word) || word.split() == Split::Words) {
            look.ask_unless_named(CODE);
        }
        let only_informs = |word: &Word| matches!(word.text(), Some("--version" | "--help"));
        let reads_input = given.fed || ALWAYS_READING.contains(&name);
        if reads_input && !arguments.iter().any(only_informs) {
            look.ask_unless_named("it reads commands from its input");
        }
        return;
    }
    let is = |known: &&str| name.strip_prefix(*known).is_some_and(is_version);
    if let Some(interpreter) = INTERPRETERS.iter().find(|it| it.names.iter().any(is)) {
        interpreter.look(arguments, look);
        look_at_pytest(given.words, look);
    }
}

/// `python3 -m pytest` takes the options of `pytest`.
fn look_at_pytest(words: &[Word], look: &mut Look) {
    if let Some(place) = words.iter().position(|word| word.is("-m"))
        && words.get(place + 1).is_some_and(|word| word.is("pytest"))
    {
        tables::look_at_subcommand("pytest", words, place + 1, look);
    }
}

/// Whether this may follow a language's name in the name of its interpreter: `python3.11`.
fn is_version(rest: &str) -> bool {
    rest.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | 't' | 'w'))
}

impl Interpreter {
    fn look(&self, arguments: &[Word], look: &mut Look) {
        let mut words = arguments.iter();
        let mut finds_files = false;
        while let Some(word) = words.next() {
            let text = word.beginning();
            let is_option = text.starts_with('-') && !word.is("-");
            if word.split() == Split::Words || self.takes_code(word) {
                return look.ask_unless_named(CODE);
            }
            let tells_version = self.names.contains(&"perl") || self.names.contains(&"node");
            if matches!(word.text(), Some("--version" | "-V" | "--help" | "-h"))
                || tells_version && word.is("-v")
            {
                return;
            }
            // With `--test` the program finds the files to run by their names.
            finds_files |= word.is("--test");
            if let Some(at) = self.module_option(text) {
                let attached = Some(word.from(at + 1)).filter(|module| !module.is(""));
                return module(attached.as_ref().or_else(|| words.next()), look);
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
        if !finds_files {
            look.ask_unless_named("it reads code of another language from its input");
        }
    }

    /// Where `m` stands in a word with short options, as in `python3 -Im timeit`.
    fn module_option(&self, text: &str) -> Option<usize> {
        let is_cluster = text.starts_with('-') && !text.starts_with("--");
        let has_modules = self.names.contains(&"python");
        let at = text.find('m').filter(|_| is_cluster && has_modules)?;
        // Behind an option that takes a value, it is part of that.
        let takes_value = |letter: &str| text[..at].contains(letter.trim_start_matches('-'));
        (!self.values.iter().any(|value| takes_value(value))).then_some(at)
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

/// A module of Python is judged by its name, as a file is; but some run the code that they are given.
fn module(module: Option<&Word>, look: &mut Look) {
    const RUNNING: [&str; 15] = [
        "timeit", "pdb", "bdb", "code", "runpy", "IPython", "ptpython", "bpython", "idlelib", "asyncio",
        "cProfile", "profile", "trace", "pickle", "sqlite3",
    ];
    let name = module.and_then(Word::text).map(|name| name.split('.').next().unwrap_or_default());
    if name.is_none_or(|name| RUNNING.contains(&name)) {
        look.ask_unless_named(CODE);
    }
}
