//! `windlass log`: reads the output of a session, whichever runtime ran it and whether or not it is over.

mod answer;
mod choice;
mod follow;
mod missing;

use anyhow::Result;
use windlass_engine::{
    Form, Journal, Reader, ReaderDemand, SessionRecord, Store, find_raw, has_alternate_screen, screen_text,
};
use windlass_output::{Context, Offset, Span, Tokens};

use self::choice::Chooser;
use self::follow::Follower;
use self::missing::{Printed, missing_line};
use crate::args::{Log, ViewKind};
use crate::config::Config;
use crate::failure::{Exit, Usage};
use crate::printing::{print, say, write_all};
use crate::sessions::{self, State, may_print};

/// The budget of a JSON reply unless an option sets it.
const DEFAULT_BUDGET: Tokens = Tokens::new(10_000);

/// Reads a log.
pub(crate) fn run(order: &Log, config: &Config) -> Result<Exit> {
    let store = config.reading_store()?;
    let record = sessions::find(&store, &order.session)?;
    let journal = store.open_journal(&record)?;
    if !may_print(&record) {
        journal.set_over();
    }
    let log = LogQuery { order, record, journal, store };
    log.check()?;
    let read = match (order.shown.json, order.shown.max_tokens) {
        (true, budget) => log.print_json(budget.map_or(DEFAULT_BUDGET, Tokens::new))?,
        (false, Some(budget)) => log.print_fitted(Tokens::new(budget))?,
        (false, None) => log.print_all()?,
    };
    log.explain(read);
    Ok(if log.is_complete(read) { Exit::SUCCESS } else { Exit::FAILED })
}

/// One reading of one session.
struct LogQuery<'a> {
    order: &'a Log,
    record: SessionRecord,
    journal: Journal,
    store: Store,
}

