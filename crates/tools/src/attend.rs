//! Waiting on a caller's behalf: until a condition holds or time is up, with reports of progress meanwhile, and with a
//! person's answers to hidden prompts.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_engine::{InputKind, InputWanted, Met, PatternText, Session, Until};
use windlass_output::{Offset, Span, settle};

use crate::call::{Call, Progress, Question};
use crate::live_session::{LiveSession, ViewKind};
use crate::report;
use crate::until::Conditions;

/// The conditions and bounds of a call's wait.
#[derive(Clone, Debug)]
pub(crate) struct Wait {
    pub(crate) conditions: Conditions,
    pub(crate) deadline: Instant,
    /// Whether to report that time ran out: conditions were asked for.
    pub(crate) asked: bool,
    /// Where the search for patterns begins.
    pub(crate) from: Offset,
    /// Silence before this moment does not count.
    pub(crate) silent_from: Instant,
    pub(crate) view: ViewKind,
}

/// Why a wait ended.
#[derive(Clone, Debug)]
pub(crate) enum WaitEnd {
    /// Time is up or the process has ended, and no condition was asked for.
    Time,
    /// It waits for input, which no condition asked for.
    Waits(InputWanted),
    /// It waits for input, which was asked for.
    Input(InputWanted),
    /// Conditions were asked for, and none of them held.
    Unmet,
    /// A condition holds: its name, and a phrase for a reader.
    Met(&'static str, String),
}

/// The longest a call waits for a person to type something.
const LONGEST_ASKING: Duration = Duration::from_secs(300);
/// The interval of progress reports.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

impl Wait {
    /// The wait without conditions: for the end, or until a terminal program wants input and nothing else can happen.
    fn plain(held: &LiveSession, deadline: Instant) -> Self {
        let input = held.session.facts().terminal.is_some();
        let conditions = Conditions { exit: true, input, ..Conditions::default() };
        let (from, silent_from) = (held.unread().from(), held.session.started());
        Self { conditions, deadline, asked: false, from, silent_from, view: ViewKind::Text }
    }

    /// A wait for these conditions or, without any, the default.
    pub(crate) fn of(held: &LiveSession, until: Option<Conditions>) -> Self {
        let deadline = Instant::now();
        match until {
            Some(conditions) => Self { conditions, asked: true, ..Self::plain(held, deadline) },
            None => Self::plain(held, deadline),
        }
    }

    /// Waits for the session.
    pub(crate) async fn attend(&self, held: &LiveSession, call: &Call) -> WaitEnd {
        let mut deadline = self.deadline;
        let began = Instant::now();
        let mut asks =
            call.person.is_some() && held.session.facts().terminal.is_some() && !held.is_unanswered();
        loop {
            let until = self.until(deadline, asks);
            let met = telling(&held.session, &until, call, began).await;
            match met {
                Met::Input(wanted) if asks && wanted.kind == InputKind::Hidden => {
                    let asked = Instant::now();
                    // A host cuts the call off, even while a person is being asked.
                    let patience = (began + call.ceiling).saturating_duration_since(asked);
                    asks = ask(held, call, patience.min(LONGEST_ASKING)).await;
                    deadline = (deadline + asked.elapsed()).min(began + call.ceiling);
                }
                Met::Input(_) if !self.conditions.input => {
                    // The program waits for a line that may be shown, so no person is asked. Its next output may be a
                    // hidden prompt.
                    asks = self.waits_for_output(held, deadline).await && call.person.is_some();
                }
                met => return self.ending(met),
            }
        }
    }

    fn until(&self, deadline: Instant, asks: bool) -> Until {
        let Conditions { exit, patterns, idle, ports, input } = self.conditions.clone();
        let text = if self.view == ViewKind::Raw { PatternText::Raw } else { PatternText::Settled };
        Until {
            exit: exit || !self.asked,
            patterns,
            text,
            idle,
            silent_from: Some(self.silent_from),
            reached: None,
            input: input || asks,
            ports,
            from: self.from,
            deadline: Some(deadline),
        }
    }

