//! Waiting for a session: a future in the caller's task, woken by the level that it watches. Nothing polls, and
//! dropping the future cancels the wait and nothing else.

use crate::deadline::after;
use crate::journal::grid;
use crate::progress::Progress;
use crate::session::{Attention, Session};
use crate::{Journal, Receipt, TerminalSizes};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use windlass_output::{Match, Offset, Pattern, RawMatcher, SettledMatcher, Settler, Span};
use windlass_sys::evidence::{Doubt, Endpoint, InputKind};

/// The conditions of a wait: the first that holds ends it.
#[derive(Clone, Debug, Default)]
pub struct Until {
    /// The root exits.
    pub exit: bool,
    /// One of these patterns appears in the output from `from` on.
    pub patterns: Vec<Pattern>,
    /// The form of the output in which patterns are searched.
    pub text: PatternText,
    /// Nothing is printed for this long, counted from the later of the last output and `silent_from`.
    pub idle: Option<Duration>,
    /// Silence before this moment does not count; without it, silence before the call does not.
    pub silent_from: Option<Instant>,
    /// The output has reached this offset.
    pub reached: Option<Offset>,
    /// The session has taken all its input and waits for more.
    pub input: bool,
    /// One of its processes listens on one of these ports.
    pub ports: Vec<u16>,
    /// Where the search for the patterns begins.
    pub from: Offset,
    /// The wait is over at this moment in any case.
    pub deadline: Option<Instant>,
}

impl Until {
    /// The root's exit, however long it takes.
    pub fn exit() -> Self {
        Self { exit: true, ..Self::default() }
    }

    /// A pattern anywhere in the output, or the exit.
    pub fn pattern(pattern: Pattern) -> Self {
        Self { exit: true, patterns: vec![pattern], ..Self::default() }
    }

    /// Whether output, or its absence, can end the wait.
    fn cares_for_output(&self) -> bool {
        let Self { patterns, idle, reached, input, ports, .. } = self;
        !patterns.is_empty() || idle.is_some() || reached.is_some() || *input || !ports.is_empty()
    }

    /// The outcome where no more output can come, after silence since this moment.
    fn over_since(&self, silent_from: Instant) -> Met {
        let is_silent = |idle: &Duration| after(silent_from, *idle) <= Instant::now();
        self.idle.filter(is_silent).map_or(Met::Closed, Met::Idle)
    }

    /// The same, but not longer than to this moment.
    #[must_use]
    pub fn by(self, deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..self }
    }
}

/// The form of the output in which patterns are searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PatternText {
    /// The text of a terminal: escape codes removed, redraws applied.
    #[default]
    Settled,
    /// The bytes as they came.
    Raw,
}

/// The condition that ended a wait.
#[derive(Clone, Debug)]
pub enum Met {
    /// The root has exited.
    Exit(Arc<Receipt>),
    /// A pattern was found.
    Pattern(Match),
    /// Silence, for this long.
    Idle(Duration),
    /// The output got that far.
    Reached(Offset),
    /// It waits for input.
    Input(InputWanted),
    /// It listens on this port.
    Port(u16),
    /// None of them, and nothing more can come: the output has ended, or no task watches the session any more.
    Closed,
    /// None of them, by the deadline.
    Deadline,
}

/// A session that waits for input, with the evidence for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputWanted {
    /// How it reads.
    pub kind: InputKind,
    /// Why the kernel cannot decide. The session's silence is the evidence then.
    pub doubt: Option<Doubt>,
}

impl InputWanted {
    /// Whether it is only probable.
    pub fn is_probable(&self) -> bool {
        self.doubt.is_some()
    }

    /// Whether the program was seen reading; otherwise it is only silent and cannot be inspected.
    pub fn is_seen(&self) -> bool {
        self.doubt != Some(Doubt::Hidden)
    }
}

/// How much is searched at a time.
const STEP: usize = 64 * 1024;

impl Session {
    /// Waits for the first of the conditions. A condition that already holds ends the wait at once.
    pub async fn wait(&self, until: &Until) -> Met {
        let called = Instant::now();
        let mut progress = self.watch();
        let mut life = self.shared.life.subscribe();
        let mut search = Search::new(until, self.journal());
        let mut looks = Looks::new(called);
        loop {
            // Before the level is read: a change that it does not show yet must still wake this task.
            life.mark_unchanged();
            let level = progress.borrow_and_update().clone();
            // Patterns before the exit: output that matches was printed before it.
            if let Some(found) = search.look(self, level.end) {
                return Met::Pattern(found);
            }
            if let Some(met) = holds(&level, until) {
                return met;
            }
            let silent_from = level.last_output.max(until.silent_from.unwrap_or(called));
            if level.closed && !self.may_still_listen(until, &level) {
                return until.over_since(silent_from);
            }
            if let Some(met) = looks.look(self, until, &level).await {
                return met;
            }
            let idle_at = until.idle.map(|idle| after(silent_from, idle));
            let wake = [idle_at, until.deadline, looks.next(until)].into_iter().flatten().min();
            // timer: the next moment at which silence or the deadline would hold, or at which to look again.
            let change = async {
                if until.cares_for_output() { progress.changed().await } else { life.changed().await }
            };
            let changed = match wake {
                Some(at) => tokio::time::timeout_at(at.into(), change).await.is_ok(),
                None => change.await.is_ok(),
            };
            if !changed && let Some(met) = self.time_ran_out(until, idle_at) {
                return met;
            }
        }
    }

