//! Where the answer to one request goes.

use serde::Serialize;
use windlass_protocol::envelope::{Refusal, RequestId};

use crate::jsonrpc::Peer;

/// A request that is still to be answered, by whoever carries it out.
#[derive(Clone)]
pub(super) struct Reply {
    peer: Peer,
    id: RequestId,
}

impl Reply {
    pub(super) fn new(peer: &Peer, id: RequestId) -> Self {
        Self { peer: peer.clone(), id }
    }

    pub(super) fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Answers. The request is over, hence the loss of this value.
    pub(super) fn give(self, outcome: Result<impl Serialize, Refusal>) {
        match outcome {
            Ok(result) => self.peer.answer(&self.id, &result),
            Err(refusal) => self.peer.refuse(&self.id, &refusal),
        }
    }
}
