//! The queue of a connection's file operations: one after the other in the order of the requests, beside all other
//! work.

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::jsonrpc::Peer;

/// The number of file operations that may wait; with more, the server stops reading the connection.
const QUEUE: usize = 16;

/// How long other requests wait for file operations. One on a remote file system may never return.
const PATIENCE: Duration = Duration::from_secs(2);

type BackgroundJob = Box<dyn FnOnce() + Send>;

/// The file operations of one connection.
pub(super) struct Errands {
    sender: mpsc::Sender<BackgroundJob>,
    /// The number of operations that run or wait.
    pending: watch::Sender<usize>,
    runner: JoinHandle<()>,
}

impl Errands {
    /// A queue whose replies go to this peer, no faster than it takes them.
    pub(super) fn for_peer(peer: Peer) -> Self {
        let (sender, mut errands) = mpsc::channel::<BackgroundJob>(QUEUE);
        let pending = watch::Sender::new(0);
        let done = pending.clone();
        let runner = tokio::spawn(async move {
            while let Some(errand) = errands.recv().await {
                // The operation is carried out even if the peer has gone and cannot get the reply.
                let _ = peer.room().await;
                // The panic hook has reported a panic.
                let _ = tokio::task::spawn_blocking(errand).await;
                done.send_modify(|pending| *pending -= 1);
            }
        });
        Self { sender, pending, runner }
    }

    /// Appends an operation. Waits for room in the queue.
    pub(super) async fn run(&self, errand: impl FnOnce() + Send + 'static) {
        self.pending.send_modify(|pending| *pending += 1);
        // The runner ends only with this value.
        let _ = self.sender.send(Box::new(errand)).await;
    }

    /// Waits until all operations are done, or take too long.
    pub(super) async fn idle(&self) {
        let mut pending = self.pending.subscribe();
        // timer: a file operation may never return. The sender is here, so the wait itself cannot fail.
        let _ = tokio::time::timeout(PATIENCE, pending.wait_for(|pending| *pending == 0)).await;
    }
}

/// Aborts the runner: the operation under way completes, but queued ones are dropped, because their replies could not
/// be delivered.
impl Drop for Errands {
    fn drop(&mut self) {
        self.runner.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::jsonrpc::peer::{Framing, Stamping};

    #[tokio::test]
    async fn nobody_waits_for_ever_for_an_errand_that_does_not_end() {
        let (ours, _theirs) = tokio::io::duplex(64);
        let errands = Errands::for_peer(Peer::new(Box::new(ours), Framing::Lines, Stamping::Plain));
        let (release, held) = mpsc::channel::<()>();
        let (done, mut finished) = tokio::sync::mpsc::unbounded_channel();
        errands
            .run(move || {
                let _ = held.recv();
                let _ = done.send(());
            })
            .await;
        errands.idle().await;
        assert!(finished.try_recv().is_err(), "it is still under way");
        drop(release);
        finished.recv().await.expect("it ends now");
        errands.idle().await;
        assert_eq!(*errands.pending.borrow(), 0);
    }
}