    /// Whether a process that the root left running listens on the port, or may do so yet.
    fn may_still_listen(&self, until: &Until, level: &Progress) -> bool {
        let left = level.receipt.as_ref().is_some_and(|receipt| !receipt.left_running.is_empty());
        left && !until.ports.is_empty() && !self.processes().is_empty()
    }

    /// Output that came in the very moment the timer fired still counts.
    fn time_ran_out(&self, until: &Until, idle_at: Option<Instant>) -> Option<Met> {
        let now = Instant::now();
        let last_output = self.shared.progress.borrow().last_output;
        let is_silent =
            |idle: &Duration| idle_at.is_some_and(|at| now >= at && after(last_output, *idle) <= now);
        // A condition that holds takes precedence over the deadline.
        let idle = until.idle.filter(is_silent).map(Met::Idle);
        idle.or_else(|| until.deadline.filter(|deadline| now >= *deadline).map(|_| Met::Deadline))
    }
}

/// All output was printed before the exit, so if a condition about output and the exit both hold, the output came
/// first.
fn holds(level: &Progress, until: &Until) -> Option<Met> {
    if until.reached.is_some_and(|target| level.end >= target) {
        return Some(Met::Reached(level.end));
    }
    level.receipt.as_ref().filter(|_| until.exit).map(|receipt| Met::Exit(Arc::clone(receipt)))
}

/// Paces the looks at facts of which the kernel sends no event: input that is wanted, ports that are listened on. The
/// longer nothing happens, the rarer they are.
struct Looks {
    called: Instant,
    /// The last event that makes looks frequent again.
    activity: Instant,
    input_at: Instant,
    ports_at: Instant,
}

/// The least and the greatest time between two looks.
const NEXT_LOOK: std::ops::RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_millis(100);
/// This much silence is evidence of waiting if a program reads and the kernel cannot show more, or if it cannot be
/// inspected and would not echo input.
const TELLING_SILENCE: Duration = Duration::from_millis(500);
/// The silence in all other cases, where the program could be at work.
const LONGER_SILENCE: Duration = Duration::from_millis(2500);

fn telling_silence(wanted: InputWanted) -> Duration {
    match wanted.doubt {
        None => Duration::ZERO,
        Some(Doubt::Hidden) if wanted.kind != InputKind::Hidden => LONGER_SILENCE,
        Some(_) => TELLING_SILENCE,
    }
}

impl Looks {
    fn new(called: Instant) -> Self {
        Self { called, activity: called, input_at: called, ports_at: called }
    }

    async fn look(&mut self, session: &Session, until: &Until, level: &Progress) -> Option<Met> {
        if until.input && level.receipt.is_none() {
            self.notice(level);
            if Instant::now() >= self.input_at {
                let attention = session.look().await;
                self.input_at = later(self.activity);
                if let Attention::Undecided(again) = attention {
                    self.input_at = self.input_at.min(after(Instant::now(), again));
                }
                if let Some(wanted) = self.wanted(attention) {
                    return Some(Met::Input(wanted));
                }
            }
        }
        if !until.ports.is_empty() && Instant::now() >= self.ports_at {
            self.ports_at = later(self.called);
            return port_of(session, &until.ports).map(Met::Port);
        }
        None
    }

    /// Output is a reason to look again soon.
    fn notice(&mut self, level: &Progress) {
        if level.last_output > self.activity {
            self.activity = level.last_output;
            self.input_at = self.input_at.min(after(Instant::now(), *NEXT_LOOK.start()));
        }
    }

    fn wanted(&self, attention: Attention) -> Option<InputWanted> {
        let silence = self.activity.elapsed();
        attention.wanted().filter(|wanted| silence >= telling_silence(*wanted))
    }

    fn next(&self, until: &Until) -> Option<Instant> {
        let input = until.input.then_some(self.input_at);
        let ports = (!until.ports.is_empty()).then_some(self.ports_at);
        [input, ports].into_iter().flatten().min()
    }
}

/// The next look: an eighth of the time that nothing has happened.
fn later(since: Instant) -> Instant {
    after(Instant::now(), (since.elapsed() / 8).clamp(*NEXT_LOOK.start(), *NEXT_LOOK.end()))
}

