//! What people configure for the agent: configuration files in layers, projects that are trusted, instructions and skills
//! found on the way, and all of it as one encrypted file to take along. Reads and writes files it is pointed at, never the
//! environment: where things lie comes in as [`Places`].
//!
//! [`load`] gives [`Loaded`]: the typed [`Settings`], where each value came from, and the [`Project`] with whether it is
//! trusted. [`instructions::find`], [`skills::find`] and [`withheld()`] go on from there.
#![forbid(unsafe_code)]

mod choices;
mod closest;
mod codex;
pub mod environment;
mod fault;
mod guard;
pub mod instructions;
mod keys;
mod layers;
mod override_words;
mod places;
pub mod portable;
mod project;
mod reading;
mod settings;
pub mod skills;
mod small_file;
mod tree;
mod trust;
mod withheld;

pub use choices::{
    ApprovalPolicy, Effort, HistoryPersistence, Inherit, InstructionsRole, SandboxMode, Summary,
    ToolApproval, TrustLevel, Verbosity, WebSearch, WireApi,
};
pub use fault::{Fault, Faults, Problem};
pub use keys::{KeyAccount, reference};
pub use layers::{Loaded, Note, Request, RoleSettings, Stated, load};
pub use places::Places;
pub use project::{LeftOut, LeftOutKind, Project, Trust};
pub use settings::{
    Agents, EnvironmentPolicy, History, McpServer, McpTransport, NetworkAccess, Prices, Provider, Role,
    Settings, Tools, WorkspaceWrite,
};
pub use tree::{Layer, Value, ValueOrigin};
pub use trust::{TrustError, trust};
pub use withheld::withheld;
