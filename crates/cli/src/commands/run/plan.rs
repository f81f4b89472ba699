//! Plans a run from the command line and the environment: the command, the condition to wait for, and the presentation
//! of its output.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use anyhow::Result;
use windlass_engine::{CommandSpec, Io, Pace, PatternText, Queries, Stdin, Terminal, Until};
use windlass_output::Tokens;

use super::stream::WINDOW;
use crate::args::{EnvironmentChange, Run, StdinSource, ViewKind};
use crate::config::{Config, Terminals};
use crate::failure::Usage;

/// The plan of a run.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) spec: CommandSpec,
    pub(crate) until: Until,
    pub(crate) presentation: Presentation,
    pub(crate) keyboard: Keyboard,
}

/// When and how the output is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presentation {
    /// While the command runs, byte for byte.
    Stream,
    /// At the end, as text.
    Afterwards { view: ViewKind, budget: Option<Tokens> },
    /// At the end, as one JSON object.
    Json { view: ViewKind, budget: Tokens },
}

/// The use of standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keyboard {
    /// Standard input is not read.
    Unused,
    /// Standard input is forwarded until it ends.
    Forwarded,
    /// Standard input is a person's terminal, forwarded key by key.
    Raw,
}

/// The budget of a JSON reply unless an option sets it.
const DEFAULT_BUDGET: Tokens = Tokens::new(10_000);

impl Plan {
    pub(crate) fn new(order: Run, config: &Config) -> Result<Self> {
        let presentation = presentation(&order)?;
        let keyboard = keyboard(&order, presentation, config.terminals);
        let until = until(&order);
        let mut spec = spec(order, config, keyboard)?;
        if presentation == Presentation::Stream {
            spec.pace = Pace::Reader { window: WINDOW };
        }
        Ok(Self { spec, until, presentation, keyboard })
    }
}

/// The command of a detached session: it has nothing to read, and waits for no reader.
pub(crate) fn detached(order: Run, config: &Config) -> Result<CommandSpec> {
    if order.stdin == StdinSource::Inherit {
        return Err(
            Usage("--stdin inherit does not go with --detach: our input ends with us".to_owned()).into()
        );
    }
    spec(order, config, Keyboard::Unused)
}

fn presentation(order: &Run) -> Result<Presentation> {
    let shown = &order.shown;
    let budget = shown.max_tokens.map(Tokens::new);
    if shown.view == Some(ViewKind::Screen) && !order.tty {
        return Err(Usage("--view screen needs --tty: only a terminal has a screen".to_owned()).into());
    }
    let view = shown.view.unwrap_or(ViewKind::Text);
    Ok(match (shown.json, budget, shown.view) {
        (true, budget, _) => Presentation::Json { view, budget: budget.unwrap_or(DEFAULT_BUDGET) },
        (false, None, None | Some(ViewKind::Raw)) => Presentation::Stream,
        (false, budget, _) => Presentation::Afterwards { view, budget },
    })
}

pub(super) fn keyboard(order: &Run, presentation: Presentation, terminals: Terminals) -> Keyboard {
    let at_terminal = terminals.stdin;
    let live = order.tty && presentation == Presentation::Stream;
    match order.stdin {
        StdinSource::None => Keyboard::Unused,
        StdinSource::Auto | StdinSource::Inherit if at_terminal && live => Keyboard::Raw,
        StdinSource::Auto if at_terminal => Keyboard::Unused,
        StdinSource::Auto | StdinSource::Inherit => Keyboard::Forwarded,
    }
}

fn until(order: &Run) -> Until {
    Until {
        exit: true,
        patterns: order.until.clone().into_iter().collect(),
        text: match order.shown.view {
            Some(ViewKind::Raw) => PatternText::Raw,
            _ => PatternText::Settled,
        },
        idle: order.idle,
        ..Until::default()
    }
}

fn spec(order: Run, config: &Config, keyboard: Keyboard) -> Result<CommandSpec> {
    let here = Config::working_directory()?;
    let directory = order.cwd.as_ref().map_or(here.clone(), |directory| here.join(directory));
    let io = io(&order, config.terminals, keyboard);
    let environment = environment(&config.environment, order.env, &io);
    let mut spec = CommandSpec::new(argv(order.command, &config.shell), directory);
    spec.environment = environment;
    spec.io = io;
    spec.name = order.name;
    spec.timeout = order.timeout;
    spec.limits = order.limits.limits();
    Ok(spec)
}

fn io(order: &Run, terminals: Terminals, keyboard: Keyboard) -> Io {
    if order.tty {
        let size = order.size.or(terminals.stdout).unwrap_or_default();
        // Only a terminal that both shows the question and sends its keys to windlass can answer.
        let passed_on = keyboard == Keyboard::Raw && terminals.stdout.is_some();
        let queries = if passed_on { Queries::PassedOn } else { Queries::Answered };
        return Io::Terminal(Terminal { size, queries });
    }
    Io::Pipes(match keyboard {
        Keyboard::Unused => Stdin::Closed,
        Keyboard::Forwarded | Keyboard::Raw => Stdin::Open,
    })
}

fn environment(
    inherited: &[(OsString, OsString)],
    changes: Vec<EnvironmentChange>,
    io: &Io,
) -> Vec<(OsString, OsString)> {
    let mut variables = inherited.to_vec();
    if matches!(io, Io::Terminal(_)) && variables.iter().all(|(name, _)| name != "TERM") {
        variables.push(("TERM".into(), "xterm-256color".into()));
    }
    for change in changes {
        match change {
            EnvironmentChange::Set(name, value) => {
                variables.retain(|(variable, _)| *variable != name);
                variables.push((name, value));
            }
            EnvironmentChange::Remove(name) => variables.retain(|(variable, _)| *variable != name),
        }
    }
    variables
}

/// A single string that needs a shell is a script; anything else is a program with its arguments.
pub(super) fn argv(mut command: Vec<OsString>, shell: &OsStr) -> Vec<OsString> {
    if command.len() == 1 && is_script(&command[0]) {
        command.splice(..0, [shell.to_owned(), "-c".into()]);
    }
    command
}

fn is_script(word: &OsStr) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte >= 0x80 || b"_-./+@%:,".contains(byte);
    !word.as_bytes().iter().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_string_with_shell_characters_is_a_script() {
        let check = |command: &[&str], expected: &[&str]| {
            let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
            assert_eq!(argv(words(command), OsStr::new("/bin/sh")), words(expected), "{command:?}");
        };
        check(&["ls"], &["ls"]);
        check(&["./build.sh"], &["./build.sh"]);
        check(&["ls -la"], &["/bin/sh", "-c", "ls -la"]);
        check(&["a|b"], &["/bin/sh", "-c", "a|b"]);
        check(&["A=1"], &["/bin/sh", "-c", "A=1"]);
        check(&["ls", "a b"], &["ls", "a b"]);
    }

    #[test]
    fn variables_are_inherited_changed_and_removed_in_order() {
        let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let inherited = [pair("A", "1"), pair("B", "2")];
        let changes = vec![
            EnvironmentChange::Remove("A".into()),
            EnvironmentChange::Set("B".into(), "3".into()),
            EnvironmentChange::Set("C".into(), "".into()),
        ];
        let on_pipes = environment(&inherited, changes, &Io::Pipes(Stdin::Closed));
        assert_eq!(on_pipes, [pair("B", "3"), pair("C", "")]);
        let on_terminal = environment(&inherited, Vec::new(), &Io::Terminal(Terminal::default()));
        assert_eq!(on_terminal.last(), Some(&pair("TERM", "xterm-256color")));
    }
}
