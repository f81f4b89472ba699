//! Whether a reply reached its caller. A reply contains some things once: unread output, the end of a session, denials.
//! They count as received when the reply is delivered. A reply that is dropped on its way restores them, and the next
//! reply contains them.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The delivery of one reply: pending until the transport confirms or revokes it. Revoked when the last handle is
/// dropped while it is pending. A cheap handle.
#[derive(Clone, Debug, Default)]
pub struct Delivery {
    shared: Arc<Shared>,
}

/// How a delivery ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The reply was handed to the transport.
    Delivered,
    /// It was not, or the transport lost it.
    Lost,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
}

type OnSettled = Box<dyn FnOnce(Outcome) + Send>;

enum State {
    Pending(Vec<OnSettled>),
    Settled(Outcome),
}

impl Default for State {
    fn default() -> Self {
        Self::Pending(Vec::new())
    }
}

impl Delivery {
    /// A delivery that is pending.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A delivery that cannot be lost.
    #[must_use]
    pub fn certain() -> Self {
        let delivery = Self::new();
        delivery.confirm();
        delivery
    }

    /// The reply was handed to the transport. Nothing happens if the delivery was settled before.
    pub fn confirm(&self) {
        self.shared.settle(Outcome::Delivered);
    }

    /// The reply will not be delivered: when this returns, everything in it counts as not received. A reply that is
    /// made later is undone at once. Nothing happens if the delivery was settled before.
    pub fn revoke(&self) {
        self.shared.settle(Outcome::Lost);
    }

    /// Calls this once the delivery is settled; now, if it is.
    pub fn on_settled(&self, action: impl FnOnce(Outcome) + Send + 'static) {
        let outcome = match &mut *self.shared.lock() {
            State::Pending(actions) => {
                actions.push(Box::new(action));
                return;
            }
            State::Settled(outcome) => *outcome,
        };
        action(outcome);
    }

    /// Settles the delivery of another reply, which is part of this one, together with this one.
    pub(crate) fn adopt(&self, part: Delivery) {
        if !Arc::ptr_eq(&self.shared, &part.shared) {
            self.on_settled(move |outcome| part.shared.settle(outcome));
        }
    }

    /// Calls this if the reply is lost.
    pub(crate) fn on_loss(&self, action: impl FnOnce() + Send + 'static) {
        self.on_settled(move |outcome| {
            if outcome == Outcome::Lost {
                action();
            }
        });
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, outcome: Outcome) {
        let mut state = self.lock();
        let State::Pending(actions) = &mut *state else { return };
        let actions = std::mem::take(actions);
        *state = State::Settled(outcome);
        drop(state);
        // The last first: each restores the state that it found.
        actions.into_iter().rev().for_each(|action| action(outcome));
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.settle(Outcome::Lost);
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.lock() {
            State::Pending(_) => f.write_str("Pending"),
            State::Settled(outcome) => outcome.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A delivery, and its outcomes in the order in which they were noted.
    fn watched() -> (Delivery, Arc<Mutex<Vec<Outcome>>>) {
        let seen: Arc<Mutex<Vec<Outcome>>> = Arc::default();
        let (delivery, noting) = (Delivery::new(), Arc::clone(&seen));
        delivery.on_settled(move |outcome| noting.lock().expect("no panic").push(outcome));
        (delivery, seen)
    }

    fn outcomes(seen: &Mutex<Vec<Outcome>>) -> Vec<Outcome> {
        seen.lock().expect("no panic").clone()
    }

    #[test]
    fn a_delivery_is_settled_once() {
        let (delivery, seen) = watched();
        delivery.confirm();
        delivery.revoke();
        drop(delivery);
        assert_eq!(outcomes(&seen), [Outcome::Delivered]);
    }

    #[test]
    fn a_delivery_is_lost_with_its_last_handle() {
        let (delivery, seen) = watched();
        let other = delivery.clone();
        drop(delivery);
        assert_eq!(outcomes(&seen), []);
        drop(other);
        assert_eq!(outcomes(&seen), [Outcome::Lost]);
    }

    #[test]
    fn a_reply_that_is_made_after_the_loss_takes_back_at_once() {
        let (delivery, seen) = watched();
        delivery.revoke();
        let late = Arc::clone(&seen);
        delivery.on_settled(move |outcome| late.lock().expect("no panic").push(outcome));
        assert_eq!(outcomes(&seen), [Outcome::Lost, Outcome::Lost]);
    }

    #[test]
    fn a_part_is_settled_with_the_whole() {
        for (settle, expected) in [
            (Delivery::confirm as fn(&Delivery), Outcome::Delivered),
            (Delivery::revoke as fn(&Delivery), Outcome::Lost),
        ] {
            let (part, seen) = watched();
            let whole = Delivery::new();
            whole.adopt(part);
            assert_eq!(outcomes(&seen), []);
            settle(&whole);
            assert_eq!(outcomes(&seen), [expected]);
        }
    }
}
