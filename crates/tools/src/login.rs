//! The user's login environment, captured once and used for every command.
//!
//! A login shell runs the start-up files and prints what became of its environment. That is kept until one of those files
//! changes. A start-up file that hangs costs one bounded wait, is reported, and is not tried again until it changes.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::OnceCell;
use windlass_engine::{CommandSpec, Engine, Journal, Keeping, Lifetime, Met, Piece, Session, Stream, Until};
use windlass_output::{Offset, Span};

use crate::environment::{Variables, get};
use crate::shell::{Dialect, Shell};

/// Functions longer than this together would make every command slower to start.
const MOST_FUNCTIONS: usize = 64 * 1024;
/// The most a start-up may print, environment included, before it is no longer looked at.
const MOST_OUTPUT: u64 = 4 << 20;
/// The variable that tells the capturing shell its marker.
const MARKER: &str = "WINDLASS_CAPTURE";

/// The login environments of a runtime, one for each shell.
#[derive(Debug)]
pub(crate) struct LoginEnvironments {
    engine: Engine,
    /// How long the start-up files may take.
    bound: Duration,
    base: Arc<Captured>,
    captured: Mutex<HashMap<Shell, Entry>>,
}

#[derive(Debug)]
struct Entry {
    stamps: Vec<Stamp>,
    environment: Arc<OnceCell<Arc<Captured>>>,
}

/// What a login leaves behind.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    pub(crate) variables: Variables,
    /// Definitions of functions that a shell can read.
    pub(crate) functions: String,
    pub(crate) startup: Startup,
    remark: Option<String>,
    told: AtomicBool,
}

/// Who reads a shell's start-up files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Startup {
    /// The shell itself, if it is of the kind that always does.
    #[default]
    Own,
    /// The login did, or tried to: nobody has to again.
    Done,
}

impl Captured {
    /// What went wrong, once.
    pub(crate) fn remark(&self) -> Option<&str> {
        let remark = self.remark.as_deref()?;
        (!self.told.swap(true, Ordering::Relaxed)).then_some(remark)
    }
}

impl LoginEnvironments {
    /// Environments that begin with this one, the runtime's own, and may take so long to make.
    pub(crate) fn new(engine: Engine, base: Variables, bound: Duration) -> Self {
        let base = Arc::new(Captured { variables: base, ..Captured::default() });
        Self { engine, bound, base, captured: Mutex::default() }
    }

    /// The runtime's own environment.
    pub(crate) fn base(&self) -> &Arc<Captured> {
        &self.base
    }

    /// The environment after a login with this shell.
    pub(crate) async fn of(&self, shell: &Shell) -> Arc<Captured> {
        let entry = self.entry(shell);
        Arc::clone(entry.get_or_init(|| self.capture(shell)).await)
    }

    fn entry(&self, shell: &Shell) -> Arc<OnceCell<Arc<Captured>>> {
        let stamps: Vec<Stamp> =
            startup_files(shell.dialect, &self.base.variables).iter().map(|path| Stamp::of(path)).collect();
        let mut captured = self.captured.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = captured.entry(shell.clone()).or_insert_with(|| Entry::new(Vec::new()));
        if entry.stamps != stamps {
            *entry = Entry::new(stamps);
        }
        Arc::clone(&entry.environment)
    }

    async fn capture(&self, shell: &Shell) -> Arc<Captured> {
        match self.try_capture(shell).await {
            Ok(captured) => Arc::new(captured),
            Err(reason) => {
                let program = shell.program.display();
                let remark = format!(
                    "the login environment of {program} is not used: {reason}. Commands get the runtime's own; \
                     mend the shell's start-up files, or pass login=false"
                );
                let variables = self.base.variables.clone();
                let startup = Startup::Done;
                Arc::new(Captured { variables, startup, remark: Some(remark), ..Captured::default() })
            }
        }
    }

    async fn try_capture(&self, shell: &Shell) -> Result<Captured, String> {
        let marker = marker();
        let session = self.engine.start(self.login(shell, &marker)).map_err(|error| error.to_string())?;
        let until = Until::exit().by(Instant::now() + self.bound);
        match session.wait(&until).await {
            Met::Exit(_) | Met::Closed => {}
            // Dropping the session, which nobody else holds, ends it.
            _ => {
                return Err(format!(
                    "its start-up files did not finish within {} s",
                    self.bound.as_secs_f64()
                ));
            }
        }
        let printed = printed(session.journal());
        // The environment holds the marker as well; only where it was printed an exclamation mark follows.
        read(&printed, format!("{marker}!").as_bytes()).ok_or_else(|| unfinished(&session))
    }

    fn login(&self, shell: &Shell, marker: &str) -> CommandSpec {
        let home = get(&self.base.variables, "HOME").map(Path::new);
        let directory = home.filter(|home| home.is_absolute() && home.is_dir()).unwrap_or(Path::new("/"));
        let argv = [shell.program.as_os_str(), "-l".as_ref(), "-c".as_ref(), dump(shell.dialect).as_ref()];
        let mut spec = CommandSpec::new(argv, directory);
        spec.environment.clone_from(&self.base.variables);
        spec.environment.push((MARKER.into(), marker.into()));
        spec.lifetime = Lifetime::Call;
        spec.keeping = Keeping::Memory;
        spec
    }
}

impl Entry {
    fn new(stamps: Vec<Stamp>) -> Self {
        Self { stamps, environment: Arc::default() }
    }
}

/// The state of a file, as far as a change of it can be told from outside.
#[derive(Debug, PartialEq, Eq)]
struct Stamp(Option<(u64, u64, i64, i64)>);

