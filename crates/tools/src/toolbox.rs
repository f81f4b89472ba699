//! One caller's view of an engine: its sessions under its numbers, and the announcements that it has not received yet.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::broadcast;
use windlass_engine::sandbox::{Plan, Policy, PolicyContext};
use windlass_engine::{
    CommandSpec, Engine, InputWanted, Progress, Session, SessionId, StartError, Store, Until,
};
use windlass_exec_policy::Rules;
use windlass_output::{Offset, Tokenizer};

use crate::announcements::Remarks;
use crate::archived::ArchivedSessions;
use crate::arguments::{Arguments, SessionRef};
use crate::attend::waiting;
use crate::call::{Call, LeftProcess, Reply, SessionEvent, SessionSummary, UnknownTool};
use crate::catalogue::{Profile, Tool};
use crate::delivery::Delivery;
use crate::environment::{EnvironmentPolicy, Variables};
use crate::live_session::{LiveSession, Number};
use crate::login::{Captured, Login, LoginEnvironments};
use crate::others::OtherRuntimes;
use crate::owner::Sharing;
use crate::reply_builder::listening;
use crate::session_queue::SessionQueues;
use crate::shell::{AllowedShells, Shell, ShellError};
use crate::shims::{DetachedSessions, Shims};
use crate::tool::{self, CallContext, ToolError};
use crate::{random, report};

/// The settings of a toolbox.
#[derive(Clone)]
pub struct ToolboxOptions {
    /// The set of tools.
    pub profile: Profile,
    /// How tokens are counted.
    pub tokenizer: Tokenizer,
    /// The default directory of commands. Absolute.
    pub directory: PathBuf,
    /// The user's shell.
    pub shell: PathBuf,
    /// The runtime's own environment.
    pub environment: Variables,
    /// The rules by which commands inherit from it.
    pub policy: EnvironmentPolicy,
    /// How long a shell's start-up files may take.
    pub login_bound: Duration,
    /// The most that the classic tools show of each stream, in characters.
    pub classic_characters: u64,
    /// How sessions are numbered.
    pub numbering: Numbering,
    /// The store of earlier sessions. Without it, only the caller's own are known.
    pub store: Option<Store>,
    /// Access to the shims of sessions that outlive this runtime. Without it none can be started.
    pub shims: Option<Arc<dyn Shims>>,
    /// The sandbox policy of commands. Their workspace is the directory above.
    pub sandbox: Policy,
    /// Places where the runtime keeps its records, beside the store: no confined command changes them.
    pub kept: Vec<PathBuf>,
    /// Places at which the runtime waits for calls: no confined command sees them.
    pub doors: Vec<PathBuf>,
    /// The rules for commands. Without rules all may run.
    pub rules: Option<Arc<Rules>>,
    /// The sessions of other clients that the caller may see.
    pub sharing: Sharing,
    /// Access to other runtimes. Without it, only sessions that are over or have a shim are shown.
    pub others: Option<Arc<dyn OtherRuntimes>>,
}

impl ToolboxOptions {
    /// The usual tools, for commands that run here by default.
    pub fn new(directory: impl Into<PathBuf>, environment: Variables) -> Self {
        Self {
            profile: Profile::Default,
            tokenizer: Tokenizer::O200k,
            directory: directory.into(),
            shell: "/bin/sh".into(),
            environment,
            policy: EnvironmentPolicy::default(),
            login_bound: Duration::from_secs(3),
            classic_characters: 12_000,
            numbering: Numbering::Plain,
            store: None,
            shims: None,
            sandbox: Policy::FullAccess,
            kept: Vec::new(),
            doors: Vec::new(),
            rules: None,
            sharing: Sharing::Own,
            others: None,
        }
    }
}

/// How a caller's sessions are numbered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbering {
    /// As the engine does: small, one after the other.
    #[default]
    Plain,
    /// Random, so that a caller can name only sessions whose numbers it received.
    Secret,
}

/// The tools, over the sessions of one caller. A cheap handle.
#[derive(Clone)]
pub struct Toolbox {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    options: ToolboxOptions,
    tools: Vec<Tool>,
    logins: Arc<LoginEnvironments>,
    held: Mutex<BTreeMap<Number, Arc<LiveSession>>>,
    kept: DetachedSessions,
    queues: SessionQueues,
    shelf: ArchivedSessions,
    events: broadcast::Sender<SessionEvent>,
    remarks: Mutex<Remarks>,
    owner: OnceLock<String>,
}

