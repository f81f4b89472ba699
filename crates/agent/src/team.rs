//! The agents that work on one task: a tree with limits, whose members are reached by id, nickname or path. No agent
//! outlives the root agent.

mod member;
mod status;

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use windlass_llm::{Item, Usage};

use self::member::{Member, Members};
pub use self::status::Status;
use crate::compact::middle_cut;
use crate::deps::{AgentDeps, ModelParams, Role};
use crate::event::{EventKind, Reporter};
use crate::history::{History, HistoryEntry, ItemOrigin};
use crate::names::nickname;
use crate::notices::Notices;
use crate::record::{Record, RecordError, Thread, ThreadFacts};
use crate::thread::ThreadId;
use crate::tool::{ToolSet, shortened};
use crate::tools;
use crate::worker::{Commands, Op, Worker};

/// The most operations that may wait in an agent's inbox.
const INBOX: usize = 64;
/// How long closed agents have to end.
const GOING: Duration = Duration::from_secs(5);

/// A tree of agents. A cheap handle.
#[derive(Clone)]
pub struct Team {
    inner: Arc<Inner>,
}

struct Inner {
    deps: Arc<AgentDeps>,
    members: Mutex<Members>,
    /// Held while an agent is made, because each counts the existing ones and takes a nickname that is free.
    births: Mutex<()>,
    /// Incremented on every change that an agent may wait for.
    changes: watch::Sender<u64>,
}

/// How the root agent begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// With its instructions only.
    New,
    /// With an earlier conversation, which it continues.
    Resume(ThreadId),
    /// With a copy of an earlier conversation.
    Fork(ThreadId),
}

/// A request to start a sub-agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct SubAgentRequest {
    pub(crate) words: Vec<HistoryEntry>,
    pub(crate) role: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<String>,
    /// The part of its parent's conversation that it gets.
    pub(crate) heard: Vec<HistoryEntry>,
}

/// Everything that an agent needs before its task is spawned.
struct AgentSpec {
    facts: ThreadFacts,
    parent: Option<ThreadId>,
    params: ModelParams,
    entries: Vec<HistoryEntry>,
    record: Option<Record>,
    usage: Usage,
    filled: u64,
    task: String,
}

/// The ends that a worker and its member share.
struct WorkerEnds {
    inbox: mpsc::Receiver<Op>,
    status: watch::Sender<Status>,
    /// The first agent of the tree.
    root: ThreadId,
    report: Reporter,
}

impl Team {
    /// Starts a team with only a root agent, which waits for input.
    pub fn start(deps: AgentDeps, beginning: &Beginning) -> Result<(Self, ThreadId), RecordError> {
        let inner = Inner {
            deps: Arc::new(deps),
            members: Mutex::default(),
            births: Mutex::default(),
            changes: watch::Sender::new(0),
        };
        let team = Self { inner: Arc::new(inner) };
        let spec = team.first(beginning)?;
        let id = team.start_agent(spec);
        Ok((team, id))
    }

    /// Sends a message to an agent. An agent at work reads it at the next boundary.
    pub async fn say(&self, agent: &ThreadId, items: Vec<Item>) -> bool {
        self.say_entries(agent, items.into_iter().map(HistoryEntry::user).collect()).await
    }

    /// Sends entries to an agent that are not all the user's own, such as a change of its surroundings or a skill. The
    /// agent reads all of them at once.
    pub async fn say_entries(&self, agent: &ThreadId, entries: Vec<HistoryEntry>) -> bool {
        self.tell(agent, Op::Say(entries)).await
    }

    /// Interrupts an agent's turn.
    pub async fn interrupt(&self, agent: &ThreadId) -> bool {
        self.tell(agent, Op::Interrupt).await
    }

    /// Switches an agent's model from its next request on. Its sub-agents keep theirs.
    pub async fn use_model(&self, agent: &ThreadId, model: String) -> bool {
        self.tell(agent, Op::UseModel(model)).await
    }

    /// Compacts an agent's conversation: now, or once its turn is over.
    pub async fn compact(&self, agent: &ThreadId) -> bool {
        self.tell(agent, Op::Compact).await
    }

    /// Watches an agent's status.
    pub fn watch(&self, agent: &ThreadId) -> Option<watch::Receiver<Status>> {
        self.lock().get(agent).map(|member| member.status.clone())
    }

    /// Ends every agent and everything that they run.
    pub async fn close(&self) {
        let all: Vec<ThreadId> = self.lock().all().map(|member| member.id.clone()).collect();
        self.end(&all).await;
    }

