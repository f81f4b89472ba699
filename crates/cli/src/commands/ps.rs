//! `windlass ps`: lists sessions with their states. A session is called running only if that was verified.

mod table;

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use serde_json::{Map, Value};
use windlass_engine::{Listing, LoadRecord, SessionRecord, Store, with_causes};
use windlass_sys::mark::Mark;
use windlass_sys::process::{self, Pid};
use windlass_sys::tree;

use self::table::{Cell, Row, Tint};
use crate::args::Ps;
use crate::commands::guardian;
use crate::config::{Config, below_home};
use crate::failure::Exit;
use crate::printing::print;
use crate::sessions::{self, State};
use crate::{report, sessions::is_alive};

/// The most finished sessions that are shown without `--all`.
const RECENT: usize = 10;

/// Lists sessions.
pub(crate) fn run(order: &Ps, config: &Config) -> Result<Exit> {
    let store = config.reading_store()?;
    let Listing { sessions: records, unreadable } = sessions::list_and_warn(&store)?;
    let survivors = sweep_abandoned(&records, &store);
    let all: Vec<Listed> =
        records.into_iter().map(|record| Listed::new(record, &store, &survivors)).collect();
    let total = all.len();
    let shown = if order.all { all } else { recent(all) };
    if order.json {
        // Unreadable records come last: programs index the first elements.
        let array: Value =
            shown.iter().map(Listed::json).chain(unreadable.iter().map(unreadable_json)).collect();
        print(format!("{array:#}\n"))?;
    } else {
        print_table(&shown, config)?;
        remark_on_stopped(&shown);
        if total > 0 || unreadable.is_empty() {
            remark_on_hidden(total - shown.len(), total);
        }
    }
    Ok(Exit::SUCCESS)
}

/// Ends what dead runtimes left: a session that should have ended with its windlass is ending only if a guardian runs,
/// and its guardian may have been killed too. Returns the marks that had living processes before that.
fn sweep_abandoned(records: &[SessionRecord], store: &Store) -> HashSet<Mark> {
    let survived =
        records.iter().filter(|record| record.may_have_survivors() && !is_alive(record.start.runtime));
    let abandoned: Vec<Mark> = survived.filter_map(|record| record.start.mark).collect();
    let survivors = tree::living_marks(&abandoned.iter().map(|mark| mark.runtime_tag().family()).collect());
    // The guardians go on when this process ends.
    drop(guardian::sweep_registered(store));
    if !survivors.is_empty() && store.is_own() {
        drop(guardian::sweep(&abandoned));
    }
    survivors
}

/// All live sessions, and the newest of the others.
fn recent(all: Vec<Listed>) -> Vec<Listed> {
    let over = all.iter().filter(|session| !session.state.is_live()).count();
    let mut surplus = over.saturating_sub(RECENT);
    let mut is_shown = |session: &Listed| {
        if session.state.is_live() || surplus == 0 {
            return true;
        }
        surplus -= 1;
        false
    };
    all.into_iter().filter(|session| is_shown(session)).collect()
}

/// Reports stopped runtimes: they read no output and record no end, and no session state shows that.
fn remark_on_stopped(shown: &[Listed]) {
    let live = shown.iter().filter(|session| matches!(session.state, State::Running | State::Exiting));
    for start in live.map(|session| &session.record.start) {
        if process::is_stopped(Pid::new(start.runtime.pid)) {
            crate::printing::say!(
                "windlass: session {}: {}",
                start.id,
                sessions::stopped_runtime(start.runtime)
            );
        }
    }
}

fn remark_on_hidden(hidden: usize, total: usize) {
    if total == 0 {
        crate::printing::say!("windlass: no sessions yet; `windlass run -- COMMAND` makes one");
    } else if hidden > 0 {
        crate::printing::say!(
            "windlass: {} not shown; --all shows them",
            report::plural(hidden, "older session")
        );
    }
}

/// A session and its state.
struct Listed {
    record: SessionRecord,
    state: State,
    /// The number of bytes it printed; `None` if it has no receipt and its journal cannot be read.
    output: Option<u64>,
    /// How long it ran; `None` if its end was not recorded.
    wall: Option<Duration>,
}

