//! One server as its callers see it: its state, and requests that restart it, at most once each, when it is down.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::{mpsc, watch};

use crate::failure::CallError;
use crate::fault::Fault;
use crate::link::Link;
use crate::mcp_request::McpRequest;
use crate::notes::Notes;
use crate::spec::ServerSpec;
use crate::state::{Greeting, ServerState, Standing};
use crate::tool::Listed;

/// A handle to a server.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) spec: Arc<ServerSpec>,
    pub(crate) notes: Arc<Notes>,
    pub(crate) level: watch::Receiver<Level>,
    /// Asks the server's supervisor to replace this generation.
    pub(crate) revive: mpsc::Sender<Generation>,
}

/// How many times a server was started or connected to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Generation(pub(crate) u64);

/// The state that a server's supervisor publishes.
#[derive(Clone)]
pub(crate) struct Level {
    pub(crate) generation: Generation,
    pub(crate) stage: ServerPhase,
    /// The tools that it offers, or offered last.
    pub(crate) tools: Arc<Vec<Listed>>,
}

/// The phase of a server's life.
#[derive(Clone)]
pub(crate) enum ServerPhase {
    /// Disabled.
    Off,
    Starting,
    Up {
        link: Arc<Link>,
        handshake: Arc<Greeting>,
    },
    Down {
        reason: Arc<str>,
    },
    /// Shut down for good.
    ShutDown,
}

/// A server that accepts requests.
struct Up {
    generation: Generation,
    link: Arc<Link>,
}

impl Server {
    /// The state, for people.
    pub(crate) fn state(&self) -> ServerState {
        let level = self.level.borrow().clone();
        let standing = match level.stage {
            ServerPhase::Off => Standing::Off,
            ServerPhase::Starting => Standing::Starting,
            ServerPhase::Up { handshake, .. } => {
                Standing::Up(Greeting { tools: level.tools.len(), ..Greeting::clone(&handshake) })
            }
            ServerPhase::Down { reason } => Standing::Down { reason: reason.to_string() },
            ServerPhase::ShutDown => Standing::Down { reason: "this program is ending".to_owned() },
        };
        ServerState {
            name: self.spec.name.clone(),
            required: self.spec.required,
            standing,
            notes: self.notes.all(),
        }
    }

    /// Waits until the server is up or down.
    pub(crate) async fn settled(&self) {
        let mut level = self.level.clone();
        // An error means that the supervisor is gone, so the state changes no more.
        let _ = level.wait_for(|level| !matches!(level.stage, ServerPhase::Starting)).await;
    }

    /// Whether the server is enabled.
    pub(crate) fn is_on(&self) -> bool {
        !matches!(self.level.borrow().stage, ServerPhase::Off)
    }

    /// Sends a request. If the server is down, or went down before it looked at the request, it is restarted, at most
    /// once.
    pub(crate) async fn ask(
        &self,
        request: &McpRequest<'_>,
        limit: Duration,
    ) -> Result<Map<String, Value>, CallError> {
        let explain = |fault: Fault| fault.into_error(&self.spec.name, &request.what());
        let (mut up, mut is_fresh) = match self.standing_up().await? {
            Some(up) => (up, false),
            None => (self.bring_up().await?, true),
        };
        loop {
            let asked = up.link.handler().open.wait(limit, request.run(&up.link)).await;
            match asked.unwrap_or(Err(Fault::TimedOut(limit))) {
                Ok(answer) => return Ok(answer),
                Err(fault) if fault.left_undone() && !is_fresh => {
                    is_fresh = true;
                    up = self.replace(up.generation).await?;
                }
                Err(fault) => return Err(explain(fault)),
            }
        }
    }

    /// The server, if it is up; waits for one that is starting. `None` if it is down.
    async fn standing_up(&self) -> Result<Option<Up>, CallError> {
        let Level { generation, stage, .. } = self.level.borrow().clone();
        match stage {
            ServerPhase::Up { link, .. } => Ok(Some(Up { generation, link })),
            ServerPhase::Starting => self.at_least(generation).await.map(Some),
            ServerPhase::Off | ServerPhase::Down { .. } => Ok(None),
            ServerPhase::ShutDown => Err(self.shut_down()),
        }
    }

    async fn bring_up(&self) -> Result<Up, CallError> {
        let generation = self.level.borrow().generation;
        self.replace(generation).await
    }

    /// Replaces this generation.
    async fn replace(&self, generation: Generation) -> Result<Up, CallError> {
        // Fails if the supervisor has shut down, which the level then says.
        let _ = self.revive.send(generation).await;
        self.at_least(Generation(generation.0 + 1)).await
    }

    /// Waits until this generation, or a later one, is up or down.
    async fn at_least(&self, generation: Generation) -> Result<Up, CallError> {
        let mut level = self.level.clone();
        let settled = level.wait_for(|level| match level.stage {
            ServerPhase::ShutDown | ServerPhase::Off => true,
            ServerPhase::Starting => false,
            ServerPhase::Up { .. } | ServerPhase::Down { .. } => level.generation >= generation,
        });
        let Level { generation, stage, .. } = settled.await.map_err(|_| self.shut_down())?.clone();
        match stage {
            ServerPhase::Up { link, .. } => Ok(Up { generation, link }),
            ServerPhase::Down { reason } => {
                Err(CallError::Unavailable { server: self.spec.name.clone(), reason: reason.to_string() })
            }
            ServerPhase::Off | ServerPhase::Starting | ServerPhase::ShutDown => Err(self.shut_down()),
        }
    }

    fn shut_down(&self) -> CallError {
        CallError::ShutDown { server: self.spec.name.clone() }
    }
}
