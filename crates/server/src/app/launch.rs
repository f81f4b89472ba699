//! From a checked request to a process that is followed.

use std::sync::Arc;

use super::connection::Connection;
use super::follow::{EndMessage, Follow, Manner};
use super::input::Input;
use super::output::Cap;
use super::process::{Name, Process};
use super::start::{self, AppStartRequest};

/// What is going to run, and what the client is told of it.
pub(super) struct Launch {
    pub(super) order: AppStartRequest,
    pub(super) name: Option<Name>,
    pub(super) cap: Cap,
    pub(super) manner: Manner,
}

impl Launch {
    /// Starts it and takes it into the connection's table. On error, in the dialect's words, nothing is left of it.
    pub(super) fn start(self, connection: &Connection) -> Result<LaunchedProcess, String> {
        let reads = self.order.connection.reads();
        let begun = start::start(&connection.server, self.order)?;
        let process = Arc::new(Process::new(begun, self.name, reads.then(Input::default)));
        connection.processes.add(&process);
        Ok(LaunchedProcess { process, cap: self.cap, manner: self.manner })
    }
}

/// A process that runs and is not followed yet.
pub(super) struct LaunchedProcess {
    pub(super) process: Arc<Process>,
    cap: Cap,
    manner: Manner,
}

impl LaunchedProcess {
    /// Tells the client of its output and of its end.
    pub(super) fn follow(self, connection: &Connection, telling: EndMessage) {
        let Self { process, cap, manner } = self;
        let (processes, peer) = (Arc::clone(&connection.processes), connection.peer.clone());
        let followed = Arc::clone(&process);
        let follow = Follow { process, processes, peer, cap, manner, telling, lost: false };
        followed.followed_by(Some(tokio::spawn(follow.run()).abort_handle()));
    }
}