    async fn tell(&self, agent: &ThreadId, op: Op) -> bool {
        let inbox = {
            let members = self.lock();
            let Some(member) = members.get(agent).filter(|member| member.open) else { return false };
            if matches!(op, Op::Say(_)) {
                member.unheard.fetch_add(1, Ordering::SeqCst);
            }
            member.inbox.clone()
        };
        inbox.send(op).await.is_ok()
    }

    fn lock(&self) -> MutexGuard<'_, Members> {
        self.inner.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) {
        self.inner.changes.send_modify(|count| *count += 1);
    }
}

/// Starting agents.
impl Team {
    fn first(&self, beginning: &Beginning) -> Result<AgentSpec, RecordError> {
        let deps = &self.inner.deps;
        let mut facts = self.facts(&deps.config.params);
        match beginning {
            Beginning::New => self.spec(facts, deps.config.context.clone(), None),
            Beginning::Fork(id) => {
                let thread = self.load(id)?;
                facts.forked_from = Some(id.to_string());
                self.spec(facts, History::restored(thread.entries).entries().to_vec(), None)
            }
            Beginning::Resume(id) => {
                let thread = self.load(id)?;
                let record = deps.threads.as_ref().map(|threads| threads.resume(id)).transpose()?;
                Ok(self.resumed(thread, record))
            }
        }
    }

    fn resumed(&self, thread: Thread, record: Option<Record>) -> AgentSpec {
        let Thread { facts, entries, usage, filled } = thread;
        AgentSpec {
            parent: facts.parent.as_deref().and_then(ThreadId::parse),
            facts,
            params: self.inner.deps.config.params.clone(),
            entries,
            record,
            usage,
            filled,
            task: String::new(),
        }
    }

    fn load(&self, id: &ThreadId) -> Result<Thread, RecordError> {
        let unknown =
            || RecordError::Unknown { id: id.to_string(), directory: "this ephemeral session".into() };
        self.inner.deps.threads.as_ref().ok_or_else(unknown)?.load(id)
    }

    fn facts(&self, params: &ModelParams) -> ThreadFacts {
        let deps = &self.inner.deps;
        let now = (deps.clock)();
        ThreadFacts {
            id: ThreadId::new(now).to_string(),
            began: now.duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs(),
            directory: deps.config.directory.clone(),
            model: params.model.clone(),
            effort: params.effort.clone(),
            ..ThreadFacts::default()
        }
    }

    /// The specification of an agent with a new conversation, whose file is begun.
    fn spec(
        &self,
        facts: ThreadFacts,
        entries: Vec<HistoryEntry>,
        params: Option<ModelParams>,
    ) -> Result<AgentSpec, RecordError> {
        let deps = &self.inner.deps;
        let mut record = deps.threads.as_ref().map(|threads| threads.begin(&facts)).transpose()?;
        for entry in &entries {
            record.as_mut().map_or(Ok(()), |record| record.item(entry))?;
        }
        let filled = entries.iter().map(HistoryEntry::estimate).sum();
        Ok(AgentSpec {
            parent: facts.parent.as_deref().and_then(ThreadId::parse),
            facts,
            params: params.unwrap_or_else(|| deps.config.params.clone()),
            entries,
            record,
            usage: Usage::default(),
            filled,
            task: String::new(),
        })
    }

    /// Starts an agent as a task of its own.
    fn start_agent(&self, spec: AgentSpec) -> ThreadId {
        let deps = &self.inner.deps;
        let id = ThreadId::parse(&spec.facts.id).unwrap_or_else(|| ThreadId::new((deps.clock)()));
        let report = Reporter::new(id.clone(), deps.events.clone());
        let (inbox, received) = mpsc::channel(INBOX);
        let (status, watched) = watch::channel(Status::PendingInit);
        let (root, closing) = self.place(spec.parent.as_ref(), &id);
        let mut member = Member {
            id: id.clone(),
            nickname: spec.facts.nickname.clone().unwrap_or_else(|| "lead".to_owned()),
            role: spec.facts.role.clone(),
            parent: spec.parent.clone(),
            depth: spec.facts.depth,
            task: spec.task.clone(),
            inbox,
            status: watched,
            closing,
            open: true,
            news: None,
            heard: Arc::default(),
            unheard: Arc::default(),
            life: None,
        };
        let worker =
            self.worker(spec, &member, WorkerEnds { inbox: received, status, root, report: report.clone() });
        let born = EventKind::Born {
            parent: member.parent.clone(),
            nickname: member.nickname.clone(),
            task: shortened(&member.task, 200),
        };
        member.life = Some(tokio::spawn(async move {
            report.tell(born).await;
            worker.live().await;
        }));
        self.lock().add(member);
        self.changed();
        id
    }

