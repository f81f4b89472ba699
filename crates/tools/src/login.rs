//! The user's login environment, captured once and used for every command.
//!
//! A login shell runs the start-up files and prints the resulting environment and its own state ([`state`]). They are
//! kept until one of those files changes. A start-up file that hangs costs one bounded wait, is reported, and is not
//! tried again until it changes.
//!
//! The login shell is confined like the commands that get its environment, and the variables that are withheld from
//! them are withheld from it, too: its start-up files may lie where a command can write.

mod state;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::OnceCell;
use windlass_engine::sandbox::{Plan, Policy};
use windlass_engine::{
    CommandSpec, Engine, Journal, JournalPiece, Keeping, Lifetime, Met, Session, StartError, Stream, Until,
};
use windlass_output::{Offset, Span};

pub(crate) use self::state::ShellState;
use crate::environment::{Composed, Connection, EnvironmentPolicy, Overrides, Variables, get};
use crate::shell::{Shell, ShellDialect};

/// The most that a start-up may print, environment included; a longer output is not read.
const MOST_OUTPUT: u64 = 4 << 20;
/// The most environments that are stored: a caller may ask for many policies, one after the other.
const MOST_KEPT: usize = 16;

/// The login environments of a runtime, one for each shell and sandbox policy.
#[derive(Debug)]
pub(crate) struct LoginEnvironments {
    engine: Engine,
    /// How long the start-up files may take.
    bound: Duration,
    base: Arc<Captured>,
    /// The variables that a login shell gets, and the names of those that are withheld from it.
    given: Variables,
    withheld: Vec<String>,
    policy: EnvironmentPolicy,
    /// Oldest first.
    captured: Mutex<Vec<LoginEntry>>,
}

/// A login shell and the policy that confines it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Login<'a> {
    pub(crate) shell: &'a Shell,
    pub(crate) policy: &'a Policy,
}

#[derive(Debug)]
struct LoginEntry {
    shell: Shell,
    policy: Policy,
    stamps: Vec<Stamp>,
    environment: Arc<OnceCell<Arc<Captured>>>,
}

/// The results of a login.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    pub(crate) variables: Variables,
    /// The state that it leaves in the shell itself.
    pub(crate) state: ShellState,
    pub(crate) startup: Startup,
    /// The names of variables that were withheld from the login shell.
    withheld: Vec<String>,
    remark: Option<String>,
    told: AtomicBool,
}

/// The part that reads a shell's start-up files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Startup {
    /// The shell itself, if it is of the kind that always does.
    #[default]
    Own,
    /// The login did, or tried to: commands do not read them again.
    Done,
}

impl Captured {
    /// The environment of a command, with the names of all withheld variables, sorted.
    pub(crate) fn compose(
        &self,
        policy: &EnvironmentPolicy,
        connection: Connection,
        overrides: &Overrides,
    ) -> Composed {
        let mut composed = policy.compose(&self.variables, connection, overrides);
        let is_asked_for = |name: &&String| overrides.iter().any(|(asked, _)| asked == *name);
        composed.removed.extend(self.withheld.iter().filter(|name| !is_asked_for(name)).cloned());
        composed.removed.sort();
        composed.removed.dedup();
        composed
    }

    /// The error of the login, once.
    pub(crate) fn remark(&self) -> Option<&str> {
        let remark = self.remark.as_deref()?;
        (!self.told.swap(true, Ordering::Relaxed)).then_some(remark)
    }
}

impl LoginEnvironments {
    /// Environments that begin with this one, the runtime's own, and may take so long to capture.
    pub(crate) fn new(engine: Engine, base: Variables, policy: &EnvironmentPolicy, bound: Duration) -> Self {
        let (given, withheld) = policy.withhold(&base);
        let base = Arc::new(Captured { variables: base, ..Captured::default() });
        Self { engine, bound, base, given, withheld, policy: policy.clone(), captured: Mutex::default() }
    }

    /// The runtime's own environment.
    pub(crate) fn base(&self) -> &Arc<Captured> {
        &self.base
    }

    /// The environment after a login. The plan that confines the shell is made only when it has to log in.
    pub(crate) async fn of(
        &self,
        login: Login<'_>,
        confine: impl FnOnce() -> Result<Option<Arc<Plan>>, StartError>,
    ) -> Arc<Captured> {
        let entry = self.entry(login);
        Arc::clone(entry.get_or_init(|| self.capture(login.shell, confine())).await)
    }

