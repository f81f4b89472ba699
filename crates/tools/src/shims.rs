//! Sessions that outlive this runtime: each is run by its shim, and calls about it are passed on.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tokio::task::JoinSet;
use windlass_engine::{LoadRecord, Presence, SessionId, SessionRecord};

use crate::archived::{Ended, command};
use crate::arguments::SessionRef;
use crate::call::{Call, Progress, Reply, SessionEvent, SessionSummary};
use crate::delivery::Delivery;
use crate::live_session::{EndAnnounced, LiveSession, Number};
use crate::owner::Sharing;
use crate::report;
use crate::tool::{ToolError, note_lines};
use crate::toolbox::{Numbering, Toolbox};

/// A boxed future of a result.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Access to the shims of detached sessions.
pub trait Shims: Send + Sync {
    /// Has a new shim carry out a call that starts a session.
    fn start<'a>(&'a self, call: &'a Call) -> Pending<'a, Result<ShimStarted, String>>;

    /// Has the shim of a session carry out a call. Returns an outcome even if the shim dies meanwhile.
    fn pass_on<'a>(&'a self, session: u64, call: &'a Call) -> Pending<'a, PassedOn>;

    /// Forgets a dead shim. Until then its session is listed among the detached ones.
    fn forget(&self, session: u64);

    /// The detached sessions that have a shim now, by the numbers that their callers use.
    ///
    /// # Errors
    ///
    /// If they cannot be listed: the reason, and the directory.
    fn kept(&self) -> Result<Vec<u64>, String>;
}

/// The outcome of a call that was passed on to the shim of a session.
#[derive(Clone, Debug)]
pub enum PassedOn {
    /// The shim answered.
    Answered(Reply),
    /// No shim runs this session.
    NotKept,
    /// The shim is dead and did not exit in order: it was killed.
    Died,
    /// The shim is alive and did not carry the call out.
    Failed(ShimFailure),
}

/// A living shim that cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShimFailure {
    /// The shim's process, if the kernel shows it.
    pub pid: Option<u32>,
    /// The problem, as the end of a sentence that begins with the shim.
    pub problem: String,
    /// Advice for the caller.
    pub remedy: String,
}

impl ShimFailure {
    /// The session's state, as far as it is known.
    fn state(&self) -> String {
        format!("running, its runtime{} {}", self.process(), self.problem)
    }

    fn process(&self) -> String {
        self.pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
    }

    fn sentence(&self, number: Number) -> String {
        format!("session {number} is {}; {}", self.state(), self.remedy)
    }

    fn reply(&self, number: Number) -> Reply {
        let mut reply = Reply::error(format!(
            "{}; the call was not carried out; read_output still reads what it has printed",
            self.sentence(number)
        ));
        reply.structured["session"] = number.into();
        reply.structured["state"] = self.state().into();
        reply.structured["runtime_pid"] = self.pid.into();
        reply
    }
}

/// The result of a new shim's start.
#[derive(Clone, Debug)]
pub struct ShimStarted {
    /// Its reply to the call.
    pub reply: Reply,
    /// The session's number in the store, if there is a session.
    pub id: Option<SessionId>,
}

/// One caller's knowledge of detached sessions.
#[derive(Debug, Default)]
pub(crate) struct DetachedSessions {
    started: Mutex<BTreeMap<Number, Known>>,
}

#[derive(Clone, Debug)]
struct Known {
    id: Option<SessionId>,
    name: Option<String>,
    end: EndAnnounced,
}

/// The interval of progress reports while a shim carries out a call.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// How long a list waits for shims, all of them together.
const LISTED_WITHIN: Duration = Duration::from_secs(5);

impl ShimFailure {
    /// The failure of a shim that has not answered in time.
    pub fn late(within: Duration) -> Self {
        let problem = format!("does not answer within {}", report::seconds(within));
        let remedy = "ask again later, or end it with `windlass stop`".to_owned();
        Self { pid: None, problem, remedy }
    }