    /// The worker of a member that is about to start.
    fn worker(&self, spec: AgentSpec, member: &Member, ends: WorkerEnds) -> Worker {
        let deps = Arc::clone(&self.inner.deps);
        let toolbox = (deps.toolbox)();
        let commands = Arc::new(Commands::new(toolbox.clone(), ends.report.clone()));
        let notices = Notices::new(self.inner.changes.clone());
        let context = tools::ToolContext {
            me: member.id.clone(),
            deps: Arc::clone(&deps),
            team: self.clone(),
            toolbox: toolbox.clone(),
            commands: Arc::clone(&commands),
            report: ends.report.clone(),
            depth: member.depth,
            heard: Arc::clone(&member.heard),
            notices: notices.clone(),
        };
        let tools = ToolSet::new(tools::build(&context));
        let history = History::restored(spec.entries);
        *member.heard.lock().unwrap_or_else(PoisonError::into_inner) = history.words();
        Worker {
            me: member.id.clone(),
            is_first: spec.parent.is_none(),
            team: self.clone(),
            params: spec.params,
            schema: deps.config.output_schema.clone().filter(|_| spec.parent.is_none()),
            cache_key: ends.root.to_string(),
            history,
            record: spec.record,
            usage: spec.usage,
            filled: spec.filled,
            sessions: toolbox.events(),
            toolbox,
            specs: tools.specs(),
            tools,
            commands,
            report: ends.report,
            inbox: ends.inbox,
            status: ends.status,
            closing: member.closing.clone(),
            changes: self.inner.changes.subscribe(),
            said: Vec::new(),
            compact: false,
            last_words: None,
            turn_usage: Usage::default(),
            heard: Arc::clone(&member.heard),
            unheard: Arc::clone(&member.unheard),
            notices,
            taken: 0,
            deps,
        }
    }

    /// The first of the tree, and what ends the new one with its parent.
    fn place(&self, parent: Option<&ThreadId>, id: &ThreadId) -> (ThreadId, CancellationToken) {
        let members = self.lock();
        let above = parent.and_then(|parent| members.get(parent));
        let closing = above.map_or_else(CancellationToken::new, |above| above.closing.child_token());
        (members.root().cloned().unwrap_or_else(|| id.clone()), closing)
    }
}

/// The operations of the collaboration tools.
impl Team {
    /// Starts a sub-agent with a task.
    pub(crate) async fn spawn(
        &self,
        parent: &ThreadId,
        wanted: SubAgentRequest,
    ) -> Result<(ThreadId, String), String> {
        let (id, name) = {
            let _birth = self.inner.births.lock().unwrap_or_else(PoisonError::into_inner);
            let spec = self.child(parent, &wanted)?;
            let name = spec.facts.nickname.clone().unwrap_or_default();
            (self.start_agent(spec), name)
        };
        self.tell(&id, Op::Say(wanted.words)).await;
        Ok((id, name))
    }

    fn child(&self, parent: &ThreadId, wanted: &SubAgentRequest) -> Result<AgentSpec, String> {
        let config = &self.inner.deps.config;
        let (depth, taken, open) = {
            let members = self.lock();
            let depth = members.get(parent).map_or(0, |member| member.depth) + 1;
            (depth, members.nicknames(), members.open_children())
        };
        if depth > config.team.most_depth {
            return Err("Agent depth limit reached. Solve the task yourself.".into());
        }
        if open >= config.team.most_open {
            let most = config.team.most_open;
            return Err(format!(
                "collab spawn failed: agent thread limit reached ({most} are open; close_agent those that are done)"
            ));
        }
        let role = self.role(wanted.role.as_deref())?;
        let mut params = config.params.clone();
        let models = [wanted.model.clone(), role.and_then(|role| role.model.clone())];
        params.model = models.into_iter().flatten().next().unwrap_or(params.model);
        let efforts = [wanted.effort.clone(), role.and_then(|role| role.effort.clone())];
        params.effort = efforts.into_iter().flatten().next().or(params.effort);
        let mut facts = self.facts(&params);
        facts.parent = Some(parent.to_string());
        facts.depth = depth;
        facts.nickname = Some(nickname(&taken, role.map_or(&[][..], |role| &role.nicknames)));
        facts.role = wanted.role.clone();
        let mut entries = config.context.clone();
        entries.extend(
            role.and_then(|role| role.instructions.as_ref())
                .map(|text| HistoryEntry { origin: ItemOrigin::Context, item: Item::developer(text) }),
        );
        entries.extend(wanted.heard.iter().cloned());
        let spec = self.spec(facts, entries, Some(params)).map_err(|error| error.to_string())?;
        let task = wanted.words.iter().filter_map(|entry| entry.item.words_of(windlass_llm::Role::User));
        Ok(AgentSpec { task: task.collect::<Vec<_>>().join(" "), ..spec })
    }

