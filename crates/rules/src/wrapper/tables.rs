//! Programs that run commands, read code or write files by an option, found by their tables.

use super::builtins::is_made_up;
use super::{Carried, Given, Look, Strength};
use crate::languages::{self, Meaning};
use crate::programs::{self, Arguments, Coverage, Found, Program, Role, Style};
use crate::script::ShellKind;
use crate::word::{Split, Word};

/// Programs whose first operand is a script, unless options give them one.
const SCRIPT_FIRST: [&str; 6] = ["sed", "gsed", "awk", "gawk", "mawk", "nawk"];

/// Programs that run the code of a project anyway. A word that may turn out to be an option adds nothing to that.
const RUNS_PROJECTS: [&str; 8] = ["cargo", "npm", "npx", "pnpm", "go", "rake", "pip", "pip3"];

const CODE: &str = "it runs code of another language that is not looked at";
const INPUT: &str = "it reads commands from its input";

pub(super) fn look(name: &str, given: &Given<'_>, look: &mut Look) {
    if let Some(program) = Program::named(name) {
        let arguments = programs::read(program, given.words, 1);
        options(name, program, &arguments, look);
        operands(name, &arguments, given, look);
    }
}

/// The same for a subcommand, at this place among the words.
pub(super) fn look_at_subcommand(name: &str, words: &[Word], place: usize, look: &mut Look) -> Arguments {
    let Some(program) = Program::named(name) else { return Arguments::default() };
    let arguments = programs::read(program, words, place + 1);
    options(name, program, &arguments, look);
    arguments
}

fn options(name: &str, program: &Program, arguments: &Arguments, look: &mut Look) {
    if program.coverage == Coverage::Complete {
        // Where it can only write files, an option that is not known does no more.
        let strength =
            if program.can_run() { Strength::UnlessUnrestricted } else { Strength::UnlessDefaultAllows };
        for option in &arguments.unknown {
            look.ask_at_least(strength, format!("its option `{option}` is not known"));
        }
    }
    if program.can_harm() && !RUNS_PROJECTS.contains(&name) && !arguments.vague.is_empty() {
        let why = "one of its arguments may turn out to be an option that runs a command or writes a file";
        look.ask_at_least(Strength::UnlessDefaultAllows, why);
    }
    if arguments.too_many {
        look.ask("it has too many options to look at them all");
    }
    for found in &arguments.options {
        option((name, program.style), found, look);
    }
}

fn option((name, style): (&str, Style), found: &Found, look: &mut Look) {
    let first = found.entry.names.split(',').next().unwrap_or_default();
    let dashes = if first.len() == 1 || style == Style::Dash { "-" } else { "--" };
    let spelled = format!("{dashes}{}", first.trim_end_matches('*'));
    let value = || found.value.clone().unwrap_or_else(|| Word::unknown("…", Split::Words));
    match found.entry.role {
        Role::Plain => {}
        Role::Run => {
            if !value().text().is_some_and(is_usual) {
                look.ask(format!("its option `{spelled}` runs a command"));
            }
            look.carry(name, Carried::Script(value(), ShellKind::Posix));
        }
        Role::Ask => look.ask(format!("its option `{spelled}` may run a command")),
        Role::Code => look.ask_unless_named(CODE),
        Role::File if value().text().is_none_or(is_made_up) => {
            look.ask_at_least(
                Strength::UnlessUnrestricted,
                "what it reads commands from is known only when it runs",
            );
        }
        // A library of gawk that writes into the files it reads.
        Role::File if value().is("inplace") => {
            look.ask_at_least(Strength::UnlessDefaultAllows, "it writes into the files that it reads");
        }
        // A makefile that is named is as good as the one that is found.
        Role::File if matches!(name, "make" | "gmake") => {}
        Role::File => {
            let why = format!("its option `{spelled}` reads commands or options from a file");
            look.ask_at_least(Strength::UnlessDefaultAllows, why);
        }
        Role::Write => {
            look.ask_at_least(Strength::UnlessDefaultAllows, format!("its option `{spelled}` writes a file"));
        }
        // Settings of git are looked at where git is.
        Role::Text if name.starts_with("git ") => {}
        Role::Text => text(name, first, &value(), look),
    }
}

/// Whether a command is what such options are there for: a compressor, ssh, or a pager, with plain options.
fn is_usual(command: &str) -> bool {
    const USUAL: [&str; 18] = [
        "gzip", "pigz", "bzip2", "pbzip2", "lbzip2", "xz", "pxz", "pixz", "zstd", "zstdmt", "lz4", "lzop",
        "lzip", "lzma", "brotli", "ssh", "cat", "less",
    ];
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " -_./=:@".contains(c);
    let name = command.split(' ').next().unwrap_or_default();
    USUAL.contains(&name) && command.chars().all(is_plain)
}

