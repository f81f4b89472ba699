//! The registry: sessions by number and by name, how many there may be, and which one has to end when there are too
//! many.

use crate::session::{Session, WeakSession};
use crate::start::StartError;
use crate::{Lifetime, SessionId};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The size of an engine's registry.
#[derive(Clone, Copy, Debug)]
pub struct RegistryLimits {
    /// The most sessions whose root runs.
    pub running: usize,
    /// The treatment of one more.
    pub full: WhenFull,
    /// The most finished sessions that can still be looked up. One more, and the oldest is forgotten; its journal
    /// stays.
    pub finished: usize,
}

impl Default for RegistryLimits {
    fn default() -> Self {
        Self { running: 2048, full: WhenFull::Evict, finished: 256 }
    }
}

/// The treatment of one session too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// The least recently used running session is ended for it, and its receipt says `evicted`; detached ones are never
    /// chosen.
    Evict,
    /// It is not started.
    Refuse,
}

#[derive(Debug)]
pub(crate) struct Registry {
    sessions: BTreeMap<SessionId, RegistryEntry>,
    names: HashMap<String, SessionId>,
    /// Names of sessions that are being started: no other session may have them meanwhile.
    promised: HashSet<String>,
    /// How many sessions are being started.
    starting: usize,
    /// Sessions that are being ended to make room: they do not count any more, and are not chosen again.
    leaving: HashSet<SessionId>,
    limits: RegistryLimits,
    /// The number of sessions at which finished ones are looked for again.
    look_at: usize,
    closed: bool,
}

/// Sessions that may come before the finished ones among all are counted again.
const LOOK_EVERY: usize = 64;

#[derive(Debug)]
enum RegistryEntry {
    Held(Session),
    /// A `call` session lives only as long as its caller holds it.
    Lent(WeakSession),
}

impl RegistryEntry {
    fn session(&self) -> Option<Session> {
        match self {
            Self::Held(session) => Some(session.clone()),
            Self::Lent(weak) => weak.upgrade(),
        }
    }
}

impl Registry {
    pub(crate) fn new(limits: RegistryLimits) -> Self {
        Self {
            sessions: BTreeMap::new(),
            names: HashMap::new(),
            promised: HashSet::new(),
            starting: 0,
            leaving: HashSet::new(),
            limits,
            look_at: limits.finished,
            closed: false,
        }
    }

    /// Whether one more may start, and the session to end for it. Its name is reserved until it is added or abandoned.
    pub(crate) fn admit(&mut self, name: Option<&str>) -> Result<Option<Session>, StartError> {
        if self.closed {
            return Err(StartError::ShuttingDown);
        }
        self.check_name(name)?;
        let evicted = self.make_room()?;
        self.promised.extend(name.map(str::to_owned));
        self.leaving.extend(evicted.as_ref().map(Session::id));
        self.starting += 1;
        Ok(evicted)
    }

    /// The admitted session did not start, so none has to end for it.
    pub(crate) fn abandon(&mut self, name: Option<&str>, evicted: Option<&Session>) {
        self.starting -= 1;
        name.map(|name| self.promised.remove(name));
        evicted.map(|session| self.leaving.remove(&session.id()));
    }

    /// Whether everything that was admitted has been added or abandoned.
    pub(crate) fn is_settled(&self) -> bool {
        self.starting == 0
    }

    fn make_room(&mut self) -> Result<Option<Session>, StartError> {
        self.forget_finished();
        if self.sessions.len() < self.limits.running {
            return Ok(None);
        }
        let counts = |session: &Session| session.receipt().is_none() && !self.leaving.contains(&session.id());
        let running: Vec<_> = self.all().into_iter().filter(counts).collect();
        if running.len() < self.limits.running {
            return Ok(None);
        }
        let may_go = |session: &Session| {
            self.limits.full == WhenFull::Evict && session.facts().lifetime != Lifetime::Detached
        };
        let least_used =
            running.into_iter().filter(may_go).min_by_key(|session| (session.last_used(), session.id()));
        least_used.map(Some).ok_or(StartError::TooManySessions { limit: self.limits.running })
    }

    fn check_name(&self, name: Option<&str>) -> Result<(), StartError> {
        let Some(name) = name else { return Ok(()) };
        if self.promised.contains(name) {
            return Err(StartError::NameBeingTaken { name: name.to_owned() });
        }
        let holder = self.find(name).filter(|session| session.receipt().is_none());
        match holder {
            Some(holder) => Err(StartError::NameTaken { name: name.to_owned(), holder: holder.id() }),
            None => Ok(()),
        }
    }

    /// Finished sessions beyond the limit are forgotten, the oldest first. Counting them at every start would make a
    /// start dearer the more sessions there are, so up to [`LOOK_EVERY`] more may stay for a while.
    fn forget_finished(&mut self) {
        if self.sessions.len() <= self.look_at {
            return;
        }
        let over: Vec<_> =
            self.sessions.iter().filter(|(_, entry)| is_over(entry)).map(|(id, _)| *id).collect();
        let surplus = over.len().saturating_sub(self.limits.finished);
        for id in over.into_iter().take(surplus) {
            self.sessions.remove(&id);
            self.leaving.remove(&id);
            self.names.retain(|_, holder| *holder != id);
        }
        self.look_at = self.sessions.len() + LOOK_EVERY;
    }

    pub(crate) fn add(&mut self, session: &Session) {
        self.starting -= 1;
        let facts = session.facts();
        if let Some(name) = &facts.name {
            self.promised.remove(name);
            self.names.insert(name.clone(), facts.id);
        }
        let entry = match facts.lifetime {
            Lifetime::Call => RegistryEntry::Lent(session.downgrade()),
            Lifetime::Runtime | Lifetime::Detached => RegistryEntry::Held(session.clone()),
        };
        self.sessions.insert(facts.id, entry);
    }

    pub(crate) fn get(&self, id: SessionId) -> Option<Session> {
        self.sessions.get(&id)?.session()
    }

    pub(crate) fn find(&self, name: &str) -> Option<Session> {
        self.get(*self.names.get(name)?)
    }

    pub(crate) fn all(&self) -> Vec<Session> {
        self.sessions.values().filter_map(RegistryEntry::session).collect()
    }

    /// No more sessions.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// Drops every handle.
    pub(crate) fn clear(&mut self) {
        self.sessions.clear();
        self.names.clear();
    }
}

/// Whether a session needs no further care: dropping one that left processes running would end them.
fn is_over(entry: &RegistryEntry) -> bool {
    entry.session().is_none_or(|session| {
        let progress = session.progress();
        progress.closed && progress.receipt.is_some_and(|receipt| receipt.left_running.is_empty())
    })
}
