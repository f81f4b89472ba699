//! The order of an agent's calls: tools that may run in parallel run beside each other, a tool that may not waits for every
//! call before it, and every call after it waits for that one.
//!
//! A call takes its ticket when the model makes it, before a task is spawned for it. A lock that the spawned task takes would
//! admit calls in the order in which the runtime happens to poll their tasks.

use std::sync::{Mutex, PoisonError};

use tokio_util::sync::{CancellationToken, DropGuard};

use crate::tool::Pace;

/// The calls that were admitted and are not over.
#[derive(Debug, Default)]
pub(crate) struct CallQueue {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Cancelled when the last call that runs alone is over.
    alone: Option<CancellationToken>,
    /// The same for each call behind that one.
    together: Vec<CancellationToken>,
}

/// The position of one call in the queue. The calls behind it may run once it is dropped.
#[derive(Debug)]
pub(crate) struct CallTicket {
    before: Vec<CancellationToken>,
    _over: DropGuard,
}

impl CallQueue {
    /// Takes the next position in the queue.
    pub(crate) fn ticket(&self, pace: Pace) -> CallTicket {
        let over = CancellationToken::new();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.together.retain(|call| !call.is_cancelled());
        let mut before: Vec<CancellationToken> = state.alone.iter().cloned().collect();
        match pace {
            Pace::Together => state.together.push(over.clone()),
            Pace::Alone => {
                before.append(&mut state.together);
                state.alone = Some(over.clone());
            }
        }
        CallTicket { before, _over: over.drop_guard() }
    }
}

impl CallTicket {
    /// Waits until no earlier call blocks this one.
    pub(crate) async fn turn(&self) {
        for call in &self.before {
            call.cancelled().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use super::*;

    async fn may_run(ticket: &CallTicket) -> bool {
        let mut turn = std::pin::pin!(ticket.turn());
        std::future::poll_fn(|context| Poll::Ready(turn.as_mut().poll(context))).await.is_ready()
    }

    #[tokio::test]
    async fn calls_run_beside_each_other_unless_one_of_them_must_run_alone() {
        let queue = CallQueue::default();
        let tickets =
            [Pace::Together, Pace::Together, Pace::Alone, Pace::Alone, Pace::Together, Pace::Together];
        let mut tickets: Vec<CallTicket> = tickets.into_iter().map(|pace| queue.ticket(pace)).collect();
        for expected in [
            &[true, true, false, false, false, false][..],
            &[true, false, false, false, false],
            &[true, false, false, false],
            &[true, false, false],
            &[true, true],
        ] {
            let mut seen = Vec::new();
            for ticket in &tickets {
                seen.push(may_run(ticket).await);
            }
            assert_eq!(seen, expected);
            tickets.remove(0);
        }
    }

    #[tokio::test]
    async fn a_place_is_taken_by_the_ticket_and_not_by_the_first_who_waits() {
        let queue = CallQueue::default();
        let (first, second) = (queue.ticket(Pace::Alone), queue.ticket(Pace::Together));
        assert!(!may_run(&second).await);
        assert!(may_run(&first).await);
        drop(first);
        assert!(may_run(&second).await);
    }
}
