//! The app-server: commands and processes for programs that speak its dialect, over one engine.
//!
//! Each connection has its own table of processes and handles its messages one after the other; slow work runs in tasks
//! beside it. A process has at most one task, which sends its output and then its end to the client.

mod connection;
mod delta;
mod ending;
mod follow;
mod input;
mod launch;
mod limits;
mod methods;
mod output;
mod permissions;
mod process;
mod processes;
mod resumable;
mod start;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use windlass_engine::Engine;
use windlass_engine::sandbox::Policy;

use self::connection::{AfterLoss, Connection};
use self::resumable::ResumableClients;
use crate::jsonrpc::connection::Source;
use crate::jsonrpc::listen::{Listener, serve_streams};
use crate::jsonrpc::peer::Sink;
use crate::jsonrpc::{Peer, Stamping, Via};

/// The settings that the processes of all connections share.
#[derive(Clone, Debug)]
pub struct AppOptions {
    /// The working directory of processes that name none. Absolute.
    pub directory: PathBuf,
    /// The environment that they inherit.
    pub environment: Vec<(OsString, OsString)>,
    /// The server's state directory. `initialize` reports it to clients, and input that does not fit in memory is
    /// spilled below it.
    pub state_directory: PathBuf,
    /// The policy of a `command/exec` that names none.
    pub sandbox: Policy,
    /// The policy of a `process/spawn`, which cannot name one.
    pub process_sandbox: Policy,
}

/// An engine as clients of the app-server see it. Cheap to clone.
#[derive(Clone)]
pub struct AppServer {
    shared: Arc<Shared>,
}

struct Shared {
    engine: Engine,
    options: AppOptions,
    resumable: Arc<ResumableClients>,
}

impl AppServer {
    /// A server over this engine.
    pub fn new(engine: Engine, options: AppOptions) -> Self {
        Self { shared: Arc::new(Shared { engine, options, resumable: Arc::default() }) }
    }

    /// Serves all clients that connect, until `stop` is done or, on standard input and output, until the only client
    /// has gone. The processes of every connection have ended by then.
    pub async fn serve(&self, listener: Listener, stop: impl Future<Output = ()> + Send) {
        let server = self.clone();
        let open = move |peer, via| {
            let after_loss = match via {
                Via::Stdio => AfterLoss::Ends,
                Via::Socket => AfterLoss::MayReturn,
            };
            server.connect(peer, after_loss)
        };
        listener.serve(Stamping::Stamped, open, stop).await;
        self.shutdown().await;
    }

    /// Ends the processes of clients that have lost their connection and may still come back.
    pub async fn shutdown(&self) {
        self.resumable_clients().end_all().await;
    }

    /// Serves one client on any pair of streams, one message per line. The client may run in the same process, on the
    /// other end of [`tokio::io::duplex`]. Otherwise like [`AppServer::serve`].
    pub async fn serve_streams<R, W>(&self, (source, sink): (R, W), stop: impl Future<Output = ()> + Send)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let open = |peer| self.connect(peer, AfterLoss::MayReturn);
        let streams: (Source, Sink) = (Box::new(source), Box::new(sink));
        serve_streams(streams, (Stamping::Stamped, open), stop).await;
    }

    fn connect(&self, peer: Peer, after_loss: AfterLoss) -> Connection {
        Connection::new(self.clone(), peer, after_loss)
    }

    fn engine(&self) -> &Engine {
        &self.shared.engine
    }

    fn resumable_clients(&self) -> &Arc<ResumableClients> {
        &self.shared.resumable
    }

    fn options(&self) -> &AppOptions {
        &self.shared.options
    }
}
