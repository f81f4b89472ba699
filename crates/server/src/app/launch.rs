//! From a checked request to a process that is followed.

use std::sync::Arc;

use super::connection::Connection;
use super::follow::{EndMessage, Follow, Manner};
use super::input::Input;
use super::output::Cap;
use super::process::{Name, Process};
use super::start::{self, AppStartRequest};

/// A process to start, and how its client is kept informed.
pub(super) struct Launch {
    pub(super) order: AppStartRequest,
    pub(super) name: Option<Name>,
    pub(super) cap: Cap,
    pub(super) manner: Manner,
}

impl Launch {
    /// Starts the process and adds it to the connection's table. After an error, worded as the dialect does, nothing is
    /// left of it.
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
    /// Starts the task that sends the output and the end to the client.
    pub(super) fn follow(self, connection: &Connection, telling: EndMessage) {
        let Self { process, cap, manner } = self;
        let (processes, peer) = (Arc::clone(&connection.processes), connection.peer.clone());
        let followed = Arc::clone(&process);
        let follow = Follow { process, processes, peer, cap, manner, telling, lost: false };
        followed.followed_by(Some(tokio::spawn(follow.run()).abort_handle()));
    }
}
