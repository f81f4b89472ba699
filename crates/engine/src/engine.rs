//! The engine: starts sessions, registers them, and ends them all.

mod helper_process;
mod one_shot;
mod registered;
mod seat;
mod watched;

pub use helper_process::HelperProcess;
pub use one_shot::{Brought, OneShot, OneShotBounds, OneShotError, hand_over};

use self::seat::PreparedSession;
use self::watched::ReactorEnds;
use crate::command::{CommandSpec, Io, Stdin};
use crate::confined::{Confined, Watchers};
use crate::egress;
use crate::guard::{Guard, Standing};
use crate::limits::{
    self as use_limits, Bounds, Cgroups, LimitEnforcer, LimitEnforcerOptions, RuntimeLimits,
};
use crate::orphans::{self, Orphans};
use crate::progress::Progress;
use crate::reactor;
use crate::registry::{Registry, RegistryLimits};
use crate::session::{
    Drain, KillDelays, KillTarget, Limits, LiveScreen, MOST_ROOMY, Session, SessionFacts, SessionTask,
    Shared, TargetScope, TaskState, TreeEnd, end_tree,
};
use crate::spare::SpareDescriptors;
use crate::start::{self, Launched, Placement, StartError};
use crate::store::Registration;
use crate::{
    Cause, Journal, Lifetime, Offset, ProcessKey, Retention, SessionId, Size, StartRecord, Store,
    TerminalSizes,
};
use rustix::io::Errno;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinSet;
use windlass_proxy::allow::EntryError;
use windlass_proxy::environment::remark_on_loopback;
use windlass_sandbox::{NamespacePool, Plan, PlanError, Policy, PolicyContext, StreamKind};
use windlass_sys::clock;
use windlass_sys::limits::{self, OpenFiles};
use windlass_sys::mark::RuntimeTag;
use windlass_sys::process::{Pid, Process};
use windlass_sys::signal::Signal;

/// The settings of an engine.
#[derive(Debug, Default)]
pub struct EngineOptions {
    /// The store of journals and records; without one they are in memory.
    pub store: Option<Store>,
    /// When the oldest sessions are removed from the store.
    pub pruning: Pruning,
    /// The retention of each session's output.
    pub retention: Retention,
    /// The times between TERM, KILL and giving up.
    pub patience: KillDelays,
    /// How long output is waited for after the root's exit.
    pub drain: Drain,
    /// How many sessions there may be.
    pub limits: RegistryLimits,
    /// The process that ends the remaining processes when this one dies.
    pub guard: Guard,
    /// The namespaces that confined commands need; without them no confined command can start.
    pub grounds: Option<Arc<NamespacePool>>,
    /// The helpers that are started before they are needed.
    pub ahead: Ahead,
    /// The limits of each session, whatever its command says.
    pub each: crate::Limits,
    /// The limits of all sessions together.
    pub together: RuntimeLimits,
    /// The control groups that may enforce those limits.
    pub cgroups: Cgroups,
}

/// When an engine removes the oldest sessions from its store.
#[derive(Clone, Copy, Debug, Default)]
pub enum Pruning {
    /// Never: another process prunes the store.
    #[default]
    Never,
    /// Now and then: the oldest sessions without a handle are removed. The function says whether the process that runs
    /// a session is alive.
    NowAndThen(fn(ProcessKey) -> bool),
}

/// The helpers that an engine starts before they are needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ahead {
    /// Nothing: there may be no next command.
    #[default]
    Nothing,
    /// After each confined command, the helper for the next one.
    OneHelper,
}

/// Runs commands. A handle: clones share the engine, and when the last one goes, so do its sessions.
#[derive(Clone, Debug)]
pub struct Engine {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    store: Option<Arc<Store>>,
    pruning: Pruning,
    retention: Retention,
    limits: Limits,
    registry: Mutex<Registry>,
    tasks: Mutex<JoinSet<()>>,
    runtime_tag: RuntimeTag,
    sequence: AtomicU32,
    open_files: OpenFiles,
    own: ProcessKey,
    /// The registration by which the next Windlass finds this runtime's processes; `None` without a store, or if
    /// processes could not be recognised by it.
    registration: Option<Arc<Registration>>,
    next_id: AtomicU64,
    next_unlisted: AtomicU64,
    spare: Arc<SpareDescriptors>,
    /// Permits for output sources that may use a large buffer and a pause to coalesce reads.
    roomy: Arc<Semaphore>,
    orphans: Arc<Orphans>,
    grounds: Option<Arc<NamespacePool>>,
    /// Whether helpers for confined commands are started ahead of time.
    ahead: bool,
    watchers: Arc<Watchers>,
    runtime: tokio::runtime::Handle,
    /// Notified when a start that was under way at the shutdown is over.
    settled: Notify,
    fence: Arc<LimitEnforcer>,
    guard: Standing,
}

