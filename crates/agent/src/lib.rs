//! Works on a task with a model and tools.
//!
//! A [`Team`] is a tree of agents. Each agent is one task that owns its conversation; a turn of it is a pure machine
//! (`turn`) whose orders its worker carries out. Agents, people and programs reach one another through inboxes, and
//! everything that happens is told in one stream of [`Event`]s. This crate knows no sockets, no terminals and no
//! environment: whoever starts a team hands it everything in a [`Crew`].
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
/// What it takes to run scripts in processes of their own.
pub use windlass_code_mode::{CellProcess, CellSpawner, run_cell};
