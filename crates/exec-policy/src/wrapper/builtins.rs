//! Builtins of shells: commands that run their arguments, set variables, or have no effect outside the shell.

use super::options::{ArgumentStep, ArgumentWalk, Spec};
use super::{Carried, Given, Look, harmless, joined};
use crate::variables;
use crate::word::{Split, Word};

/// Commands that set the variables which their arguments name.
const SETTING: &[&str] = &[
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "read",
    "printf",
    "mapfile",
    "readarray",
    "getopts",
    "let",
    "setenv",
    "integer",
    "float",
    "vared",
    "wait",
    "unset",
];

/// Commands that change what later commands mean, or what the shell runs by itself.
const CHANGING: &[(&str, &str)] = &[
    ("alias", "it changes what later commands mean"),
    ("enable", "it changes what later commands mean"),
    ("bind", "it makes the shell run a command later"),
    ("complete", "it makes the shell run a command later"),
    ("compgen", "it can run a command"),
    ("fc", "it runs earlier commands again"),
    ("zmodload", "it changes what later commands mean"),
    ("autoload", "it loads functions from files"),
    ("zle", "it makes the shell run a command later"),
    ("sched", "it makes the shell run a command later"),
    ("zpty", "it runs a command in a terminal of its own"),
];

pub(super) fn look(name: &str, given: &Given<'_>, look: &mut Look) {
    // A builtin has no path; a program of the same name with a path is an ordinary program.
    if !given.words[0].is(name) {
        return;
    }
    harmless::look(name, given, look);
    if SETTING.contains(&name) {
        settings(name, given.words, look);
    }
    if let Some((_, why)) = CHANGING.iter().find(|(changing, _)| *changing == name) {
        look.ask(*why);
    }
    let arguments = &given.words[1..];
    match name {
        "eval" => {
            look.carry("eval", Carried::Inline(joined(without_dashes(arguments))));
            look.is_transparent(given);
        }
        "." | "source" => source(arguments, look),
        "trap" => trap(arguments, look),
        "command" | "builtin" | "exec" => prefix(name, given, look),
        "hash" if arguments.iter().any(changes_hash) => {
            look.ask("it changes what later commands mean");
        }
        "mapfile" | "readarray" => callback(given.words, look),
        "jobs" if arguments.first().is_some_and(runs_jobs) => {
            look.carry_command("jobs -x", &arguments[1..]);
        }
        "set" if changes_reading(arguments) => {
            look.ask("it changes what later commands mean");
        }
        "emulate" => emulate(given.words, look),
        "integer" | "float" => {
            look.evaluated.extend(arguments.iter().filter_map(Word::setting).map(|it| it.1));
        }
        "shopt" | "set" | "setopt" if arguments.iter().any(|word| word.beginning().contains("alias")) => {
            look.ask("it changes what later commands mean");
        }
        _ => {}
    }
}

/// `jobs -x` runs a command.
fn runs_jobs(option: &Word) -> bool {
    option.beginning().starts_with('-') && option.beginning().contains('x')
}

/// `set -k` takes assignments out of arguments, and with a history `!` brings back earlier lines.
fn changes_reading(arguments: &[Word]) -> bool {
    let options = arguments.iter().take_while(|word| !word.is("--"));
    options.into_iter().any(|word| {
        let text = word.beginning();
        text.starts_with('-') && text.contains(['k', 'H'])
            || matches!(text, "keyword" | "history" | "histexpand")
    })
}

/// `hash -p file name`, in any order of its options, and `hash name=file` of zsh.
fn changes_hash(word: &Word) -> bool {
    let text = word.beginning();
    word.text().is_none() || text.contains('=') || text.starts_with('-') && text.contains('p')
}

/// `emulate shell -c script` of zsh.
fn emulate(words: &[Word], look: &mut Look) {
    let script = words.iter().position(|word| word.is("-c")).and_then(|at| words.get(at + 1));
    if let Some(script) = script {
        look.carry("emulate -c", Carried::Inline(script.clone()));
    }
}

/// Words that stand before commands in zsh alone.
pub(super) fn look_in_zsh(name: &str, given: &Given<'_>, look: &mut Look) {
    match name {
        "noglob" | "nocorrect" | "-" => look.carry_command(name, &given.words[1..]),
        // They take names of variables, and evaluate their keys; `print -P` evaluates prompts.
        "print" | "getln" | "zformat" | "zregexparse" | "zparseopts" | "zstyle" | "strftime" | "zstat"
        | "sysread" | "zselect" | "private" => {
            look.evaluated.extend_from_slice(&given.words[1..]);
            if name == "zstyle" && given.words[1..].iter().any(evaluates_style) {
                look.ask("it makes the shell run a command later");
            }
            return;
        }
        "set" if given.words.iter().any(sets_array) => {
            look.harmless = None;
            look.evaluated.extend(given.words.iter().skip(2).cloned());
            return;
        }
        "repeat" => {
            look.evaluated.extend(given.words.get(1).cloned());
            look.carry_command(name, given.words.get(2..).unwrap_or_default());
        }
        _ => return,
    }
    look.is_transparent(given);
}

/// `zstyle -e` keeps a script that is run when the style is looked up.
fn evaluates_style(word: &Word) -> bool {
    word.text().is_none_or(|text| text.starts_with('-') && text.contains('e'))
}

/// `set -A name` of zsh and ksh.
fn sets_array(word: &Word) -> bool {
    word.beginning().starts_with(['-', '+']) && word.beginning().contains('A')
}

fn without_dashes(words: &[Word]) -> &[Word] {
    match words {
        [first, rest @ ..] if first.is("--") => rest,
        words => words,
    }
}

