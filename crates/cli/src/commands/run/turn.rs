//! The turn a run takes: why windlass stops waiting, and what that means for the session and for our exit code.

use std::sync::Arc;

use windlass_engine::{Met, Receipt};
use windlass_sys::signal::Signal;

use crate::failure::Exit;

/// Why windlass stops waiting.
#[derive(Clone, Debug)]
pub(crate) enum Turn {
    /// The command has exited.
    Exited(Arc<Receipt>),
    /// A condition other than the exit was met.
    Met(Met),
    /// We were told to end.
    Ended(Signal),
    /// The command was interrupted twice.
    Stopped(Signal),
    /// Nobody reads our output any more.
    ReaderGone,
}

impl Turn {
    /// What windlass exits with.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Exited(receipt) => Exit::of_command(receipt.exit.code()),
            Self::Met(_) => Exit::SUCCESS,
            Self::Ended(signal) | Self::Stopped(signal) => Exit::of_command(128 + signal.number()),
            Self::ReaderGone => Exit::READER_GONE,
        }
    }
}

impl From<Met> for Turn {
    fn from(met: Met) -> Self {
        match met {
            Met::Exit(receipt) => Self::Exited(receipt),
            met => Self::Met(met),
        }
    }
}
