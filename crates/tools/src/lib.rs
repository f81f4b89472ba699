//! The verbs a model can use, defined once: every protocol iterates the same list and calls the same functions.
//!
//! A [`Toolbox`] is one caller's view of an engine: the sessions it started, how far it has read each of them, and the
//! announcements that it still has to receive. It knows no transport and no model; the protocol that carries its calls
//! translates [`Reply`].
#![forbid(unsafe_code)]

mod announcements;
mod approval;
mod archived;
mod arguments;
mod attend;
mod call;
mod catalogue;
mod delivery;
mod environment;
mod execution;
mod live_session;
mod login;
mod others;
mod owner;
mod plain;
mod random;
mod reach;
mod readable;
mod reply_builder;
mod report;
mod secrets;
mod session_queue;
mod shell;
mod shims;
mod tool;
mod toolbox;
mod until;
mod variable_patterns;
mod views;

pub use call::{
    Approval, Approved, Call, Dismissal, LeftProcess, Person, Progress, Question, Reply, SessionEvent,
    SessionSummary, UnknownTool, UserReplyFuture,
};
pub use catalogue::{Hints, Profile, Tool};
pub use delivery::{Delivery, Outcome};
pub use environment::{EnvironmentPolicy, Inherit, SecretVariables, Variables};
pub use execution::{Detail, Emphasis, Execution, ResolvedPath};
pub use others::OtherRuntimes;
pub use owner::Sharing;
pub use reach::{ConfinedReply, PathAccess, path_from_json, path_to_json};
pub use report::denials_json;
pub use secrets::looks_secret;
pub use session_queue::CallTicket;
pub use shims::{PassedOn, Pending, ShimFailure, ShimStarted, Shims};
/// How to start a program of ours that works in a sandbox.
pub use windlass_engine::HeldDirectory;
pub use windlass_engine::sandbox::HelperProgram;
/// The policies for commands.
pub use windlass_engine::sandbox::{Access, Confined, Network, Pattern, Policy};
/// The rules that allow, ask or forbid commands.
pub use windlass_exec_policy::{Rules, RulesFile};
/// Text that a person decides on.
pub use windlass_output::Shown;

pub use toolbox::{Numbering, Toolbox, ToolboxOptions};
pub use variable_patterns::{BadVariablePattern, VariablePatterns};