fn port_of(session: &Session, ports: &[u16]) -> Option<u16> {
    let listening = session.listening();
    let port = |endpoint: &Endpoint| match endpoint {
        Endpoint::Tcp(address) => Some(address.port()),
        Endpoint::Unix(_) => None,
    };
    listening.iter().filter_map(port).find(|port| ports.contains(port))
}

/// Waits for the first of several sessions to meet its conditions, and returns its index.
pub async fn wait_any(waits: &[(Session, Until)]) -> (usize, Met) {
    let mut waits: Vec<_> = waits.iter().map(|(session, until)| Box::pin(session.wait(until))).collect();
    std::future::poll_fn(|cx| {
        for (place, wait) in waits.iter_mut().enumerate() {
            if let Poll::Ready(met) = wait.as_mut().poll(cx) {
                return Poll::Ready((place, met));
            }
        }
        Poll::Pending
    })
    .await
}

/// Waits, unless the other future ends first: `None` then. The session goes on in either case.
pub async fn wait_unless<T>(
    session: &Session,
    until: &Until,
    cancelled: impl Future<Output = T>,
) -> Option<Met> {
    let mut wait = pin!(session.wait(until));
    let mut cancelled = pin!(cancelled);
    std::future::poll_fn(|cx| {
        if let Poll::Ready(met) = wait.as_mut().poll(cx) {
            return Poll::Ready(Some(met));
        }
        cancelled.as_mut().poll(cx).map(|_| None)
    })
    .await
}

/// The patterns, and how far the output was searched.
struct Search<'a> {
    until: &'a Until,
    matchers: Vec<Matcher>,
    /// The sizes of the terminal that prints, if one does.
    terminal: Option<TerminalSizes>,
    position: Offset,
    bytes: Vec<u8>,
}

enum Matcher {
    Settled(Box<SettledMatcher>),
    Raw(RawMatcher),
}

impl Matcher {
    fn feed(&mut self, bytes: &[u8]) -> Option<Match> {
        match self {
            Self::Settled(matcher) => matcher.feed(bytes),
            Self::Raw(matcher) => matcher.feed(bytes),
        }
    }
}

impl<'a> Search<'a> {
    fn new(until: &'a Until, journal: &Journal) -> Self {
        let terminal = journal.terminal();
        let (matchers, bytes) = (Vec::new(), Vec::new());
        let mut search = Self { until, matchers, terminal, position: until.from, bytes };
        search.begin_at(until.from);
        search
    }

    /// Forgets the text before this offset: output that retention dropped cannot be part of a match.
    fn begin_at(&mut self, from: Offset) {
        let matcher = |pattern: &Pattern| match self.until.text {
            PatternText::Settled => {
                let settler = match &self.terminal {
                    Some(sizes) => Settler::on_terminal(from, grid(sizes.at(from))),
                    None => Settler::new(from),
                };
                Matcher::Settled(Box::new(SettledMatcher::new(pattern.clone(), settler)))
            }
            PatternText::Raw => Matcher::Raw(RawMatcher::new(pattern.clone(), from)),
        };
        self.matchers = self.until.patterns.iter().map(matcher).collect();
    }

    fn look(&mut self, session: &Session, end: Offset) -> Option<Match> {
        while !self.matchers.is_empty() && self.position < end {
            self.bytes.clear();
            let read = session.journal().read_into(Span::new(self.position, end), STEP, &mut self.bytes);
            if read.is_empty() {
                self.position = end;
                return None;
            }
            if read.from() > self.position {
                self.begin_at(read.from());
            }
            self.position = read.to();
            let bytes = &self.bytes;
            if let Some(found) = self.matchers.iter_mut().find_map(|matcher| matcher.feed(bytes)) {
                return Some(located(session.journal(), found));
            }
        }
        None
    }
}

/// Settled text knows where its lines came from; in a line that was coloured or redrawn, the bytes give the position. A
/// match that is not among them literally is somewhere in the line.
fn located(journal: &Journal, found: Match) -> Match {
    let mut bytes = Vec::new();
    let read = journal.read_into(found.lines, STEP, &mut bytes);
    if found.raw == found.lines || read != found.lines {
        return found;
    }
    let text = found.text.as_bytes();
    let at = found.raw.from().since(found.lines.from());
    let stands_at = |at: usize| bytes.get(at..).is_some_and(|rest| rest.starts_with(text));
    let raw = match usize::try_from(at).ok().filter(|at| stands_at(*at)) {
        Some(_) => found.raw,
        // The text that a terminal shows was drawn last.
        None => (0..bytes.len())
            .rev()
            .find(|at| stands_at(*at))
            .map_or(found.lines, |at| Span::of_len(found.lines.from() + at as u64, text.len() as u64)),
    };
    Match { raw, ..found }
}
