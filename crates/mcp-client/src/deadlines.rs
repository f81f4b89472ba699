//! Deadlines of requests. The clock stands still while the user is asked on the server's behalf, so that a call does
//! not time out because the user takes time to think.

use std::time::{Duration, Instant};

use tokio::sync::watch;

/// The number of questions that the user is being asked.
#[derive(Debug, Default)]
pub(crate) struct Open(watch::Sender<usize>);

/// A guard that counts one question until it is dropped.
pub(crate) struct Asking<'a>(&'a Open);

impl Open {
    /// Counts a question until the guard is dropped.
    pub(crate) fn ask(&self) -> Asking<'_> {
        self.0.send_modify(|count| *count += 1);
        Asking(self)
    }

    /// Waits for the future. `None` once the limit has passed, not counting the time in which a question was open.
    pub(crate) async fn wait<T>(&self, limit: Duration, what: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = what => Some(done),
            () = self.run_down(limit) => None,
        }
    }

    async fn run_down(&self, mut left: Duration) {
        let mut open = self.0.subscribe();
        loop {
            let since = Instant::now();
            // timer: bounds the wait for a response that may never come.
            if tokio::time::timeout(left, open.wait_for(|count| *count > 0)).await.is_err() {
                return;
            }
            left = left.saturating_sub(since.elapsed());
            // `self` holds the sender, so the channel cannot close.
            let _ = open.wait_for(|count| *count == 0).await;
        }
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::sync::oneshot;

    use super::*;

    const SHORT: Duration = Duration::from_millis(1);

    #[tokio::test]
    async fn what_does_not_come_is_not_waited_for() {
        assert_eq!(Open::default().wait(SHORT, pending::<()>()).await, None);
        assert_eq!(Open::default().wait(SHORT, async { 1 }).await, Some(1));
    }

    #[tokio::test]
    async fn the_clock_stands_still_while_a_person_is_asked() {
        let (open, other) = (Open::default(), Open::default());
        let (answer, answered) = oneshot::channel();
        let asking = open.ask();
        let person = async {
            // Meanwhile another request times out, so this one would have timed out, too.
            assert_eq!(other.wait(SHORT, pending::<()>()).await, None);
            answer.send(7).expect("it is waited for");
        };
        let (waited, ()) = tokio::join!(open.wait(SHORT, answered), person);
        assert_eq!(waited, Some(Ok(7)));
        drop(asking);
        assert_eq!(open.wait(SHORT, pending::<()>()).await, None, "and goes on afterwards");
    }
}
