//! Detached sessions, without a daemon: each has a *shim*, this same program in the background, which runs an engine
//! with that one session until it is over.
//!
//! `windlass run --detach` starts the shim with the words that were typed, under the hidden subcommand `keep`, and
//! waits for its report: one line once the session runs, or the usual explanation and exit code. A shim that was
//! started inside another windlass session carries that session's mark like everything there, and ends with it.

use std::ffi::{CString, OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use anyhow::{Context, Error, Result, bail};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde_json::json;
use tokio::signal::unix::{Signal as Arrivals, SignalKind, signal};
use windlass_engine::{CommandSpec, Engine, KillDelays, Session, SessionId};
use windlass_sys::background::{self, Background, BackgroundProgram};
use windlass_sys::process::{How, Pid, Process};

use crate::args::{Run, ServerLimitWords};
use crate::commands::run::{clean_up, engine, plan, refuse_taken_name};
use crate::config::{Config, ITSELF};
use crate::confinement;
use crate::failure::{Exit, Unremembered};
use crate::printing::{print, write_all};
use crate::report;
use crate::sessions::State;

const VERB: &str = "keep";
const NAME: &str = "windlass-shim";

/// The word before the session's number in a shim's report that its session runs.
const STARTED: &str = "started ";

/// How long a shim may take to start its session: much more than it needs on an overloaded machine.
const REPORTED_WITHIN: Duration = Duration::from_secs(60);

/// Starts a shim, and passes its report on.
pub(crate) fn start(order: &Run, config: &Config) -> Result<Exit> {
    let mut shim = background::start(&program(config)).context("cannot start the shim")?;
    let report = match shim.report(REPORTED_WITHIN) {
        Err(error) if error.kind() == ErrorKind::TimedOut => {
            let (pid, limit) = (shim.pid(), report::duration(REPORTED_WITHIN));
            bail!(
                "the shim (process {pid}) has not reported within {limit}: it may be stopped, or wait for a disk; `windlass ps` \
                 lists the session once it runs, and `kill {pid}` ends the shim"
            );
        }
        read => read.context("cannot read the shim's report")?,
    };
    match started(&report) {
        Some(id) => tell_started(id, order),
        None => pass_on_failure(shim, &report),
    }
}

/// The same words under another subcommand: the shim parses them to the same arguments.
fn program(config: &Config) -> BackgroundProgram {
    let words = std::env::args_os().skip(2);
    let variable = |(name, value): &(OsString, OsString)| [name.as_bytes(), b"=", value.as_bytes()].concat();
    BackgroundProgram {
        program: ITSELF.into(),
        arguments: [NAME.into(), VERB.into()].into_iter().chain(words).map(|word| c_string(&word)).collect(),
        environment: config
            .environment
            .iter()
            .map(variable)
            .map(|text| c_string(OsStr::from_bytes(&text)))
            .collect(),
    }
}

/// Strings from the kernel contain no NUL byte.
fn c_string(text: &OsStr) -> CString {
    CString::new(text.as_bytes()).unwrap_or_default()
}

fn started(report: &[u8]) -> Option<SessionId> {
    let line = std::str::from_utf8(report).ok()?.lines().last()?;
    line.strip_prefix(STARTED)?.parse().ok().map(SessionId::new)
}

fn tell_started(id: SessionId, order: &Run) -> Result<Exit> {
    let text = match (&order.name, order.shown.json) {
        (name, true) => {
            json!({"session": id.get(), "name": name, "state": State::Running.word()}).to_string()
        }
        (Some(name), false) => format!("session {id} ({name})"),
        (None, false) => format!("session {id}"),
    };
    print(text + "\n")?;
    Ok(Exit::SUCCESS)
}

/// Passes on the explanation and the exit code of a shim that failed: they are those of `run`.
fn pass_on_failure(shim: Background, report: &[u8]) -> Result<Exit> {
    write_all(rustix::stdio::stderr(), report)?;
    match shim.ended().context("cannot tell what became of the shim")?.how {
        How::Exited(code) if code != 0 => Ok(Exit::of_command(code)),
        How::Exited(_) | How::Unknown => bail!("the shim ended without a report"),
        How::Signalled(signal) => bail!("{signal} ended the shim before it could report"),
    }
}

/// Runs the shim until its session is over.
pub(crate) async fn run(order: Run, config: Config) -> Result<Exit> {
    let sandbox = order.sandbox.clone();
    let mut spec = plan::detached(order, &config)?;
    let store = config.writing_store().map_err(|error| unremembered(&error))?;
    refuse_taken_name(spec.name.as_deref(), Some(&store))?;
    let housekeeping = clean_up(Some(&store));
    let mut told_to_end = catch_signals()?;
    let limits = ServerLimitWords::default();
    let grounds = confinement::grounds_of(&sandbox, &config);
    let engine = engine(Some(store), KillDelays::default(), &limits, grounds)?;
    spec.sandbox = confinement::plan(&sandbox, &spec.directory, &config, &engine)?;
    let session = begin(&engine, spec).await?;
    tokio::select! {
        () = over(&session) => {}
        // The session is stopped by name, so that the receipt says `stopped`; the shutdown then finds nothing left to
        // end.
        _ = told_to_end.recv() => drop(session.stop().await),
    }
    engine.shutdown().await;
    if let Some(housekeeping) = housekeeping {
        housekeeping.settle().await;
    }
    Ok(Exit::SUCCESS)
}

fn unremembered(error: &Error) -> Error {
    Unremembered(format!("{error:#}")).into()
}

/// Catches the signals that ask a program to end. Those that a terminal sends are caught and ignored: a shim has no
/// terminal, but any process of the user may send them.
pub(crate) fn catch_signals() -> Result<Arrivals> {
    let catch = |kind| signal(kind).context("cannot catch signals");
    for kind in [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::quit()] {
        drop(catch(kind)?);
    }
    catch(SignalKind::terminate())
}

/// Starts the session and reports it. A session that could not be found later, or whose report did not arrive, is ended
/// again.
async fn begin(engine: &Engine, spec: CommandSpec) -> Result<Session> {
    let session = engine.start(spec)?;
    let begun = match session.trouble() {
        Some(trouble) => Err(Unremembered(trouble).into()),
        None => report(session.id()),
    };
    if begun.is_err() {
        session.stop().await;
        engine.shutdown().await;
    }
    begun.map(|()| session)
}

fn report(id: SessionId) -> Result<()> {
    print(format!("{STARTED}{id}\n"))?;
    background::go_silent().context("cannot let go of the starter's pipe")
}

/// Waits until no more output can come and nothing that the session started is alive.
pub(crate) async fn over(session: &Session) {
    // An error means that the engine no longer watches the session, which is an end too.
    let _ = session.watch().wait_for(|progress| progress.closed).await;
    loop {
        let left = left_running(session);
        if left.is_empty() {
            return;
        }
        // A thread may still block in this wait when the shim is asked to end; it continues when its processes have
        // ended.
        let _ = tokio::task::spawn_blocking(move || left.iter().for_each(wait_for_death)).await;
    }
}

/// The living processes. Each is opened first and then checked again, so that no unrelated process that reuses its
/// number is waited for.
fn left_running(session: &Session) -> Vec<Process> {
    let found = session.processes();
    let mut held: Vec<_> = found.iter().filter_map(|line| Process::open(Pid::new(line.pid)).ok()).collect();
    if !held.is_empty() {
        let again = session.processes();
        held.retain(|process| again.iter().any(|line| line.pid == process.pid().get()));
    }
    held
}

fn wait_for_death(process: &Process) {
    while let Err(Errno::INTR) = poll(&mut [PollFd::new(process, PollFlags::IN)], None) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_a_start_only_if_it_says_so_in_its_last_line() {
        let check = |report: &[u8], expected: Option<u64>| {
            assert_eq!(started(report), expected.map(SessionId::new), "{}", String::from_utf8_lossy(report));
        };
        check(b"started 1001\n", Some(1001));
        check(b"a warning\nstarted 1001\n", Some(1001));
        check(b"windlass: program not found: started 7\n", None);
        check(b"started \n", None);
        check(b"", None);
        check(b"\xff\n", None);
    }
}
