//! All servers together: started at once, listed under names that a model can use, called by name, and shut down as
//! one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};
use tokio::sync::{Mutex, Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use windlass_engine::{Engine, Keeping};

use crate::client_handler::ClientHandler;
use crate::deadlines::Open;
use crate::elicit::Elicitor;
use crate::failure::CallError;
use crate::http::Http;
use crate::mcp_request::{List, McpRequest};
use crate::names::full_names;
use crate::notes::Notes;
use crate::outcome::CallOutcome;
use crate::resource::{Resource, ResourceContent, Template};
use crate::server::{Generation, Level, Server, ServerPhase};
use crate::server_supervisor::{LONGEST, REVIVALS, ServerSupervisor};
use crate::spec::ServerSpec;
use crate::state::{ServerState, Standing};
use crate::tool::{ForeignTool, Listed};

/// The context in which servers run.
#[derive(Clone)]
pub struct ServersContext {
    /// Runs the servers that are programs.
    pub engine: Engine,
    /// Whether the output of such programs is stored with the records of other commands, or only as long as they run.
    pub keeping: Keeping,
    /// The HTTP client. Without it no server can be reached over HTTP.
    pub http: Option<Arc<dyn Http>>,
    /// The directory of programs that configure no other. Absolute.
    pub directory: PathBuf,
    /// Our own environment. Programs get its harmless part and the variables that they name.
    pub environment: Vec<(OsString, OsString)>,
    /// The folders of the workspace, for servers that ask for roots.
    pub roots: Vec<PathBuf>,
    /// Asks the user the servers' questions. Without it every question is declined.
    pub elicitor: Option<Arc<dyn Elicitor>>,
}

/// All servers. A handle: clones share them, and dropping the last one ends them.
#[derive(Clone)]
pub struct Servers {
    inner: Arc<Inner>,
}

struct Inner {
    servers: Vec<Server>,
    supervisors: Mutex<JoinSet<()>>,
    changes: Arc<watch::Sender<u64>>,
    stop: CancellationToken,
}

/// Names a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which<'a> {
    /// By its full name, which models use.
    Full(&'a str),
    /// By its server and its own name.
    Of {
        /// The server.
        server: &'a str,
        /// The tool.
        tool: &'a str,
    },
}

impl Servers {
    /// Starts all enabled servers, in the background. Must be called inside a tokio runtime. Of several with the same
    /// name, the last one counts.
    pub fn start(surroundings: ServersContext, specs: Vec<ServerSpec>) -> Self {
        let surroundings = Arc::new(surroundings);
        let (changes, stop) = (Arc::new(watch::Sender::new(0)), CancellationToken::new());
        let (mut servers, mut supervisors) = (Vec::new(), JoinSet::new());
        for spec in distinct(specs) {
            let (server, supervisor) = prepare(spec, &surroundings, (&changes, &stop));
            if server.is_on() {
                supervisors.spawn(supervisor.run());
            }
            servers.push(server);
        }
        Self { inner: Arc::new(Inner { servers, supervisors: Mutex::new(supervisors), changes, stop }) }
    }

    /// Waits until each server is up or down, at most for its startup timeout. Returns their states.
    pub async fn ready(&self) -> Vec<ServerState> {
        for server in &self.inner.servers {
            server.settled().await;
        }
        self.states()
    }

    /// The present states.
    pub fn states(&self) -> Vec<ServerState> {
        self.inner.servers.iter().map(Server::state).collect()
    }

    /// The tools that are offered now, ordered by server as configured, then by name. Tools of a server that is down
    /// stay offered: a call restarts it.
    pub fn tools(&self) -> Vec<ForeignTool> {
        self.inner.offers().into_iter().map(Offer::into_tool).collect()
    }

    /// A counter that changes whenever tools or states may have changed.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    /// Calls a tool. Dropping the future cancels the call at the server.
    pub async fn call(
        &self,
        which: Which<'_>,
        arguments: Map<String, Value>,
    ) -> Result<CallOutcome, CallError> {
        let started = Instant::now();
        let Offer { server, tool, .. } = self.inner.find(which)?;
        let request =
            McpRequest::Call { tool: &tool.name, arguments: &arguments, schema: Some(&tool.parameters) };
        let answer = server.ask(&request, server.spec.tool_timeout.min(LONGEST)).await?;
        CallOutcome::read(answer, started.elapsed()).map_err(|problem| senseless(&server, &request, problem))
    }

    /// The resources of one server, or of all that are up.
    pub async fn list_resources(&self, server: Option<&str>) -> Result<Vec<Resource>, CallError> {
        let listed = self.inner.list(List::Resources, server).await?;
        Ok(listed.into_iter().filter_map(|(server, raw)| Resource::read(server, raw)).collect())
    }

    /// The resource templates of one server, or of all that are up.
    pub async fn list_templates(&self, server: Option<&str>) -> Result<Vec<Template>, CallError> {
        let listed = self.inner.list(List::Templates, server).await?;
        Ok(listed.into_iter().filter_map(|(server, raw)| Template::read(server, raw)).collect())
    }

    /// Reads a resource.
    pub async fn read_resource(&self, server: &str, uri: &str) -> Result<Vec<ResourceContent>, CallError> {
        let server = self.inner.server(server)?;
        let request = McpRequest::Read { uri };
        let answer = server.ask(&request, server.spec.tool_timeout.min(LONGEST)).await?;
        ResourceContent::read_all(answer).map_err(|problem| senseless(server, &request, problem))
    }

    /// Ends all servers with everything that they started, and waits for it.
    pub async fn shutdown(&self) {
        self.inner.stop.cancel();
        let mut supervisors = self.inner.supervisors.lock().await;
        while supervisors.join_next().await.is_some() {}
    }
}

/// An offered tool and its server.
struct Offer {
    server: Server,
    tool: Listed,
    full_name: String,
}

impl Offer {
    fn into_tool(self) -> ForeignTool {
        let Self { server, tool, full_name } = self;
        let Listed { name, description, parameters, read_only } = tool;
        let (server, parallel) = (server.spec.name.clone(), server.spec.parallel);
        ForeignTool { server, name, full_name, description, parameters, read_only, parallel }
    }
}

impl Inner {
    fn offers(&self) -> Vec<Offer> {
        let tools_of = |server: &Server| Arc::clone(&server.level.borrow().tools);
        let lists: Vec<_> = self.servers.iter().map(|server| (server, tools_of(server))).collect();
        let all = || lists.iter().flat_map(|(server, tools)| tools.iter().map(move |tool| (*server, tool)));
        let wanted: Vec<_> =
            all().map(|(server, tool)| (server.spec.name.as_str(), tool.name.as_str())).collect();
        let offer = |((server, tool), full_name): ((&Server, &Listed), String)| Offer {
            server: server.clone(),
            tool: tool.clone(),
            full_name,
        };
        all().zip(full_names(&wanted)).map(offer).collect()
    }

    fn find(&self, which: Which<'_>) -> Result<Offer, CallError> {
        let offers = self.offers();
        let is_meant = |offer: &Offer| match which {
            Which::Full(name) => offer.full_name == name,
            Which::Of { server, tool } => offer.server.spec.name == server && offer.tool.name == tool,
        };
        if let Which::Of { server, .. } = which {
            self.server(server)?;
        }
        let known = || offers.iter().map(|offer| offer.full_name.clone()).collect();
        let name = match which {
            Which::Full(name) => name.to_owned(),
            Which::Of { tool, .. } => tool.to_owned(),
        };
        let Some(index) = offers.iter().position(is_meant) else {
            return Err(CallError::NoSuchTool { name, known: known() });
        };
        offers.into_iter().nth(index).ok_or(CallError::NoSuchTool { name, known: Vec::new() })
    }

    fn server(&self, name: &str) -> Result<&Server, CallError> {
        let mut on = self.servers.iter().filter(|server| server.is_on());
        let known =
            || self.servers.iter().filter(|server| server.is_on()).map(|server| server.spec.name.clone());
        let found = on.find(|server| server.spec.name == name);
        found.ok_or_else(|| CallError::NoSuchServer { name: name.to_owned(), known: known().collect() })
    }

    /// The list of one server, or of all that are up and have such a list. In the second case a server that fails is
    /// left out and noted.
    async fn list(&self, list: List, only: Option<&str>) -> Result<Vec<(String, Value)>, CallError> {
        if let Some(name) = only {
            return list_of(self.server(name)?.clone(), list).await;
        }
        let has_resources = |server: &&Server| matches!(server.state().standing, Standing::Up(handshake) if handshake.has_resources);
        let mut asked = JoinSet::new();
        for (index, server) in self.servers.iter().filter(has_resources).cloned().enumerate() {
            asked.spawn(async move {
                let notes = Arc::clone(&server.notes);
                let listed = list_of(server, list).await.map_err(|error| notes.add(&error.to_string()));
                (index, listed.unwrap_or_default())
            });
        }
        let mut listed = BTreeMap::new();
        while let Some(answer) = asked.join_next().await {
            listed.extend(answer.ok());
        }
        Ok(listed.into_values().flatten().collect())
    }
}

impl Drop for Inner {
    /// The last handle is gone: each supervisor ends its server and then itself.
    fn drop(&mut self) {
        self.stop.cancel();
        self.supervisors.get_mut().detach_all();
    }
}

async fn list_of(server: Server, list: List) -> Result<Vec<(String, Value)>, CallError> {
    let request = McpRequest::List(list);
    let mut answer = server.ask(&request, server.spec.tool_timeout.min(LONGEST)).await?;
    let Some(Value::Array(items)) = answer.remove(list.field()) else { return Ok(Vec::new()) };
    Ok(items.into_iter().map(|item| (server.spec.name.clone(), item)).collect())
}

fn senseless(server: &Server, request: &McpRequest<'_>, problem: String) -> CallError {
    CallError::Senseless { server: server.spec.name.clone(), what: request.what(), problem }
}

/// Makes a handle and its supervisor.
fn prepare(
    spec: ServerSpec,
    surroundings: &Arc<ServersContext>,
    (changes, stop): (&Arc<watch::Sender<u64>>, &CancellationToken),
) -> (Server, ServerSupervisor) {
    let (spec, notes) = (Arc::new(spec), Arc::new(Notes::default()));
    let handler = ClientHandler {
        server: spec.name.clone(),
        roots: surroundings.roots.clone(),
        elicitor: surroundings.elicitor.clone(),
        notes: Arc::clone(&notes),
        open: Open::default(),
        tools_changed: Notify::new(),
    };
    let stage = if spec.enabled { ServerPhase::Starting } else { ServerPhase::Off };
    let (level, seen) =
        watch::channel(Level { generation: Generation::default(), stage, tools: Arc::default() });
    let (revive, revivals) = mpsc::channel(REVIVALS);
    let supervisor = ServerSupervisor {
        spec: Arc::clone(&spec),
        surroundings: Arc::clone(surroundings),
        handler: Arc::new(handler),
        level,
        revive: revivals,
        changes: Arc::clone(changes),
        stop: stop.clone(),
    };
    (Server { spec, notes, level: seen, revive }, supervisor)
}

/// Keeps each name once: the last configuration counts, at the position of the first.
fn distinct(specs: Vec<ServerSpec>) -> Vec<ServerSpec> {
    let mut distinct: Vec<ServerSpec> = Vec::new();
    for spec in specs {
        match distinct.iter_mut().find(|other| other.name == spec.name) {
            Some(other) => *other = spec,
            None => distinct.push(spec),
        }
    }
    distinct
}