    /// The state of its session, for lists.
    pub(crate) fn outcome(&self, number: Number) -> (String, Value) {
        let state = self.state();
        let json =
            json!({ "session": number.0, "state": state, "runtime_pid": self.pid, "unread_tokens": 0 });
        (format!("{number}: {state}; {}\n", self.remedy), json)
    }
}

impl Toolbox {
    /// The reply to a call that a shim or another runtime carries out; `None` if this runtime does.
    pub(crate) async fn elsewhere(&self, call: &Call) -> Option<Reply> {
        let shims = self.options().shims.clone()?;
        match call.tool.as_str() {
            "exec_command" if is_detached(&call.arguments) => Some(self.detach(&*shims, call).await),
            "write_stdin" | "read_output" | "stop_session" => {
                let number = self.kept_number(&SessionRef::of(call)?)?;
                let mut call = call.clone();
                call.arguments.insert("session_id".into(), number.0.into());
                match alive(&call, shims.pass_on(number.0, &call)).await {
                    PassedOn::Answered(reply) => {
                        self.note_kept_exit(number, &reply, &call.delivery);
                        Some(reply)
                    }
                    PassedOn::NotKept => None,
                    PassedOn::Died => {
                        self.forget_unless_lost(&*shims, number);
                        None
                    }
                    PassedOn::Failed(failure) if call.tool == "read_output" => {
                        // Its journal can be read without the shim.
                        self.remark_now(failure.sentence(number));
                        None
                    }
                    PassedOn::Failed(failure) => Some(failure.reply(number)),
                }
            }
            _ => None,
        }
    }

    async fn detach(&self, shims: &dyn Shims, call: &Call) -> Reply {
        let mut call = call.clone();
        // To its shim it is an ordinary session: it ends with that runtime.
        call.arguments.insert("lifetime".into(), "runtime".into());
        call.owner = self.owner().map(str::to_owned);
        let name = call.arguments.get("name").and_then(Value::as_str).map(str::to_owned);
        // The new shim checks whether the name is free: it claims the name on disk.
        let started = match alive(&call, shims.start(&call)).await {
            Ok(started) => started,
            Err(reason) => {
                return Reply::error(format!("no shim for a detached session could be started: {reason}"));
            }
        };
        if let Some(number) = started.reply.structured["session"].as_u64().map(Number) {
            self.kept().lock().insert(number, Known { id: started.id, name, end: EndAnnounced::Untold });
            self.tell(SessionEvent::Started { session: number.to_string() });
            self.note_kept_exit(number, &started.reply, &call.delivery);
        }
        started.reply
    }

    /// The detached sessions of this caller, running or not.
    pub(crate) fn kept_summaries(&self) -> Vec<SessionSummary> {
        let numbers: Vec<Number> = self.kept().lock().keys().copied().collect();
        let summary = |number: Number| {
            let record = match self.recorded(&SessionRef::Number(number.0)) {
                Ok(found) => found?.1,
                // It was started, so it is listed; nothing else is known of it.
                Err(ToolError(reason)) => {
                    let (id, state) = (number.to_string(), report::shortened(&reason, 200));
                    return Some(SessionSummary {
                        id,
                        name: None,
                        command: String::new(),
                        state,
                        terminal: false,
                    });
                }
            };
            Some(SessionSummary {
                id: number.to_string(),
                name: record.start.name.clone(),
                command: report::shortened(&command(&record), 200),
                state: match &record.receipt {
                    Some(receipt) => report::ending(receipt),
                    None => loss(&record).unwrap_or_else(|| "running".to_owned()),
                },
                terminal: record.start.terminal,
            })
        };
        numbers.into_iter().filter_map(summary).collect()
    }

    /// Detached sessions of this caller that are over, and whose shims have exited.
    pub(crate) fn ended_kept(&self) -> Vec<Ended> {
        let reachable = self.reachable();
        let numbers: Vec<Number> = self.kept().lock().keys().copied().collect();
        let gone = numbers.into_iter().filter(|number| !reachable.contains(number));
        gone.filter_map(|number| self.ended(&SessionRef::Number(number.0))).collect()
    }

