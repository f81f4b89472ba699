//! The fixture of these tests: a server over an engine of its own, and connections to it that can be cut.

use std::path::PathBuf;
use std::time::Duration;

use tokio::net::{TcpListener, UnixStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};
use windlass_engine::{Engine, EngineOptions, KillDelays};
use windlass_server::app::{AppOptions, AppServer};
use windlass_server::client::shapes::AbsolutePath;
use windlass_server::client::{Client, ClientOptions, Endpoint, Start};
use windlass_server::gate::{Access, Gate, Perimeter, ServerReach};
use windlass_server::listen::{Listen, Listener};
use windlass_testkit::{HANG, Scratch, survivors};

/// A server at a path, and a token in the environment of all started processes, by which the test finds survivors.
pub(super) struct Place {
    pub(super) scratch: Scratch,
    pub(super) server: AppServer,
    token: String,
    engine: Engine,
    serving: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

impl Place {
    pub(super) async fn open(name: &str) -> Self {
        Self::with_access(name, Access::Open).await
    }

    pub(super) async fn with_access(name: &str, access: Access) -> Self {
        let patience = KillDelays { grace: Duration::from_millis(300), ..KillDelays::default() };
        let engine = Engine::new(EngineOptions { patience, ..EngineOptions::default() }).expect("an engine");
        let (scratch, token) = (Scratch::new(name), survivors::token(name));
        let variables = [("PATH", "/usr/bin:/bin"), (survivors::TOKEN_VARIABLE, token.as_str())];
        let options = AppOptions {
            directory: scratch.path().into(),
            environment: variables.map(|(name, value)| (name.into(), value.into())).to_vec(),
            state_directory: "/state".into(),
            sandbox: windlass_engine::sandbox::Policy::FullAccess,
            process_sandbox: windlass_engine::sandbox::Policy::FullAccess,
        };
        let server = AppServer::new(engine.clone(), options);
        let gate = Gate { access, origins: Vec::new(), names: Vec::new() };
        let listen = Listen::Unix(scratch.path().join("socket"));
        let listener = Listener::bind(
            &listen,
            Perimeter { gate, reach: ServerReach::Loopback, tls: None, report: |_| {} },
        )
        .await
        .expect("a place");
        let (stop, stopped) = oneshot::channel();
        let serving = {
            let server = server.clone();
            tokio::spawn(async move { server.serve(listener, async { drop(stopped.await) }).await })
        };
        Self { scratch, server, token, engine, serving, stop }
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.scratch.path().join("socket")
    }

    pub(super) async fn client(&self) -> Client {
        let endpoint = Endpoint::Unix(self.socket());
        Client::connect(endpoint, ClientOptions::new("test")).await.expect("it listens")
    }

    /// The start of a shell script.
    pub(super) fn sh(&self, script: &str) -> Start {
        let directory = self.scratch.path().to_str().and_then(AbsolutePath::new).expect("an absolute path");
        Start::new(["sh", "-c", script], directory)
    }

    /// The started processes that are still running.
    pub(super) fn survivors(&self) -> Vec<String> {
        survivors::bearing(&self.token)
    }

    /// Stops the server, and fails if a process is left.
    pub(super) async fn close(self) {
        drop(self.stop);
        in_time(self.serving).await.expect("it serves to the end");
        self.engine.shutdown().await;
        assert_eq!(survivors::bearing(&self.token), Vec::<String>::new());
    }
}

/// A proxy to a server whose connections a test can cut, any number of times.
pub(super) struct Road {
    pub(super) endpoint: Endpoint,
    cuts: tokio::sync::mpsc::Sender<()>,
    shim: JoinHandle<()>,
}

impl Road {
    pub(super) async fn to(place: &Place) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("an address");
        let address = listener.local_addr().expect("it has one");
        let endpoint = format!("ws://{address}").parse().expect("an endpoint");
        let (cuts, mut cut) = tokio::sync::mpsc::channel(1);
        let socket = place.socket();
        let shim = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                tokio::select! {
                    Some(()) = cut.recv() => connections.shutdown().await,
                    accepted = listener.accept() => {
                        let (mut near, _) = accepted.expect("somebody comes");
                        let mut far = UnixStream::connect(&socket).await.expect("it listens");
                        drop(connections.spawn(async move {
                            // An error ends the connection as well.
                            let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                        }));
                    }
                }
            }
        });
        Self { endpoint, cuts, shim }
    }

    /// Cuts all connections.
    pub(super) async fn cut(&self) {
        self.cuts.send(()).await.expect("the road is kept");
    }
}

impl Drop for Road {
    fn drop(&mut self) {
        self.shim.abort();
    }
}

/// Waits for an event, and fails after a while.
pub(super) async fn in_time<T>(something: impl Future<Output = T>) -> T {
    tokio::time::timeout(HANG, something).await.expect("it comes")
}