impl Stamp {
    fn of(path: &Path) -> Self {
        let stamp = |file: std::fs::Metadata| (file.ino(), file.size(), file.mtime(), file.mtime_nsec());
        Self(path.metadata().ok().map(stamp))
    }
}

/// What a login shell of this kind reads. A directory's stamp changes with its list of files.
fn startup_files(dialect: Dialect, variables: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let directory = |name: &str| get(variables, name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = directory("HOME").unwrap_or_else(|| "/".into());
    let zsh = directory("ZDOTDIR").unwrap_or_else(|| home.clone());
    let below = |directory: &Path, names: &[&str]| names.iter().map(|name| directory.join(name)).collect();
    let mut files: Vec<PathBuf> = match dialect {
        Dialect::Bash => below(&home, &[".bash_profile", ".bash_login", ".profile", ".bashrc"]),
        Dialect::Zsh => below(&zsh, &[".zshenv", ".zprofile", ".zshrc", ".zlogin"]),
        Dialect::Posix => below(&home, &[".profile"]),
    };
    let system = match dialect {
        Dialect::Zsh => vec!["zsh/zshenv", "zsh/zprofile", "zsh/zlogin", "zshenv", "zprofile", "profile"],
        Dialect::Bash | Dialect::Posix => vec!["profile", "profile.d", "bash.bashrc"],
    };
    files.extend(system.iter().map(|name| Path::new("/etc").join(name)));
    files
}

/// Prints the environment, and the functions of shells that can print them, each after the marker.
fn dump(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Bash | Dialect::Zsh => {
            "printf %s! \"$WINDLASS_CAPTURE\"; cat /proc/self/environ; printf %s! \"$WINDLASS_CAPTURE\"; \
             typeset -f; printf %s! \"$WINDLASS_CAPTURE\""
        }
        Dialect::Posix => {
            "printf %s! \"$WINDLASS_CAPTURE\"; cat /proc/self/environ; \
             printf %s!%s! \"$WINDLASS_CAPTURE\" \"$WINDLASS_CAPTURE\""
        }
    }
}

fn marker() -> String {
    format!("windlass-{:016x}-", u64::from_ne_bytes(crate::random::bytes()))
}

fn printed(journal: &Journal) -> Vec<u8> {
    let mut printed = Vec::new();
    let mut position = Offset::ZERO;
    while position < journal.end().min(Offset::new(MOST_OUTPUT)) {
        let reading = journal.read(Span::new(position, journal.end()), 1 << 20);
        for piece in reading.pieces {
            if let Piece::Bytes { stream: Stream::Stdout, bytes, .. } = piece {
                printed.extend_from_slice(&bytes);
            }
        }
        if reading.next <= position {
            break;
        }
        position = reading.next;
    }
    printed
}

/// What stands behind the first marker, behind the second, and nothing unless there is a third: then it is all there.
fn read(printed: &[u8], marker: &[u8]) -> Option<Captured> {
    let (_, rest) = split(printed, marker)?;
    let (environ, rest) = split(rest, marker)?;
    let (functions, _) = split(rest, marker)?;
    let variables: Variables = environ.split(|byte| *byte == 0).filter_map(variable).collect();
    if variables.is_empty() {
        return None;
    }
    let functions = String::from_utf8(functions.to_vec()).unwrap_or_default();
    let functions = if functions.len() <= MOST_FUNCTIONS { functions } else { String::new() };
    let (functions, startup) = (functions.trim().to_owned(), Startup::Done);
    Some(Captured { variables, functions, startup, ..Captured::default() })
}

fn split<'a>(bytes: &'a [u8], marker: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = bytes.windows(marker.len()).position(|window| window == marker)?;
    Some((&bytes[..at], &bytes[at + marker.len()..]))
}

/// Without what belongs to the shell that was asked.
fn variable(entry: &[u8]) -> Option<(OsString, OsString)> {
    const ITS_OWN: [&str; 5] = [MARKER, "_", "SHLVL", "PWD", "OLDPWD"];
    let equals = entry.iter().position(|byte| *byte == b'=').filter(|at| *at > 0)?;
    let (name, value) = (OsStr::from_bytes(&entry[..equals]), OsStr::from_bytes(&entry[equals + 1..]));
    (!ITS_OWN.iter().any(|own| name == *own)).then(|| (name.to_owned(), value.to_owned()))
}

fn unfinished(session: &Session) -> String {
    let exit = session.receipt().map(|receipt| receipt.exit.code());
    match exit {
        Some(code) => format!("its start-up files ended the shell with code {code} before it could be asked"),
        None => "its start-up files ended the shell before it could be asked".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_is_read_between_markers_whatever_is_printed_before() {
        let printed = b"motd\nMARKPATH=/a\0X=1=2\0_=/usr/bin/cat\0SHLVL=2\0MARKf () \n{ \n  :\n}\nMARK";
        let captured = read(printed, b"MARK").unwrap();
        let expected: Variables = vec![("PATH".into(), "/a".into()), ("X".into(), "1=2".into())];
        assert_eq!((captured.variables, captured.functions.as_str()), (expected, "f () \n{ \n  :\n}"));
    }

    #[test]
    fn an_environment_that_is_not_whole_is_not_used() {
        for printed in ["", "MARK", "MARKPATH=/a", "MARKPATH=/a\0MARKf", "MARKMARKMARK"] {
            assert!(read(printed.as_bytes(), b"MARK").is_none(), "{printed}");
        }
    }

    #[test]
    fn a_remark_is_made_once() {
        let captured = Captured { remark: Some("slow".into()), ..Captured::default() };
        assert_eq!((captured.remark(), captured.remark()), (Some("slow"), None));
    }
}
