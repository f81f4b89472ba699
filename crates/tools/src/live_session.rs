//! A session as one caller knows it: its number, how far the caller has read, and what replies have reported about it.

use std::convert::Infallible;
use std::future::Future;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use windlass_engine::sandbox::{Denial, Operation};
use windlass_engine::{
    Fitted, Fitting, Form, Met, ProcessLine, Session, TokenTally, Until, ended_on_alternate_screen,
};
use windlass_output::{Marker, Offset, Span, Tokenizer, Tokens, View, unfinished};

use crate::delivery::{Delivery, Outcome};
use crate::report;
use crate::shell::readable_command;

/// A session that a caller started.
#[derive(Debug)]
pub(crate) struct LiveSession {
    pub(crate) number: Number,
    pub(crate) session: Session,
    /// The script, as it was given.
    pub(crate) command: String,
    /// The variables that were withheld from it.
    pub(crate) removed: Vec<String>,
    place: Mutex<ReadCursor>,
    /// Held while a reply is made, so that two never show the same output.
    turn: tokio::sync::Mutex<()>,
    attended: AtomicUsize,
    /// The number of replies with one-time contents that may still be lost.
    undelivered: AtomicUsize,
    /// The number of listed denials that replies have reported.
    refusals_told: AtomicUsize,
    /// The number of unlisted denials when a reply last reported it.
    unlisted_told: AtomicU32,
    /// The tokens of the unread output, counted while it was printed.
    tally: Mutex<Option<TokenTally>>,
    /// The length of the output when a person was asked and did not answer, plus one; 0 if that never happened.
    unanswered: AtomicU64,
}

/// The note about a program that has the alternate screen.
const HAS_SCREEN: &str = "a full-screen program has the alternate screen; view=screen shows it";
const SHOWS_SCREEN: &str =
    "a full-screen program has the alternate screen, shown here; view=screen shows it again";
const LEFT_SCREEN: &str = "it ended on the alternate screen; what stood there is at the end of the output";

/// Output is counted ahead in steps of this size.
const COUNTED_TOGETHER: u64 = 1 << 20;
/// The interval at which the length of the output is checked. A wakeup for every line would cost more than the count.
const COUNTED_EVERY: Duration = Duration::from_millis(5);
/// The end is left for the reply: it may not take all of it.
const LEFT_UNCOUNTED: u64 = 8192;

/// The number by which a caller names a session: small if it is the only caller, and impossible to guess if others
/// could call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Number(pub(crate) u64);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        number.0.into()
    }
}

/// A caller's reading position.
#[derive(Clone, Copy, Debug)]
struct ReadCursor {
    unread: Offset,
    /// A full-screen program had the screen there: what it draws next is not text either.
    full_screen: bool,
    exit: EndAnnounced,
    /// The caller ended it.
    dismissed: bool,
    /// Output that a lost reply had shown and that no later one has.
    lost: Option<Span>,
}

/// A caller's state before a reply, which is restored if the reply is lost.
#[derive(Clone, Copy, Debug)]
struct Known {
    place: ReadCursor,
    refusals_told: usize,
    unlisted_told: u32,
}

/// How far the session's end was announced to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EndAnnounced {
    /// Nothing.
    Untold,
    /// It was mentioned beside the reply to something else.
    Announced,
    /// It was the reply.
    Told,
}

/// How output is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Showing {
    pub(crate) view: ViewKind,
    pub(crate) budget: Tokens,
    pub(crate) tokenizer: Tokenizer,
}

/// The forms in which output can be asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ViewKind {
    #[default]
    Text,
    Raw,
    Screen,
}

impl ViewKind {
    pub(crate) const NAMES: [(&'static str, Self); 3] =
        [("text", Self::Text), ("raw", Self::Raw), ("screen", Self::Screen)];

    pub(crate) fn form(self) -> Form {
        match self {
            Self::Text | Self::Screen => Form::Settled,
            Self::Raw => Form::Raw,
        }
    }
}

impl Showing {
    pub(crate) fn fitting<'a>(&self, number: &'a Number) -> Fitting<'a> {
        let marker = match self.tokenizer {
            // Callers that count as Codex does get its marker, letter for letter.
            Tokenizer::Bytes4 => Marker::Count,
            Tokenizer::O200k | Tokenizer::Cl100k => Marker::Address { session: number },
        };
        Fitting { form: self.view.form(), budget: self.budget, tokenizer: self.tokenizer, marker }
    }
}

