//! The agent's configuration: files in layers, trusted projects, instructions and skills, and all of it as one
//! encrypted portable file. Reads and writes the files that it is given, and never the environment: the caller passes
//! all locations as [`Places`].
//!
//! [`load`] returns [`Loaded`]: the typed [`Settings`], the origin of each value, and the [`Project`] with its trust.
//! [`instructions::find`], [`skills::find`] and [`withheld()`] continue from there.
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
