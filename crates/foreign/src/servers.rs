//! All servers together: started at once, listed under names that a model can use, called by name, and ended as one.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::sync::watch;
use windlass_engine::Engine;

use crate::elicit::Elicitor;
use crate::failure::CallError;
use crate::http::Http;
use crate::outcome::CallOutcome;
use crate::resource::{Resource, ResourceContent, Template};
use crate::spec::ServerSpec;
use crate::state::ServerState;
use crate::tool::ForeignTool;

/// What servers are started in.
#[derive(Clone)]
pub struct Surroundings {
    /// Runs those that are programs.
    pub engine: Engine,
    /// Carries requests to those on the web; without it none can be reached.
    pub http: Option<Arc<dyn Http>>,
    /// Where programs run that say nothing else. Absolute.
    pub directory: PathBuf,
    /// Our own environment, of which programs get the harmless part and what they name.
    pub environment: Vec<(OsString, OsString)>,
    /// The folders that the work is about: told to servers that ask.
    pub roots: Vec<PathBuf>,
    /// Asks the person what servers want to know; without it every question is declined.
    pub elicitor: Option<Arc<dyn Elicitor>>,
}

/// All servers. A handle: clones share them, and when the last one goes, so do they.
#[derive(Clone)]
pub struct Servers {}

/// Which tool is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which<'a> {
    /// The one that models know by this name.
    Full(&'a str),
    /// The one that the server of this name calls so.
    Of {
        /// The server.
        server: &'a str,
        /// The tool.
        tool: &'a str,
    },
}

impl Servers {
    /// Starts all that are enabled, in the background. Must be called inside a tokio runtime.
    pub fn start(_surroundings: Surroundings, _specs: Vec<ServerSpec>) -> Self {
        Self {}
    }

    /// Waits until each is up or down, and says how each stands. None takes longer than its start-up time.
    pub async fn ready(&self) -> Vec<ServerState> {
        Vec::new()
    }

    /// How each stands now.
    pub fn states(&self) -> Vec<ServerState> {
        Vec::new()
    }

    /// The tools that are offered now: by server as configured, then by name.
    pub fn tools(&self) -> Vec<ForeignTool> {
        Vec::new()
    }

    /// A number that changes whenever tools or states may have.
    pub fn watch(&self) -> watch::Receiver<u64> {
        watch::channel(0).1
    }

    /// Calls a tool. Dropping the call tells the server that nobody waits.
    pub async fn call(
        &self,
        which: Which<'_>,
        _arguments: Map<String, Value>,
    ) -> Result<CallOutcome, CallError> {
        Err(CallError::NoSuchTool { name: format!("{which:?}"), known: Vec::new() })
    }

    /// The resources of one server, or of all that are up.
    pub async fn list_resources(&self, _server: Option<&str>) -> Result<Vec<Resource>, CallError> {
        Ok(Vec::new())
    }

    /// The families of resources of one server, or of all that are up.
    pub async fn list_templates(&self, _server: Option<&str>) -> Result<Vec<Template>, CallError> {
        Ok(Vec::new())
    }

    /// Reads a resource.
    pub async fn read_resource(&self, server: &str, _uri: &str) -> Result<Vec<ResourceContent>, CallError> {
        Err(CallError::NoSuchServer { name: server.to_owned(), known: Vec::new() })
    }

    /// Ends all of them and everything they started, and waits for that.
    pub async fn shutdown(&self) {}
}