impl LiveSession {
    pub(crate) fn new(number: Number, session: Session, command: String, removed: Vec<String>) -> Self {
        let place = Mutex::new(ReadCursor {
            unread: Offset::ZERO,
            full_screen: false,
            exit: EndAnnounced::Untold,
            dismissed: false,
            lost: None,
        });
        let turn = tokio::sync::Mutex::default();
        let (attended, undelivered) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (refusals_told, unlisted_told) = (AtomicUsize::new(0), AtomicU32::new(0));
        let (tally, unanswered) = (Mutex::default(), AtomicU64::new(0));
        Self {
            number,
            session,
            command,
            removed,
            place,
            turn,
            attended,
            undelivered,
            refusals_told,
            unlisted_told,
            tally,
            unanswered,
        }
    }

    /// Processes of this session, named so that a reader knows them.
    pub(crate) fn readable(&self, mut processes: Vec<ProcessLine>) -> Vec<ProcessLine> {
        let script = report::shortened(&self.command, 100);
        for line in &mut processes {
            if let Some(readable) = readable_command(&line.command, &script) {
                line.command = readable;
            }
        }
        processes
    }

    /// Runs a closure that marks contents as received. If the reply is lost, they count as not received again.
    pub(crate) fn telling<T>(self: &Arc<Self>, delivery: &Delivery, tell: impl FnOnce(&Self) -> T) -> T {
        let known = Known {
            place: *self.place(),
            refusals_told: self.refusals_told.load(Ordering::Relaxed),
            unlisted_told: self.unlisted_told.load(Ordering::Relaxed),
        };
        let told = tell(self);
        let held = Arc::clone(self);
        self.undelivered.fetch_add(1, Ordering::Relaxed);
        delivery.on_settled(move |outcome| {
            if outcome == Outcome::Lost {
                held.take_back(&known);
            }
            held.undelivered.fetch_sub(1, Ordering::Relaxed);
        });
        told
    }

    /// Restores the state before a lost reply. Later replies may have shown more in the meantime. Their part is shown
    /// again with the rest: the position in the output is a single offset, and a byte that is shown twice is better
    /// than one that is not shown.
    fn take_back(&self, known: &Known) {
        let mut place = self.place();
        let shown = Span::new(known.place.unread, place.unread.max(known.place.unread));
        let lost = match place.lost {
            Some(lost) => Span::new(lost.from().min(shown.from()), lost.to().max(shown.to())),
            None => shown,
        };
        place.lost = Some(lost).filter(|lost| !lost.is_empty());
        place.unread = shown.from();
        place.full_screen = known.place.full_screen;
        place.exit = place.exit.min(known.place.exit);
        place.dismissed &= known.place.dismissed;
        self.refusals_told.fetch_min(known.refusals_told, Ordering::Relaxed);
        self.unlisted_told.fetch_min(known.unlisted_told, Ordering::Relaxed);
    }

    /// The reply that mentioned its end is lost.
    pub(crate) fn take_announcement_back(&self) {
        let mut place = self.place();
        if place.exit == EndAnnounced::Announced {
            place.exit = EndAnnounced::Untold;
        }
    }

    /// The part of this output that a lost reply had shown before.
    pub(crate) fn shown_before(&self, span: Span) -> Option<Span> {
        self.place().lost.map(|lost| lost.intersect(span)).filter(|lost| !lost.is_empty())
    }

    /// The denials of its sandbox that no reply has reported yet. Marks them as reported.
    pub(crate) fn untold_refusals(&self) -> Vec<Denial> {
        let mut denials = self.session.denials();
        let more = denials.pop_if(|last| last.operation == Operation::More);
        let told = self.refusals_told.swap(denials.len(), Ordering::Relaxed);
        let mut untold = denials.split_off(told.min(denials.len()));
        // The number of unlisted denials is reported again when it grows.
        let times = more.as_ref().map_or(0, |more| more.times);
        let is_news = self.unlisted_told.swap(times, Ordering::Relaxed) != times;
        untold.extend(more.filter(|_| is_news));
        untold
    }

    /// The span that the caller has not read yet.
    pub(crate) fn unread(&self) -> Span {
        let from = self.place().unread;
        Span::new(from, self.session.journal().end().max(from))
    }