impl LogQuery<'_> {
    /// Rejects options that cannot be combined.
    fn check(&self) -> Result<()> {
        let choice = &self.order.choice;
        let by_line = choice.lines.is_some() || choice.tail.is_some() || choice.grep.is_some();
        let complaint = match self.view() {
            ViewKind::Screen if !self.record.start.terminal => {
                format!("session {} has no screen: it ran without --tty", self.record.start.id)
            }
            ViewKind::Screen if by_line || choice.span.is_some() || self.order.follow => {
                "--view screen is what shows at the end: it takes no choice of lines or bytes".to_owned()
            }
            ViewKind::Raw if choice.lines.is_some() || choice.tail.is_some() => {
                "--lines and --tail count lines of text; with --view raw use --span or --grep".to_owned()
            }
            _ => return Ok(()),
        };
        Err(Usage(complaint).into())
    }

    fn view(&self) -> ViewKind {
        self.order.shown.view.unwrap_or(ViewKind::Text)
    }

    fn span(&self) -> Span {
        let all = Span::new(Offset::ZERO, Offset::new(u64::MAX));
        self.order.choice.span.unwrap_or(all)
    }

    fn chooser(&self) -> Chooser {
        let choice = &self.order.choice;
        let around = Context { before: self.order.context, after: self.order.context };
        match (choice.lines, choice.tail, &choice.grep) {
            (Some(range), ..) => Chooser::lines(range),
            (_, Some(count), _) => Chooser::tail(count),
            (.., Some(pattern)) => Chooser::grep(pattern.clone(), around),
            _ => Chooser::Everything,
        }
    }

    /// The text on the terminal's screen at the end of the output.
    fn screen(&self) -> String {
        screen_text(&self.journal)
    }

    /// Prints all requested output as it is read. Returns the part of the output that was read.
    fn print_all(&self) -> Result<Span> {
        match self.view() {
            ViewKind::Screen => print(self.screen() + "\n").map(|()| self.all()),
            ViewKind::Raw if self.order.choice.grep.is_none() => self.print_bytes(),
            ViewKind::Raw | ViewKind::Text => self.print_text(),
        }
    }

    fn all(&self) -> Span {
        Span::new(Offset::ZERO, self.journal.end())
    }

    /// Prints the bytes and nothing else. It reports a gap between them on standard error when it reaches the gap.
    fn print_bytes(&self) -> Result<Span> {
        const STEP: usize = 1024 * 1024;
        let mut follower = self.follower()?;
        let (mut position, to) = (self.span().from(), self.span().to());
        loop {
            let mut bytes = Vec::new();
            let read = self.journal.read_into(Span::new(position, to), STEP, &mut bytes);
            for missing in self.journal.account().missing_in(Span::new(position, read.from())) {
                say!("windlass: {}", missing_line(&missing));
            }
            write_all(rustix::stdio::stdout(), &bytes)?;
            if read.to() > position {
                position = read.to();
            } else if position >= to || !wait_for_more(follower.as_mut(), &self.journal)? {
                return Ok(self.span().intersect(self.all()));
            }
        }
    }

    fn print_text(&self) -> Result<Span> {
        let mut follower = self.follower()?;
        let form = match follower {
            Some(_) if self.view() == ViewKind::Text => Form::SettledByLine,
            _ => self.form(),
        };
        let mut reader = Reader::new(&self.journal, self.span().from(), form);
        let mut printed = Printed::new(self.chooser(), self.span().from());
        loop {
            if reader.advance(self.span().to(), |part| printed.take(&part))? == ReaderDemand::NoMore {
                return Ok(Span::new(self.span().from(), printed.upto()));
            }
            if follower.is_some() {
                print(printed.catch_up())?;
            }
            if !wait_for_more(follower.as_mut(), &self.journal)? {
                break;
            }
        }
        if follower.is_some() {
            self.journal.set_over();
        }
        reader.finish(|part| printed.take(&part))?;
        let is_blank = printed.is_blank();
        let rest = printed.finish();
        if is_blank && rest.is_empty() {
            self.say_why_nothing_shows();
        }
        print(rest)?;
        Ok(self.span().intersect(self.all()))
    }

    /// Explains an empty result: the match may be in the raw bytes only, or the program may draw on the alternate
    /// screen.
    fn say_why_nothing_shows(&self) {
        let id = self.record.start.id;
        if let Some(raw) = self.overwritten_match() {
            say!(
                "windlass: no line of the text matches; the raw output does at {raw}, where it was overwritten or is part of an escape \
                 code: windlass log {id} --span {raw} --view raw"
            );
        } else if self.view() == ViewKind::Text && has_alternate_screen(&self.journal) {
            say!(
                "windlass: a full-screen program has the alternate screen: windlass log {id} --view screen shows it"
            );
        }
    }

    /// Reports missing parts of the requested output on standard error, with the reason. Gaps that retention made are
    /// left out: they are expected, and the output or a line before has shown them.
    fn explain(&self, read: Span) {
        /// The most missing parts that are listed: the reason is mostly the same for all.
        const TOLD: usize = 5;
        let missing = self.journal.account().missing_in(read);
        let unexpected = missing.iter().filter(|missing| !missing.is_expected());
        for missing in unexpected.take(TOLD).filter(|_| !self.prints_bytes()) {
            say!("windlass: {}", missing_line(missing));
        }
        // Output in removed files that the session's windlass still has open can be read as long as that process runs.
        let degraded = self.journal.account().degraded.filter(|_| missing.is_empty());
        if let Some(degraded) = degraded.filter(|degraded| degraded.at <= read.to()) {
            say!("windlass: {}", degraded.reason);
        }
        // A session that is followed may have ended meanwhile.
        let (id, end) = (self.record.start.id, self.journal.end());
        match self.store.load(id) {
            Ok(record) => {
                if let Some(fate) = State::of(&record).fate_without_runtime() {
                    say!(
                        "windlass: session {id} has no receipt: {fate}, and what was printed after byte {end} is not known"
                    );
                }
            }
            Err(error) => say!(
                "windlass: the record of session {id} was removed or damaged while it was read: how the session ended, and whether it \
                 printed more than {end} bytes, is not known: {error}"
            ),
        }
    }

    /// The position where the bytes match a pattern that the text does not match.
    fn overwritten_match(&self) -> Option<Span> {
        let pattern = self.order.choice.grep.as_ref().filter(|_| self.view() == ViewKind::Text)?;
        find_raw(&self.journal, pattern)
    }

    fn form(&self) -> Form {
        if self.view() == ViewKind::Raw { Form::Raw } else { Form::Settled }
    }

    /// Whether nothing of the requested output is missing. Raw bytes have no marker, so bytes that retention dropped
    /// count as missing too.
    fn is_complete(&self, read: Span) -> bool {
        let missing = self.journal.account().missing_in(read);
        let is_recorded = self.store.load(self.record.start.id).is_ok();
        is_recorded && missing.iter().all(|missing| missing.is_expected() && !self.prints_bytes())
    }

    /// Whether standard output gets only the bytes as they were printed.
    fn prints_bytes(&self) -> bool {
        let shown = &self.order.shown;
        let is_raw = self.view() == ViewKind::Raw && self.order.choice.grep.is_none();
        is_raw && !shown.json && shown.max_tokens.is_none()
    }

    fn follower(&self) -> Result<Option<Follower>> {
        let follow = self.order.follow && may_print(&self.record);
        follow.then(|| Follower::new(&self.store, self.record.clone())).transpose()
    }
}

/// Whether there is more to read, now or after waiting for it.
fn wait_for_more(follower: Option<&mut Follower>, journal: &Journal) -> Result<bool> {
    follower.map_or(Ok(false), |follower| follower.wait(journal))
}
