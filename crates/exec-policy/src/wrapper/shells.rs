//! Shells: the script they are given, wherever it comes from.

use super::builtins::is_made_up;
use super::options::{ArgumentStep, ArgumentWalk, Spec};
use super::{Carried, Given, Look};
use crate::script::ShellKind;
use crate::word::{Split, Word};

const READS_INPUT: &str = "it reads commands from its input";

/// Shells whose language is another one.
const STRANGE: [&str; 10] =
    ["fish", "nu", "elvish", "xonsh", "tcsh", "csh", "pwsh", "powershell", "rc", "oil"];

/// The arguments of a shell.
#[derive(Default)]
struct ShellInvocation<'a> {
    takes_script: bool,
    reads_input: bool,
    only_tells: bool,
    script: Option<&'a Word>,
}

pub(super) fn look(name: &str, given: &Given<'_>, look: &mut Look) {
    if STRANGE.contains(&name) {
        return look.ask_unless_named("the language of its scripts is not understood");
    }
    let Some(shell) = ShellKind::of_program(name) else { return };
    let asked = match ShellInvocation::read(given.words) {
        Ok(asked) => asked,
        Err(why) => return look.ask(why),
    };
    match (asked.script, asked.takes_script) {
        (Some(script), true) => {
            look.carry(&format!("{name} -c"), Carried::Script(script.clone(), shell));
            look.is_transparent(given);
        }
        (None, true) | (None, false) if asked.only_tells => {}
        (Some(_), false) if asked.reads_input => input(name, given, (shell, look)),
        (Some(file), false) => match file.text() {
            Some(path) if !is_made_up(path) => {}
            _ => look.ask("what it reads commands from is known only when it runs"),
        },
        (None, _) => input(name, given, (shell, look)),
    }
}

/// A script on the shell's standard input. It is known only if it is a here-document or here-string.
fn input(name: &str, given: &Given<'_>, (shell, look): (ShellKind, &mut Look)) {
    match given.input {
        Some(script) if script.text().is_some() => {
            look.carry(name, Carried::Script(script.clone(), shell));
            look.is_transparent(given);
        }
        _ => look.ask(READS_INPUT),
    }
}

impl<'a> ShellInvocation<'a> {
    /// Reads options until the first operand. `Err`: the reason why they are not understood.
    fn read(words: &'a [Word]) -> Result<Self, String> {
        const SPEC: Spec = Spec {
            shorts: "abcefhiklmnprstuvxBCDEHPTO:o:",
            longs: "debugger dump-po-strings dump-strings help init-file: login noediting noprofile norc posix pretty-print \
                    rcfile: restricted verbose version wordexp emulate:",
        };
        let mut asked = Self::default();
        let mut walk = ArgumentWalk::new(words);
        while let Some(word) = words.get(walk.place()) {
            if word.beginning().starts_with('+') {
                // `+o` takes a value as `-o` does.
                return Err("its options are not understood".to_owned());
            }
            match walk.next(SPEC) {
                None => break,
                Some(ArgumentStep::Strange(what)) => return Err(format!("{what} is not understood")),
                Some(ArgumentStep::Option(option, _)) => asked.option(&option)?,
                Some(ArgumentStep::Operand(place)) => {
                    asked.script = words.get(place);
                    break;
                }
            }
        }
        if walk.doubtful && asked.script.is_none_or(|script| script.split() != Split::Never) {
            return Err("what it runs is known only when it runs".to_owned());
        }
        Ok(asked)
    }

    fn option(&mut self, option: &str) -> Result<(), String> {
        match option {
            "c" => self.takes_script = true,
            "s" => self.reads_input = true,
            "help" | "version" => self.only_tells = true,
            "init-file" | "rcfile" => return Err(format!("what `--{option}` names is run first")),
            _ => {}
        }
        Ok(())
    }
}
