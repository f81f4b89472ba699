//! Sessions that outlive this runtime: somebody else keeps them, and calls about them are passed on.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use windlass_engine::SessionId;

use crate::arguments::SessionRef;
use crate::call::{Call, Event, Progress, Reply, SessionSummary};
use crate::ended::{Ended, command};
use crate::held::{Number, Telling};
use crate::owner::Sharing;
use crate::report;
use crate::toolbox::{Numbering, Toolbox};

/// Something that will be there.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Those who keep sessions that outlive this runtime.
pub trait Keepers: Send + Sync {
    /// Has a new keeper carry out a call that starts a session.
    fn start<'a>(&'a self, call: &'a Call) -> Pending<'a, Result<Started, String>>;

    /// Has the keeper of a session carry out a call. `None`: nobody keeps it.
    fn pass_on<'a>(&'a self, session: u64, call: &'a Call) -> Pending<'a, Option<Reply>>;

    /// The sessions that are kept now, by the numbers their callers use.
    fn kept(&self) -> Vec<u64>;
}

/// What a new keeper says.
#[derive(Clone, Debug)]
pub struct Started {
    /// Its answer to the call.
    pub reply: Reply,
    /// The session's number in the store, if there is a session.
    pub id: Option<SessionId>,
}

/// What one caller knows of sessions that others keep.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    started: Mutex<BTreeMap<Number, Known>>,
}

#[derive(Clone, Debug)]
struct Known {
    id: Option<SessionId>,
    name: Option<String>,
    end: Telling,
}

/// How often a caller hears that a call which somebody else carries out is still going on.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

impl Toolbox {
    /// The answer to a call that is not for this runtime; `None` if it is.
    pub(crate) async fn elsewhere(&self, call: &Call) -> Option<Reply> {
        let keepers = self.options().keepers.clone()?;
        match call.tool.as_str() {
            "exec_command" if is_detached(&call.arguments) => Some(self.detach(&*keepers, call).await),
            "write_stdin" | "read_output" | "stop_session" => {
                let number = self.kept_number(&SessionRef::of(call)?)?;
                let mut call = call.clone();
                call.arguments.insert("session_id".into(), number.0.into());
                let reply = alive(&call, keepers.pass_on(number.0, &call)).await?;
                self.note_kept_exit(number, &reply);
                Some(reply)
            }
            _ => None,
        }
    }

    async fn detach(&self, keepers: &dyn Keepers, call: &Call) -> Reply {
        let mut call = call.clone();
        // To its keeper it is an ordinary session: it ends with that runtime.
        call.arguments.insert("lifetime".into(), "runtime".into());
        call.owner = self.owner().map(str::to_owned);
        let name = call.arguments.get("name").and_then(Value::as_str).map(str::to_owned);
        if let Some(holder) =
            name.as_deref().and_then(|name| self.kept_number(&SessionRef::Name(name.to_owned())))
        {
            return Reply::error(format!(
                "name: `{}` is held by session {holder}, which is still running; reach it with write_stdin, or end it \
                 with stop_session first",
                name.unwrap_or_default()
            ));
        }
        let started = match alive(&call, keepers.start(&call)).await {
            Ok(started) => started,
            Err(reason) => {
                return Reply::error(format!("no keeper for a detached session could be started: {reason}"));
            }
        };
        if let Some(number) = started.reply.structured["session"].as_u64().map(Number) {
            self.kept().lock().insert(number, Known { id: started.id, name, end: Telling::Untold });
            self.tell(Event::Started { session: number.to_string() });
            self.note_kept_exit(number, &started.reply);
        }
        started.reply
    }

    /// What this caller had kept by others, running or not.
    pub(crate) fn kept_summaries(&self) -> Vec<SessionSummary> {
        let numbers: Vec<Number> = self.kept().lock().keys().copied().collect();
        let summary = |number: Number| {
            let (_, record) = self.recorded(&SessionRef::Number(number.0))?;
            Some(SessionSummary {
                id: number.to_string(),
                name: record.start.name.clone(),
                command: report::shortened(&command(&record), 200),
                state: record.receipt.as_ref().map_or_else(|| "running".to_owned(), report::ending),
                terminal: record.start.terminal,
            })
        };
        numbers.into_iter().filter_map(summary).collect()
    }

    /// Sessions that this caller had kept by others and that are over, and so are their keepers.
    pub(crate) fn ended_kept(&self) -> Vec<Ended> {
        let reachable = self.reachable();
        let numbers: Vec<Number> = self.kept().lock().keys().copied().collect();
        let gone = numbers.into_iter().filter(|number| !reachable.contains(number));
        gone.filter_map(|number| self.ended(&SessionRef::Number(number.0))).collect()
    }

    /// The number of a session that somebody else keeps, if this caller may reach it.
    pub(crate) fn kept_number(&self, asked: &SessionRef) -> Option<Number> {
        if self.find_held(asked).is_some() {
            return None;
        }
        self.reachable().into_iter().rev().find(|number| match asked {
            SessionRef::Number(_) => asked.means(*number, None),
            // A name may have to be looked up on disk.
            SessionRef::Name(_) => asked.means(*number, self.kept_name(*number).as_deref()),
        })
    }