    /// The number of a detached session, if this caller may reach it.
    pub(crate) fn kept_number(&self, asked: &SessionRef) -> Option<Number> {
        // A name belongs to the running session: a finished one of this runtime does not hide a detached one.
        let is_own = |held: Arc<LiveSession>| {
            matches!(asked, SessionRef::Number(_)) || held.session.receipt().is_none()
        };
        if self.find_held(asked).is_some_and(is_own) {
            return None;
        }
        self.reachable().into_iter().rev().find(|number| match asked {
            SessionRef::Number(_) => asked.means(*number, None),
            // A name may have to be looked up on disk.
            SessionRef::Name(_) => asked.means(*number, self.kept_name(*number).as_deref()),
        })
    }

    /// The detached sessions that the caller may reach: those that it started itself and, if numbers are those of the
    /// store, those that it may see there. If the shims cannot be listed it reaches none; [`Toolbox::blind_spots`] says
    /// so.
    pub(crate) fn reachable(&self) -> Vec<Number> {
        let Some(shims) = &self.options().shims else { return Vec::new() };
        let mut kept: Vec<Number> = shims.kept().unwrap_or_default().into_iter().map(Number).collect();
        let started: BTreeSet<Number> = self.kept().lock().keys().copied().collect();
        kept.retain(|number| started.contains(number) || self.may_reach(*number));
        kept.sort();
        kept
    }

    /// Reasons why this caller may not see all sessions, one sentence each: shims that cannot be listed, unreadable
    /// records.
    pub(crate) fn blind_spots(&self) -> Vec<String> {
        let kept = self.options().shims.as_ref().map(|shims| shims.kept());
        let mut spots = match kept {
            Some(Ok(kept)) => kept.into_iter().filter_map(|number| self.unreadable_kept(number)).collect(),
            Some(Err(reason)) => {
                vec![format!("detached sessions cannot be listed, and may be running: {reason}")]
            }
            None => Vec::new(),
        };
        // Only a caller that shares all sees sessions that have nothing but a record.
        if self.options().others.is_some() {
            spots.extend(self.unreadable_records());
        }
        spots
    }

    fn unreadable_kept(&self, number: u64) -> Option<String> {
        let store = self.options().store.as_ref().filter(|_| self.options().numbering == Numbering::Plain)?;
        match store.load(SessionId::new(number)) {
            Ok(_) | Err(LoadRecord::NotFound { .. }) => None,
            Err(error) => {
                let reason = error.with_remedy();
                Some(format!(
                    "a detached session runs as {number}, and it cannot be known whose it is: {reason}"
                ))
            }
        }
    }

    /// Only its record names the client of a session: one that cannot be read is shown to callers that may see all.
    /// [`Toolbox::blind_spots`] reports such a record to the other callers.
    fn may_reach(&self, number: Number) -> bool {
        let Some(store) = &self.options().store else { return false };
        let shares_all = self.options().sharing == Sharing::All;
        if self.options().numbering != Numbering::Plain && !shares_all {
            return false;
        }
        match store.load(SessionId::new(number.0)) {
            Ok(record) => self.may_see(&record),
            Err(_) => shares_all,
        }
    }

    fn kept_name(&self, number: Number) -> Option<String> {
        let known = self.kept().lock().get(&number).cloned();
        match known {
            Some(known) => known.name,
            None => {
                let store = self.options().store.as_ref()?;
                // A session whose record cannot be read is reached by its number alone.
                store.load(SessionId::new(number.0)).ok()?.start.name
            }
        }
    }