    /// How many tokens that is.
    pub(crate) fn unread_tokens(&self, tokenizer: Tokenizer) -> Tokens {
        let showing = Showing { view: ViewKind::Text, budget: Tokens::ZERO, tokenizer };
        showing.fitting(&self.number).count(self.session.journal(), self.unread())
    }

    /// Notes that a call waits for this session and will report its end, for as long as the guard lives.
    pub(crate) fn attend(self: &Arc<Self>) -> Attending {
        self.attended.fetch_add(1, Ordering::Relaxed);
        Attending(Arc::clone(self))
    }

    /// Waits until no other reply is being made. A reply that is given up before it is marked as received marks
    /// nothing, so the next one contains it all.
    pub(crate) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// The unread output that can be shown now, fitted, and a note about a full-screen program. Such a program draws no
    /// text: if a reply would be empty although it drew something, the screen itself is the reply, because the caller
    /// would have to ask for it next.
    pub(crate) fn unread_shown(&self, showing: &Showing) -> (Fitted, Option<&'static str>) {
        let fitted = self.unread_fitted(showing);
        if showing.view != ViewKind::Text || self.session.facts().terminal.is_none() {
            return (fitted, None);
        }
        if self.session.receipt().is_some() {
            let left = !self.exit_told() && ended_on_alternate_screen(self.session.journal());
            return (fitted, left.then_some(LEFT_SCREEN));
        }
        let Some(screen) = self.session.screen().filter(|screen| screen.alternate) else {
            return (fitted, None);
        };
        if !fitted.text.trim().is_empty() || fitted.span.is_empty() || screen.text.is_empty() {
            return (fitted, Some(HAS_SCREEN));
        }
        let screen = screen_fitted(&showing.fitting(&self.number), screen.text, fitted.span);
        (screen, Some(SHOWS_SCREEN))
    }

    /// The unread output that can be shown now, fitted.
    fn unread_fitted(&self, showing: &Showing) -> Fitted {
        let ReadCursor { unread: from, full_screen, .. } = *self.place();
        let span = Span::new(from, self.whole_end(from));
        let mut fitting = showing.fitting(&self.number);
        if full_screen && fitting.form == Form::Settled {
            fitting.form = Form::SettledFromAlternate;
        }
        let screen = (showing.view == ViewKind::Screen).then(|| self.session.screen()).flatten();
        match screen {
            Some(screen) => screen_fitted(&fitting, screen.text, span),
            None => {
                let tally = if span.len() < COUNTED_TOGETHER { None } else { self.tally().take() };
                fitting.fit_counted(self.session.journal(), span, tally)
            }
        }
    }

    /// Marks as received: the output before this offset, and the end if there was one.
    pub(crate) fn told(&self, unread: Offset, exit: Option<EndAnnounced>) {
        let runs = self.session.receipt().is_none();
        let full_screen = runs && self.session.screen().is_some_and(|screen| screen.alternate);
        let mut place = self.place();
        place.unread = place.unread.max(unread);
        place.lost = place.lost.filter(|lost| lost.to() > unread);
        place.full_screen = full_screen;
        place.exit = place.exit.max(exit.unwrap_or(EndAnnounced::Untold));
    }

    /// Runs a future, and meanwhile counts the output: of a large one, only the last part is left to count when it is
    /// over.
    pub(crate) async fn counting_ahead<T>(
        self: &Arc<Self>,
        showing: Showing,
        work: impl Future<Output = T>,
    ) -> T {
        tokio::select! {
            biased;
            done = work => done,
            never = self.count_along(showing) => match never {},
        }
    }

    /// A flood is not followed line by line: a wakeup for each would cost more than the count. It is checked now and
    /// then, for as long as it goes on.
    async fn count_along(self: &Arc<Self>, showing: Showing) -> Infallible {
        let (mut counted, mut seen) = (self.unread().from(), Offset::ZERO);
        loop {
            let end = self.session.journal().end();
            if end.since(counted) >= COUNTED_TOGETHER {
                let held = Arc::clone(self);
                let count = move || held.count_up_to(&showing, end.back(LEFT_UNCOUNTED));
                // It fails only with the runtime, and then the count is not needed.
                let _ = tokio::task::spawn_blocking(count).await;
                (counted, seen) = (end, Offset::ZERO);
                continue;
            }
            let goes_on = end > seen && end.since(counted) > 0 && counted > self.unread().from();
            seen = end;
            let met = if goes_on {
                self.session.wait(&Until::exit().by(Instant::now() + COUNTED_EVERY)).await
            } else {
                let until = Until { reached: Some(counted + COUNTED_TOGETHER), ..Until::default() };
                self.session.wait(&until).await
            };
            if !matches!(met, Met::Reached(_) | Met::Deadline) {
                // Nothing more will be printed; the future beside this one ends the wait.
                return std::future::pending().await;
            }
        }
    }

