//! The reply to a call about one session: the same facts as text for a model and as JSON for programs.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use windlass_engine::sandbox::Denial;
use windlass_engine::{Endpoint, Fitted, InputWanted, Missing, Progress, Receipt};

use crate::attend::{WaitEnd, waiting, waiting_json};
use crate::call::Reply;
use crate::delivery::Delivery;
use crate::live_session::{EndAnnounced, LiveSession, Showing};
use crate::random;
use crate::report;
use crate::toolbox::Toolbox;

/// The facts of which a reply is made.
pub(crate) struct ReplyBuilder<'a> {
    pub(crate) toolbox: &'a Toolbox,
    pub(crate) held: &'a Arc<LiveSession>,
    pub(crate) began: Instant,
    pub(crate) showing: Showing,
    pub(crate) ending: WaitEnd,
    pub(crate) input: Option<InputReport>,
    pub(crate) notes: Vec<String>,
    pub(crate) delivery: &'a Delivery,
    /// Output that is not in the reply because it cannot be read or was dropped.
    pub(crate) missing: Vec<Missing>,
}

/// The input of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InputReport {
    offered: u64,
    /// How much of it found room in the queue.
    accepted: u64,
    /// The total that the session's queue had accepted after it.
    target: u64,
}

/// The outcome of the input.
struct InputOutcome {
    offered: u64,
    written: u64,
    queued: u64,
    refused: u64,
}

/// Larger output is fitted on a blocking thread, not on those that serve all calls.
const LARGE: u64 = 256 * 1024;
/// Silence worth mentioning.
const IDLE: Duration = Duration::from_secs(1);

/// A session's situation at one moment.
struct Situation {
    progress: Progress,
    /// Its end, unless an earlier reply reported it.
    exit: Option<Arc<Receipt>>,
    told_before: bool,
    state: Vec<String>,
    met: Option<&'static str>,
    left_running: Vec<windlass_engine::ProcessLine>,
    /// The denials that no reply has reported yet.
    denials: Vec<Denial>,
    input: Option<InputOutcome>,
    /// The input that it waits for.
    input_wanted: Option<InputWanted>,
}

/// The header of a reply; the same in text and data.
struct Stamp {
    chunk: String,
    /// How long the call took, in seconds.
    wall: f64,
}

/// The text is for a model, which pays for each line; the field lists them all.
const MOST_DENIALS_SHOWN: usize = 12;