    /// The list entries of detached sessions. All shims are asked at once, and not for long: a stopped shim holds up
    /// nothing.
    pub(crate) async fn kept_entries(&self, delivery: &Delivery) -> Vec<Reply> {
        let Some(shims) = self.options().shims.clone() else { return Vec::new() };
        let mut asked = JoinSet::new();
        for number in self.reachable() {
            let shims = Arc::clone(&shims);
            asked.spawn(async move {
                let call = Call::new("list_sessions", Map::new());
                // timer: the list is for finding a session again, and must come.
                let passed = tokio::time::timeout(LISTED_WITHIN, shims.pass_on(number.0, &call)).await;
                (number, passed.unwrap_or_else(|_| PassedOn::Failed(ShimFailure::late(LISTED_WITHIN))))
            });
        }
        let mut answers = asked.join_all().await;
        answers.sort_by_key(|(number, _)| *number);
        let entry = |(number, passed)| match passed {
            PassedOn::Answered(mut reply) => {
                delivery.adopt(std::mem::take(&mut reply.delivery));
                Some(self.without_own_announcement(number, reply))
            }
            PassedOn::NotKept => None,
            PassedOn::Died => {
                self.forget_unless_lost(&*shims, number).map(|record| lost_entry(number, &record))
            }
            PassedOn::Failed(failure) => Some(self.entry_without_shim(number, failure)),
        };
        answers.into_iter().filter_map(entry).collect()
    }

    /// The record of a session whose shim was killed before it recorded the end. Any other dead shim is forgotten; the
    /// entry of a lost session's shim shows later callers the loss, until the record is removed.
    fn forget_unless_lost(&self, shims: &dyn Shims, number: Number) -> Option<SessionRecord> {
        let lost = self.kept_record(number).filter(|record| loss(record).is_some());
        if lost.is_none() {
            shims.forget(number.0);
        }
        lost
    }

    /// The state of a session whose shim was killed before it recorded the end; `None` for any other.
    pub(crate) fn kept_loss(&self, number: Number) -> Option<String> {
        self.kept_record(number).as_ref().and_then(loss)
    }

    fn kept_record(&self, number: Number) -> Option<SessionRecord> {
        let id =
            self.kept().lock().get(&number).and_then(|known| known.id).unwrap_or(SessionId::new(number.0));
        self.options().store.as_ref().and_then(|store| store.load(id).ok())
    }

    /// The list entry of a session whose shim does not answer: from its record, if that can be read.
    fn entry_without_shim(&self, number: Number, mut failure: ShimFailure) -> Reply {
        let record = self.kept_record(number);
        failure.pid = failure.pid.or_else(|| record.as_ref().map(|record| record.start.runtime.pid));
        let mut entry = json!({ "session": number.0, "runtime_pid": failure.pid, "unread_tokens": 0 });
        let text = match &record {
            Some(record) => {
                let over = record.receipt.as_ref().map(report::ending);
                let state = over.unwrap_or_else(|| failure.state());
                entry["state"] = state.as_str().into();
                entry["name"] = record.start.name.clone().into();
                entry["command"] = command(record).into();
                report::session_line(&number, &state, &command(record), &record.start)
            }
            None => {
                entry["state"] = failure.state().into();
                format!("{number}: {}\n", failure.state())
            }
        };
        let text = text + &note_lines(&[format!("session {number}: {}", failure.remedy)]);
        Reply::new(text, json!({ "sessions": [entry] }))
    }

    /// Removes the shim's announcement from a reply. This runtime announces, from the record, the end of a session that
    /// this caller started; the shim announces it, too, to the first client that asks, and that would be a second time.
    fn without_own_announcement(&self, number: Number, mut reply: Reply) -> Reply {
        if self.kept().lock().contains_key(&number) {
            let announcement = format!("Note: session {number} ");
            reply.text =
                reply.text.split_inclusive('\n').filter(|line| !line.starts_with(&announcement)).collect();
        }
        reply
    }

    /// Waits for one detached session, as `wait_sessions` would.
    pub(crate) async fn wait_kept(&self, number: Number, call: &Call) -> PassedOn {
        let Some(shims) = self.options().shims.clone() else { return PassedOn::NotKept };
        let mut call = call.clone();
        call.arguments.insert("session_ids".into(), json!([number.0]));
        let mut passed = shims.pass_on(number.0, &call).await;
        if let PassedOn::Answered(reply) = &mut passed {
            call.delivery.adopt(std::mem::take(&mut reply.delivery));
        }
        passed
    }

    fn note_kept_exit(&self, number: Number, reply: &Reply, delivery: &Delivery) {
        let Some(code) = reply.structured.get("exit_code") else { return };
        if self.tell_kept_end(number, delivery) == Some(EndAnnounced::Untold) {
            let line = format!("session {number} exited with code {code}");
            self.tell(SessionEvent::Ended { session: number.to_string(), line });
        }
    }

