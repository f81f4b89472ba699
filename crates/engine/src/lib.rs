//! Runs commands and remembers what they did.
#![forbid(unsafe_code)]

mod id;
mod journal;
mod lifetime;
mod receipt;
mod store;

pub use id::SessionId;
pub use journal::{Account, Degraded, Journal, OpenJournal, Piece, Reading, Retention, Stream};
pub use lifetime::Lifetime;
pub use receipt::{Cause, Exit, PeakMemory, ProcessLine, Receipt, StreamBytes};
pub use store::{
    ClaimId, ListSessions, LoadRecord, OpenStore, ProcessKey, Prune, Pruned, SessionRecord, StartRecord, Store,
    StoreLimits, WriteRecord,
};