/// Why an engine could not be made.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The guardian, which ends this process's sessions when it dies, could not be started.
    #[error("cannot start the guardian process: {source}")]
    Guardian {
        /// The error of the system.
        #[source]
        source: Errno,
    },
    /// Without marks, the processes of a session could be neither found nor ended.
    #[error(
        "processes cannot be marked: the limit on file locks (ulimit -x) is too low; it must be unlimited"
    )]
    CannotMark,
}

/// Why a command could not be confined, and so must not be started.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// The engine was made without the namespaces and the helper that confined commands need.
    #[error("this runtime was made without a helper for sandboxes")]
    NoHelper,
    /// An entry of the list of hosts is invalid.
    #[error("the sandbox's list of hosts: {0}")]
    Hosts(#[from] EntryError),
    /// The policy cannot be enforced on this machine.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// The first number of a session in an engine without a store.
const FIRST_IN_MEMORY: u64 = 1001;
/// The first number of a session whose state directory could not give one: far above any that it will ever give.
const FIRST_WITHOUT_STORE: u64 = 9_000_000_001;
/// The first number of a session that was asked to stay in memory: it must not leave a hole among the others.
const FIRST_UNLISTED: u64 = 8_000_000_001;

impl Engine {
    /// Makes an engine. Must be called inside a tokio runtime, which runs its sessions.
    pub fn new(options: EngineOptions) -> Result<Self, EngineError> {
        let runtime_tag = RuntimeTag::generate();
        if !runtime_tag.can_mark() {
            return Err(EngineError::CannotMark);
        }
        let open_files = limits::raise_open_files();
        let orphans = Arc::new(Orphans::adopt(runtime_tag));
        let own = ProcessKey::of(Pid::of_this_process());
        let registration =
            options.store.as_ref().and_then(|store| store.registration(runtime_tag, own)).map(Arc::new);
        let guard = options.guard.stand(runtime_tag, registration.as_deref().map(Registration::path));
        let guard = guard.map_err(|source| EngineError::Guardian { source })?;
        tokio::spawn(orphans::collect(Arc::clone(&orphans)));
        let first_id = if options.store.is_some() { FIRST_WITHOUT_STORE } else { FIRST_IN_MEMORY };
        let fence = LimitEnforcerOptions {
            each: options.each,
            together: options.together,
            cgroups: options.cgroups,
            runtime_tag,
        };
        let inner = Inner {
            store: options.store.map(Arc::new),
            pruning: options.pruning,
            retention: options.retention,
            limits: Limits { patience: options.patience, drain: options.drain },
            registry: Mutex::new(Registry::new(options.limits)),
            tasks: Mutex::new(JoinSet::new()),
            runtime_tag,
            sequence: AtomicU32::new(1),
            open_files,
            own,
            registration,
            next_id: AtomicU64::new(first_id),
            next_unlisted: AtomicU64::new(FIRST_UNLISTED),
            spare: Arc::new(SpareDescriptors::keep()),
            roomy: Arc::new(Semaphore::new(MOST_ROOMY)),
            orphans,
            grounds: options.grounds,
            ahead: options.ahead == Ahead::OneHelper,
            watchers: Arc::default(),
            runtime: tokio::runtime::Handle::current(),
            settled: Notify::new(),
            fence: Arc::new(LimitEnforcer::new(fence)),
            guard,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The plan for a policy and a command in these surroundings; `None` if there is nothing to enforce.
    pub fn confine(
        &self,
        policy: &Policy,
        surroundings: &PolicyContext,
    ) -> Result<Option<Arc<Plan>>, ConfineError> {
        let Policy::Confined(confined) = policy else { return Ok(None) };
        let hosts = egress::hosts(&confined.network).transpose()?;
        let grounds = self.inner.grounds.as_deref().ok_or(ConfineError::NoHelper)?;
        let mut plan = windlass_sandbox::plan_for(confined, surroundings, grounds)?;
        plan.remarks.extend(hosts.as_ref().and_then(remark_on_loopback));
        Ok(Some(Arc::new(plan)))
    }

    /// Starts a command, on the runtime the engine was made in. On error nothing of it is left: no process, no file, no
    /// name.
    pub fn start(&self, mut spec: CommandSpec) -> Result<Session, StartError> {
        let _runtime = self.inner.runtime.enter();
        let name = spec.name.clone();
        let evicted = self.registry().admit(name.as_deref())?;
        let mut seat = self.inner.seat(spec.lifetime, spec.keeping);
        if let Some(variable) = spec.number_in.take() {
            spec.environment.push((variable, seat.id.to_string().into()));
        }
        let sequence = seat.mark.sequence();
        let unregistered = self.inner.register();
        self.inner.orphans.roots.starting(sequence);
        let sandbox = spec.sandbox.clone();
        let streams = match spec.io {
            Io::Terminal(_) => StreamKind::Terminal,
            Io::Pipes(_) => StreamKind::Pipes,
        };
        let started = self.inner.claim_name(&spec, &mut seat).and_then(|()| self.launch(spec, seat));
        match &started {
            Ok(session) => self.registry().add(session),
            Err(_) => {
                self.inner.orphans.roots.gone(sequence);
                self.registry().abandon(name.as_deref(), evicted.as_ref());
            }
        }
        self.inner.settled.notify_waiters();
        let session = started?;
        // After the record is begun: if the disk refuses both, the note is about the record, which is the greater loss.
        unregistered.into_iter().for_each(|trouble| session.shared.note_trouble(trouble));
        if let Some(plan) = sandbox {
            self.inner.prepare_helper(plan, streams);
        }
        if let Some(evicted) = evicted {
            self.spawn(async move { drop(evicted.stop_because(Cause::Evicted).await) });
        }
        Ok(session)
    }

    fn launch(&self, spec: CommandSpec, seat: PreparedSession) -> Result<Session, StartError> {
        let (mark, open_files) = ((self.inner.runtime_tag, seat.mark), self.inner.open_files);
        let grounds = self.inner.grounds.as_deref();
        let limits = self.inner.fence.effective(spec.limits);
        let (launched, bounds) = self
            .inner
            .fence
            .launch(limits, |held| start::launch(&spec, &Placement { mark, open_files, grounds, held }))?;
        let Launched { process, ends, confined, door } = launched;
        self.inner.watchers.add(confined.own_processes(), self.inner.runtime_tag);
        let unborn = KillOnDrop(Some(Arc::new(process)));
        let not_watched = |errno| StartError::system("watch the process", errno);
        let ReactorEnds { outputs, mut input } = ReactorEnds::new(ends, &spec.io).map_err(not_watched)?;
        let root = unborn.watch().map_err(not_watched)?;
        let born = Born { root: root.get_ref(), bounds, confined };
        let (session, requests) = Session::new(self.shared(&spec, seat, born));
        self.record_start(&session);
        if let Io::Pipes(Stdin::Bytes(bytes)) = spec.io {
            input.preload(bytes);
        }
        let shared = Arc::clone(&session.shared);
        if let Some(door) = door {
            self.spawn(door.stand(Arc::downgrade(&shared)));
        }
        // Before the task runs: it may be over, and gone from the roots, before this function is.
        self.inner.orphans.roots.started(shared.mark, root.get_ref().pid());
        let last_words = LastWords { shared: Arc::clone(&shared), fence: Arc::clone(&self.inner.fence) };
        let task = SessionTask { shared, root, outputs, input, requests, life: TaskState::default() };
        self.spawn(async move {
            let _last_words = last_words;
            task.run().await;
        });
        if self.inner.fence.enlist(&session) {
            self.spawn(use_limits::watch(Arc::clone(&self.inner.fence)));
        }
        Ok(session)
    }

    fn shared(&self, spec: &CommandSpec, seat: PreparedSession, born: Born<'_>) -> Shared {
        let Born { root, bounds, confined } = born;
        let terminal = match &spec.io {
            Io::Terminal(terminal) => Some(terminal.size),
            Io::Pipes(_) => None,
        };
        let started = Instant::now();
        let journal = match &seat.store {
            Some(store) => store.journal(seat.id, self.inner.retention),
            None => Journal::in_memory(self.inner.retention),
        };
        terminal.into_iter().for_each(|size| journal.set_terminal(TerminalSizes::new(size)));
        let facts = SessionFacts {
            id: seat.id,
            name: spec.name.clone(),
            argv: spec.argv.clone(),
            script: spec.script.clone(),
            withheld: spec.withheld.clone(),
            owner: spec.owner.clone(),
            directory: spec.directory.clone(),
            terminal,
            lifetime: spec.lifetime,
            root: root.pid(),
            started: clock::wall(),
            sandbox: spec.sandbox.clone(),
            limits: bounds.limits(),
        };
        Shared {
            facts,
            journal,
            progress: watch::Sender::new(Progress::at_start(started)),
            life: watch::Sender::new(()),
            story: watch::Sender::new(()),
            started,
            timeout: spec.timeout.into_iter().chain(bounds.wall()).min(),
            bounds,
            pace: spec.pace,
            lifetime: spec.lifetime,
            limits: self.inner.limits,
            runtime_tag: self.inner.runtime_tag,
            mark: seat.mark,
            root: Arc::downgrade(root),
            spare: Arc::clone(&self.inner.spare),
            roomy: Arc::clone(&self.inner.roomy),
            orphans: Arc::clone(&self.inner.orphans),
            store: seat.store,
            screen: Mutex::new(LiveScreen::of_size(terminal.unwrap_or_default())),
            touched: AtomicU64::new(0),
            trouble: Mutex::new(seat.trouble),
            name_claim: Mutex::new(seat.name_claim),
            confined,
            watchers: Arc::clone(&self.inner.watchers),
        }
    }

    fn record_start(&self, session: &Session) {
        let Some(store) = &session.shared.store else { return };
        let facts = session.facts();
        let record = StartRecord {
            id: facts.id,
            name: facts.name.clone(),
            argv: facts.argv.clone(),
            script: facts.script.as_deref().map(beginning),
            withheld: facts.withheld.clone(),
            owner: facts.owner.clone(),
            cwd: facts.directory.clone(),
            terminal: facts.terminal.is_some(),
            lifetime: facts.lifetime,
            sandbox: facts.sandbox.as_deref().map(summary),
            started: facts.started,
            runtime: self.inner.own,
            root: ProcessKey::of(facts.root),
            mark: self.inner.runtime_tag.halves(session.shared.mark).map(|_| session.shared.mark),
            limits: facts.limits,
        };
        // The command runs all the same; a note says that it will not be listed later.
        if let Err(error) = store.begin(&record) {
            session.shared.note_trouble(crate::with_causes(&error));
        }
        // Without a size in the record, the usual one is read: most terminals need no second write.
        if let Some(size) = facts.terminal.filter(|size| *size != Size::default()) {
            session.shared.record_size(Offset::ZERO, size);
        }
        self.remove_the_oldest(store);
    }

    fn remove_the_oldest(&self, store: &Arc<Store>) {
        let Pruning::NowAndThen(is_alive) = self.inner.pruning else { return };
        if store.is_pruning_due() {
            let store = Arc::clone(store);
            // Whatever one run of pruning does not reach, the next one does.
            self.inner.runtime.spawn_blocking(move || drop(store.prune(is_alive)));
        }
    }

    /// The session with this number, if it is still known.
    pub fn session(&self, id: SessionId) -> Option<Session> {
        self.registry().get(id)
    }

    /// The session that has this name now.
    pub fn find(&self, name: &str) -> Option<Session> {
        self.registry().find(name)
    }

    /// Every session that is known, oldest first.
    pub fn sessions(&self) -> Vec<Session> {
        self.registry().all()
    }

    /// Why limits are not enforced by the best mechanism, if so; known once a limit was asked for.
    pub fn limits_trouble(&self) -> Option<String> {
        self.inner.fence.trouble()
    }

    /// Why this runtime has no guardian right now, if it should have one: sessions that are started now may outlive it.
    pub fn guard_trouble(&self) -> Option<String> {
        self.inner.guard.trouble()
    }

    /// Ends every session that is not detached, and everything they left running. No more can be started.
    pub async fn shutdown(&self) -> TreeEnd {
        self.registry().close();
        if let Some(grounds) = &self.inner.grounds {
            grounds.dismiss();
        }
        self.wait_for_starts().await;
        let sessions = self.sessions();
        let mut stops = JoinSet::new();
        for session in sessions.into_iter().filter(|session| session.facts().lifetime != Lifetime::Detached) {
            if session.receipt().is_none() {
                stops.spawn(async move { session.stop_because(Cause::Shutdown).await });
            }
        }
        let mut end = TreeEnd::default();
        while let Some(stopped) = stops.join_next().await {
            let stopped = stopped.unwrap_or_default();
            end.ended.extend(stopped.ended);
            end.remaining.extend(stopped.remaining);
        }
        let rest = end_tree(self.inner.everything(), self.inner.limits.patience).await;
        end.ended.extend(rest.ended);
        end.remaining.extend(rest.remaining);
        self.inner.fence.retire();
        self.join_tasks().await;
        self.inner.fence.close();
        if end.remaining.is_empty() {
            self.inner.unregister();
        }
        // A guardian that outlives its runtime is collected by init, and stays a zombie under an init that collects no
        // orphans. A runtime around this one would report it as left running.
        self.inner.guard.relieve(self.inner.limits.patience.after_kill).await;
        end
    }

    /// Waits until no start is under way. Several tasks may wait, as when a client hangs up while a signal asks for the
    /// end: each registers before it checks, so a start that ends in between wakes all of them.
    async fn wait_for_starts(&self) {
        loop {
            let mut settled = pin!(self.inner.settled.notified());
            settled.as_mut().enable();
            if self.registry().is_settled() {
                return;
            }
            settled.await;
        }
    }

    /// The tasks of ended sessions finish by themselves. A session that still has a handle and is not over (detached,
    /// or with a pipe held by a process that could not be ended) is not waited for; its task goes on.
    async fn join_tasks(&self) {
        self.registry().clear();
        let mut tasks = std::mem::take(&mut *self.inner.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let all_over = async { while tasks.join_next().await.is_some() {} };
        // timer: ended sessions need a moment to report it; the others will not end for being waited for.
        let _ = tokio::time::timeout(self.inner.limits.patience.after_kill, all_over).await;
        tasks.detach_all();
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.inner.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.inner.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// After one confined command another one is likely: starts its helper now.
    fn prepare_helper(&self, plan: Arc<Plan>, streams: StreamKind) {
        if let Some(grounds) = self.grounds.clone().filter(|_| self.ahead) {
            drop(self.runtime.spawn_blocking(move || grounds.prepare(&plan, streams)));
        }
    }
}

impl Inner {
    fn everything(&self) -> KillTarget {
        let (spare, orphans) = (Arc::clone(&self.spare), Arc::clone(&self.orphans));
        let watchers = Arc::clone(&self.watchers);
        let whose = TargetScope::Runtime;
        KillTarget {
            runtime_tag: self.runtime_tag,
            whose,
            spare,
            orphans,
            on_terminal: false,
            watcher: None,
            watchers,
        }
    }
}

/// The restrictions of a plan, in one line.
fn summary(plan: &Plan) -> String {
    let layers: Vec<String> = plan.layers.iter().map(|layer| layer.name()).collect();
    format!("{}, network {}: {}", plan.policy, plan.network.name(), layers.join(", "))
}

/// The beginning of a long script: enough to find a session again by its record.
fn beginning(script: &str) -> String {
    const LONGEST: usize = 4096;
    script[..script.floor_char_boundary(LONGEST)].to_owned()
}

/// The parts of a session that exist once it has a process.
struct Born<'a> {
    root: &'a Arc<Process>,
    bounds: Arc<Bounds>,
    confined: Confined,
}

impl Drop for Inner {
    /// The last engine handle is gone. The session tasks end their sessions as soon as those have no handles, and
    /// processes that finished sessions left running are ended beside them.
    fn drop(&mut self) {
        self.tasks.get_mut().unwrap_or_else(PoisonError::into_inner).detach_all();
        self.fence.retire();
        let (everything, patience) = (self.everything(), self.limits.patience);
        let (orphans, registration) = (Arc::clone(&self.orphans), self.registration.take());
        self.runtime.spawn(async move {
            if end_tree(everything, patience).await.remaining.is_empty() {
                registration.iter().for_each(|registration| registration.remove());
            }
            orphans.roots.engine_gone();
        });
    }
}

/// Publishes, however a session's task ends, that nothing more will come from it, so that no waiter hangs.
struct LastWords {
    shared: Arc<Shared>,
    fence: Arc<LimitEnforcer>,
}

impl Drop for LastWords {
    fn drop(&mut self) {
        self.shared.orphans.roots.gone(self.shared.mark.sequence());
        self.shared.send_life(|progress| progress.closed = true);
        self.fence.left(self.shared.mark, &self.shared.bounds);
    }
}

/// A process without a task that waits for it: killed on drop, so that a failed start leaves nothing behind.
struct KillOnDrop(Option<Arc<Process>>);

impl KillOnDrop {
    fn watch(mut self) -> Result<AsyncFd<Arc<Process>>, Errno> {
        let process = self.0.take().ok_or(Errno::SRCH)?;
        reactor::watch(process, Interest::READABLE).map_err(|(process, errno)| {
            self.0 = Some(process);
            errno
        })
    }
}

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if let Some(process) = &self.0 {
            let _ = process.signal_group(Signal::KILL);
            let _ = process.reap_blocking();
        }
    }
}