    /// Notes that a reply reports the end of a session, and returns the earlier state.
    pub(crate) fn tell_kept_end(&self, number: Number, delivery: &Delivery) -> Option<EndAnnounced> {
        let before = self.kept().set_end(number, EndAnnounced::Told)?;
        self.untell_on_loss(number, before, delivery);
        Some(before)
    }

    fn untell_on_loss(&self, number: Number, before: EndAnnounced, delivery: &Delivery) {
        let toolbox = self.clone();
        delivery.on_loss(move || {
            toolbox.kept().set_end(number, before);
        });
    }

    /// Announces ends of detached sessions that this caller started and that no reply has reported.
    pub(crate) fn kept_announcements(&self, delivery: &Delivery) -> Vec<String> {
        let Some(store) = &self.options().store else { return Vec::new() };
        let mut announcements = Vec::new();
        for (number, known) in
            self.kept().lock().iter_mut().filter(|(_, known)| known.end == EndAnnounced::Untold)
        {
            let record = known.id.and_then(|id| store.load(id).ok());
            if let Some(receipt) = record.and_then(|record| record.receipt) {
                known.end = EndAnnounced::Announced;
                let line = format!("session {number} {}", report::ending(&receipt));
                self.tell(SessionEvent::Ended { session: number.to_string(), line: line.clone() });
                announcements.push((*number, line));
            }
        }
        for (number, _) in &announcements {
            self.untell_on_loss(*number, EndAnnounced::Untold, delivery);
        }
        announcements.into_iter().map(|(_, line)| line).collect()
    }
}

impl DetachedSessions {
    /// The session that is meant, and its number in the store.
    pub(crate) fn find(&self, asked: &SessionRef) -> Option<(Number, SessionId)> {
        let started = self.lock();
        let found = started.iter().rev().find(|(number, known)| asked.means(**number, known.name.as_deref()));
        found.and_then(|(number, known)| Some((*number, known.id?)))
    }

    /// Sets how far the end of a session was announced, and returns the earlier state.
    fn set_end(&self, number: Number, end: EndAnnounced) -> Option<EndAnnounced> {
        self.lock().get_mut(&number).map(|known| std::mem::replace(&mut known.end, end))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Number, Known>> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state of a session whose runtime died before it recorded the end; `None` for any other.
pub(crate) fn loss(record: &SessionRecord) -> Option<String> {
    let is_lost = record.receipt.is_none() && matches!(record.start.runtime.presence(), Presence::Gone);
    let pid = record.start.runtime.pid;
    is_lost.then(|| {
        format!("lost, its runtime (process {pid}) was killed and its guardian ends what the session started")
    })
}

fn lost_entry(number: Number, record: &SessionRecord) -> Reply {
    let state = loss(record).unwrap_or_default();
    let text = report::session_line(&number, &state, &command(record), &record.start);
    let entry = json!({
        "session": number.0,
        "name": record.start.name,
        "command": command(record),
        "cwd": record.start.cwd.display().to_string(),
        "state": state,
        "started": report::moment(record.start.started),
        "unread_tokens": 0,
    });
    Reply::new(text, json!({ "sessions": [entry] }))
}

fn is_detached(arguments: &Map<String, Value>) -> bool {
    arguments.get("lifetime").and_then(Value::as_str) == Some("detached")
}

/// Waits for another process, and reports to the caller that the call is still going on.
pub(crate) async fn alive<T>(call: &Call, answer: Pending<'_, T>) -> T {
    let Some(tell) = &call.progress else { return answer.await };
    let tell: &Arc<dyn Fn(Progress) + Send + Sync> = tell;
    let began = Instant::now();
    let mut answer = answer;
    loop {
        // timer: the caller wants a sign of life.
        match tokio::time::timeout(SIGN_OF_LIFE, &mut answer).await {
            Ok(answer) => return answer,
            Err(_) => tell(Progress { elapsed: began.elapsed(), bytes: 0, tail: Vec::new() }),
        }
    }
}