    fn role(&self, name: Option<&str>) -> Result<Option<&Role>, String> {
        let roles = &self.inner.deps.config.roles;
        let Some(name) = name else { return Ok(None) };
        match roles.iter().find(|role| role.name == name) {
            Some(role) => Ok(Some(role)),
            None if name == "default" => Ok(None),
            None => {
                let known: Vec<&str> = roles.iter().map(|role| role.name.as_str()).collect();
                Err(format!("there is no agent_type `{name}`; there are: default, {}", known.join(", ")))
            }
        }
    }

    /// Finds an agent by id, nickname or path.
    pub(crate) fn find(&self, asked: &str) -> Option<ThreadId> {
        self.lock().find(asked)
    }

    /// Sends entries to an agent that is open.
    pub(crate) async fn send(&self, target: &ThreadId, words: Vec<HistoryEntry>, interrupt: bool) -> bool {
        if interrupt && !self.tell(target, Op::Interrupt).await {
            return false;
        }
        self.tell(target, Op::Say(words)).await
    }

    /// The status of an agent.
    pub(crate) fn status(&self, id: &ThreadId) -> Status {
        self.lock().get(id).map_or(Status::NotFound, Member::now)
    }

    /// Records the end of an agent's turn, for its parent.
    ///
    /// The status and the news change together: a reader sees both or neither.
    pub(crate) fn turn_ended(&self, id: &ThreadId, watched: &watch::Sender<Status>, status: Status) {
        let mut members = self.lock();
        watched.send_replace(status.clone());
        // `Interrupted` is not final and is no news: the interrupting agent knows it, and waits for what follows.
        if status.is_final()
            && let Some(member) = members.get_mut(id).filter(|member| member.parent.is_some())
        {
            member.news = Some(match member.news.take() {
                // Its background work woke the agent, and it adds to an answer that its parent has not read yet.
                Some(untold) => status.after(untold),
                None => status,
            });
        }
        drop(members);
        self.changed();
    }

    /// The news of an agent's own sub-agents. Each is reported once, here or in the result of a tool.
    pub(crate) fn news(&self, parent: &ThreadId) -> Vec<HistoryEntry> {
        let news = self.lock().take_news(parent);
        let limit = self.most_report();
        news.into_iter()
            .map(|(id, status)| HistoryEntry::notice(notification(&id, &status.cut(limit))))
            .collect()
    }

    /// The most bytes of a sub-agent's last message that its parent reads.
    pub(crate) fn most_report(&self) -> usize {
        self.inner.deps.config.output_limit as usize * 4
    }

    /// The sub-agents of this one that are at work, described in words.
    pub(crate) fn busy_children(&self, parent: &ThreadId) -> Vec<String> {
        let members = self.lock();
        let busy = members.children(parent).filter(|member| member.is_at_work());
        busy.map(|member| format!("agent {}", member.nickname)).collect()
    }

    /// Waits until one of these is final, until any sub-agent has news, or until the deadline.
    pub(crate) async fn wait(&self, parent: &ThreadId, targets: &[ThreadId], deadline: Instant) -> Waited {
        let mut changes = self.inner.changes.subscribe();
        loop {
            changes.mark_unchanged();
            let found = if targets.is_empty() { self.take_news(parent) } else { self.take_final(targets) };
            if !found.is_empty() {
                return Waited::News(found);
            }
            if targets.is_empty() && self.busy_children(parent).is_empty() {
                return Waited::Nothing;
            }
            // timer: the caller says how long it waits.
            let changed = tokio::time::timeout_at(deadline.into(), changes.changed()).await;
            if !matches!(changed, Ok(Ok(()))) {
                return Waited::TimedOut;
            }
        }
    }