/// The most events by which a listener may be late.
const EVENT_QUEUE: usize = 256;
/// The least interval between two output events of a session.
const OUTPUT_EVERY: Duration = Duration::from_secs(1);
/// Sessions that are over and stay listed.
const MOST_FINISHED: usize = 256;
/// The number of further finished sessions after which the oldest are unlisted together.
const FORGOTTEN_TOGETHER: usize = 64;

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Toolbox").field("options", &self.inner.options.profile).finish_non_exhaustive()
    }
}

impl Toolbox {
    /// The tools over this engine. Must be called inside a tokio runtime.
    pub fn new(engine: Engine, options: ToolboxOptions) -> Self {
        let inner = Inner {
            tools: tool::catalogue(options.profile),
            logins: Arc::new(LoginEnvironments::new(
                engine.clone(),
                options.environment.clone(),
                &options.policy,
                options.login_bound,
            )),
            held: Mutex::default(),
            remarks: Mutex::default(),
            kept: DetachedSessions::default(),
            queues: SessionQueues::default(),
            shelf: ArchivedSessions::default(),
            events: broadcast::Sender::new(EVENT_QUEUE),
            owner: OnceLock::new(),
            engine,
            options,
        };
        Self { inner: Arc::new(inner) }
    }

    /// The same tools for another caller, which has sessions of its own. Both share the captured logins.
    #[must_use]
    pub fn for_another_caller(&self) -> Self {
        let inner = Inner {
            tools: self.inner.tools.clone(),
            logins: Arc::clone(&self.inner.logins),
            held: Mutex::default(),
            remarks: Mutex::default(),
            kept: DetachedSessions::default(),
            queues: SessionQueues::default(),
            shelf: ArchivedSessions::default(),
            events: broadcast::Sender::new(EVENT_QUEUE),
            owner: self.inner.owner.clone(),
            engine: self.inner.engine.clone(),
            options: self.inner.options.clone(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Logs in ahead of the first command, so that it need not wait.
    pub async fn prepare(&self) {
        let (shell, _) = self.own_shell();
        self.environment(&shell, None).await;
    }

    /// The tools, in the order they are listed in.
    pub fn tools(&self) -> &[Tool] {
        &self.inner.tools
    }

    /// Calls a tool. Dropping the future ends the wait, never the session, unless that was to live for the call only.
    ///
    /// The contents of the reply count as delivered once its delivery is confirmed. Dropping the reply revokes it.
    pub async fn call(&self, mut call: Call) -> Result<Reply, UnknownTool> {
        let delivery = call.delivery.clone();
        call.ticket = call.ticket.or_else(|| self.ticket(&call.tool, &call.arguments));
        let mut reply = match call.ticket.clone() {
            Some(ticket) => ticket.in_turn(self.carry_out(call)).await?,
            None => self.carry_out(call).await?,
        };
        // A shim's reply has a delivery of its own.
        delivery.adopt(std::mem::replace(&mut reply.delivery, delivery.clone()));
        Ok(reply)
    }

    async fn carry_out(&self, mut call: Call) -> Result<Reply, UnknownTool> {
        let tool = self.inner.tools.iter().find(|tool| tool.name == call.tool);
        let tool = tool.ok_or_else(|| UnknownTool(call.tool.clone()))?;
        // Before anything is started, here or in another process; the time that a person takes does not count.
        if let Err(refusal) = self.approve(&mut call).await {
            return Ok(refusal.reply(&self.announcements(None, &call.delivery)));
        }
        let began = Instant::now();
        if let Some(reply) = self.elsewhere(&call).await {
            return Ok(reply);
        }
        if let Some(reply) = self.answer_by_record(&call, began) {
            return Ok(reply);
        }
        if let Some(reply) = self.stop_other(&call).await {
            return Ok(reply);
        }
        let arguments = Arguments::new(call.arguments.clone());
        Ok(tool::call(tool, CallContext { toolbox: self, call: &call, arguments, began }).await)
    }

    /// The events of the sessions.
    pub fn events(&self) -> broadcast::Receiver<SessionEvent> {
        self.inner.events.subscribe()
    }

    /// Whether every session is over and its end and output were reported: only its transcript may be asked for now.
    pub fn has_told_everything(&self) -> bool {
        let is_done =
            |held: &Arc<LiveSession>| is_over(held) && held.needs_no_telling() && !held.is_being_delivered();
        self.held().iter().all(is_done)
    }

    /// The announcements that are due: sessions that ended, in one sentence each. Each is made once, here or in a
    /// reply.
    pub fn news(&self) -> Vec<String> {
        self.announcements(None, &Delivery::certain())
    }

    /// Running sessions that will end by themselves, as far as the evidence shows: they neither wait for input nor
    /// listen for clients.
    pub async fn expected(&self) -> Vec<SessionSummary> {
        let mut expected = Vec::new();
        let summaries = self.sessions();
        for held in self.held().into_iter().filter(|held| held.session.receipt().is_none()) {
            let wanted = held.session.attention().await.wanted();
            let waits = wanted.is_some_and(|wanted| wanted.is_seen());
            if !waits && held.session.listening().is_empty() {
                let id = held.number.to_string();
                expected.extend(summaries.iter().find(|summary| summary.id == id).cloned());
            }
        }
        expected
    }

    /// Sessions of this caller whose process runs, including those that wait for input or clients.
    pub fn running(&self) -> Vec<SessionSummary> {
        let running: Vec<String> = self
            .held()
            .iter()
            .filter(|held| held.session.receipt().is_none())
            .map(|held| held.number.to_string())
            .collect();
        let mut summaries = self.sessions();
        summaries.retain(|summary| running.contains(&summary.id));
        summaries
    }

    /// Living processes that exited commands of this caller left running. [`Toolbox::end_sessions`] ends them too.
    pub fn left_processes(&self) -> Vec<LeftProcess> {
        let mut left = Vec::new();
        for held in self.held() {
            let receipt = held.session.receipt();
            if receipt.is_none_or(|receipt| receipt.left_running.is_empty()) {
                continue;
            }
            let session = held.number.to_string();
            left.extend(held.readable(held.session.processes()).into_iter().map(|line| LeftProcess {
                session: session.clone(),
                pid: line.pid,
                command: line.command,
            }));
        }
        left
    }

    /// Ends every session of this caller, and no other's.
    pub async fn end_sessions(&self) {
        let mut ends = tokio::task::JoinSet::new();
        for held in self.held() {
            ends.spawn(async move { held.session.stop().await });
        }
        ends.join_all().await;
    }

    /// Ends every session that does not outlive its runtime.
    pub async fn shutdown(&self) {
        self.inner.engine.shutdown().await;
    }
}

/// The toolbox as the tools use it.
impl Toolbox {
    pub(crate) fn options(&self) -> &ToolboxOptions {
        &self.inner.options
    }

    pub(crate) fn owner_cell(&self) -> &OnceLock<String> {
        &self.inner.owner
    }

    pub(crate) fn kept(&self) -> &DetachedSessions {
        &self.inner.kept
    }

    pub(crate) fn queues(&self) -> &SessionQueues {
        &self.inner.queues
    }

    pub(crate) fn remarks(&self) -> MutexGuard<'_, Remarks> {
        self.inner.remarks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn archived_sessions(&self) -> &ArchivedSessions {
        &self.inner.shelf
    }

    /// Sends an event to all listeners, if there are any.
    pub(crate) fn tell(&self, event: SessionEvent) {
        let _ = self.inner.events.send(event);
    }

    pub(crate) fn tokenizer(&self) -> Tokenizer {
        self.inner.options.tokenizer
    }

    pub(crate) fn classic_characters(&self) -> u64 {
        self.inner.options.classic_characters
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.inner.options.directory
    }

    pub(crate) fn policy(&self) -> &EnvironmentPolicy {
        &self.inner.options.policy
    }

    /// The shell that a call asks for, and a note if another one is used in its place.
    pub(crate) fn shell(&self, asked: Option<&str>) -> Result<(Shell, Option<String>), ShellError> {
        let Some(asked) = asked else { return Ok(self.own_shell()) };
        // A list that cannot be read allows no shell but the configured one.
        let listed = std::fs::read_to_string("/etc/shells").unwrap_or_default();
        let allowed = AllowedShells { configured: &self.inner.options.shell, listed: &listed };
        Shell::find(asked.as_ref(), &allowed, &self.inner.options.environment)
    }

    /// The user's own.
    pub(crate) fn own_shell(&self) -> (Shell, Option<String>) {
        let options = &self.inner.options;
        Shell::configured(&options.shell, &options.environment)
    }

    /// The environment after a login, under the policy of a call or that of the toolbox.
    pub(crate) async fn environment(&self, shell: &Shell, policy: Option<&Policy>) -> Arc<Captured> {
        let policy = policy.unwrap_or(&self.inner.options.sandbox);
        self.inner.logins.of(Login { shell, policy }, || self.confine(policy)).await
    }

    /// The runtime's own environment, without a login.
    pub(crate) fn bare_environment(&self) -> Arc<Captured> {
        Arc::clone(self.inner.logins.base())
    }

    /// Starts a session and holds it.
    pub(crate) fn start(&self, starting: Starting) -> Result<Arc<LiveSession>, StartError> {
        const SESSION: &str = "WINDLASS_SESSION";
        let Starting { spec, straight, command, removed, sandbox } = starting;
        let policy = sandbox.as_ref().unwrap_or(&self.inner.options.sandbox);
        if matches!(policy, Policy::Confined(_)) {
            self.remark(report::withheld_remark(&removed).iter());
        }
        let secret = (self.inner.options.numbering == Numbering::Secret).then(secret_number);
        let start = |mut spec: CommandSpec, plan: &Option<Arc<Plan>>| {
            spec.sandbox.clone_from(plan);
            match secret {
                Some(number) => spec.environment.push((SESSION.into(), number.to_string().into())),
                None => spec.number_in = Some(SESSION.into()),
            }
            spec.script = Some(command.clone());
            spec.withheld.clone_from(&removed);
            spec.owner = self.owner().map(str::to_owned);
            self.inner.engine.start(spec)
        };
        let start_either = |straight: Option<CommandSpec>, spec: CommandSpec| {
            let plan = self.confine(policy)?;
            match straight.map(|straight| start(straight, &plan)) {
                None
                | Some(Err(
                    StartError::CannotExecute { .. }
                    | StartError::DeniedProgram { .. }
                    | StartError::ProgramNotFound { .. },
                )) => start(spec, &plan),
                Some(started) => started,
            }
        };
        // A path that a plan protects may vanish before the plan is carried out; then a new plan is made.
        let again = matches!(policy, Policy::Confined(_)).then(|| (straight.clone(), spec.clone()));
        let session = match (start_either(straight, spec), again) {
            (Err(StartError::Sandbox { .. }), Some((straight, spec))) => start_either(straight, spec)?,
            (started, _) => started?,
        };
        let number = secret.unwrap_or_else(|| Number(session.id().get()));
        self.remark(self.inner.engine.guard_trouble().iter());
        let held = Arc::new(LiveSession::new(number, session, command, removed));
        self.lock().insert(number, Arc::clone(&held));
        self.forget_the_oldest();
        tokio::spawn(watch(held.session.clone(), number, self.inner.events.clone()));
        Ok(held)
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// The plan of a policy for one more command.
    pub(crate) fn confine(&self, policy: &Policy) -> Result<Option<Arc<Plan>>, StartError> {
        let options = &self.inner.options;
        let variable = |name: &str| {
            let found = options.environment.iter().find(|(variable, _)| variable == name);
            found.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute())
        };
        let mut kept = options.kept.clone();
        kept.extend(options.store.iter().map(|store| store.root().to_owned()));
        kept.dedup();
        let surroundings = PolicyContext {
            workspace: options.directory.clone(),
            temporary: variable("TMPDIR"),
            home: variable("HOME"),
            kept,
            doors: options.doors.clone(),
            ..PolicyContext::default()
        };
        let plan = self.inner.engine.confine(policy, &surroundings);
        let plan = plan.map_err(|error| StartError::Sandbox { reason: error.to_string() })?;
        self.remark(plan.iter().flat_map(|plan| &plan.remarks));
        Ok(plan)
    }

    /// All sessions, oldest first.
    pub(crate) fn held(&self) -> Vec<Arc<LiveSession>> {
        let mut all: Vec<Arc<LiveSession>> = self.lock().values().cloned().collect();
        all.sort_by_key(|held| held.session.id());
        all
    }

    /// The session that a call names.
    pub(crate) fn find(&self, asked: &SessionRef) -> Result<Arc<LiveSession>, ToolError> {
        self.find_held(asked).ok_or_else(|| self.unknown(asked))
    }

    /// The same, without an error that explains.
    pub(crate) fn find_held(&self, asked: &SessionRef) -> Option<Arc<LiveSession>> {
        match asked {
            SessionRef::Number(number) => self.lock().get(&Number(*number)).cloned(),
            SessionRef::Name(name) => self.named(name),
        }
    }

    /// The caller's number of one of the engine's sessions.
    pub(crate) fn number_of(&self, id: SessionId) -> Option<Number> {
        self.lock().values().find(|held| held.session.id() == id).map(|held| held.number)
    }

    /// A session's present activity, or how it ended.
    pub(crate) async fn state(&self, held: &LiveSession) -> String {
        if let Some(receipt) = held.session.receipt() {
            return report::ending(&receipt);
        }
        let wanted = held.session.attention().await.wanted().filter(InputWanted::is_seen);
        let known = [wanted.map(waiting), listening(&held.session.listening())];
        let known: Vec<String> = known.into_iter().flatten().collect();
        if known.is_empty() { "running".to_owned() } else { format!("running, {}", known.join(", ")) }
    }

    fn named(&self, name: &str) -> Option<Arc<LiveSession>> {
        let mut named: Vec<_> = self
            .held()
            .into_iter()
            .filter(|held| held.session.facts().name.as_deref() == Some(name))
            .collect();
        named.pop()
    }

    /// Unlists finished sessions beyond the limits. Their output can be read for longer, and then is removed. Many at
    /// once: that costs hardly more than one.
    fn forget_the_oldest(&self) {
        let unlisted = self.take_the_oldest();
        if unlisted.is_empty() {
            return;
        }
        let forgotten = self.archived_sessions().take_in(&unlisted);
        let Some(store) = self.inner.options.store.clone().filter(|_| !forgotten.is_empty()) else { return };
        // The caller that started the session which was one too many does not wait for the disk.
        tokio::task::spawn_blocking(move || {
            // A file that cannot be removed now is removed when the state directory is next pruned.
            let _ = store.remove_own(&forgotten);
        });
    }

    /// Takes the oldest, those first whose end and output were reported.
    fn take_the_oldest(&self) -> Vec<Arc<LiveSession>> {
        let mut held = self.lock();
        if held.len() < MOST_FINISHED + FORGOTTEN_TOGETHER {
            return Vec::new();
        }
        let mut over: Vec<Arc<LiveSession>> = held.values().filter(|held| is_over(held)).cloned().collect();
        over.sort_by_key(|held| (!held.was_told_everything(), held.session.id()));
        let surplus = over.len().saturating_sub(MOST_FINISHED);
        over.truncate(surplus);
        for unlisted in &over {
            held.remove(&unlisted.number);
        }
        over
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, BTreeMap<Number, Arc<LiveSession>>> {
        self.inner.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A command that is about to become a session.
pub(crate) struct Starting {
    pub(crate) spec: CommandSpec,
    /// The same without the shell, if the result is the same.
    pub(crate) straight: Option<CommandSpec>,
    /// How it is shown.
    pub(crate) command: String,
    /// Variables that were withheld from it.
    pub(crate) removed: Vec<String>,
    /// Its policy, if it differs from the toolbox's.
    pub(crate) sandbox: Option<Policy>,
}

/// Whether it needs no further care.
fn is_over(held: &LiveSession) -> bool {
    let progress = held.session.progress();
    progress.closed && progress.receipt.is_some_and(|receipt| receipt.left_running.is_empty())
}

/// A random number that every JSON reader represents exactly, and that is never one of the engine's own.
fn secret_number() -> Number {
    const LEAST: u64 = 1 << 52;
    Number(u64::from_ne_bytes(random::bytes()) >> 12 | LEAST)
}

/// Sends the events of a session to the listeners, until it is over.
async fn watch(session: Session, number: Number, events: broadcast::Sender<SessionEvent>) {
    // An error means that there is no listener.
    let _ = events.send(SessionEvent::Started { session: number.to_string() });
    let mut progress = session.watch();
    let mut told = Offset::ZERO;
    loop {
        let news = |level: &Progress| level.end > told || level.receipt.is_some() || level.closed;
        let Ok(level) = progress.wait_for(news).await.map(|level| level.clone()) else { return };
        if level.end > told {
            told = level.end;
            let _ = events.send(SessionEvent::Output { session: number.to_string() });
        }
        if let Some(receipt) = level.receipt {
            let line = format!("session {number} {}", report::ending(&receipt));
            let _ = events.send(SessionEvent::Ended { session: number.to_string(), line });
            return;
        }
        if level.closed {
            return;
        }
        // timer: a session that prints all the time causes an event once in a while; its end is sent at once.
        session.wait(&Until::exit().by(Instant::now() + OUTPUT_EVERY)).await;
    }
}