impl ReplyBuilder<'_> {
    pub(crate) async fn reply(mut self) -> Reply {
        let held = Arc::clone(self.held);
        let _turn = held.turn().await;
        let mut situation = self.situation().await;
        // The situation first: once an exit is seen, everything printed before it is readable.
        let (fitted, full_screen) = self.unread().await;
        // From here on nothing waits: a call that is dropped was dropped before, with nothing marked as received.
        self.note_repetition(&fitted);
        situation.denials = held.telling(self.delivery, |held| {
            held.told(fitted.span.to(), situation.progress.receipt.as_ref().map(|_| EndAnnounced::Told));
            held.untold_refusals()
        });
        self.note_losses(&fitted);
        self.notes.extend(full_screen.map(str::to_owned));
        self.notes.extend(situation.exit.as_deref().and_then(report::remaining));
        if situation.progress.receipt.is_none() && held.is_unanswered() {
            self.notes
                .push("a person was asked for what the program wants to know and did not answer".to_owned());
        }
        self.notes.extend(self.toolbox.announcements(Some(self.held.number), self.delivery));
        let stamp = Stamp { chunk: chunk_id(), wall: report::rounded(self.began.elapsed()) };
        let text = self.text(&stamp, &situation, &fitted);
        let structured = self.structured(&stamp, &situation, &fitted);
        Reply::new(text, structured)
    }

    async fn situation(&self) -> Situation {
        let progress = self.held.session.progress();
        let receipt = progress.receipt.clone();
        let told_before = receipt.is_some() && self.held.exit_told();
        let exit = receipt.clone().filter(|_| !told_before);
        let left_running = self.left_running(receipt.as_deref());
        let mut state = Vec::new();
        let mut met = None;
        if let WaitEnd::Met(condition, how) = &self.ending {
            met = Some(*condition);
            // The line of the exit contains it already, and the list of addresses a port.
            if !matches!(*condition, "exit" | "port") {
                state.push(how.clone());
            }
        }
        if let WaitEnd::Unmet = self.ending {
            state.push("no condition held".to_owned());
        }
        if let WaitEnd::Input(wanted) = self.ending {
            met = Some("input");
            state.push(waiting(wanted));
        }
        let mut input_wanted = None;
        match &receipt {
            Some(receipt) => state.extend(report::killed(receipt).filter(|_| !told_before)),
            None => {
                input_wanted = self.input_wanted(&progress).await;
                describe_running(&progress, input_wanted, &mut state);
            }
        }
        if receipt.is_none() || !left_running.is_empty() {
            state.extend(listening(&self.held.session.listening()));
        }
        let input = self.input.map(|input| input.outcome(&progress));
        let denials = Vec::new();
        Situation { progress, exit, told_before, state, met, left_running, denials, input, input_wanted }
    }

    /// The input that a running session waits for.
    async fn input_wanted(&self, progress: &Progress) -> Option<InputWanted> {
        if let WaitEnd::Waits(wanted) | WaitEnd::Input(wanted) = self.ending
            && wanted.is_probable()
        {
            // The wait has more evidence than a single look.
            return Some(wanted);
        }
        let wanted = self.held.session.attention().await.wanted();
        wanted.filter(|wanted| wanted.is_seen() || progress.last_output.elapsed() >= IDLE)
    }

    /// Processes that the root left running and that are still alive.
    fn left_running(&self, receipt: Option<&Receipt>) -> Vec<windlass_engine::ProcessLine> {
        match receipt {
            Some(receipt) if !receipt.left_running.is_empty() => {
                self.held.readable(self.held.session.processes())
            }
            _ => Vec::new(),
        }
    }

    async fn unread(&self) -> (Fitted, Option<&'static str>) {
        let (held, showing) = (Arc::clone(self.held), self.showing);
        if held.unread().len() <= LARGE {
            return held.unread_shown(&showing);
        }
        let fitted = tokio::task::spawn_blocking(move || held.unread_shown(&showing)).await;
        // It ends early only with the runtime, and then no reply is read.
        fitted.unwrap_or_else(|_| self.held.unread_shown(&self.showing))
    }

    fn note_repetition(&mut self, fitted: &Fitted) {
        if let Some(lost) = self.held.shown_before(fitted.span) {
            self.notes.push(format!(
                "bytes {lost} are shown again: they were in an earlier reply that was not delivered"
            ));
        }
    }

    fn note_losses(&mut self, fitted: &Fitted) {
        let journal = self.held.session.journal();
        // A removed file is read through the descriptor that is still open, so only this check notices the removal: one
        // `fstat`.
        journal.check();
        let account = journal.account();
        self.missing = account.missing_in(fitted.span);
        let number = self.held.number;
        self.notes.extend(self.missing.iter().map(|missing| report::missing(missing, Some(number))));
        if let Some(degraded) = account.degraded {
            self.notes.push(report::degraded(&degraded));
        }
        self.notes.extend(self.held.session.trouble());
    }

    fn text(&self, stamp: &Stamp, situation: &Situation, fitted: &Fitted) -> String {
        let mut text = format!("Chunk ID: {}\n", stamp.chunk);
        // Writing to a string cannot fail.
        let mut line = |arguments: std::fmt::Arguments<'_>| {
            let _ = text.write_fmt(arguments);
            text.push('\n');
        };
        line(format_args!("Wall time: {:.4} seconds", stamp.wall));
        match (&situation.exit, &situation.progress.receipt) {
            (Some(receipt), _) => line(format_args!("Process exited with code {}", receipt.exit.code())),
            (None, Some(receipt)) => line(format_args!("{}", self.already_told(receipt))),
            (None, None) => line(format_args!("Process running with session ID {}", self.held.number)),
        }
        if !situation.state.is_empty() {
            line(format_args!("State: {}", situation.state.join(", ")));
        }
        if !situation.left_running.is_empty() {
            line(format_args!("Left running: {}", report::left_running(&situation.left_running, self.held)));
        }
        let (shown, more) = situation.denials.split_at(situation.denials.len().min(MOST_DENIALS_SHOWN));
        for denial in shown {
            line(format_args!("Denied: {denial}"));
        }
        if !more.is_empty() {
            line(format_args!("Denied: {} more, which `denials` lists", more.len()));
        }
        if let Some(input) = situation.input.as_ref().and_then(InputOutcome::remark) {
            line(format_args!("Input: {input}"));
        }
        for note in &self.notes {
            line(format_args!("Note: {note}"));
        }
        line(format_args!("Original token count: {}", fitted.original));
        line(format_args!("Output:"));
        text.push_str(&fitted.text);
        text
    }

    fn already_told(&self, receipt: &Receipt) -> String {
        let (number, ending) = (self.held.number, report::ending(receipt));
        format!(
            "The exit of session {number} was already reported ({ending}); read_output session_id={number} reads its transcript"
        )
    }

    fn structured(&self, stamp: &Stamp, situation: &Situation, fitted: &Fitted) -> Value {
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
        put("chunk_id", stamp.chunk.as_str().into());
        put("wall_time_seconds", stamp.wall.into());
        put("session", self.held.number.into());
        if let Some(receipt) = &situation.exit {
            put("exit_code", receipt.exit.code().into());
            put("signal", report::signal(receipt.exit).into());
            put("receipt", report::receipt(receipt));
        } else if !situation.told_before {
            put("session_id", self.held.number.into());
        }
        put("state", self.state_word(situation).into());
        put("met", situation.met.into());
        if let Some(wanted) = situation.input_wanted {
            put("waiting", waiting_json(wanted));
        }
        put("left_running", report::left_running_json(&situation.left_running));
        if !situation.denials.is_empty() {
            put("denials", report::denials_json(&situation.denials));
        }
        if let Some(input) = &situation.input {
            put("input", input.json());
        }
        put("notes", self.notes.clone().into());
        if !self.missing.is_empty() {
            put("missing", report::missing_json(&self.missing));
        }
        report::put_excerpt(fitted, &mut object);
        Value::Object(object)
    }

    fn state_word(&self, situation: &Situation) -> String {
        let life = match &situation.progress.receipt {
            Some(receipt) if situation.told_before => report::ending(receipt),
            Some(_) => "exited".to_owned(),
            None => "running".to_owned(),
        };
        if situation.state.is_empty() { life } else { situation.state.join(", ") }
    }
}

