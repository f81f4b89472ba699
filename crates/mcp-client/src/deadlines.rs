//! How long an answer is waited for. The clock stands still while a person is asked on the server's behalf: nobody should
//! lose a call by thinking about it.

use std::time::{Duration, Instant};

use tokio::sync::watch;

/// Questions that are before a person.
#[derive(Debug, Default)]
pub(crate) struct Open(watch::Sender<usize>);

/// One of them, for as long as it is.
pub(crate) struct Asking<'a>(&'a Open);

impl Open {
    /// A person is asked from now on.
    pub(crate) fn ask(&self) -> Asking<'_> {
        self.0.send_modify(|count| *count += 1);
        Asking(self)
    }

    /// Waits for something until the time is up in which nobody was asked; nothing then.
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
            // timer: an answer that does not come is not waited for any longer than this.
            if tokio::time::timeout(left, open.wait_for(|count| *count > 0)).await.is_err() {
                return;
            }
            left = left.saturating_sub(since.elapsed());
            // The sender is ours, and so stays.
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
            // Somebody else's time is up meanwhile, so this one's would be too.
            assert_eq!(other.wait(SHORT, pending::<()>()).await, None);
            answer.send(7).expect("it is waited for");
        };
        let (waited, ()) = tokio::join!(open.wait(SHORT, answered), person);
        assert_eq!(waited, Some(Ok(7)));
        drop(asking);
        assert_eq!(open.wait(SHORT, pending::<()>()).await, None, "and goes on afterwards");
    }
}
