//! Whether a session waits for somebody. Only its task can tell: it alone knows that no input is on its way and that
//! everything printed so far has been read.

use super::state::State;
use super::task::Task;
use rustix::fd::AsFd;
use windlass_sys::evidence::{self, InputKind, Reading};

/// What a session is doing about its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attention {
    /// Nobody reads: it works, or has not taken its input yet, or has none.
    Busy,
    /// It has taken all its input and waits for more. Everything it printed before is in the journal.
    Waiting(InputKind),
    /// It cannot be inspected: only silence can tell.
    Unknown(InputKind),
}

impl Task {
    /// Looks, having read what there is to read.
    pub(crate) fn look(&mut self) -> Attention {
        if self.state() != State::Running || !self.has_read_everything() || self.input.progress().queued() > 0
        {
            return Attention::Busy;
        }
        let reading = self.reading();
        // What was printed just before the program began to wait must be readable before anybody hears of it.
        if reading == Reading::Busy || !self.has_read_everything() {
            return Attention::Busy;
        }
        match reading {
            Reading::Busy => Attention::Busy,
            Reading::Waiting { .. } => Attention::Waiting(self.input_kind()),
            Reading::Unknown { .. } => Attention::Unknown(self.input_kind()),
        }
    }

    fn reading(&self) -> Reading {
        let root = self.shared.facts.root;
        match (self.outputs.master(), self.input.pipe_end()) {
            (Some(master), _) => evidence::terminal_reading(master.as_fd(), root),
            (None, Some(stdin)) => evidence::pipe_reading(stdin.as_fd(), root),
            (None, None) => Reading::Busy,
        }
    }

    fn input_kind(&self) -> InputKind {
        let kind = self.outputs.master().map(|master| evidence::input_kind(master.as_fd()));
        kind.and_then(Result::ok).unwrap_or(InputKind::Line)
    }
}
