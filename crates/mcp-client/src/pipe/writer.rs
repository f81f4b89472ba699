//! Writes messages into a program's input, whole and in order, however slowly the program reads.

use tokio::sync::{mpsc, watch};
use windlass_engine::{InputError, Progress, QUEUE_LIMIT, Session};

/// How many bytes are offered at once.
const STEP: usize = QUEUE_LIMIT / 4;

/// Writes until the program takes no more input, or all senders are gone.
pub(super) async fn write(session: Session, mut messages: mpsc::Receiver<Vec<u8>>) {
    let mut progress = session.watch();
    while let Some(message) = messages.recv().await {
        // The reader notices the server's end by itself, so nothing needs to be reported here.
        if write_whole(&session, &mut progress, &message).await.is_err() {
            return;
        }
    }
}

async fn write_whole(
    session: &Session,
    progress: &mut watch::Receiver<Progress>,
    message: &[u8],
) -> Result<(), InputError> {
    let mut rest = message;
    while !rest.is_empty() {
        let taken = session.write(&rest[..rest.len().min(STEP)]).await?;
        rest = &rest[taken..];
        if !rest.is_empty() {
            let has_room = |progress: &Progress| {
                progress.input.queued() <= (QUEUE_LIMIT - STEP) as u64 || progress.receipt.is_some()
            };
            progress.wait_for(has_room).await.map_err(|_| InputError::Gone)?;
        }
    }
    Ok(())
}