    /// Waits for new output, so that the same prompt is not examined again and again.
    async fn waits_for_output(&self, held: &LiveSession, deadline: Instant) -> bool {
        let mut until = self.until(deadline, false);
        until.reached = Some(held.session.journal().end() + 1);
        until.patterns.clear();
        matches!(held.session.wait(&until).await, Met::Reached(_))
    }

    fn ending(&self, met: Met) -> WaitEnd {
        match met {
            Met::Exit(_) if self.asked => WaitEnd::Met("exit", "exited".into()),
            Met::Pattern(found) => WaitEnd::Met(
                "pattern",
                format!("pattern matched at {}..{}", found.raw.from(), found.raw.to()),
            ),
            Met::Idle(idle) => WaitEnd::Met("idle", format!("idle for {}", report::seconds(idle))),
            Met::Port(port) => WaitEnd::Met("port", format!("listening on port {port}")),
            Met::Input(wanted) if self.asked => WaitEnd::Input(wanted),
            Met::Input(wanted) => WaitEnd::Waits(wanted),
            _ if self.asked => WaitEnd::Unmet,
            _ => WaitEnd::Time,
        }
    }
}

/// How a session that waits for input is described.
pub(crate) fn waiting(wanted: InputWanted) -> String {
    let waiting = match wanted.kind {
        InputKind::Hidden => "waiting for hidden input",
        InputKind::Line | InputKind::FullScreen => "waiting for input",
    };
    match wanted.doubt {
        Some(doubt) => format!("probably {waiting} ({doubt})"),
        None => waiting.to_owned(),
    }
}

/// The same for programs.
pub(crate) fn waiting_json(wanted: InputWanted) -> Value {
    let kind = match wanted.kind {
        InputKind::Line => "line",
        InputKind::Hidden => "hidden",
        InputKind::FullScreen => "keys",
    };
    let reason = wanted.doubt.map(|doubt| doubt.to_string());
    json!({ "kind": kind, "probably": wanted.is_probable(), "reason": reason })
}

/// Waits, and reports progress to the caller.
async fn telling(session: &Session, until: &Until, call: &Call, began: Instant) -> Met {
    let Some(tell) = &call.progress else { return session.wait(until).await };
    let mut wait = std::pin::pin!(session.wait(until));
    loop {
        // timer: the caller wants a sign of life even when nothing is printed.
        match tokio::time::timeout(PROGRESS_EVERY, &mut wait).await {
            Ok(met) => return met,
            Err(_) => tell(progress(session, began)),
        }
    }
}

pub(crate) fn progress(session: &Session, began: Instant) -> Progress {
    let bytes = session.journal().end().get();
    Progress { elapsed: began.elapsed(), bytes, tail: tail(session, Progress::TAIL) }
}

/// The last line that is not blank, from the end of the output.
pub(crate) fn last_line(session: &Session) -> String {
    tail(session, 1).pop().unwrap_or_default()
}

/// The last lines that are not blank, in their order.
fn tail(session: &Session, most: usize) -> Vec<String> {
    const NEAR: u64 = 4096;
    const LONGEST: usize = 200;
    let end = session.journal().end();
    let mut bytes = Vec::new();
    let read = session.journal().read_into(Span::new(end.back(NEAR), end), usize::MAX, &mut bytes);
    let view = settle(&bytes, read.from());
    let lines = view.text().lines().rev().filter(|line| !line.trim().is_empty()).take(most);
    let mut lines: Vec<String> = lines.map(|line| report::shortened(line, LONGEST)).collect();
    lines.reverse();
    lines
}

/// Asks a person. The answer goes to the program and nowhere else: it is not echoed, so it is not journaled. Returns
/// whether to ask again when the program does.
async fn ask(held: &LiveSession, call: &Call, patience: Duration) -> bool {
    let Some(person) = &call.person else { return false };
    let question = Question {
        session: held.number.to_string(),
        command: report::shortened(&held.command, 200),
        prompt: last_line(&held.session),
    };
    // timer: the person may be absent.
    match tokio::time::timeout(patience, person.ask(question)).await {
        Ok(Some(mut secret)) => {
            secret.push('\n');
            // A program that is gone meanwhile needs no answer; the reply reports its end.
            held.session.write(secret).await.is_ok()
        }
        Ok(None) | Err(_) => {
            held.nobody_answered();
            false
        }
    }
}