impl Listed {
    fn new(record: SessionRecord, store: &Store, survivors: &HashSet<Mark>) -> Self {
        let has_survivors = record.start.mark.is_some_and(|mark| survivors.contains(&mark));
        let state = match State::of(&record) {
            // The root is dead, but not everything that the root started.
            State::Lost if has_survivors => State::Ending,
            state => state,
        };
        let counted = record.receipt.as_ref().map(|receipt| receipt.bytes.total());
        let output = counted.or_else(|| store.output_len(&record).ok());
        let so_far = state.is_live().then(|| since(record.start.started));
        let wall = record.receipt.as_ref().map(|receipt| receipt.wall).or(so_far);
        Self { record, state, output, wall }
    }

    fn row(&self, config: &Config) -> Row {
        let start = &self.record.start;
        let plain = |text: String| Cell { text, tint: Tint::Plain };
        let wall = self.wall.map_or("-".to_owned(), report::seconds);
        [
            plain(start.id.to_string()),
            plain(start.name.clone().unwrap_or_else(|| "-".to_owned())),
            Cell { text: self.state.to_string(), tint: tint(self.state) },
            plain(report::asked_for(start)),
            plain(below_home(&start.cwd, &config.environment)),
            plain(report::age(since(start.started))),
            plain(wall),
            plain(self.output.map_or("?".to_owned(), report::bytes)),
        ]
    }

    fn json(&self) -> Value {
        let start = &self.record.start;
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
        let argv = start.argv.iter().map(|word| word.to_string_lossy().into_owned());
        put("session", start.id.get().into());
        put("name", start.name.clone().into());
        put("state", self.state.word().into());
        put("reason", self.state.reason(&self.record).into());
        put("command", argv.collect::<Vec<_>>().into());
        put("script", start.script.clone().into());
        put("withheld_variables", start.withheld.clone().into());
        put("owner", start.owner.clone().into());
        put("cwd", start.cwd.display().to_string().into());
        put("terminal", start.terminal.into());
        put("sandbox", start.sandbox.clone().into());
        put("lifetime", start.lifetime.name().into());
        put("started", report::timestamp(start.started).into());
        put("runtime_pid", living(is_alive(start.runtime), start.runtime.pid));
        put("root_pid", living(self.record.receipt.is_none() && is_alive(start.root), start.root.pid));
        put("output_bytes", self.output.into());
        report::receipt_fields(self.record.receipt.as_ref(), &mut object);
        Value::Object(object)
    }
}

/// The entry for a record that cannot be read. Its number is the one in the name of the file, which may contain other
/// sessions as well.
fn unreadable_json(failure: &LoadRecord) -> Value {
    let path = failure.path();
    let number = path.and_then(|path| path.file_stem()?.to_str()?.parse::<u64>().ok());
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    put("session", number.into());
    put("state", "unreadable".into());
    put("reason", with_causes(failure).into());
    put("remedy", failure.remedy().into());
    put("record", path.map(|path| path.display().to_string()).into());
    Value::Object(object)
}

/// The pid of a living process; `null` for a dead one, whose pid may have been reused.
fn living(alive: bool, pid: u32) -> Value {
    if alive { pid.into() } else { Value::Null }
}

fn since(moment: SystemTime) -> Duration {
    moment.elapsed().unwrap_or_default()
}

fn tint(state: State) -> Tint {
    use windlass_engine::{Cause, Exit};
    match state {
        State::Running | State::Detached => Tint::Good,
        State::Over(Exit::Code(0), Cause::Itself) => Tint::Faint,
        State::Lost | State::Ending => Tint::Bad,
        State::Over(..) | State::Elsewhere | State::Exiting => Tint::Notable,
    }
}

fn print_table(sessions: &[Listed], config: &Config) -> Result<()> {
    if sessions.is_empty() {
        return Ok(());
    }
    let rows: Vec<Row> = sessions.iter().map(|session| session.row(config)).collect();
    let width = config.terminals.stdout.map(|size| usize::from(size.cols));
    print(table::render(&rows, width, config.colour))?;
    Ok(())
}
