//! Programs that run a command for every thing they find or read: `find`, `fd`, `xargs`, `parallel`.

use super::options::{ArgumentStep, ArgumentWalk, Spec};
use super::{Carried, Given, Look, Strength, head, joined};
use crate::script::ShellKind;
use crate::word::{Split, Word};

pub(super) fn look(name: &str, given: &Given<'_>, look: &mut Look) {
    match name {
        "find" | "gfind" | "bfs" => find(name, given.words, look),
        "fd" | "fdfind" => fd(given.words, look),
        "xargs" | "gxargs" => xargs(given, look),
        "parallel" | "sem" => parallel(given.words, look),
        _ => {}
    }
}

fn find(name: &str, words: &[Word], look: &mut Look) {
    let mut rest = &words[1..];
    while let Some(at) = rest.iter().position(runs) {
        let command = &rest[at + 1..];
        let end = command.iter().position(|word| word.is(";") || word.is("+"));
        let Some(end) = end else {
            look.ask("the command it runs has no end");
            return look.carry_command(name, &with_paths(command));
        };
        look.carry_command(&format!("{name} {}", rest[at].source()), &with_paths(&command[..end]));
        rest = &command[end + 1..];
    }
    let ends_alone = rest.iter().any(|word| word.is(";"));
    if ends_alone || words.iter().any(|word| word.split() == Split::Words) {
        look.ask("which command it runs is known only when it runs");
    }
}

fn runs(word: &Word) -> bool {
    matches!(word.text(), Some("-exec" | "-execdir" | "-ok" | "-okdir"))
}

/// Found paths replace `{}`, so these parts of the words are unknown.
fn with_paths(words: &[Word]) -> Vec<Word> {
    words.iter().map(|word| word.with_unknown("{}")).collect()
}

fn fd(words: &[Word], look: &mut Look) {
    let starts = |word: &Word| {
        let text = word.beginning();
        let is_short = text.starts_with('-') && !text.starts_with("--") && text.contains(['x', 'X']);
        is_short || text.starts_with("--exec")
    };
    if let Some(at) = words.iter().position(starts) {
        let mut command: Vec<Word> = attached_command(&words[at]).into_iter().collect();
        command.extend(words[at + 1..].iter().take_while(|word| !word.is(";")).cloned());
        let mut command = with_paths(&command);
        command.push(Word::unknown("…", Split::Words));
        look.carry_command("fd --exec", &command);
    }
    if words.iter().any(|word| word.split() == Split::Words) {
        look.ask("which command it runs is known only when it runs");
    }
    let before = words.iter().skip(1).take_while(|word| !word.is("--"));
    if before.into_iter().any(|word| word.text().is_none() && matches!(word.beginning(), "" | "-" | "--")) {
        look.ask_at_least(
            Strength::UnlessDefaultAllows,
            "one of its arguments may be an option that runs a command",
        );
    }
}

/// The program that stands in the same word as the option: `--exec=prog`, `-xprog`, `-HXprog`.
fn attached_command(option: &Word) -> Option<Word> {
    let beginning = option.beginning();
    let start = match beginning.strip_prefix("--") {
        Some(long) => 2 + long.find('=')? + 1,
        None => beginning.find(['x', 'X'])? + 1,
    };
    let command = option.from(start);
    // A word of its own, so that people are shown the program alone.
    let command = command.text().map(Word::literal).unwrap_or(command);
    (!command.is("")).then_some(command)
}

fn xargs(given: &Given<'_>, look: &mut Look) {
    const SPEC: Spec = Spec {
        shorts: "0optrxd:E:e?i?I:J:L:l?n:P:R:S:s:a:",
        longs: "null arg-file: delimiter: eof? replace? max-lines? max-args: max-chars: max-procs: interactive \
                no-run-if-empty verbose exit open-tty process-slot-var: show-limits help version",
    };
    let mut walk = ArgumentWalk::new(given.words);
    let mut replaced: Option<String> = None;
    let command = loop {
        match walk.next(SPEC) {
            None => break None,
            Some(ArgumentStep::Strange(what)) => return look.ask(format!("{what} is not understood")),
            Some(ArgumentStep::Option(option, value))
                if matches!(option.as_str(), "I" | "i" | "J" | "replace") =>
            {
                let text = value.as_ref().map_or(Some("{}"), Word::text);
                let Some(text) = text else {
                    return look.ask("what it puts into its command is known only when it runs");
                };
                replaced = Some(text.to_owned());
            }
            // It puts a number into that variable.
            Some(ArgumentStep::Option(option, Some(name))) if option == "process-slot-var" => {
                match name.text() {
                    Some(text) => look.settings.push((text.to_owned(), Word::unknown(text, Split::Never))),
                    None => look.ask("which variable it sets is known only when it runs"),
                }
            }
            Some(ArgumentStep::Option(..)) => {}
            Some(ArgumentStep::Operand(place)) => break Some(place),
        }
    };
    if walk.doubtful {
        look.ask("where its command begins is known only when it runs");
    }
    if let Some(place) = command {
        let mut words = given.words[place..].to_vec();
        match replaced {
            Some(text) => words.iter_mut().for_each(|word| *word = word.with_unknown(&text)),
            None => words.push(Word::unknown("…", Split::Words)),
        }
        look.carry_command("xargs", &words);
    }
    look.is_transparent(given);
}

/// Its template goes through a shell together with whatever it reads.
fn parallel(words: &[Word], look: &mut Look) {
    look.ask("it makes scripts of what it reads");
    let template: Vec<Word> =
        words[1..].iter().take_while(|word| !word.beginning().starts_with(":::")).cloned().collect();
    let start = template.iter().position(|word| !word.beginning().starts_with('-')).unwrap_or(template.len());
    for place in start..template.len().min(start + 16) {
        let mut command = head(&template[place..]);
        command.push(Word::unknown("…", Split::Words));
        look.carrier = Some("parallel".to_owned());
        look.carried.push(Carried::Perhaps(command));
    }
    if let Some(literal) = joined(&template[start..]).text() {
        look.carried.push(Carried::Script(Word::literal(literal), ShellKind::Bash));
    }
}