/// `source`: the file is judged by the command's words, unless its contents are made up as the command runs.
fn source(arguments: &[Word], look: &mut Look) {
    let file = without_dashes(arguments).first();
    match file.map(Word::text) {
        Some(Some(file)) if !is_made_up(file) => {}
        Some(_) => look.ask("what it reads commands from is known only when it runs"),
        None => {}
    }
}

/// Whether a path is not a file on disk but the output of another program.
pub(super) fn is_made_up(path: &str) -> bool {
    path.starts_with("/dev/") || path.starts_with("/proc/") || path == "-"
}

fn trap(arguments: &[Word], look: &mut Look) {
    let arguments = without_dashes(arguments);
    match arguments {
        [] => {}
        // A single argument only resets.
        [script, _, ..] if !script.is("-") && !script.is("") && !script.beginning().starts_with("-p") => {
            look.carry("trap", Carried::Inline(script.clone()));
        }
        words if words.iter().any(|word| word.split() == Split::Words) => {
            look.ask("what it runs later is known only when it runs");
        }
        _ => {}
    }
}

fn prefix(name: &str, given: &Given<'_>, look: &mut Look) {
    let spec = match name {
        "command" => Spec { shorts: "pVv", longs: "" },
        "exec" => Spec { shorts: "cla:", longs: "" },
        _ => Spec::default(),
    };
    let mut walk = ArgumentWalk::new(given.words);
    loop {
        match walk.next(spec) {
            None => break,
            Some(ArgumentStep::Strange(what)) => return look.ask(format!("{what} is not understood")),
            // It only says what would run.
            Some(ArgumentStep::Option(option, _)) if matches!(option.as_str(), "v" | "V") => break,
            Some(ArgumentStep::Option(..)) => {}
            Some(ArgumentStep::Operand(place)) => {
                look.carry_command(name, &given.words[place..]);
                break;
            }
        }
    }
    if walk.doubtful {
        look.ask("where its command begins is known only when it runs");
    }
    look.is_transparent(given);
}

/// `mapfile -C` runs a command for every few lines.
fn callback(words: &[Word], look: &mut Look) {
    const SPEC: Spec = Spec { shorts: "d:n:O:s:tu:C:c:", longs: "" };
    let mut walk = ArgumentWalk::new(words);
    while let Some(step) = walk.next(SPEC) {
        match step {
            ArgumentStep::Option(option, Some(script)) if option == "C" => {
                look.carry("mapfile -C", Carried::Inline(script));
            }
            ArgumentStep::Strange(what) => look.ask(format!("{what} is not understood")),
            ArgumentStep::Option(..) | ArgumentStep::Operand(_) => {}
        }
    }
}

/// Variables that are set by their names.
fn settings(name: &str, words: &[Word], look: &mut Look) {
    let named_only = ["printf", "wait"].contains(&name);
    for (place, word) in words.iter().enumerate().skip(1) {
        if named_behind_option(name, word, look) {
            continue;
        }
        if named_only && !names_variable_next(name, &words[place - 1]) {
            continue;
        }
        match word.setting() {
            Some((variable, value)) => look.settings.push((variable.to_owned(), value)),
            None => match word.text() {
                Some(variable) => set_to_unknown(name, variable, look),
                None if word.beginning().starts_with('-') => {}
                None => look.ask("which variable it sets is known only when it runs"),
            },
        }
    }
    if words.iter().any(|word| is_reference_option(name, word)) {
        refers(words, look);
    }
}

/// `export PATH` changes nothing, but after `read PATH` its value is unknown. Without `PATH`, programs are looked for
/// in the shell's current directory; other variables may be removed.
fn set_to_unknown(name: &str, variable: &str, look: &mut Look) {
    let variable = variable.split('[').next().unwrap_or_default();
    let changes = match name {
        "export" => false,
        "unset" => matches!(variable, "PATH" | "path"),
        _ => variables::effect_in_zsh(variable).is_some(),
    };
    if changes {
        look.settings.push((variable.to_owned(), Word::unknown(variable, Split::Never)));
    }
}

/// Which option of a builtin takes the name of a variable.
fn naming_option(name: &str) -> Option<char> {
    match name {
        "printf" => Some('v'),
        "wait" => Some('p'),
        "read" => Some('a'),
        _ => None,
    }
}

/// Whether a variable's name follows this word: it ends with the option that takes one.
fn names_variable_next(name: &str, word: &Word) -> bool {
    let text = word.text().unwrap_or_default();
    text.starts_with('-') && naming_option(name).is_some_and(|letter| text.ends_with(letter))
}

/// A variable's name that is attached to its option, as in `printf -vPATH` or `read -raPATH`.
fn named_behind_option(name: &str, word: &Word, look: &mut Look) -> bool {
    let Some(letters) = word.text().and_then(|text| text.strip_prefix('-')) else { return false };
    let attached = naming_option(name).and_then(|letter| letters.split_once(letter)).map(|it| it.1);
    let Some(variable) = attached.filter(|variable| !variable.is_empty()) else { return false };
    set_to_unknown(name, variable, look);
    true
}

/// `declare -n` and its like make one variable a reference to another.
fn is_reference_option(name: &str, word: &Word) -> bool {
    ["declare", "typeset", "local"].contains(&name)
        && word.beginning().starts_with('-')
        && word.beginning().contains('n')
}

fn refers(words: &[Word], look: &mut Look) {
    let targets = words.iter().filter_map(Word::setting).filter_map(|it| it.1.text().map(str::to_owned));
    for target in targets.filter(|target| variables::effect_in_zsh(target).is_some()) {
        look.settings.push((target.clone(), Word::unknown(&target, Split::Never)));
    }
}
