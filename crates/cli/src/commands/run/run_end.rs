//! The reason why windlass stops waiting for a run, and the exit code for it.

use std::io;
use std::sync::Arc;

use windlass_engine::{Met, Receipt, Until};
use windlass_sys::signal::Signal;

use super::stream::Streamed;
use crate::failure::Exit;

/// The reason why windlass stops waiting.
#[derive(Debug)]
pub(crate) enum RunEnd {
    /// The command has exited.
    Exited(Arc<Receipt>),
    /// A condition other than the exit was met.
    Met(Met),
    /// A signal asked windlass to end.
    Ended(Signal),
    /// The command was interrupted twice.
    Stopped(Signal),
    /// The reader of the output has gone.
    ReaderGone,
    /// The output cannot be written, for example because the disk is full.
    Unwritable(String),
    /// The command does not wait for a reader, and retention dropped output that this reader had not taken yet.
    Missed {
        /// The number of dropped bytes.
        bytes: u64,
    },
}

impl RunEnd {
    /// The end of the run that a failed write of output means.
    pub(crate) fn of_failed_write(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::Unwritable(error.to_string()),
        }
    }

    /// The end of the run once the result of the streaming is known. A reader must not take a part of the output for
    /// the whole.
    pub(crate) fn after(self, output: Option<&io::Result<Streamed>>) -> Self {
        match (output, &self) {
            (_, Self::Ended(_) | Self::Stopped(_)) | (None, _) => self,
            (Some(Err(error)), _) => Self::of_failed_write(error),
            (Some(Ok(Streamed { missed: 0 })), _) => self,
            (Some(Ok(Streamed { missed })), _) => Self::Missed { bytes: *missed },
        }
    }

    /// The exit code of windlass. A command that exits successfully without printing the awaited pattern counts as
    /// failed.
    pub(crate) fn exit(&self, until: &Until) -> Exit {
        match self {
            Self::Exited(_) if self.has_missed(until) => Exit::FAILED,
            Self::Exited(receipt) => Exit::of_command(receipt.exit.code()),
            Self::Met(_) => Exit::SUCCESS,
            Self::Ended(signal) | Self::Stopped(signal) => Exit::of_command(128 + signal.number()),
            Self::ReaderGone => Exit::READER_GONE,
            Self::Unwritable(_) | Self::Missed { .. } => Exit::CANNOT_RUN,
        }
    }
}

impl RunEnd {
    /// Whether the command exited successfully without printing the awaited pattern.
    pub(crate) fn has_missed(&self, until: &Until) -> bool {
        let Self::Exited(receipt) = self else { return false };
        !until.patterns.is_empty() && receipt.exit.code() == 0
    }
}

impl From<Met> for RunEnd {
    fn from(met: Met) -> Self {
        match met {
            Met::Exit(receipt) => Self::Exited(receipt),
            met => Self::Met(met),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_output_is_never_taken_for_the_whole() {
        let idle = || RunEnd::Met(Met::Idle(std::time::Duration::ZERO));
        let whole = Ok(Streamed { missed: 0 });
        let part = Ok(Streamed { missed: 7 });
        let broken = Err(io::ErrorKind::BrokenPipe.into());
        let full = Err(io::ErrorKind::StorageFull.into());
        assert_eq!(idle().after(None).exit(&Until::default()), Exit::SUCCESS);
        assert_eq!(idle().after(Some(&whole)).exit(&Until::default()), Exit::SUCCESS);
        assert_eq!(idle().after(Some(&part)).exit(&Until::default()), Exit::CANNOT_RUN);
        assert_eq!(idle().after(Some(&full)).exit(&Until::default()), Exit::CANNOT_RUN);
        assert_eq!(idle().after(Some(&broken)).exit(&Until::default()), Exit::READER_GONE);
        let ended = RunEnd::Ended(Signal::TERM).after(Some(&broken));
        assert_eq!(ended.exit(&Until::default()), Exit::of_command(143), "whoever told us to end is told so");
    }
}