    fn entry(&self, Login { shell, policy }: Login<'_>) -> Arc<OnceCell<Arc<Captured>>> {
        let stamps: Vec<Stamp> =
            startup_files(shell.dialect, &self.given).iter().map(|path| Stamp::of(path)).collect();
        let mut captured = self.captured.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |entry: &LoginEntry| entry.shell == *shell && entry.policy == *policy;
        if let Some(place) = captured.iter().position(same) {
            if captured[place].stamps == stamps {
                return Arc::clone(&captured[place].environment);
            }
            captured.remove(place);
        }
        if captured.len() == MOST_KEPT {
            captured.remove(0);
        }
        let environment = Arc::default();
        captured.push(LoginEntry {
            shell: shell.clone(),
            policy: policy.clone(),
            stamps,
            environment: Arc::clone(&environment),
        });
        environment
    }

    async fn capture(&self, shell: &Shell, plan: Result<Option<Arc<Plan>>, StartError>) -> Arc<Captured> {
        let captured = match plan {
            Ok(plan) => self.try_capture(shell, plan).await,
            Err(error) => Err(error.to_string()),
        };
        match captured {
            Ok(captured) => Arc::new(captured),
            Err(reason) => {
                let program = shell.program.display();
                let remark = format!(
                    "the login environment of {program} is not used: {reason}. Commands get the runtime's own; \
                     mend the shell's start-up files, or pass login=false"
                );
                Arc::new(Captured {
                    variables: self.given.clone(),
                    startup: Startup::Done,
                    withheld: self.withheld.clone(),
                    remark: Some(remark),
                    ..Captured::default()
                })
            }
        }
    }

    async fn try_capture(&self, shell: &Shell, plan: Option<Arc<Plan>>) -> Result<Captured, String> {
        let marker = marker();
        let mut spec = self.login(shell, &marker);
        spec.sandbox = plan;
        let session = self.engine.start(spec).map_err(|error| error.to_string())?;
        let until = Until::exit().by(Instant::now() + self.bound);
        match session.wait(&until).await {
            Met::Exit(_) | Met::Closed => {}
            // Dropping the session ends it: this is its only handle.
            _ => {
                return Err(format!(
                    "its start-up files did not finish within {} s",
                    self.bound.as_secs_f64()
                ));
            }
        }
        let printed = printed(session.journal());
        let printed = Printed::read(&printed, marker.as_bytes()).ok_or_else(|| unfinished(&session))?;
        let variables: Variables = printed.environ.split(|byte| *byte == 0).filter_map(variable).collect();
        if variables.is_empty() {
            return Err(unfinished(&session));
        }
        let (state, remark) = state::difference(shell.dialect, (printed.before, printed.after), &self.policy);
        let withheld = self.withheld.clone();
        Ok(Captured { variables, state, startup: Startup::Done, withheld, remark, ..Captured::default() })
    }

    fn login(&self, shell: &Shell, marker: &str) -> CommandSpec {
        let home = get(&self.given, "HOME").map(Path::new);
        let directory = home.filter(|home| home.is_absolute() && home.is_dir()).unwrap_or(Path::new("/"));
        let (before, after) = scripts(shell.dialect, marker);
        let mut argv = vec![shell.program.clone().into_os_string()];
        if shell.dialect == ShellDialect::Zsh {
            argv.push("-f".into());
        }
        argv.extend(["-c".into(), before.into(), shell.program.clone().into_os_string(), after.into()]);
        let mut spec = CommandSpec::new(argv, directory);
        spec.environment.clone_from(&self.given);
        spec.lifetime = Lifetime::Call;
        spec.keeping = Keeping::Memory;
        spec
    }
}

/// The metadata of a file by which a change is noticed.
#[derive(Debug, PartialEq, Eq)]
struct Stamp(Option<(u64, u64, i64, i64)>);

impl Stamp {
    fn of(path: &Path) -> Self {
        let stamp = |file: std::fs::Metadata| (file.ino(), file.size(), file.mtime(), file.mtime_nsec());
        Self(path.metadata().ok().map(stamp))
    }
}

