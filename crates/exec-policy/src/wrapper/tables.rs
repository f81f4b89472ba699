//! Programs that run commands, read code or write files by an option, found by their tables.

use super::builtins::is_made_up;
use super::{Carried, Given, Look, Strength, toolchains};
use crate::languages::{self, Meaning};
use crate::programs::{self, Arguments, Coverage, FoundOption, Operands, Program, Role, Style};
use crate::script::ShellKind;
use crate::word::{Split, Word};

/// Programs whose first operand is a script, unless options give them one.
const SCRIPT_FIRST: [&str; 7] = ["sed", "gsed", "awk", "gawk", "mawk", "nawk", "original-awk"];

/// Programs that run the code of a project anyway. A word that may turn out to be an option adds nothing to that.
const RUNS_PROJECTS: [&str; 8] = ["cargo", "npm", "npx", "pnpm", "go", "rake", "pip", "pip3"];

/// Programs that read more options from a file that is named behind `@`.
const OPTION_FILES: [&str; 31] = [
    "gcc",
    "cc",
    "g++",
    "c++",
    "clang",
    "clang++",
    "nm",
    "ar",
    "ranlib",
    "strip",
    "objcopy",
    "objdump",
    "readelf",
    "strings",
    "size",
    "addr2line",
    "c++filt",
    "ld",
    "as",
    "java",
    "javac",
    "ld.lld",
    "rustc",
    "rustdoc",
    "ghc",
    "gfortran",
    "swiftc",
    "scalac",
    "kotlinc",
    "pytest",
    "py.test",
];

const CODE: &str = "it runs code of another language that is not looked at";
const INPUT: &str = "it reads commands from its input";

pub(super) fn look(name: &str, given: &Given<'_>, look: &mut Look) {
    if let Some(program) = Program::named(name) {
        let arguments = programs::read(program, given.words, 1);
        options(name, program, &arguments, look);
        described_operands(program.operands, &arguments, given, look);
        operands(name, &arguments, given, look);
        toolchains::look(name, &arguments, given.words, look);
    }
}

/// The same for a subcommand, at this place among the words.
pub(super) fn look_at_subcommand(name: &str, words: &[Word], place: usize, look: &mut Look) -> Arguments {
    let Some(program) = Program::named(name) else { return Arguments::default() };
    let arguments = programs::read(program, words, place + 1);
    options(name, program, &arguments, look);
    toolchains::look(name, &arguments, words, look);
    arguments
}