    /// A caller reaches what it started itself and, where numbers are those of the store, what it may see there.
    pub(crate) fn reachable(&self) -> Vec<Number> {
        let Some(keepers) = &self.options().keepers else { return Vec::new() };
        let mut kept: Vec<Number> = keepers.kept().into_iter().map(Number).collect();
        let started: BTreeSet<Number> = self.kept().lock().keys().copied().collect();
        kept.retain(|number| started.contains(number) || self.may_reach(*number));
        kept.sort();
        kept
    }

    fn may_reach(&self, number: Number) -> bool {
        let Some(store) = &self.options().store else { return false };
        (self.options().numbering == Numbering::Plain || self.options().sharing == Sharing::All)
            && store.load(SessionId::new(number.0)).is_ok_and(|record| self.may_see(&record))
    }

    fn kept_name(&self, number: Number) -> Option<String> {
        let known = self.kept().lock().get(&number).cloned();
        match known {
            Some(known) => known.name,
            None => {
                let store = self.options().store.as_ref()?;
                store.load(SessionId::new(number.0)).ok()?.start.name
            }
        }
    }

    /// The entries of kept sessions for a list.
    pub(crate) async fn kept_entries(&self) -> Vec<Reply> {
        let Some(keepers) = self.options().keepers.clone() else { return Vec::new() };
        let mut entries = Vec::new();
        for number in self.reachable() {
            let reply = keepers.pass_on(number.0, &Call::new("list_sessions", Map::new())).await;
            entries.extend(reply.map(|reply| self.without_own_announcement(number, reply)));
        }
        entries
    }

    /// The end of a session that this caller started is announced from its record. Its keeper announces it, too, to whoever
    /// asks first, and that would be once too often.
    fn without_own_announcement(&self, number: Number, mut reply: Reply) -> Reply {
        if self.kept().lock().contains_key(&number) {
            let announcement = format!("Note: session {number} ");
            reply.text =
                reply.text.split_inclusive('\n').filter(|line| !line.starts_with(&announcement)).collect();
        }
        reply
    }

    /// Waits for one kept session, as `wait_sessions` would.
    pub(crate) async fn wait_kept(&self, number: Number, call: &Call) -> Option<Reply> {
        let keepers = self.options().keepers.clone()?;
        let mut call = call.clone();
        call.arguments.insert("session_ids".into(), json!([number.0]));
        keepers.pass_on(number.0, &call).await
    }

    fn note_kept_exit(&self, number: Number, reply: &Reply) {
        let Some(code) = reply.structured.get("exit_code") else { return };
        if self.kept().tell(number) == Some(Telling::Untold) {
            let line = format!("session {number} exited with code {code}");
            self.tell(Event::Ended { session: number.to_string(), line });
        }
    }

    /// Ends of detached sessions that this caller started and was not told of.
    pub(crate) fn kept_announcements(&self) -> Vec<String> {
        let Some(store) = &self.options().store else { return Vec::new() };
        let mut announcements = Vec::new();
        for (number, known) in self.kept().lock().iter_mut().filter(|(_, known)| known.end == Telling::Untold)
        {
            let record = known.id.and_then(|id| store.load(id).ok());
            if let Some(receipt) = record.and_then(|record| record.receipt) {
                known.end = Telling::Announced;
                let line = format!("session {number} {}", report::ending(&receipt));
                self.tell(Event::Ended { session: number.to_string(), line: line.clone() });
                announcements.push(line);
            }
        }
        announcements
    }
}

impl Kept {
    /// The session that is meant, and its number in the store.
    pub(crate) fn find(&self, asked: &SessionRef) -> Option<(Number, SessionId)> {
        let started = self.lock();
        let found = started.iter().rev().find(|(number, known)| asked.means(**number, known.name.as_deref()));
        found.and_then(|(number, known)| Some((*number, known.id?)))
    }

    /// Notes that the end of a session is told, and says what its caller knew before.
    pub(crate) fn tell(&self, number: Number) -> Option<Telling> {
        self.lock().get_mut(&number).map(|known| std::mem::replace(&mut known.end, Telling::Told))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Number, Known>> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_detached(arguments: &Map<String, Value>) -> bool {
    arguments.get("lifetime").and_then(Value::as_str) == Some("detached")
}

/// Waits for somebody else, telling whoever listens that the call is still going on.
pub(crate) async fn alive<T>(call: &Call, answer: Pending<'_, T>) -> T {
    let Some(tell) = &call.progress else { return answer.await };
    let tell: &Arc<dyn Fn(Progress) + Send + Sync> = tell;
    let began = Instant::now();
    let mut answer = answer;
    loop {
        // timer: whoever listens wants a sign of life.
        match tokio::time::timeout(SIGN_OF_LIFE, &mut answer).await {
            Ok(answer) => return answer,
            Err(_) => tell(Progress { elapsed: began.elapsed(), bytes: 0, last_line: String::new() }),
        }
    }
}
