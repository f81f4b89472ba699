//! `windlass log`: reads what a session printed, whoever ran it and whether or not it is over.

mod answer;
mod choice;
mod follow;

use anyhow::Result;
use windlass_engine::{Journal, SessionRecord, Store};
use windlass_output::{Context, Offset, Span, Tokens};
use windlass_sys::pty::Size;

use self::choice::Chooser;
use self::follow::Follower;
use crate::args::{Log, ViewKind};
use crate::config::Config;
use crate::failure::{Exit, Usage};
use crate::printing::{print, write_all};
use crate::report;
use crate::sessions::{self, may_print};
use windlass_engine::{Form, Part, Reader, Wanted, screen_text};

/// What an answer in JSON holds unless told otherwise.
const DEFAULT_BUDGET: Tokens = Tokens::new(10_000);

/// Reads a log.
pub(crate) fn run(order: &Log, config: &Config) -> Result<Exit> {
    let store = config.reading_store()?;
    let record = sessions::find(&store, &order.session)?;
    let journal = store.open_journal(record.start.id)?;
    let log = Reading { order, record, journal, store };
    log.check()?;
    match (order.shown.json, order.shown.max_tokens) {
        (true, budget) => log.print_json(budget.map_or(DEFAULT_BUDGET, Tokens::new))?,
        (false, Some(budget)) => log.print_fitted(Tokens::new(budget))?,
        (false, None) => log.print_all()?,
    }
    Ok(Exit::SUCCESS)
}

/// One reading of one session.
struct Reading<'a> {
    order: &'a Log,
    record: SessionRecord,
    journal: Journal,
    store: Store,
}

impl Reading<'_> {
    /// Not everything that can be typed goes together.
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
            ViewKind::Raw if by_line => {
                "--lines, --tail and --grep count lines of text; with --view raw use --span".to_owned()
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

    /// What the terminal shows at the end. The store does not know its size, so the usual one is assumed.
    fn screen(&self) -> String {
        screen_text(&self.journal, Size::default())
    }

    /// Everything that was asked for, as it is read.
    fn print_all(&self) -> Result<()> {
        match self.view() {
            ViewKind::Screen => print(self.screen() + "\n"),
            ViewKind::Raw => self.print_bytes(),
            ViewKind::Text => self.print_text(),
        }
    }

    fn print_bytes(&self) -> Result<()> {
        const STEP: usize = 1024 * 1024;
        let mut follower = self.follower()?;
        let (mut position, to) = (self.span().from(), self.span().to());
        loop {
            let mut bytes = Vec::new();
            let read = self.journal.read_into(Span::new(position, to), STEP, &mut bytes);
            write_all(rustix::stdio::stdout(), &bytes)?;
            if !read.is_empty() {
                position = read.to();
            } else if position >= to || !wait_for_more(follower.as_mut(), &self.journal)? {
                return Ok(());
            }
        }
    }

    fn print_text(&self) -> Result<()> {
        let mut follower = self.follower()?;
        let form = if follower.is_some() { Form::SettledByLine } else { Form::Settled };
        let mut reader = Reader::new(&self.journal, self.span().from(), form);
        let mut chooser = self.chooser();
        loop {
            if reader.advance(self.span().to(), |part| print_part(&mut chooser, &part))? == Wanted::NoMore {
                return Ok(());
            }
            if follower.is_some() {
                print(chooser.catch_up())?;
            }
            if !wait_for_more(follower.as_mut(), &self.journal)? {
                break;
            }
        }
        reader.finish(|part| print_part(&mut chooser, &part))?;
        print(chooser.finish().into_text())
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

fn print_part(chooser: &mut Chooser, part: &Part<'_>) -> Result<Wanted> {
    match part {
        Part::Text(view) if matches!(chooser, Chooser::Everything) => print(view.text())?,
        Part::Text(view) => {
            chooser.feed(view);
            print(chooser.ready())?;
        }
        Part::Gone(span) => {
            let bytes = report::count(span.len());
            print(format!("…{bytes} bytes at {span} are no longer kept…\n"))?;
        }
    }
    Ok(if chooser.is_complete() { Wanted::NoMore } else { Wanted::More })
}
