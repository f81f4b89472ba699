//! Reconnects automatically after a connection was lost, for as long as the server keeps the processes.

use std::sync::Weak;
use std::time::Duration;

use super::error::ClientError;
use super::{Client, Shared};

/// The pause before the second attempt; it doubles before each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Reconnects after every loss, until that fails or the last handle of the client is dropped.
pub(super) async fn keep_connected(shared: Weak<Shared>, grace: Duration) {
    loop {
        let Some(gone) = shared.upgrade().map(|shared| shared.current().link.gone()) else { return };
        gone.cancelled().await;
        // timer: after the grace the server has given the processes up.
        let back = tokio::time::timeout(grace, come_back(&shared)).await;
        if !back.unwrap_or(false) {
            if let Some(shared) = shared.upgrade() {
                shared.give_up();
            }
            return;
        }
    }
}

/// Tries until it succeeds; `false` if it never can.
async fn come_back(shared: &Weak<Shared>) -> bool {
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(shared) = shared.upgrade() else { return false };
        match (Client { shared }).reconnect().await {
            Ok(()) => return true,
            Err(ClientError::Unreachable { .. } | ClientError::Lost) => {}
            Err(_) => return false,
        }
        // timer: no event says when a server can be reached again.
        tokio::time::sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}