impl InputReport {
    /// The report of a write that offered so many bytes, of which so many were just accepted.
    pub(crate) fn of(held: &LiveSession, offered: usize, accepted: usize) -> Self {
        let target = held.session.progress().input.accepted;
        Self { offered: offered as u64, accepted: accepted as u64, target }
    }

    fn outcome(self, progress: &Progress) -> InputOutcome {
        let input = progress.input;
        let gone = input.delivered + input.undelivered;
        let queued = self.target.saturating_sub(gone).min(self.accepted);
        let written = self.accepted - queued.max(input.undelivered.min(self.accepted));
        InputOutcome { offered: self.offered, written, queued, refused: self.offered - self.accepted }
    }
}

impl InputOutcome {
    fn remark(&self) -> Option<String> {
        let Self { offered, written, queued, refused } = self;
        if written == offered {
            return None;
        }
        let dropped = offered - written - queued - refused;
        let mut remark = format!("{written} of {offered} bytes written");
        if *queued > 0 || dropped == 0 {
            let _ = write!(remark, ", {queued} queued until the program reads");
        }
        if dropped > 0 {
            let _ = write!(remark, ", {dropped} dropped because the process has exited");
        }
        if *refused > 0 {
            let _ = write!(
                remark,
                ", {refused} refused because the queue is full: write the last {refused} again"
            );
        }
        Some(remark)
    }

    fn json(&self) -> Value {
        json!({ "written": self.written, "queued": self.queued, "refused": self.refused })
    }
}

fn describe_running(progress: &Progress, wanted: Option<InputWanted>, state: &mut Vec<String>) {
    state.extend(wanted.map(waiting).filter(|wanted| !state.contains(wanted)));
    let idle = progress.last_output.elapsed();
    if idle >= IDLE && !state.iter().any(|known| known.starts_with("idle")) {
        state.push(format!("idle {}", report::seconds(idle)));
    }
}

/// The addresses on which it listens, in one phrase.
pub(crate) fn listening(endpoints: &[Endpoint]) -> Option<String> {
    const MOST: usize = 5;
    let shown: Vec<String> = endpoints.iter().take(MOST).map(ToString::to_string).collect();
    let more = endpoints.len().saturating_sub(MOST);
    match (shown.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(format!("listening on {}", shown.join(" and "))),
        (false, more) => Some(format!("listening on {} and {more} more", shown.join(" and "))),
    }
}

fn chunk_id() -> String {
    let [a, b, c] = random::bytes();
    format!("{a:02x}{b:02x}{c:02x}")
}
