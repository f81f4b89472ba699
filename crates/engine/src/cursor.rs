//! Readers: a cursor is a position in a journal, a subscription is a cursor that waits. Neither is known to the
//! session's task, so neither can slow the child.

use crate::Receipt;
use crate::journal::{BoundedRead, JournalPiece};
use crate::progress::Progress;
use crate::session::Session;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::watch;
use windlass_output::{Offset, Span};

/// A position in a session's output that moves forward as it is read.
#[derive(Clone, Debug)]
pub struct Cursor {
    session: Session,
    position: Offset,
}

impl Cursor {
    pub(crate) fn new(session: Session, position: Offset) -> Self {
        Self { session, position }
    }

    /// The first byte not yet read.
    pub fn position(&self) -> Offset {
        self.position
    }

    /// The span that can be read now.
    pub fn unread(&self) -> Span {
        let end = self.session.journal().end();
        Span::new(self.position, end.max(self.position))
    }

    /// Reads at most this many bytes and moves past them, and past what retention has dropped.
    pub fn read(&mut self, limit: usize) -> BoundedRead {
        let reading = self.session.journal().read(self.unread(), limit);
        self.position = reading.next;
        reading
    }
}

/// The limits of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubscriptionLimits {
    /// The most bytes in one delivery.
    pub delivery: usize,
    /// The most bytes in all; after them the subscription reports only the end.
    pub total: u64,
}

impl Default for SubscriptionLimits {
    fn default() -> Self {
        Self { delivery: 64 * 1024, total: u64::MAX }
    }
}

/// Output as it comes. A late subscriber loses nothing that is still retained; the rest is reported as missing.
#[derive(Debug)]
pub struct Subscription {
    cursor: Cursor,
    progress: watch::Receiver<Progress>,
    limits: SubscriptionLimits,
    delivered: u64,
    waiting: VecDeque<JournalPiece>,
    told: EndReported,
}

/// How much of the session's end was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EndReported {
    Nothing,
    Cap,
    Exit,
    Closed,
}

/// One delivery to a subscriber.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Output, or an account of output that is missing.
    Piece(JournalPiece),
    /// The subscription's total is used up at this offset: output goes on without it.
    Capped {
        /// The first byte that is not delivered.
        at: Offset,
    },
    /// The root is gone. Everything it printed has been delivered, unless the cap cut it.
    Exited(Arc<Receipt>),
    /// Nothing more can come.
    Closed {
        /// The final length of the output.
        end: Offset,
    },
}

impl Subscription {
    pub(crate) fn new(session: Session, from: Offset, limits: SubscriptionLimits) -> Self {
        let progress = session.watch();
        let cursor = Cursor::new(session, from);
        Self { cursor, progress, limits, delivered: 0, waiting: VecDeque::new(), told: EndReported::Nothing }
    }

    /// The next delivery; `None` after [`Delivery::Closed`]. May be dropped at any time without losing anything.
    pub async fn next(&mut self) -> Option<Delivery> {
        loop {
            if let Some(delivery) = self.ready() {
                return Some(delivery);
            }
            if self.told == EndReported::Closed {
                return None;
            }
            // The sender lives as long as the session handle in the cursor.
            self.progress.changed().await.ok()?;
        }
    }

    /// The delivery that is possible without waiting. The level is read before the journal: an exit seen here means
    /// that every byte before it is readable.
    fn ready(&mut self) -> Option<Delivery> {
        let Progress { end, receipt, closed, .. } = self.progress.borrow_and_update().clone();
        if let Some(piece) = self.next_piece(end) {
            return Some(Delivery::Piece(piece));
        }
        if self.is_capped() && self.told < EndReported::Cap && self.cursor.position() < end {
            self.told = EndReported::Cap;
            return Some(Delivery::Capped { at: self.cursor.position() });
        }
        if let Some(receipt) = receipt.filter(|_| self.told < EndReported::Exit) {
            self.told = EndReported::Exit;
            return Some(Delivery::Exited(receipt));
        }
        if closed && self.told < EndReported::Closed {
            self.told = EndReported::Closed;
            return Some(Delivery::Closed { end });
        }
        None
    }

    fn next_piece(&mut self, end: Offset) -> Option<JournalPiece> {
        if self.waiting.is_empty() && self.cursor.position() < end && !self.is_capped() {
            let left = usize::try_from(self.limits.total - self.delivered).unwrap_or(usize::MAX);
            self.waiting.extend(self.cursor.read(self.limits.delivery.min(left).max(1)).pieces);
        }
        let piece = self.waiting.pop_front()?;
        if let JournalPiece::Bytes { bytes, .. } = &piece {
            self.delivered += bytes.len() as u64;
        }
        Some(piece)
    }

    fn is_capped(&self) -> bool {
        self.delivered >= self.limits.total
    }
}
