//! A session as one caller knows it: under which number, how far the caller has read, and what it has been told.

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
    /// The variables that were kept from it.
    pub(crate) removed: Vec<String>,
    place: Mutex<ReadCursor>,
    /// Whoever makes an answer holds it, so that two never show the same.
    turn: tokio::sync::Mutex<()>,
    attended: AtomicUsize,
    /// Replies that told something and may still be lost.
    undelivered: AtomicUsize,
    /// How many of the things that its sandbox refused were told.
    refusals_told: AtomicUsize,
    /// How many more there were when that was told last.
    unlisted_told: AtomicU32,
    /// What has been counted of the unread output while it was printed.
    tally: Mutex<Option<TokenTally>>,
    /// How much had been printed when a person was asked and did not answer, and one more; 0 if that never happened.
    unanswered: AtomicU64,
}

/// Words about a program that has the alternate screen.
const HAS_SCREEN: &str = "a full-screen program has the alternate screen; view=screen shows it";
const SHOWS_SCREEN: &str =
    "a full-screen program has the alternate screen, shown here; view=screen shows it again";
const LEFT_SCREEN: &str = "it ended on the alternate screen; what stood there is at the end of the output";

/// Output is counted ahead in steps of this size.
const COUNTED_TOGETHER: u64 = 1 << 20;
/// How often is looked whether there is so much. Being woken for every line would cost more than the count.
const COUNTED_EVERY: Duration = Duration::from_millis(5);
/// The end is left for the answer: it may not take all of it.
const LEFT_UNCOUNTED: u64 = 8192;

/// What a caller calls a session by: small where nobody else can call, not to be guessed where somebody might.
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

/// How far a caller got.
#[derive(Clone, Copy, Debug)]
struct ReadCursor {
    unread: Offset,
    /// A full-screen program had the screen there: what it draws next is no text either.
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

/// What the caller knows of a session's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EndAnnounced {
    /// Nothing.
    Untold,
    /// It was mentioned beside the answer to something else.
    Announced,
    /// It was the answer.
    Told,
}

/// How output is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Showing {
    pub(crate) view: ViewKind,
    pub(crate) budget: Tokens,
    pub(crate) tokenizer: Tokenizer,
}

/// The forms output can be asked for in.
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
            // Whoever counts as Codex does gets its marker, letter for letter.
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

    /// Tells the caller something. If the reply is lost, the caller has been told nothing.
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

    /// Later replies may have told more in the meantime. Their part is told again with the rest: the position in the output
    /// is a single offset, and a byte that is shown twice is better than one that is not shown.
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

    /// What its sandbox refused and the caller has not been told; now it has.
    pub(crate) fn untold_refusals(&self) -> Vec<Denial> {
        let mut denials = self.session.denials();
        let more = denials.pop_if(|last| last.operation == Operation::More);
        let told = self.refusals_told.swap(denials.len(), Ordering::Relaxed);
        let mut untold = denials.split_off(told.min(denials.len()));
        // How many there are that are not listed is told again when there are more.
        let times = more.as_ref().map_or(0, |more| more.times);
        let is_news = self.unlisted_told.swap(times, Ordering::Relaxed) != times;
        untold.extend(more.filter(|_| is_news));
        untold
    }

    /// What the caller has not read yet.
    pub(crate) fn unread(&self) -> Span {
        let from = self.place().unread;
        Span::new(from, self.session.journal().end().max(from))
    }

    /// How many tokens that is.
    pub(crate) fn unread_tokens(&self, tokenizer: Tokenizer) -> Tokens {
        let showing = Showing { view: ViewKind::Text, budget: Tokens::ZERO, tokenizer };
        showing.fitting(&self.number).count(self.session.journal(), self.unread())
    }

    /// Says that a call waits for this session and will tell of its end, for as long as the guard lives.
    pub(crate) fn attend(self: &Arc<Self>) -> Attending {
        self.attended.fetch_add(1, Ordering::Relaxed);
        Attending(Arc::clone(self))
    }

    /// Waits until nobody else is making an answer. An answer that is given up before [`Held::told`] tells nobody
    /// anything, so the next one tells it all.
    pub(crate) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// The unread output that can be shown now, fitted, and a word about a full-screen program. Such a program draws no text:
    /// where an answer would be empty although it drew something, the screen itself is the answer, because it is what the
    /// caller would have to ask for next.
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

    /// Notes what an answer tells: the output before this offset, and the end if there was one.
    pub(crate) fn told(&self, unread: Offset, exit: Option<EndAnnounced>) {
        let runs = self.session.receipt().is_none();
        let full_screen = runs && self.session.screen().is_some_and(|screen| screen.alternate);
        let mut place = self.place();
        place.unread = place.unread.max(unread);
        place.lost = place.lost.filter(|lost| lost.to() > unread);
        place.full_screen = full_screen;
        place.exit = place.exit.max(exit.unwrap_or(EndAnnounced::Untold));
    }

    /// Does this work, and meanwhile counts what is printed: of a large output, only the last part is left to count when
    /// it is over.
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

    /// A flood is not followed line by line: being woken for each would cost more than the count. It is looked at now and
    /// then, for as long as it goes on.
    async fn count_along(self: &Arc<Self>, showing: Showing) -> Infallible {
        let (mut counted, mut seen) = (self.unread().from(), Offset::ZERO);
        loop {
            let end = self.session.journal().end();
            if end.since(counted) >= COUNTED_TOGETHER {
                let held = Arc::clone(self);
                let count = move || held.count_up_to(&showing, end.back(LEFT_UNCOUNTED));
                // It fails only with the runtime, and then nobody waits for the count.
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
                // Nothing more will be printed; whoever does the work will notice.
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

    /// While more may come, a character or an escape code that has not ended yet waits for the next answer.
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

    /// Whether its end is still to be mentioned: it is over, nobody was told, and nobody waits who will be.
    pub(crate) fn announce(&self) -> bool {
        let mut place = self.place();
        // The cheapest first: this is asked of every session with every answer.
        let announces = place.exit == EndAnnounced::Untold
            && self.attended.load(Ordering::Relaxed) == 0
            && self.session.receipt().is_some();
        if announces {
            place.exit = EndAnnounced::Announced;
        }
        announces
    }

    /// Notes that the end is mentioned beside the answer to something else.
    pub(crate) fn mention(&self) {
        let mut place = self.place();
        place.exit = place.exit.max(EndAnnounced::Announced);
    }

    /// Notes that a person was asked for what the program wants to know now, and did not say.
    pub(crate) fn nobody_answered(&self) {
        self.unanswered.store(self.session.journal().end().get() + 1, Ordering::Relaxed);
    }

    /// Whether a person was asked what the program still asks: nobody is to be asked the same again and again.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.unanswered.load(Ordering::Relaxed) == self.session.journal().end().get() + 1
    }

    /// Notes that its end was asked for and told: nobody is expected to ask what else it printed.
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

    /// Whether a reply that told something may still be lost.
    pub(crate) fn is_being_delivered(&self) -> bool {
        self.undelivered.load(Ordering::Relaxed) > 0
    }

    /// Whether its end was the answer to something.
    pub(crate) fn exit_told(&self) -> bool {
        self.place().exit == EndAnnounced::Told
    }

    fn place(&self) -> MutexGuard<'_, ReadCursor> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A screen within a budget. It is made of all the output, so what is left out of it is read there.
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
