//! Work for the disk: one thing after the other, in the order it was asked for, beside everything else.

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::jsonrpc::Peer;

/// File operations that may wait; further ones keep the connection from being read.
const QUEUE: usize = 16;

/// How long others wait for file operations. One on a file system that is far away may never come to an end.
const PATIENCE: Duration = Duration::from_secs(2);

type BackgroundJob = Box<dyn FnOnce() + Send>;

/// The file operations of one connection.
pub(super) struct Errands {
    sender: mpsc::Sender<BackgroundJob>,
    /// How many are under way or wait.
    pending: watch::Sender<usize>,
    runner: JoinHandle<()>,
}

impl Errands {
    /// Answers go to this peer, and no faster than it takes them.
    pub(super) fn for_peer(peer: Peer) -> Self {
        let (sender, mut errands) = mpsc::channel::<BackgroundJob>(QUEUE);
        let pending = watch::Sender::new(0);
        let done = pending.clone();
        let runner = tokio::spawn(async move {
            while let Some(errand) = errands.recv().await {
                // Whether it is heard or not, what was asked for is done.
                let _ = peer.room().await;
                // One that panicked has been reported by the panic itself.
                let _ = tokio::task::spawn_blocking(errand).await;
                done.send_modify(|pending| *pending -= 1);
            }
        });
        Self { sender, pending, runner }
    }

    /// Has it done after everything that was asked for before.
    pub(super) async fn run(&self, errand: impl FnOnce() + Send + 'static) {
        self.pending.send_modify(|pending| *pending += 1);
        // The runner ends only with this.
        let _ = self.sender.send(Box::new(errand)).await;
    }

    /// Waits until everything that was asked for is done, or takes too long.
    pub(super) async fn idle(&self) {
        let mut pending = self.pending.subscribe();
        // timer: nothing tells whether a file operation that is under way will come to an end. The sender is here.
        let _ = tokio::time::timeout(PATIENCE, pending.wait_for(|pending| *pending == 0)).await;
    }
}

/// What is under way is done, but what waits is not: nobody would hear of it.
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