    fn count_up_to(&self, showing: &Showing, end: Offset) {
        let (form, tokenizer, unread) = (showing.view.form(), showing.tokenizer, self.unread());
        let mut kept = self.tally();
        let tally = kept.take().filter(|tally| tally.is_of(form, tokenizer, unread));
        let tally = tally.unwrap_or_else(|| TokenTally::new(form, tokenizer, unread.from()));
        *kept = Some(tally.advanced(self.session.journal(), end));
    }

    fn tally(&self) -> MutexGuard<'_, Option<TokenTally>> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// While more may come, an unfinished character or escape code waits for the next reply.
    fn whole_end(&self, from: Offset) -> Offset {
        const NEAR: u64 = 4096;
        let closed = self.session.progress().closed;
        let end = self.session.journal().end().max(from);
        if closed {
            return end;
        }
        let mut bytes = Vec::new();
        let near = Span::new(end.back(NEAR).max(from), end);
        let read = self.session.journal().read_into(near, usize::MAX, &mut bytes);
        if read.to() == end { end.back(unfinished(&bytes) as u64).max(from) } else { end }
    }

    /// Whether its end is still to be announced: it is over, no reply has said so, and no call waits for it that will.
    pub(crate) fn announce(&self) -> bool {
        let mut place = self.place();
        // The cheapest first: every session is checked for every reply.
        let announces = place.exit == EndAnnounced::Untold
            && self.attended.load(Ordering::Relaxed) == 0
            && self.session.receipt().is_some();
        if announces {
            place.exit = EndAnnounced::Announced;
        }
        announces
    }

    /// Notes that the end is mentioned beside the reply to something else.
    pub(crate) fn mention(&self) {
        let mut place = self.place();
        place.exit = place.exit.max(EndAnnounced::Announced);
    }

    /// Notes that a person was asked for the input that the program wants now, and did not answer.
    pub(crate) fn nobody_answered(&self) {
        self.unanswered.store(self.session.journal().end().get() + 1, Ordering::Relaxed);
    }

    /// Whether a person was already asked for the input that the program still wants: the same question is not
    /// repeated.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.unanswered.load(Ordering::Relaxed) == self.session.journal().end().get() + 1
    }

    /// Notes that its end was asked for and reported: the caller is not expected to read its remaining output.
    pub(crate) fn dismiss(&self) {
        self.mention();
        self.place().dismissed = true;
    }

    /// Whether its caller knows of its end and of everything it printed.
    pub(crate) fn was_told_everything(&self) -> bool {
        self.place().exit > EndAnnounced::Untold && self.unread().is_empty()
    }

    /// The same, or its caller had it ended.
    pub(crate) fn needs_no_telling(&self) -> bool {
        self.exit_told() || self.place().dismissed || self.was_told_everything()
    }

    /// Whether a reply with one-time contents may still be lost.
    pub(crate) fn is_being_delivered(&self) -> bool {
        self.undelivered.load(Ordering::Relaxed) > 0
    }

    /// Whether its end was the reply to a call.
    pub(crate) fn exit_told(&self) -> bool {
        self.place().exit == EndAnnounced::Told
    }

    fn place(&self) -> MutexGuard<'_, ReadCursor> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A screen within a budget. It is made of all the output, so the marker refers to the whole span.
pub(crate) fn screen_fitted(fitting: &Fitting<'_>, text: String, span: Span) -> Fitted {
    let marker = match fitting.marker {
        Marker::Address { session } => Marker::Made { session, of: span },
        other => other,
    };
    let mut fitted = Fitting { marker, ..*fitting }.fit_view(&View::verbatim(text, Offset::ZERO), span);
    fitted.omitted = fitted.omitted.map(|(_, tokens)| (span, tokens));
    fitted
}

/// A call that waits for a session.
#[derive(Debug)]
pub(crate) struct Attending(Arc<LiveSession>);

impl Drop for Attending {
    fn drop(&mut self) {
        self.0.attended.fetch_sub(1, Ordering::Relaxed);
    }
}
