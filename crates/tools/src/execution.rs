//! Everything that decides what a call would run, with links resolved: a person sees it before they approve, and the
//! approval holds for exactly that. A command alone is not enough: `make test` is another program with another `PATH`,
//! and another project in another directory.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};
use windlass_engine::HeldDirectory;
use windlass_exec_policy::changes_what_runs;
use windlass_output::{Shown, beyond_ascii};

use crate::arguments::{Arguments, BadArgument};
use crate::toolbox::Toolbox;

/// The most characters of a command that are shown.
const MOST_COMMAND: usize = 16_000;
/// The most characters of its input, and of all its variables.
const MOST_BESIDE: usize = 4_000;
/// The most letters of other alphabets that are named.
const MOST_LETTERS: usize = 16;

/// The command that a call would run, with its circumstances. Two are equal only if all of it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Execution {
    command: CommandText,
    /// The shell that was asked for; `None` for the usual one.
    shell: Option<PathBuf>,
    directory: ResolvedPath,
    /// The directory itself, held: what is at its path can be exchanged while a person decides.
    held: Option<Arc<HeldDirectory>>,
    /// Changes of the environment; `None` removes.
    environment: Vec<(String, Option<String>)>,
    stdin: Option<String>,
    terminal: bool,
    without_login: bool,
    detached: bool,
    without_sandbox: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum CommandText {
    Script(String),
    Program(Vec<String>),
}

/// A path as it was given, with links resolved.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResolvedPath {
    given: PathBuf,
    resolved: PathBuf,
}

/// One fact that a person decides on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    /// Its kind: `command`, `directory`, `environment` and the like.
    pub label: &'static str,
    /// The fact itself.
    pub text: Shown,
    /// Whether it deserves a second look.
    pub emphasis: Emphasis,
}

/// How a detail is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emphasis {
    /// The subject of the decision.
    Subject,
    /// It changes the program that runs, or its permissions.
    Warning,
    /// A circumstance.
    Plain,
}

impl Toolbox {
    /// The command that a call of a tool would run. `None` if it starts nothing or its arguments are invalid.
    pub fn execution(&self, tool: &str, arguments: &Map<String, Value>) -> Option<Execution> {
        self.read_execution(tool, arguments).ok().flatten()
    }

    pub(crate) fn read_execution(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Option<Execution>, BadArgument> {
        let mut arguments = Arguments::new(arguments.clone());
        let command = match tool {
            "exec_command" => CommandText::Script(arguments.required_text("cmd")?),
            "shell_command" => CommandText::Script(arguments.required_text("command")?),
            "shell" => CommandText::Program(arguments.texts("command")?.unwrap_or_default()),
            _ => return Ok(None),
        };
        if matches!(&command, CommandText::Program(words) if words.is_empty()) {
            return Ok(None);
        }
        let workdir = arguments.path("workdir")?;
        let directory = workdir.map_or_else(|| self.directory().to_owned(), |it| self.directory().join(it));
        let (directory, held) = held_directory(directory);
        let mut execution = Execution {
            command,
            shell: None,
            directory,
            held,
            environment: Vec::new(),
            stdin: None,
            terminal: false,
            without_login: false,
            detached: false,
            without_sandbox: false,
        };
        if tool != "shell" {
            execution.without_login = arguments.flag("login")? == Some(false);
        }
        if tool == "exec_command" {
            if let Some(asked) = arguments.text("shell")? {
                let found = self.shell(Some(&asked));
                let (shell, _) = found.map_err(|error| BadArgument::new("shell", error.to_string()))?;
                execution.shell = Some(shell.program);
            }
            execution.environment = arguments.text_map("env")?;
            execution.environment.sort();
            execution.stdin = arguments.text("stdin")?;
            execution.terminal = arguments.flag("tty")? == Some(true);
            execution.detached = arguments.text("lifetime")?.as_deref() == Some("detached");
        }
        Ok(Some(execution))
    }
}

const UNPRINTABLE_DIRECTORY: &str = "the working directory is a link to a path that is not UTF-8; nothing was run: name a directory without links";

/// Opens a directory first and then says where it is, so that the path belongs to the directory that is held.
fn held_directory(given: PathBuf) -> (ResolvedPath, Option<Arc<HeldDirectory>>) {
    let held = HeldDirectory::open(&given).ok();
    match held.as_ref().and_then(|held| held.path().ok()) {
        Some(resolved) => (ResolvedPath { given, resolved }, held.map(Arc::new)),
        None => (ResolvedPath::of(given), None),
    }
}

impl Execution {
    /// The same command without its sandbox.
    #[must_use]
    pub fn without_sandbox(self) -> Self {
        Self { without_sandbox: true, ..self }
    }

    /// The facts, the most important first.
    pub fn details(&self) -> Vec<Detail> {
        let mut details = vec![self.command()];
        let mut add = |label, text, emphasis| details.push(Detail { label, text, emphasis });
        if let Some(program) = self.program().filter(ResolvedPath::is_link) {
            add("program", program.shown(), Emphasis::Warning);
        }
        if let Some(shell) = &self.shell {
            add("shell", ResolvedPath::of(shell.clone()).shown(), Emphasis::Warning);
        }
        for (label, emphasis, dangerous) in
            [("runs others", Emphasis::Warning, true), ("environment", Emphasis::Plain, false)]
        {
            if let Some(text) = self.variables(dangerous) {
                add(label, text, emphasis);
            }
        }
        let link = if self.directory.is_link() { Emphasis::Warning } else { Emphasis::Plain };
        add("directory", self.directory.shown(), link);
        if let Some(stdin) = &self.stdin {
            add("stdin", Shown::within(stdin, MOST_BESIDE), Emphasis::Plain);
        }
        for (applies, label, text, emphasis) in [
            (self.terminal, "terminal", "yes", Emphasis::Plain),
            (self.without_login, "login", "no: without the login environment", Emphasis::Plain),
            (self.detached, "lifetime", "detached: it outlives this server", Emphasis::Plain),
            (self.without_sandbox, "sandbox", "none: it may do whatever you may", Emphasis::Warning),
        ] {
            if applies {
                add(label, Shown::whole(text), emphasis);
            }
        }
        details.extend(self.letters());
        details
    }

