//! The exec-server dialect: an engine as the environment in which a remote agent starts processes and keeps files.
//!
//! A connection attaches to an exec session, which owns processes and outlives the connection for a while, so that a
//! client that lost its connection can continue. Output gets its event numbers when it is first sent or read: the
//! numbers are an index into the session's journal, and nothing is stored twice. Long waits, file operations and unread
//! input each wait in tasks of their own; nothing waits for them.

mod background_jobs;
mod connection;
mod control;
mod environment;
mod files;
mod follow;
mod permissions;
mod process;
mod read;
mod reply;
mod sequence;
mod sessions;
mod start;
mod waiting;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use windlass_engine::Engine;
use windlass_engine::sandbox::HelperProgram;

pub use self::files::confined::run as run_file_helper;

use self::connection::Connection;
use self::sessions::{GRACE, Sessions};
use crate::jsonrpc::{Framing, Inbox, Peer, Stamping, Via, serve};
use crate::listen::Listener;

/// The environment of processes, as the server found it when it started.
#[derive(Clone, Debug)]
pub struct ExecEnvironment {
    /// The server's own variables, from which processes may inherit.
    pub variables: Vec<(OsString, OsString)>,
    /// The user's shell.
    pub shell: PathBuf,
    /// The user's home, if there is one.
    pub home: Option<PathBuf>,
    /// The directory in which the server was started.
    pub directory: PathBuf,
    /// The directory for temporary files.
    pub temporary: PathBuf,
    /// The runtime's state directory. No confined process may write to it.
    pub state_directory: PathBuf,
    /// How to start a confined file operation: a program that calls [`run_file_helper`] when it finds these arguments.
    pub file_helper: HelperProgram,
}

/// A server of the dialect, over any transport. Clones share the sessions.
#[derive(Clone)]
pub struct ExecServer {
    shared: Arc<Shared>,
}

struct Shared {
    engine: Engine,
    place: ExecEnvironment,
    sessions: Arc<Sessions>,
}

/// Whether an exec session outlives the loss of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterLoss {
    /// It ends: the client cannot come back.
    Ends,
    /// It waits for its client for the grace.
    Waits,
}

impl ExecServer {
    /// A server whose processes run on this engine in this environment.
    pub fn new(engine: Engine, place: ExecEnvironment) -> Self {
        Self::with_grace(engine, place, GRACE)
    }

    /// The same, with sessions that wait this long for a client which lost its connection.
    pub fn with_grace(engine: Engine, place: ExecEnvironment, grace: Duration) -> Self {
        let sessions = Arc::new(Sessions::new(grace, place.state_directory.clone()));
        Self { shared: Arc::new(Shared { engine, place, sessions }) }
    }

    /// Serves all clients that connect until `stop` is done, then ends every session. A client on standard input and
    /// output is the only one; its session ends with it, and so does this.
    pub async fn serve(&self, listener: Listener, stop: impl Future<Output = ()> + Send) {
        let server = self.clone();
        let open = move |peer, via| {
            let after_loss = match via {
                Via::Stdio => AfterLoss::Ends,
                Via::Socket => AfterLoss::Waits,
            };
            server.connection(peer, after_loss)
        };
        listener.serve(Stamping::Plain, open, stop).await;
        self.shutdown().await;
    }

    /// Serves one client on any pair of streams, until it disconnects or `stop` is done.
    pub async fn serve_pipes<R, W>(
        &self,
        (input, output): (R, W),
        after_loss: AfterLoss,
        stop: impl Future<Output = ()> + Send,
    ) where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let peer = Peer::new(Box::new(output), Framing::Lines, Stamping::Plain);
        let connection = self.connection(peer.clone(), after_loss);
        serve(connection, Inbox::lines(Box::new(input)), peer, stop).await;
    }

    /// The message handler of a connection to this peer.
    fn connection(&self, peer: Peer, after_loss: AfterLoss) -> Connection {
        Connection::new(Arc::clone(&self.shared), peer, after_loss)
    }

    /// Ends every session, attached or waiting, with everything that runs in it.
    pub async fn shutdown(&self) {
        self.shared.sessions.end_all().await;
    }
}
