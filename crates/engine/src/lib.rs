//! Runs commands and records what they did.
//!
//! An [`Engine`] starts a [`CommandSpec`] and returns a [`Session`]: one task owns the process, and all others hold a
//! handle for requests, a [`Progress`] that shows how far it got, and a [`Journal`] with every byte that it printed.
//! The engine knows no JSON, no model, no command line and no environment variables.
#![forbid(unsafe_code)]

mod causes;
mod command;
mod confined;
mod cursor;
mod deadline;
mod egress;
mod engine;
mod guard;
mod id;
mod journal;
mod lifetime;
mod limits;
mod orphans;
mod progress;
mod reactor;
mod reading;
mod receipt;
mod registry;
mod regular_file;
mod session;
mod spare;
mod start;
mod store;
mod tally;
mod wait;

pub use causes::with_causes;
pub use command::{CommandSpec, Io, Keeping, Pace, Queries, Stdin, Streams, Terminal};
pub use cursor::{Cursor, Delivery, Subscription, SubscriptionLimits};
pub use egress::check_hosts;
pub use engine::{
    Ahead, Brought, ConfineError, Engine, EngineError, EngineOptions, HelperProcess, OneShot, OneShotBounds,
    OneShotError, Pruning, hand_over,
};
pub use guard::Guard;
pub use id::SessionId;
pub use journal::{
    Account, BoundedRead, Degraded, Journal, JournalPiece, Missing, OpenJournal, Retention, Stream,
    TerminalSizes, Why,
};
pub use lifetime::Lifetime;
pub use limits::{
    Amount, Bytes, BytesPerSecond, Cgroups, Count, Crossed, Enforced, LimitMechanism, Limits, Peaks,
    Resource, RuntimeLimits, Scope, UnknownResource, Watching,
};
pub use progress::{InputProgress, Phase, Progress};
pub use reading::{
    Fitted, Fitting, Form, OutputPart, Reader, ReaderDemand, ended_on_alternate_screen, find_raw,
    has_alternate_screen, screen_text,
};
pub use receipt::{Cause, Exit, PeakMemory, ProcessLine, Receipt, StreamBytes};
pub use registry::{RegistryLimits, WhenFull};
pub use session::{
    Abandoned, Attention, Drain, InputError, KillDelays, LastLine, QUEUE_LIMIT, ScreenView, Session,
    SessionFacts, TreeEnd, Written,
};
pub use start::StartError;
pub use store::{
    Backlog, ClaimId, DeadRuntime, ListSessions, Listing, LoadRecord, OpenStore, PidScope, Presence,
    ProcessKey, Prune, Pruned, SessionRecord, StartRecord, StopRequest, Store, StoreLimits, WriteRecord,
};
pub use tally::TokenTally;
pub use wait::{InputWanted, Met, PatternText, Until, wait_any, wait_unless};
pub use windlass_output::{Offset, Span};
pub use windlass_proxy::Announcement;
pub use windlass_sandbox as sandbox;
pub use windlass_sys::clock::wall as wall_clock;
pub use windlass_sys::directory::{DirectoryIdentity, HeldDirectory};
pub use windlass_sys::evidence::{Doubt, Endpoint, InputKind};
pub use windlass_sys::limits::ProcessLimits;
pub use windlass_sys::peer;
pub use windlass_sys::process::{How, Pid, is_stopped};
pub use windlass_sys::pty::Size;
pub use windlass_sys::signal::Signal;