/// The start-up files of a login shell of this kind. A directory's stamp changes with its list of files.
fn startup_files(dialect: ShellDialect, variables: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let directory = |name: &str| get(variables, name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = directory("HOME").unwrap_or_else(|| "/".into());
    let zsh = directory("ZDOTDIR").unwrap_or_else(|| home.clone());
    let below = |directory: &Path, names: &[&str]| names.iter().map(|name| directory.join(name)).collect();
    let mut files: Vec<PathBuf> = match dialect {
        ShellDialect::Bash => below(&home, &[".bash_profile", ".bash_login", ".profile", ".bashrc"]),
        ShellDialect::Zsh => below(&zsh, &[".zshenv", ".zprofile", ".zshrc", ".zlogin"]),
        ShellDialect::Posix => below(&home, &[".profile"]),
    };
    let system = match dialect {
        ShellDialect::Zsh => {
            vec!["zsh/zshenv", "zsh/zprofile", "zsh/zlogin", "zshenv", "zprofile", "profile"]
        }
        ShellDialect::Bash | ShellDialect::Posix => vec!["profile", "profile.d", "bash.bashrc"],
    };
    files.extend(system.iter().map(|name| Path::new("/etc").join(name)));
    files
}

/// The script of a shell without start-up files, which prints its state and becomes the login shell; and the script of
/// that one, which prints its state and its environment. Each part stands between markers. One process does it all, so
/// the login shell begins with the limits and the umask that the first one printed.
fn scripts(dialect: ShellDialect, marker: &str) -> (String, String) {
    // In two pieces: variables of the shell hold the text of its script, and a whole marker in one would look like the
    // end.
    let (head, tail) = marker.split_at(marker.len() / 2);
    let mark = format!("printf %s%s {head} {tail}");
    let state::Questions { names, handover, state, variables, environment } = state::Questions::of(dialect);
    // A trap of the start-up files would print between the entries.
    let untrap = match dialect {
        ShellDialect::Bash => "trap - DEBUG ERR RETURN; ",
        ShellDialect::Zsh => "trap - DEBUG ZERR; ",
        ShellDialect::Posix => "",
    };
    let before = format!("{mark}\n{names}\n{state}\n{mark}\nexec \"$0\" -l -c \"{handover}\n$1\"");
    let after = format!("{untrap}{mark}\n{state}\n{variables}\n{mark}\n{environment}\n{mark}");
    (before, after)
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
            if let JournalPiece::Bytes { stream: Stream::Stdout, bytes, .. } = piece {
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

/// The parts of a login's output.
struct Printed<'a> {
    /// The state of the shell before the login.
    before: &'a [u8],
    /// Its state after the login.
    after: &'a [u8],
    environ: &'a [u8],
}

impl<'a> Printed<'a> {
    /// The parts between five markers; nothing unless all are there. Start-up files may print before the third.
    fn read(printed: &'a [u8], marker: &[u8]) -> Option<Self> {
        let (_, rest) = split(printed, marker)?;
        let (before, rest) = split(rest, marker)?;
        let (_, rest) = split(rest, marker)?;
        let (after, rest) = split(rest, marker)?;
        let (environ, _) = split(rest, marker)?;
        Some(Self { before, after, environ })
    }
}

fn split<'a>(bytes: &'a [u8], marker: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = bytes.windows(marker.len()).position(|window| window == marker)?;
    Some((&bytes[..at], &bytes[at + marker.len()..]))
}

/// A variable of the environment, unless it belongs to the login shell itself or to its script: `set -a` exports that,
/// too.
fn variable(entry: &[u8]) -> Option<(OsString, OsString)> {
    const ITS_OWN: [&str; 4] = ["_", "SHLVL", "PWD", "OLDPWD"];
    let equals = entry.iter().position(|byte| *byte == b'=').filter(|at| *at > 0)?;
    let (name, value) = (OsStr::from_bytes(&entry[..equals]), OsStr::from_bytes(&entry[equals + 1..]));
    let is_ours = name.as_bytes().starts_with(b"windlass_");
    (!is_ours && !ITS_OWN.iter().any(|own| name == *own)).then(|| (name.to_owned(), value.to_owned()))
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
        let printed =
            b"MARKoldMARKmotd\nMARKnewMARKPATH=/a\0X=1=2\0_=/usr/bin/cat\0SHLVL=2\0windlass_it=x\0MARK";
        let parts = Printed::read(printed, b"MARK").unwrap();
        let expected: Variables = vec![("PATH".into(), "/a".into()), ("X".into(), "1=2".into())];
        let variables: Variables = parts.environ.split(|byte| *byte == 0).filter_map(variable).collect();
        assert_eq!((variables, parts.before, parts.after), (expected, &b"old"[..], &b"new"[..]));
    }

    #[test]
    fn an_environment_that_is_not_whole_is_not_used() {
        for printed in ["", "MARK", "MARKMARK", "MARKMARKMARKf", "MARKMARKMARKfMARKPATH=/a\0"] {
            assert!(Printed::read(printed.as_bytes(), b"MARK").is_none(), "{printed}");
        }
    }

    #[test]
    fn a_remark_is_made_once() {
        let captured = Captured { remark: Some("slow".into()), ..Captured::default() };
        assert_eq!((captured.remark(), captured.remark()), (Some("slow"), None));
    }
}
