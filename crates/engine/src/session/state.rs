//! The life of a session as a table: what is, what happens, what is then, and what to do. Pure, so that every pair can
//! be tested without a process.

use crate::Cause;
use crate::progress::Phase;

/// Where a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The root runs and nobody has asked for its end.
    Running,
    /// The tree is being ended.
    Stopping { cause: Cause, root: Root, ladder: Ladder },
    /// The root is gone; its last output is being read.
    Draining { cause: Cause },
    /// The receipt is written. What the root left running may still print, or be ended later.
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
pub(crate) enum Ladder {
    Climbing,
    Done,
}

/// What can happen to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// The root's exit was collected.
    RootExited,
    /// Somebody, or something, wants it ended.
    StopAsked(Cause),
    /// The ladder was climbed: the tree is gone, or could not be ended.
    LadderDone,
    /// All output has been read, or what holds the pipe has been silent for long enough.
    OutputOver,
}

/// What the session's task has to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Nothing,
    /// Start climbing the ladder.
    EndTree,
    /// Read what is left.
    Drain,
    /// Write the receipt.
    Publish(Cause),
}

impl State {
    /// The next state, and the order that comes with it.
    pub(crate) fn after(self, happening: Happening) -> (Self, Order) {
        use Happening::{LadderDone, OutputOver, RootExited, StopAsked};
        match (self, happening) {
            (Self::Running, RootExited) => (Self::Draining { cause: Cause::Itself }, Order::Drain),
            (Self::Running, StopAsked(cause)) => (stopping(cause, Root::Alive), Order::EndTree),
            (Self::Stopping { cause, ladder: Ladder::Done, .. }, RootExited)
            | (Self::Stopping { cause, root: Root::Gone, .. }, LadderDone) => {
                (Self::Draining { cause }, Order::Drain)
            }
            (Self::Stopping { cause, ladder, .. }, RootExited) => {
                (Self::Stopping { cause, root: Root::Gone, ladder }, Order::Nothing)
            }
            (Self::Stopping { cause, root, .. }, LadderDone) => {
                (Self::Stopping { cause, root, ladder: Ladder::Done }, Order::Nothing)
            }
            // A ladder that ended without success may be climbed again.
            (Self::Stopping { cause, root, ladder: Ladder::Done }, StopAsked(_)) => {
                (stopping(cause, root), Order::EndTree)
            }
            // The root ended by itself and keeps that cause; what it left behind is what is being stopped.
            (Self::Draining { cause }, StopAsked(_)) => (stopping(cause, Root::Gone), Order::EndTree),
            (Self::Draining { cause }, OutputOver) => (Self::Over, Order::Publish(cause)),
            (Self::Over, StopAsked(_)) => (Self::Over, Order::EndTree),
            (state, _) => (state, Order::Nothing),
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
    State::Stopping { cause, root, ladder: Ladder::Climbing }
}

#[cfg(test)]
mod tests {
    use super::{Happening, Ladder, Order, Root, State};
    use crate::Cause;
    use Happening::{LadderDone, OutputOver, RootExited, StopAsked};

    const STOP: Happening = StopAsked(Cause::Stopped);
    const EVERY_HAPPENING: [Happening; 4] = [RootExited, STOP, LadderDone, OutputOver];

    fn at(root: Root, ladder: Ladder) -> State {
        State::Stopping { cause: Cause::Stopped, root, ladder }
    }

    fn draining(cause: Cause) -> State {
        State::Draining { cause }
    }

    #[test]
    fn every_pair_of_state_and_happening_has_its_row() {
        use Ladder::{Climbing, Done};
        use Root::{Alive, Gone};
        let table = [
            (State::Running, RootExited, draining(Cause::Itself), Order::Drain),
            (State::Running, STOP, at(Alive, Climbing), Order::EndTree),
            (State::Running, LadderDone, State::Running, Order::Nothing),
            (State::Running, OutputOver, State::Running, Order::Nothing),
            (at(Alive, Climbing), RootExited, at(Gone, Climbing), Order::Nothing),
            (at(Alive, Climbing), STOP, at(Alive, Climbing), Order::Nothing),
            (at(Alive, Climbing), LadderDone, at(Alive, Done), Order::Nothing),
            (at(Alive, Climbing), OutputOver, at(Alive, Climbing), Order::Nothing),
            (at(Gone, Climbing), LadderDone, draining(Cause::Stopped), Order::Drain),
            (at(Gone, Climbing), OutputOver, at(Gone, Climbing), Order::Nothing),
            (at(Alive, Done), RootExited, draining(Cause::Stopped), Order::Drain),
            (at(Alive, Done), STOP, at(Alive, Climbing), Order::EndTree),
            (
                draining(Cause::Itself),
                STOP,
                State::Stopping { cause: Cause::Itself, root: Gone, ladder: Climbing },
                Order::EndTree,
            ),
            (draining(Cause::Itself), OutputOver, State::Over, Order::Publish(Cause::Itself)),
            (State::Over, STOP, State::Over, Order::EndTree),
            (State::Over, OutputOver, State::Over, Order::Nothing),
        ];
        for (state, happening, next, order) in table {
            assert_eq!(state.after(happening), (next, order), "{state:?} after {happening:?}");
        }
    }

    /// Walks every sequence of six happenings.
    #[test]
    fn a_receipt_is_written_at_most_once_and_only_after_the_root_is_gone() {
        for sequence in 0..4_u32.pow(6) {
            let happenings = (0..6).map(|place| EVERY_HAPPENING[(sequence / 4_u32.pow(place) % 4) as usize]);
            let (mut state, mut exited, mut published) = (State::Running, false, 0);
            for happening in happenings {
                exited |= happening == RootExited;
                let (next, order) = state.after(happening);
                if let Order::Publish(_) = order {
                    assert!(exited);
                    published += 1;
                }
                state = next;
            }
            assert!(published <= 1);
        }
    }
}