/// A script in a small language.
fn text(name: &str, option: &str, word: &Word, look: &mut Look) {
    let meaning = match word.text() {
        Some(text) => languages::meaning(name, option, text),
        // A script with a variable in it, as in `s/x/$y/`, may be anything; where nothing of it is known, it is asked about.
        None if word.texts().all(str::is_empty) && word.split() != Split::Files => Meaning::Runs(None),
        None => known_parts(name, option, word),
    };
    match meaning {
        Meaning::Harmless => {}
        Meaning::Unclear => {
            look.ask_at_least(Strength::UnlessDefaultAllows, "part of its script is known only when it runs");
        }
        Meaning::Writes => look.ask_at_least(Strength::UnlessDefaultAllows, "its script writes a file"),
        Meaning::Runs(script) => {
            look.ask_at_least(Strength::UnlessUnrestricted, "its script may run a command");
            if let Some(script) = script {
                look.carry(name, Carried::Script(Word::literal(script), ShellKind::Posix));
            }
        }
    }
}

/// The meaning of a script of which some parts are known only when it runs: a number or a plain word is put in their place.
fn known_parts(name: &str, option: &str, word: &Word) -> Meaning {
    let meanings = ["1", "x"].map(|filling| languages::meaning(name, option, &word.filled_with(filling)));
    let runs = meanings.iter().all(|meaning| matches!(meaning, Meaning::Runs(_)));
    if runs { Meaning::Runs(None) } else { Meaning::Unclear }
}

fn operands(name: &str, arguments: &Arguments, given: &Given<'_>, look: &mut Look) {
    let words: Vec<&Word> = arguments.operands.iter().map(|place| &given.words[*place]).collect();
    match name {
        _ if SCRIPT_FIRST.contains(&name) => {
            let has_script = |found: &Found| matches!(found.entry.role, Role::Text | Role::File);
            if !arguments.options.iter().any(has_script) {
                // With the sed of BSD, `-i ''` takes the empty word, and the script follows.
                let scripts = words.iter().take_while(|word| word.is("")).count() + 1;
                words.iter().take(scripts).for_each(|word| text(name, "", word, look));
            }
        }
        "sqlite3" => {
            words.iter().skip(1).for_each(|word| text(name, "", word, look));
            match given.input {
                Some(input) => text(name, "", input, look),
                None if words.len() == 1 => look.ask_unless_named(INPUT),
                None => {}
            }
        }
        "make" | "gmake" => words.iter().for_each(|word| make_variable(name, word, look)),
        "gcc" | "cc" | "g++" | "c++" | "clang" | "clang++"
            if words.iter().any(|word| word.beginning().starts_with('@')) =>
        {
            look.ask_at_least(Strength::UnlessUnrestricted, "it reads options from a file");
        }
        "less" if words.iter().any(|word| word.beginning().starts_with('+') && !only_moves(word)) => {
            look.ask("it begins with a command that it is given");
        }
        // The second file is the one that they write.
        "uniq" | "guniq" | "xxd"
            if words.len() > 1 || words.iter().any(|word| word.split() != Split::Never) =>
        {
            look.ask_at_least(Strength::UnlessDefaultAllows, "its second file is written");
        }
        "date" | "gdate" if words.iter().any(|word| !word.beginning().starts_with('+')) => {
            look.ask_at_least(Strength::UnlessDefaultAllows, "it sets the clock");
        }
        _ => {}
    }
}

/// Whether a first command of less only moves to a line, the end or a match: `+10`, `+G`, `+F`, `+/text`.
fn only_moves(word: &Word) -> bool {
    let Some(command) = word.text().map(|text| &text[1..]) else { return false };
    let number = command.trim_end_matches(['g', 'G', '%']);
    number.bytes().all(|byte| byte.is_ascii_digit())
        || command == "F"
        || command.starts_with(['/', '?']) && !command.contains('\n')
}

/// `NAME=value` for make: some of its variables are programs that it runs.
fn make_variable(name: &str, word: &Word, look: &mut Look) {
    let Some((variable, value)) = word.setting() else { return };
    if matches!(variable, "SHELL" | ".SHELLFLAGS" | "MAKEFLAGS" | "MAKE") {
        return look.ask(format!("its variable `{variable}` says what runs its recipes"));
    }
    let is_script = |text: &&str| !text.starts_with('-') && text.contains([' ', ';', '|', '&', '$', '`']);
    if let Some(text) = value.text().filter(is_script) {
        let words = vec![Word::literal("sh"), Word::literal("-c"), Word::literal(text)];
        look.carry(name, Carried::Perhaps(words));
        look.ask_at_least(
            Strength::UnlessDefaultAllows,
            format!("its variable `{variable}` may be a command"),
        );
    }
}
