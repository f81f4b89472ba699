//! Programs that take a script as the value of an option or as their last words: `ssh`, `su`, `flock`, `watch`.

use super::builtins::is_made_up;
use super::options::{ArgumentStep, ArgumentWalk, Spec};
use super::vague::script_words;
use super::{Carried, Given, Look, Strength, head, joined};
use crate::languages::{self, Meaning};
use crate::script::ShellKind;
use crate::word::Word;

pub(super) fn look(name: &str, given: &Given<'_>, look: &mut Look) {
    match name {
        "ssh" | "slogin" | "autossh" => ssh(given.words, look),
        "su" | "runuser" => su(name, given.words, look),
        "sg" | "newgrp" => group_shell(name, given.words, look),
        "flock" => flock(given, look),
        "script" => script(given.words, look),
        "watch" => watch(given, look),
        "at" | "batch" | "crontab" => {
            look.ask("it runs commands later that it reads from its input or a file");
        }
        "tmux" | "screen" | "zellij" | "dtach" | "abduco" => {
            look.ask("it runs commands in a terminal of its own");
            last_words(name, given.words, look);
        }
        "socat" if given.words.iter().any(runs_in_socat) => look.ask("one of its addresses runs a command"),
        _ => {}
    }
}

fn ssh(words: &[Word], look: &mut Look) {
    const SPEC: Spec =
        Spec { shorts: "46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:P:p:Q:R:S:W:w:", longs: "" };
    let mut walk = ArgumentWalk::new(words);
    let (mut host, mut without_command) = (false, false);
    loop {
        match walk.next(SPEC) {
            None => break,
            Some(ArgumentStep::Strange(what)) => return look.ask(format!("{what} is not understood")),
            Some(ArgumentStep::Option(option, value)) => {
                without_command |= matches!(option.as_str(), "N" | "W" | "O" | "Q" | "V" | "G");
                match (option.as_str(), value) {
                    ("o", value) => ssh_setting(value.as_ref(), look),
                    ("I", _) => look.ask("its option `-I` loads code"),
                    ("E", _) => {
                        look.ask_at_least(Strength::UnlessDefaultAllows, "its option `-E` writes a file");
                    }
                    ("F", value) if value.as_ref().and_then(Word::text).is_none_or(is_made_up) => {
                        look.ask("what it reads its settings from is known only when it runs");
                    }
                    ("F", Some(file)) if !file.is("none") && !file.is("/dev/null") => {
                        let why = "its option `-F` reads settings from a file";
                        look.ask_at_least(Strength::UnlessDefaultAllows, why);
                    }
                    ("S", Some(path)) if !path.is("none") => {
                        let why = "its option `-S` makes or uses a socket";
                        look.ask_at_least(Strength::UnlessDefaultAllows, why);
                    }
                    _ => {}
                }
            }
            Some(ArgumentStep::Operand(place)) if host => {
                return look.carry("ssh", Carried::Script(joined(&words[place..]), ShellKind::Posix));
            }
            Some(ArgumentStep::Operand(place)) => {
                host = true;
                if words[place].text().is_none() && words[place].beginning().is_empty() {
                    look.ask_at_least(
                        Strength::UnlessDefaultAllows,
                        "its host may be an option that runs a command",
                    );
                }
            }
        }
    }
    if walk.doubtful || host && !without_command {
        look.ask("it starts a shell that reads commands from its input");
    }
}

fn ssh_setting(value: Option<&Word>, look: &mut Look) {
    let text = value.and_then(Word::text).map(str::to_owned);
    let Some(text) = text else { return look.ask("one of its settings is known only when it runs") };
    match languages::ssh_setting(&text) {
        Meaning::Runs(Some(command)) => {
            look.ask(format!("its setting `{text}` runs a command"));
            look.carry("ssh -o", Carried::Script(Word::literal(command), ShellKind::Posix));
        }
        Meaning::Writes => {
            look.ask_at_least(Strength::UnlessDefaultAllows, format!("its setting `{text}` writes a file"));
        }
        _ => {}
    }
}

fn su(name: &str, words: &[Word], look: &mut Look) {
    const SPEC: Spec = Spec {
        shorts: "c:flmpPs:g:G:w:TC:u:hV",
        longs: "command: session-command: fast login preserve-environment pty shell: group: supp-group: \
                whitelist-environment: user: help version",
    };
    let mut walk = ArgumentWalk::new(words);
    let (mut operands, mut found, mut by_user) = (0, false, false);
    loop {
        match walk.next(SPEC) {
            None => break,
            Some(ArgumentStep::Strange(what)) => return look.ask(format!("{what} is not understood")),
            Some(ArgumentStep::Option(option, value)) => match (option.as_str(), value) {
                ("c" | "command" | "session-command", Some(command)) => {
                    found = true;
                    look.carry(&format!("{name} -c"), Carried::Script(command, ShellKind::Posix));
                }
                ("u" | "user", _) => by_user = true,
                _ => {}
            },
            Some(ArgumentStep::Operand(place)) if by_user => {
                return look.carry_command(name, &words[place..]);
            }
            Some(ArgumentStep::Operand(place)) => operands += usize::from(!words[place].is("-")),
        }
    }
    if !found || operands > 1 || walk.doubtful {
        look.ask("it starts a shell");
    }
}

