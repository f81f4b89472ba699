//! Streams the command's output to the stream that it was printed on.

use std::io;

use tokio::sync::watch;
use windlass_engine::{Delivery, JournalPiece, Session, Stream, SubscriptionLimits};
use windlass_output::Offset;

use crate::printing::write_all;

/// The position at which streaming ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// The exit of the root.
    Exit,
    /// This offset: the session goes on without this reader.
    Offset(Offset),
}

/// How far a streamed command may get ahead of its reader; beyond that it waits, as in any pipeline.
pub(crate) const WINDOW: u64 = 16 << 20;
const CONFIRM_EVERY: u64 = 1 << 20;

/// The result of streaming.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Streamed {
    /// Bytes that retention dropped before the reader took them.
    pub(crate) missed: u64,
}

/// Writes output until the goal is reached. Each write blocks in a thread of its own, so that a reader that has stopped
/// reading holds up nothing else.
pub(crate) async fn stream(session: Session, mut goal: watch::Receiver<Goal>) -> io::Result<Streamed> {
    let mut output = session.subscribe(Offset::ZERO, SubscriptionLimits::default());
    let mut streamed = Streamed::default();
    let (mut position, mut confirmed) = (Offset::ZERO, Offset::ZERO);
    while !is_reached(*goal.borrow_and_update(), position) {
        let delivery = tokio::select! {
            delivery = output.next() => delivery,
            _ = goal.changed() => continue,
        };
        match delivery {
            Some(Delivery::Piece(piece)) => {
                position = piece.span().to();
                streamed.missed += write(piece).await?;
                if position.since(confirmed) >= CONFIRM_EVERY {
                    confirmed = position;
                    session.confirm(position).await;
                }
            }
            Some(Delivery::Exited(_) | Delivery::Closed { .. } | Delivery::Capped { .. }) | None => break,
        }
    }
    Ok(streamed)
}

fn is_reached(goal: Goal, position: Offset) -> bool {
    matches!(goal, Goal::Offset(end) if position >= end)
}

/// Writes one piece and returns how many bytes of it are missing.
async fn write(piece: JournalPiece) -> io::Result<u64> {
    let JournalPiece::Bytes { stream, bytes, .. } = piece else { return Ok(piece.span().len()) };
    let written = tokio::task::spawn_blocking(move || match stream {
        Stream::Stdout | Stream::Terminal => write_all(rustix::stdio::stdout(), &bytes),
        Stream::Stderr => write_all(rustix::stdio::stderr(), &bytes),
    });
    written.await.map_err(io::Error::other)??;
    Ok(0)
}
