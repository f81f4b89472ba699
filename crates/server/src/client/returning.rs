//! Coming back by itself after a connection was lost, for as long as the server keeps the processes.

use std::sync::Weak;
use std::time::Duration;

use super::error::ClientError;
use super::{Client, Shared};

/// How long to wait before the second attempt; before each further one twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// The longest wait between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Comes back after every loss until that fails or nobody holds the client any more.
pub(super) async fn keep_connected(shared: Weak<Shared>, grace: Duration) {
    loop {
        let Some(gone) = shared.upgrade().map(|shared| shared.current().link.gone()) else { return };
        gone.cancelled().await;
        // timer: after the grace there is nothing to come back to.
        let back = tokio::time::timeout(grace, come_back(&shared)).await;
        if !back.unwrap_or(false) {
            if let Some(shared) = shared.upgrade() {
                shared.give_up();
            }
            return;
        }
    }
}

/// Tries until it works, and says no when it never will.
async fn come_back(shared: &Weak<Shared>) -> bool {
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(shared) = shared.upgrade() else { return false };
        match (Client { shared }).reconnect().await {
            Ok(()) => return true,
            Err(ClientError::Unreachable { .. } | ClientError::Lost) => {}
            Err(_) => return false,
        }
        // timer: nothing tells when a server can be reached again.
        tokio::time::sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}