/// `sg [-] group [-c] script`, and `newgrp`, which takes a script only behind its option.
fn group_shell(name: &str, words: &[Word], look: &mut Look) {
    const SPEC: Spec = Spec { shorts: "c:lhV", longs: "command: help version" };
    let mut walk = ArgumentWalk::new(words);
    let (mut has_group, mut found) = (false, false);
    loop {
        let script = match walk.next(SPEC) {
            None => break,
            Some(ArgumentStep::Strange(what)) => return look.ask(format!("{what} is not understood")),
            Some(ArgumentStep::Option(option, value)) if matches!(option.as_str(), "c" | "command") => value,
            Some(ArgumentStep::Option(..)) => None,
            Some(ArgumentStep::Operand(place)) if words[place].is("-") => None,
            Some(ArgumentStep::Operand(place)) if has_group => Some(words[place].clone()),
            Some(ArgumentStep::Operand(_)) => {
                has_group = true;
                None
            }
        };
        if let Some(script) = script {
            found = true;
            look.carry(&format!("{name} -c"), Carried::Script(script, ShellKind::Posix));
        }
    }
    if !found || walk.doubtful {
        look.ask("it starts a shell");
    }
}

fn flock(given: &Given<'_>, look: &mut Look) {
    const SPEC: Spec = Spec {
        shorts: "sexnuoFw:E:c:vhV",
        longs: "shared exclusive unlock nonblock nb timeout: wait: conflict-exit-code: close no-fork command: fcntl \
                verbose help version",
    };
    let mut walk = ArgumentWalk::new(given.words);
    let mut file = false;
    loop {
        match walk.next(SPEC) {
            None => break,
            Some(ArgumentStep::Strange(what)) => return look.ask(format!("{what} is not understood")),
            Some(ArgumentStep::Option(option, Some(script)))
                if matches!(option.as_str(), "c" | "command") =>
            {
                look.carry("flock -c", Carried::Script(script, ShellKind::Posix));
            }
            Some(ArgumentStep::Option(..)) => {}
            Some(ArgumentStep::Operand(place)) if file => {
                return look.carry_command("flock", &given.words[place..]);
            }
            Some(ArgumentStep::Operand(_)) => file = true,
        }
    }
    if walk.doubtful {
        look.ask("where its command begins is known only when it runs");
    }
}

fn script(words: &[Word], look: &mut Look) {
    const SPEC: Spec = Spec {
        shorts: "aefqc:E:I:O:B:T:m:o:t?Vh",
        longs: "append command: echo: flush force log-in: log-out: log-io: log-timing: logging-format: output-limit: \
                quiet return timing? help version",
    };
    let mut walk = ArgumentWalk::new(words);
    let (mut operands, mut found) = (0, false);
    loop {
        match walk.next(SPEC) {
            None => break,
            Some(ArgumentStep::Strange(what)) => return look.ask(format!("{what} is not understood")),
            Some(ArgumentStep::Option(option, Some(script)))
                if matches!(option.as_str(), "c" | "command") =>
            {
                found = true;
                look.carry("script -c", Carried::Script(script, ShellKind::Posix));
            }
            Some(ArgumentStep::Option(..)) => {}
            Some(ArgumentStep::Operand(place)) if operands == 1 => {
                found = true;
                look.carry_command("script", &words[place..]);
                break;
            }
            Some(ArgumentStep::Operand(_)) => operands += 1,
        }
    }
    if !found || walk.doubtful {
        look.ask("it starts a shell that reads commands from its input");
    }
}

fn watch(given: &Given<'_>, look: &mut Look) {
    const SPEC: Spec = Spec {
        shorts: "bcCdefgn:pq:rs:tvwxh",
        longs: "beep color no-color differences? errexit follow chgexit interval: precise equexit: no-rerun shotsdir: \
                no-title no-wrap exec help version",
    };
    let mut walk = ArgumentWalk::new(given.words);
    let mut as_words = false;
    look.is_transparent(given);
    loop {
        match walk.next(SPEC) {
            None => return,
            Some(ArgumentStep::Strange(what)) => return look.ask(format!("{what} is not understood")),
            Some(ArgumentStep::Option(option, _)) if matches!(option.as_str(), "s" | "shotsdir") => {
                look.harmless = None;
                look.ask_at_least(Strength::UnlessDefaultAllows, "its option `--shotsdir` writes files");
            }
            Some(ArgumentStep::Option(option, _)) => as_words |= matches!(option.as_str(), "x" | "exec"),
            Some(ArgumentStep::Operand(place)) if as_words => {
                return look.carry_command("watch", &given.words[place..]);
            }
            Some(ArgumentStep::Operand(place)) => {
                let script = joined(&given.words[place..]);
                return look.carry("watch", Carried::Script(script, ShellKind::Posix));
            }
        }
    }
}

/// Words behind which a command may stand.
fn last_words(name: &str, words: &[Word], look: &mut Look) {
    look.carrier = Some(name.to_owned());
    for place in 1..words.len().min(24) {
        if words[place].text().is_some_and(|text| !text.starts_with('-')) {
            look.carried.push(Carried::Perhaps(head(&words[place..])));
            look.carried.push(Carried::Perhaps(script_words(&words[place])));
        }
    }
}

fn runs_in_socat(word: &Word) -> bool {
    let text = word.beginning().to_ascii_lowercase();
    ["exec:", "system:", "shell:"].iter().any(|scheme| text.contains(scheme))
}