    /// Takes the news of the sub-agents; the status of all if there is none and no agent at work could bring any.
    fn take_news(&self, parent: &ThreadId) -> Vec<(ThreadId, Status)> {
        let mut members = self.lock();
        let news = members.take_news(parent);
        let settled = members.children(parent).all(|member| member.now().is_settled());
        if !news.is_empty() || !settled {
            return news;
        }
        members.children(parent).map(|member| (member.id.clone(), member.now())).collect()
    }

    fn take_final(&self, targets: &[ThreadId]) -> Vec<(ThreadId, Status)> {
        let mut members = self.lock();
        let status = |id: &ThreadId| members.get(id).map_or(Status::NotFound, Member::now);
        let untold = |id: &ThreadId| members.get(id).and_then(|member| member.news.clone());
        let found: Vec<(ThreadId, Status)> = targets
            .iter()
            .filter(|&id| status(id).is_final())
            .map(|id| (id.clone(), untold(id).unwrap_or_else(|| status(id))))
            .collect();
        // The caller reports it now, so it is not news any more.
        found.iter().for_each(|(id, _)| members.forget_news(id));
        found
    }

    /// Ends an agent and all below it. Returns its status before.
    pub(crate) async fn close_agent(&self, id: &ThreadId) -> Status {
        let before = self.status(id);
        let all = self.lock().descendants(id);
        self.end(&all).await;
        before
    }

    async fn end(&self, agents: &[ThreadId]) {
        let lives = self.lock().close(agents);
        let deadline = Instant::now() + GOING;
        for mut life in lives {
            // timer: an agent that does not end in time is aborted; the commands that it ran end with the runtime.
            if tokio::time::timeout_at(deadline.into(), &mut life).await.is_err() {
                life.abort();
            }
        }
        self.changed();
    }

    /// Reopens a closed agent with its conversation.
    pub(crate) async fn resume(&self, parent: &ThreadId, id: &ThreadId) -> Result<Status, String> {
        let _birth = self.inner.births.lock().unwrap_or_else(PoisonError::into_inner);
        if self.lock().get(id).is_some_and(|member| member.open) {
            return Ok(self.status(id));
        }
        let most = self.inner.deps.config.team.most_open;
        if self.lock().open_children() >= most {
            return Err(format!("agent thread limit reached ({most} are open)"));
        }
        let threads = self.inner.deps.threads.as_ref();
        let thread = self.load(id).map_err(|error| error.to_string())?;
        let record = threads.map(|threads| threads.resume(id)).transpose();
        let mut spec = self.resumed(thread, record.map_err(|error| error.to_string())?);
        spec.parent = Some(parent.clone());
        spec.params.model.clone_from(&spec.facts.model);
        spec.params.effort.clone_from(&spec.facts.effort);
        self.start_agent(spec);
        Ok(Status::PendingInit)
    }

    /// All agents below this one, oldest first.
    pub(crate) fn list(&self, parent: &ThreadId) -> Vec<Listed> {
        let members = self.lock();
        let below: BTreeSet<ThreadId> = members.descendants(parent).into_iter().collect();
        let listed = |member: &Member| Listed {
            id: member.id.clone(),
            path: members.path(&member.id),
            nickname: member.nickname.clone(),
            role: member.role.clone(),
            status: member.now(),
            task: shortened(&member.task, 200),
        };
        members
            .all()
            .filter(|member| member.id != *parent && below.contains(&member.id))
            .map(listed)
            .collect()
    }
}

/// The result of a wait.
#[derive(Debug)]
pub(crate) enum Waited {
    /// These agents have news.
    News(Vec<(ThreadId, Status)>),
    /// No agent is at work, and all news was reported already.
    Nothing,
    /// The deadline passed.
    TimedOut,
}

/// An agent in a list.
pub(crate) struct Listed {
    pub(crate) id: ThreadId,
    pub(crate) path: String,
    pub(crate) nickname: String,
    pub(crate) role: Option<String>,
    pub(crate) status: Status,
    pub(crate) task: String,
}

fn notification(id: &ThreadId, status: &Status) -> String {
    let body = serde_json::json!({ "agent_path": id.as_str(), "status": status.json() });
    format!("<subagent_notification>\n{body}\n</subagent_notification>")
}

impl Status {
    /// The same, with its texts cut to a budget.
    pub(crate) fn cut(self, most: usize) -> Self {
        match self {
            Self::Completed(Some(text)) => Self::Completed(Some(middle_cut(&text, most))),
            Self::Errored(text) => Self::Errored(middle_cut(&text, most)),
            other => other,
        }
    }
}
