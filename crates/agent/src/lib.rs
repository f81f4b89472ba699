//! An agent: works on a task with a model and tools.
//!
//! A [`Team`] is a tree of agents. Each agent is one task that owns its conversation; its turn is a pure state machine
//! (`turn`) whose actions its worker carries out. Agents, people and programs reach one another through inboxes, and
//! one stream of [`AgentEvent`]s reports everything that happens. This crate knows no sockets, no terminals and no
//! environment: the caller that starts a team passes everything in an [`AgentDeps`].
#![forbid(unsafe_code)]

mod call_queue;
mod compact;
mod deps;
mod event;
mod history;
mod model_client;
mod names;
mod notices;
mod patching;
pub mod prompt;
mod record;
mod team;
mod thread;
mod tool;
mod tools;
mod turn;
mod user_prompter;
mod worker;

pub use deps::{AgentConfig, AgentDeps, ApprovalMode, Background, ModelParams, Role, TeamLimits};
pub use event::{
    AgentEvent, CallNote, CommandNote, CommandOutcome, EventKind, FileChange, PlanStep, StepState,
};
pub use history::{HistoryEntry, ItemOrigin};
pub use model_client::{ModelClient, ResponseFuture, ResponseStream, Spoken};
pub use patching::run_patch_helper;
pub use record::{Holder, RecordError, Thread, ThreadFacts, Threads};
pub use team::{Beginning, Status, Team};
pub use thread::ThreadId;
pub use user_prompter::{
    Approval, Choice, Decision, Lasting, UserAnswer, UserPrompter, UserQuestion, Waited,
};
/// The parts of code mode that a program needs to run scripts in processes of their own.
pub use windlass_code_mode::{CellProcess, CellSpawner, run_cell};
