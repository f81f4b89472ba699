//! The shared fixture: an engine, servers that misbehave on request, and the outcomes of calls.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::future::Future;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use windlass_engine::{Engine, EngineOptions, Keeping, KillDelays};
use windlass_mcp_client::{
    CallError, CallOutcome, Content, Elicitor, Http, ServerSpec, ServerState, Servers, ServersContext,
    Standing, Transport, Which,
};
use windlass_testkit::{HANG, Scratch, survivors};

const PEER: &str = include_str!("servers/peer.py");
const STATELESS: &str = include_str!("servers/stateless.py");

/// Servers with everything that they need. Ends them, and checks that no process is left.
pub(crate) struct Rig {
    /// The first field, so that it is dropped first when a test fails.
    pub(crate) leash: Leash,
    pub(crate) servers: Servers,
    pub(crate) engine: Engine,
    pub(crate) token: String,
    pub(crate) scratch: Scratch,
}

/// Kills the engine's processes when a test fails, because the regular shutdown is skipped then.
pub(crate) struct Leash(pub(crate) Engine);

impl Drop for Leash {
    fn drop(&mut self) {
        let processes = self.0.sessions().into_iter().flat_map(|session| session.processes());
        for process in processes {
            // The process may have ended by itself already.
            let _ = Command::new("kill").args(["-KILL", &process.pid.to_string()]).status();
        }
    }
}

/// The optional parts of a rig.
#[derive(Default)]
pub(crate) struct With {
    pub(crate) http: Option<Arc<dyn Http>>,
    pub(crate) elicitor: Option<Arc<dyn Elicitor>>,
}

impl Rig {
    pub(crate) fn start(test: &str, specs: Vec<ServerSpec>) -> Self {
        Self::start_with(test, specs, With::default())
    }

    pub(crate) fn start_with(test: &str, specs: Vec<ServerSpec>, with: With) -> Self {
        let patience = KillDelays { grace: Duration::from_millis(300), ..KillDelays::default() };
        let engine = Engine::new(EngineOptions { patience, ..EngineOptions::default() }).expect("an engine");
        let (token, scratch) = (survivors::token(test), Scratch::new(test));
        let mut environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        environment.push(("UNWANTED".into(), "secret".into()));
        environment.push((survivors::TOKEN_VARIABLE.into(), (&token).into()));
        let surroundings = ServersContext {
            engine: engine.clone(),
            keeping: Keeping::Memory,
            http: with.http,
            directory: scratch.path().to_owned(),
            environment,
            roots: vec!["/srv/tree".into()],
            elicitor: with.elicitor,
        };
        let leash = Leash(engine.clone());
        Self { leash, servers: Servers::start(surroundings, specs), engine, token, scratch }
    }

    /// Waits until the only server is up or down. Returns its state.
    pub(crate) async fn ready(&self) -> ServerState {
        let mut states = within(self.servers.ready()).await;
        assert_eq!(states.len(), 1, "{states:?}");
        states.remove(0)
    }

    /// The reason why the only server is down.
    pub(crate) async fn reason(&self) -> String {
        match self.ready().await.standing {
            Standing::Down { reason } => reason,
            other => panic!("it should be down, but is {other:?}"),
        }
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Result<CallOutcome, CallError> {
        within(self.servers.call(Which::Full(name), object(arguments))).await
    }

    /// The text of the result of a call of the server `peer`.
    pub(crate) async fn text(&self, tool: &str, arguments: Value) -> String {
        let outcome = self.call(&format!("mcp__peer__{tool}"), arguments).await;
        text(&outcome.unwrap_or_else(|error| panic!("{tool}: {error}")))
    }

    /// The error of a call of the server `peer`.
    pub(crate) async fn error(&self, tool: &str, arguments: Value) -> String {
        let outcome = self.call(&format!("mcp__peer__{tool}"), arguments).await;
        outcome.expect_err("the call fails").to_string()
    }

    /// Waits until a condition holds, and checks it at every change.
    pub(crate) async fn until(&self, mut holds: impl FnMut(&Servers) -> bool) {
        let mut changes = self.servers.watch();
        within(async {
            while !holds(&self.servers) {
                changes.changed().await.expect("servers are there");
            }
        })
        .await;
    }

    pub(crate) async fn end(self) {
        within(self.servers.shutdown()).await;
        assert_eq!(survivors::bearing(&self.token), [""; 0], "nothing outlives the servers");
        within(self.engine.shutdown()).await;
    }
}

/// The server `peer` in this mode.
pub(crate) fn peer(mode: &str) -> ServerSpec {
    python("peer", "python3", &["-c", PEER, mode])
}

/// The server `peer` in the mode without a handshake.
pub(crate) fn stateless() -> ServerSpec {
    python("peer", "python3", &["-c", STATELESS])
}

/// A server on pipes whose process can be found by its token.
pub(crate) fn python(name: &str, command: impl Into<OsString>, args: &[&str]) -> ServerSpec {
    let transport = Transport::Stdio {
        command: command.into(),
        args: args.iter().map(Into::into).collect(),
        env: BTreeMap::from([("GIVEN".to_owned(), "given".into())]),
        env_vars: vec![survivors::TOKEN_VARIABLE.to_owned()],
        cwd: None,
    };
    ServerSpec { startup_timeout: HANG, tool_timeout: HANG, ..ServerSpec::new(name, transport) }
}

pub(crate) fn text(outcome: &CallOutcome) -> String {
    match outcome.content.first() {
        Some(Content::Text(text)) => text.clone(),
        other => panic!("text was expected, and not {other:?}"),
    }
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is no object"),
    }
}

/// Bounds a future that must complete, so that a hang fails the test.
pub(crate) async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(HANG, what).await.expect("it does not hang")
}