fn options(name: &str, program: &Program, arguments: &Arguments, look: &mut Look) {
    // Where it can only write files, an option that is not known does no more.
    let strength = match program.coverage {
        Coverage::Complete if program.can_run() => Some(Strength::UnlessUnrestricted),
        Coverage::Complete => Some(Strength::UnlessDefaultAllows),
        Coverage::Partial => Some(Strength::UnlessDefaultAllows).filter(|_| program.can_harm()),
        Coverage::Marked => None,
    };
    if let Some(strength) = strength {
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

fn option((name, style): (&str, Style), found: &FoundOption, look: &mut Look) {
    let first = found.entry.names.split(',').next().unwrap_or_default();
    let dashes = if first.len() == 1 || style.has_one_dash() { "-" } else { "--" };
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

/// Whether a command is a usual value of such options: a compressor, ssh, or a pager, with plain options.
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
        // A script with a variable in it, as in `s/x/$y/`, may be anything; where nothing of it is known, it is asked
        // about.
        None if word.texts().all(str::is_empty) && word.split() != Split::Files => Meaning::Runs(None),
        None => known_parts(name, option, word),
    };
    match meaning {
        Meaning::Harmless => {}
        Meaning::Unclear => {
            look.ask_at_least(Strength::UnlessDefaultAllows, "part of its script is known only when it runs");
        }
        Meaning::ReadsCode => {
            look.ask_at_least(Strength::UnlessDefaultAllows, "it names a file with code that is run");
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

/// The meaning of a script of which some parts are known only when it runs: a number or a plain word is put in their
/// place.
fn known_parts(name: &str, option: &str, word: &Word) -> Meaning {
    let meanings = ["1", "x"].map(|filling| languages::meaning(name, option, &word.filled_with(filling)));
    let runs = meanings.iter().all(|meaning| matches!(meaning, Meaning::Runs(_)));
    if runs { Meaning::Runs(None) } else { Meaning::Unclear }
}

/// Operands that the program's table describes.
fn described_operands(kind: Operands, arguments: &Arguments, given: &Given<'_>, look: &mut Look) {
    let words: Vec<&Word> = arguments.operands.iter().map(|place| &given.words[*place]).collect();
    match kind {
        Operands::Plain => {}
        Operands::WrittenAfter(read) => {
            let may_be_more = words.iter().any(|word| word.split() != Split::Never);
            if words.len() > read || may_be_more {
                let why = "one of its operands names a file that it writes";
                look.ask_at_least(Strength::UnlessDefaultAllows, why);
            }
        }
        Operands::Subcommands(harmless) => {
            if !words.is_empty() && !is_harmless_subcommand(harmless, &words) {
                let why = "its subcommand may run another program or write a file";
                look.ask_at_least(Strength::UnlessWords(2), why);
            }
        }
    }
}

fn is_harmless_subcommand(harmless: &str, words: &[&Word]) -> bool {
    let text = |place: usize| words.get(place).and_then(|word| word.text());
    let Some(first) = text(0) else { return false };
    let two = text(1).map(|second| format!("{first}/{second}"));
    harmless.split_ascii_whitespace().any(|known| known == first || Some(known) == two.as_deref())
}

fn operands(name: &str, arguments: &Arguments, given: &Given<'_>, look: &mut Look) {
    let words: Vec<&Word> = arguments.operands.iter().map(|place| &given.words[*place]).collect();
    match name {
        _ if SCRIPT_FIRST.contains(&name) => {
            let has_script = |found: &FoundOption| matches!(found.entry.role, Role::Text | Role::File);
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
                None if words.len() <= 1 && !only_informs(arguments) => look.ask_unless_named(INPUT),
                None => {}
            }
        }
        "psql" | "mysql" | "mariadb" | "dc" | "sftp" | "lftp" | "openssl" | "redis-cli" | "valkey-cli" => {
            reads_commands(name, (&words, arguments), given, look);
        }
        "m4" | "gm4" if !only_informs(arguments) => look.ask_unless_named("its macros may run commands"),
        "apt" | "apt-get" if words.iter().any(|word| is_package_file(word)) => {
            look.ask_at_least(
                Strength::UnlessDefaultAllows,
                "it installs a file as a package, and runs its scripts",
            );
        }
        "rpm" if !only_informs(arguments) && !only_queries_packages(arguments) => {
            look.ask_at_least(Strength::UnlessDefaultAllows, "it changes packages, and runs their scripts");
        }
        "make" | "gmake" => words.iter().for_each(|word| make_variable(name, word, look)),
        _ if OPTION_FILES.contains(&name) && words.iter().any(|word| word.beginning().starts_with('@')) => {
            look.ask_at_least(Strength::UnlessUnrestricted, "it reads options from a file");
        }
        "socat" => words.iter().for_each(|word| socat_address(word, look)),
        "less" if arguments.options.iter().filter_map(|found| found.value.as_ref()).any(hides_option) => {
            look.ask_at_least(Strength::UnlessUnrestricted, "more options may follow behind `$` in a value");
        }
        "less" | "more"
            if words.iter().any(|word| word.beginning().starts_with('+') && !only_moves(word)) =>
        {
            look.ask("it begins with a command that it is given");
        }
        "date" | "gdate" if words.iter().any(|word| !word.beginning().starts_with('+')) => {
            look.ask_at_least(Strength::UnlessDefaultAllows, "it sets the clock");
        }
        _ => {}
    }
}

/// Shells of other languages: without a script in their arguments they read commands from their input.
fn reads_commands(
    name: &str,
    (words, arguments): (&[&Word], &Arguments),
    given: &Given<'_>,
    look: &mut Look,
) {
    let has = |names: &[&str]| {
        arguments.options.iter().any(|found| names.iter().any(|it| found.entry.is_named(it)))
    };
    let has_script = match name {
        "psql" => has(&["c", "f", "l"]),
        "mysql" | "mariadb" => has(&["e", "print-defaults"]),
        "sftp" => has(&["b"]),
        "lftp" => has(&["c", "f"]),
        "dc" => has(&["e", "f"]),
        "openssl" => !words.is_empty(),
        _ => {
            !words.is_empty()
                || has(&["scan", "stat", "bigkeys", "memkeys", "hotkeys", "latency", "rdb", "eval", "pipe"])
        }
    };
    if name == "dc" && !words.is_empty() {
        look.ask_at_least(Strength::UnlessDefaultAllows, "it reads commands from a file");
    }
    if has_script || only_informs(arguments) || name == "dc" && !words.is_empty() {
        return;
    }
    match given.input {
        Some(input) if matches!(name, "psql" | "mysql" | "mariadb" | "dc") => text(name, "", input, look),
        _ => look.ask_unless_named(INPUT),
    }
}

/// Whether a value of less ends early: `$` ends it, and more options follow in the same word.
fn hides_option(value: &Word) -> bool {
    value.texts().any(|text| text.trim_end_matches('$').contains('$')) || value.text().is_none()
}

/// Whether it only prints its version or its options.
fn only_informs(arguments: &Arguments) -> bool {
    let informs = |name: &str| arguments.options.iter().any(|found| found.entry.is_named(name));
    informs("version") || informs("help") || informs("V")
}

fn is_package_file(word: &Word) -> bool {
    let is_file = |text: &str| text.starts_with(['.', '/', '~']) || text.ends_with(".deb");
    word.text().map_or_else(|| word.beginning().starts_with(['.', '/', '~']), is_file)
}

fn only_queries_packages(arguments: &Arguments) -> bool {
    const QUERIES: [&str; 6] = ["q", "V", "E", "querytags", "showrc", "checksig"];
    arguments.options.iter().any(|found| QUERIES.iter().any(|name| found.entry.is_named(name)))
}

/// An address of socat. Many kinds open files; those of networks and descriptors do not.
fn socat_address(word: &Word, look: &mut Look) {
    const HARMLESS: [&str; 15] = [
        "-",
        "stdio",
        "stdin",
        "stdout",
        "stderr",
        "fd:",
        "tcp",
        "udp",
        "unix-connect:",
        "unix-client:",
        "openssl",
        "ssl",
        "socks",
        "proxy",
        "vsock",
    ];
    let text = word.text().unwrap_or_default().to_ascii_lowercase();
    let is_harmless = HARMLESS.iter().any(|known| text.starts_with(known)) && !text.contains("!!");
    if !is_harmless || text.starts_with("fd:") && text.contains(',') {
        look.ask_at_least(Strength::UnlessDefaultAllows, "one of its addresses may write a file");
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
    if value.text().is_some_and(toolchains::flags_run_program) {
        return look.ask(format!("its variable `{variable}` makes a compiler run a program"));
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
