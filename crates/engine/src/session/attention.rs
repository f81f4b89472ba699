//! Whether a session waits for input. Only its task can decide: it alone knows that no input is on its way and that all
//! output so far was read.

use super::state::State;
use super::task::SessionTask;
use crate::wait::InputWanted;
use rustix::fd::AsFd;
use std::time::Duration;
use windlass_sys::evidence::{self, Doubt, InputKind, InputState};

/// The state of a session with regard to its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attention {
    /// It works, whether or not a part of it reads; or it has not taken its input yet, or has none.
    Busy,
    /// It has taken all its input and waits for more. Everything it printed before is in the journal.
    Waiting(InputKind),
    /// The kernel cannot decide, for this reason. It reads, except where it cannot be inspected at all.
    Probably(InputKind, Doubt),
    /// It reads, and a look after this time can decide whether it works.
    Undecided(Duration),
}

impl Attention {
    /// The input that it waits for, for sure or probably.
    pub fn wanted(self) -> Option<InputWanted> {
        match self {
            Self::Waiting(kind) => Some(InputWanted { kind, doubt: None }),
            Self::Probably(kind, doubt) => Some(InputWanted { kind, doubt: Some(doubt) }),
            Self::Busy | Self::Undecided(_) => None,
        }
    }
}

impl SessionTask {
    /// Looks, after it has read all available output.
    pub(crate) fn look(&mut self) -> Attention {
        if self.state() != State::Running || !self.has_read_everything() || self.input.progress().queued() > 0
        {
            return Attention::Busy;
        }
        let reading = self.reading();
        // Output printed just before the program began to wait must be readable before the wait is reported.
        if reading == InputState::Busy || !self.has_read_everything() {
            return Attention::Busy;
        }
        match reading {
            InputState::Busy => Attention::Busy,
            InputState::Waiting { .. } => Attention::Waiting(self.input_kind()),
            InputState::Probably { doubt, .. } => Attention::Probably(self.input_kind(), doubt),
            InputState::Unknown { .. } => Attention::Probably(self.input_kind(), Doubt::Hidden),
            InputState::Undecided { again, .. } => Attention::Undecided(again),
        }
    }

    fn reading(&mut self) -> InputState {
        let (root, watch) = (self.shared.facts.root, &mut self.life.watch);
        watch.note_output(self.shared.journal.end().get());
        match (self.outputs.master(), self.input.pipe_end()) {
            (Some(master), _) => watch.terminal(master.as_fd(), root),
            (None, Some(stdin)) => watch.pipe(stdin.as_fd(), root),
            (None, None) => InputState::Busy,
        }
    }

    fn input_kind(&self) -> InputKind {
        let kind = self.outputs.master().map(|master| evidence::input_kind(master.as_fd()));
        kind.and_then(Result::ok).unwrap_or(InputKind::Line)
    }
}
