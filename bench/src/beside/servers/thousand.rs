//! A thousand programs at once: how many of them start when all are requested at once, how long it takes when a few are
//! requested at a time, and how many are left after the client has disconnected.
//!
//! The program is `cat FILE -`: its output shows that it has started, and then it waits.

use super::dialect::{Io, ServerKind, ServerLine, process_of};
use super::server::Server;
use crate::beside::RowContext;
use crate::beside::contest::{Contender, Finding, Who, figure, hold};
use crate::comparison::{Bar, Scale};
use crate::rounds::Samples;
use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::cell::RefCell;
use std::collections::HashSet;
use std::io::ErrorKind;
use std::time::{Duration, Instant};
use windlass_testkit::survivors;

pub(super) const APP_PIPE: [&str; 3] = ["app-1000", "app-1000-burst", "app-1000-left"];
pub(super) const APP_TERMINAL: [&str; 3] =
    ["app-1000-terminal", "app-1000-terminal-burst", "app-1000-terminal-left"];
pub(super) const EXEC_PIPE: [&str; 3] = ["exec-1000", "exec-1000-burst", "exec-1000-left"];
pub(super) const EXEC_TERMINAL: [&str; 3] =
    ["exec-1000-terminal", "exec-1000-terminal-burst", "exec-1000-terminal-left"];

/// How many programs are requested before the first has started, where it is not all of them. Codex keeps up with
/// these.
const AT_A_TIME: usize = 32;

/// A server that sends nothing for so long has lost the rest.
const SILENCE: Duration = Duration::from_secs(10);

pub(super) fn on_pipes(around: &RowContext, dialect: ServerKind) -> Result<Vec<Finding>> {
    measure(around, (dialect, Io::Pipes), if dialect == ServerKind::App { APP_PIPE } else { EXEC_PIPE })
}

pub(super) fn on_terminals(around: &RowContext, dialect: ServerKind) -> Result<Vec<Finding>> {
    let names = if dialect == ServerKind::App { APP_TERMINAL } else { EXEC_TERMINAL };
    measure(around, (dialect, Io::Terminal), names)
}

/// How the programs of a crowd are requested.
#[derive(Clone, Copy)]
struct Crowd {
    dialect: ServerKind,
    io: Io,
    count: usize,
    at_a_time: usize,
}

/// The figures of one crowd.
struct Outcome {
    who: Who,
    started: usize,
    took: Duration,
    left: usize,
}

fn measure(
    around: &RowContext,
    (dialect, io): (ServerKind, Io),
    names: [&'static str; 3],
) -> Result<Vec<Finding>> {
    let count = match around.scale {
        Scale::Full => 1000,
        Scale::Tiny => 20,
    };
    let all = Crowd { dialect, io, count, at_a_time: count };
    let paced = outcomes(around, Crowd { at_a_time: AT_A_TIME, ..all })?;
    for Outcome { who, started, .. } in &paced {
        ensure!(*started == count, "{who} started {started} of {count}, {AT_A_TIME} at a time");
    }
    let at_once = outcomes(around, all)?;
    let what = match io {
        Io::Terminal => "1000 programs on terminals, until all run",
        Io::Output | Io::Pipes => "1000 programs on pipes, until all run",
    };
    let row = |name, what, unit| Finding {
        name,
        what,
        unit,
        figures: Vec::new(),
        bar: Bar::Most(0.0),
        against: None,
    };
    Ok(vec![
        Finding {
            figures: of(&paced, |outcome| outcome.took.as_secs_f64() * 1e3),
            bar: Bar::MostTimes(1.0 / 3.0),
            against: Some(dialect.peer()),
            ..row(names[0], what, "ms")
        },
        Finding {
            figures: of(&at_once, |outcome| outcome.started as f64),
            bar: Bar::Least(count as f64),
            ..row(names[1], "how many start when all are asked for at once", "of 1000")
        },
        Finding {
            figures: of(&at_once, |outcome| outcome.left as f64),
            ..row(names[2], "how many are left after the client has hung up", "left")
        },
    ])
}

fn of(outcomes: &[Outcome], value: fn(&Outcome) -> f64) -> Vec<(Who, Samples)> {
    let mut all: Vec<Who> = outcomes.iter().map(|outcome| outcome.who).collect();
    all.sort_unstable();
    all.dedup();
    let of = |who: Who| outcomes.iter().filter(|outcome| outcome.who == who).map(value).collect();
    all.into_iter().map(|who| figure(who, of(who))).collect()
}

fn outcomes(around: &RowContext, crowd: Crowd) -> Result<Vec<Outcome>> {
    let outcomes = RefCell::new(Vec::new());
    let contender = |who| {
        let outcomes = &outcomes;
        let once = move || {
            let outcome = once(around, who, crowd)?;
            let took = outcome.took.as_secs_f64();
            outcomes.borrow_mut().push(outcome);
            Ok(took)
        };
        Contender { who, times: around.times(1).min(3), once: Box::new(once) }
    };
    hold(around.sides(crowd.dialect.peer()).map(contender).collect())?;
    Ok(outcomes.into_inner())
}

/// A server of its own, and a file of its own by which its programs are known.
fn once(around: &RowContext, who: Who, crowd: Crowd) -> Result<Outcome> {
    let file = around.folder()?.join(survivors::token("crowd"));
    std::fs::write(&file, "up\n")?;
    let file = file.to_str().context("the folder's name is not text")?;
    let mut server = Server::warm(around, who, crowd.dialect)?;
    let begun = Instant::now();
    let (started, last) = start(&mut server, crowd, file)?;
    let took = last.duration_since(begun);
    let ended = server.end();
    let left = survivors::bearing(file);
    end(&left)?;
    ended.map(|()| Outcome { who, started, took, left: left.len() })
}

/// How many are there, and when the last one was.
fn start(server: &mut Server, crowd: Crowd, file: &str) -> Result<(usize, Instant)> {
    let argv = ["/bin/cat", file, "-"];
    let (mut asked, mut up, mut last) = (0, HashSet::new(), Instant::now());
    while up.len() < crowd.count {
        while asked < crowd.count && asked - up.len() < crowd.at_a_time {
            server.start(&argv, crowd.io)?;
            asked += 1;
        }
        let line = match server.wire.next_line_before(Instant::now() + SILENCE) {
            Ok(line) => line.context("the server ended")?,
            Err(error) if error.kind() == ErrorKind::TimedOut => break,
            Err(error) => return Err(error.into()),
        };
        if let ServerLine::Output(_) = server.dialect.event(line) {
            up.extend(process_of(line));
            last = Instant::now();
        }
    }
    Ok((up.len(), last))
}

/// Kills the processes that outlived the server, so that they do not outlive the measurement.
fn end(left: &[String]) -> Result<()> {
    for line in left {
        let pid = line.split(' ').next().and_then(|pid| Pid::from_raw(pid.parse().ok()?));
        // One that went meanwhile needs no signal.
        let _ = kill_process(pid.context("not a process")?, Signal::KILL);
    }
    Ok(())
}
