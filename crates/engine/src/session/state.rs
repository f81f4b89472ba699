//! The life of a session as a table: state and event give the next state and action. Pure, so that every pair can be
//! tested without a process.

use crate::Cause;
use crate::progress::Phase;

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The root runs, and no stop was asked for.
    Running,
    /// The tree is being ended.
    Stopping { cause: Cause, root: Root, ladder: KillProgress },
    /// The root is gone; its last output is being read.
    Draining { cause: Cause },
    /// The receipt is written. Processes that the root left running may still print, or be ended later.
    Over,
}

/// Whether the root's exit has been collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    Alive,
    Gone,
}

/// Whether TERM, grace, KILL and sweep are still under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KillProgress {
    Climbing,
    Done,
}

/// The events in the life of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// The root's exit was collected.
    RootExited,
    /// A stop was asked for, by a caller or by the runtime itself.
    StopAsked(Cause),
    /// The kill ladder is done: the tree is gone, or could not be ended.
    LadderDone,
    /// All output has been read, or the processes that hold the pipe have been silent for long enough.
    OutputOver,
}

/// The next action of the session's task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextAction {
    Nothing,
    /// Start the kill ladder.
    EndTree,
    /// Read the remaining output.
    Drain,
    /// Write the receipt.
    Publish(Cause),
}

impl State {
    /// The next state, and its action.
    pub(crate) fn after(self, happening: Happening) -> (Self, NextAction) {
        use Happening::{LadderDone, OutputOver, RootExited, StopAsked};
        match (self, happening) {
            (Self::Running, RootExited) => (Self::Draining { cause: Cause::Itself }, NextAction::Drain),
            (Self::Running, StopAsked(cause)) => (stopping(cause, Root::Alive), NextAction::EndTree),
            (Self::Stopping { cause, ladder: KillProgress::Done, .. }, RootExited)
            | (Self::Stopping { cause, root: Root::Gone, .. }, LadderDone) => {
                (Self::Draining { cause }, NextAction::Drain)
            }
            (Self::Stopping { cause, ladder, .. }, RootExited) => {
                (Self::Stopping { cause, root: Root::Gone, ladder }, NextAction::Nothing)
            }
            (Self::Stopping { cause, root, .. }, LadderDone) => {
                (Self::Stopping { cause, root, ladder: KillProgress::Done }, NextAction::Nothing)
            }
            // A ladder that ended without success may be started again.
            (Self::Stopping { cause, root, ladder: KillProgress::Done }, StopAsked(_)) => {
                (stopping(cause, root), NextAction::EndTree)
            }
            // The root ended by itself and keeps that cause; the stop is for the processes that it left.
            (Self::Draining { cause }, StopAsked(_)) => (stopping(cause, Root::Gone), NextAction::EndTree),
            (Self::Draining { cause }, OutputOver) => (Self::Over, NextAction::Publish(cause)),
            (Self::Over, StopAsked(_)) => (Self::Over, NextAction::EndTree),
            (state, _) => (state, NextAction::Nothing),
        }
    }

    /// The same, as readers see it.
    pub(crate) fn phase(self) -> Phase {
        match self {
            Self::Running => Phase::Running,
            Self::Stopping { .. } => Phase::Stopping,
            Self::Draining { .. } => Phase::Draining,
            Self::Over => Phase::Over,
        }
    }
}

fn stopping(cause: Cause, root: Root) -> State {
    State::Stopping { cause, root, ladder: KillProgress::Climbing }
}

#[cfg(test)]
mod tests {
    use super::{Happening, KillProgress, NextAction, Root, State};
    use crate::Cause;
    use Happening::{LadderDone, OutputOver, RootExited, StopAsked};

    const STOP: Happening = StopAsked(Cause::Stopped);
    const EVERY_HAPPENING: [Happening; 4] = [RootExited, STOP, LadderDone, OutputOver];

    fn at(root: Root, ladder: KillProgress) -> State {
        State::Stopping { cause: Cause::Stopped, root, ladder }
    }

    fn draining(cause: Cause) -> State {
        State::Draining { cause }
    }

    #[test]
    fn every_pair_of_state_and_happening_has_its_row() {
        use KillProgress::{Climbing, Done};
        use Root::{Alive, Gone};
        let table = [
            (State::Running, RootExited, draining(Cause::Itself), NextAction::Drain),
            (State::Running, STOP, at(Alive, Climbing), NextAction::EndTree),
            (State::Running, LadderDone, State::Running, NextAction::Nothing),
            (State::Running, OutputOver, State::Running, NextAction::Nothing),
            (at(Alive, Climbing), RootExited, at(Gone, Climbing), NextAction::Nothing),
            (at(Alive, Climbing), STOP, at(Alive, Climbing), NextAction::Nothing),
            (at(Alive, Climbing), LadderDone, at(Alive, Done), NextAction::Nothing),
            (at(Alive, Climbing), OutputOver, at(Alive, Climbing), NextAction::Nothing),
            (at(Gone, Climbing), LadderDone, draining(Cause::Stopped), NextAction::Drain),
            (at(Gone, Climbing), OutputOver, at(Gone, Climbing), NextAction::Nothing),
            (at(Alive, Done), RootExited, draining(Cause::Stopped), NextAction::Drain),
            (at(Alive, Done), STOP, at(Alive, Climbing), NextAction::EndTree),
            (
                draining(Cause::Itself),
                STOP,
                State::Stopping { cause: Cause::Itself, root: Gone, ladder: Climbing },
                NextAction::EndTree,
            ),
            (draining(Cause::Itself), OutputOver, State::Over, NextAction::Publish(Cause::Itself)),
            (State::Over, STOP, State::Over, NextAction::EndTree),
            (State::Over, OutputOver, State::Over, NextAction::Nothing),
        ];
        for (state, happening, next, order) in table {
            assert_eq!(state.after(happening), (next, order), "{state:?} after {happening:?}");
        }
    }

    /// Walks every sequence of six events.
    #[test]
    fn a_receipt_is_written_at_most_once_and_only_after_the_root_is_gone() {
        for sequence in 0..4_u32.pow(6) {
            let happenings = (0..6).map(|place| EVERY_HAPPENING[(sequence / 4_u32.pow(place) % 4) as usize]);
            let (mut state, mut exited, mut published) = (State::Running, false, 0);
            for happening in happenings {
                exited |= happening == RootExited;
                let (next, order) = state.after(happening);
                if let NextAction::Publish(_) = order {
                    assert!(exited);
                    published += 1;
                }
                state = next;
            }
            assert!(published <= 1);
        }
    }
}