    /// Makes a call run where this says, even if a link is changed meanwhile, and gives the directory that it must be in.
    ///
    /// # Errors
    ///
    /// Why it cannot run there.
    pub fn pin_directory(&self, arguments: &mut Map<String, Value>) -> Result<Arc<HeldDirectory>, String> {
        let Some(held) = self.held.clone() else {
            let path = Shown::of_path(&self.directory.resolved);
            let path = path.text();
            return Err(format!(
                "{path}: there was no such directory when the command was shown; nothing was run"
            ));
        };
        if self.directory.is_link() {
            let path = self.directory.resolved.to_str().ok_or(UNPRINTABLE_DIRECTORY)?;
            arguments.insert("workdir".into(), path.into());
        }
        Ok(held)
    }

    fn command(&self) -> Detail {
        let (label, text) = match &self.command {
            CommandText::Script(script) => ("command", script.clone()),
            CommandText::Program(words) => {
                ("program", words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
            }
        };
        Detail { label, text: Shown::within(&text, MOST_COMMAND), emphasis: Emphasis::Subject }
    }

    /// The program that the command begins with, if it is named by a path.
    fn program(&self) -> Option<ResolvedPath> {
        let word = match &self.command {
            CommandText::Program(words) => words.first()?,
            CommandText::Script(script) => script.split_whitespace().next().filter(|word| is_plain(word))?,
        };
        word.contains('/').then(|| ResolvedPath::of(self.directory.resolved.join(word)))
    }

    /// The variables that make programs run other programs, or all the rest; a line each. A variable that is removed is
    /// harmless.
    fn variables(&self, dangerous: bool) -> Option<Shown> {
        let is_dangerous =
            |(name, value): &&(String, Option<String>)| value.is_some() && changes_what_runs(name);
        let chosen = self.environment.iter().filter(|variable| is_dangerous(variable) == dangerous);
        let line = |(name, value): &(String, Option<String>)| {
            let name = quoted(name);
            let text = match value {
                Some(value) => format!("{name}={}", quoted(value)),
                None => format!("{name} is removed"),
            };
            Shown::on_one_line(&text, MOST_BESIDE)
        };
        let lines: Vec<Shown> = chosen.map(line).collect();
        (!lines.is_empty()).then(|| Shown::joined(lines))
    }

    /// Letters that look like others, by their code points.
    fn letters(&self) -> Option<Detail> {
        let mut text = self.command().text.text().to_owned();
        text.extend(
            self.environment
                .iter()
                .map(|(name, value)| format!("{name}{}", value.as_deref().unwrap_or_default())),
        );
        text.push_str(&self.directory.resolved.to_string_lossy());
        let letters = beyond_ascii(&text);
        if letters.is_empty() {
            return None;
        }
        let named = letters.iter().take(MOST_LETTERS).map(|it| format!("{it} U+{:04X}", u32::from(*it)));
        let mut named = named.collect::<Vec<_>>().join(", ");
        if letters.len() > MOST_LETTERS {
            named.push_str(&format!(" and {} more", letters.len() - MOST_LETTERS));
        }
        Some(Detail { label: "not ASCII", text: Shown::whole(&named), emphasis: Emphasis::Plain })
    }
}

impl ResolvedPath {
    /// Follows every link on the way. Of a path that does not exist, the part that does is followed.
    pub fn of(given: PathBuf) -> Self {
        let mut missing: Vec<&OsStr> = Vec::new();
        let mut existing: &Path = &given;
        let resolved = loop {
            if let Ok(found) = existing.canonicalize() {
                break missing.iter().rev().fold(found, |path, name| path.join(name));
            }
            match (existing.parent(), existing.file_name()) {
                (Some(parent), Some(name)) => {
                    missing.push(name);
                    existing = parent;
                }
                _ => break given.clone(),
            }
        };
        Self { resolved, given }
    }

    /// The path with links resolved.
    pub fn path(&self) -> &Path {
        &self.resolved
    }

    /// Whether its links lead to another path.
    pub fn is_link(&self) -> bool {
        // Components leave out `.` and doubled slashes, which do not change the path.
        self.given.components().ne(self.resolved.components())
    }

    /// The resolved path, and how it was given if that differs.
    pub fn shown(&self) -> Shown {
        let resolved = Shown::of_path(&self.resolved);
        if !self.is_link() {
            return resolved;
        }
        Shown::with_origin(&resolved, &Shown::of_path(&self.given))
    }
}

/// A word as a shell would take it: two lists of words never look the same.
fn quoted(word: &str) -> String {
    if !word.is_empty() && is_plain(word) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn is_plain(word: &str) -> bool {
    let plain = |char: char| char.is_ascii_alphanumeric() || "_-./:=,+@%".contains(char);
    word.chars().all(plain)
}
