//! The proxy itself: accepts connections from a listener and gives each a task of its own. All of them have ended when
//! serving ends.

mod account;
mod client_connection;
mod http;
mod route;
mod socks;
mod tunnel;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use self::client_connection::ClientConnection;
use crate::allow::AllowList;
use crate::decision::{ConnectionId, Sink};
use crate::options::Options;
use crate::resolve::{Connector, Resolver, SystemConnector};

/// How long to leave the listener alone when the system has no descriptor for another connection.
const SCARCITY_PAUSE: Duration = Duration::from_millis(100);

/// The proxy: the only way out for programs that can reach its listener.
pub struct Proxy {
    shared: ProxyShared,
}

/// The state that all connections share.
pub(crate) struct ProxyShared {
    allow: AllowList,
    options: Options,
    resolver: Box<dyn Resolver>,
    connector: Box<dyn Connector>,
    sink: Box<dyn Sink>,
}

impl Proxy {
    /// A proxy that reaches listed hosts, and reports every request to the sink.
    pub fn new(allow: AllowList, options: Options, resolver: impl Resolver, sink: impl Sink) -> Self {
        let (resolver, sink) = (Box::new(resolver), Box::new(sink));
        Self { shared: ProxyShared { allow, options, resolver, connector: Box::new(SystemConnector), sink } }
    }

    /// Connects in another way than the system's.
    #[must_use]
    pub fn with_connector(mut self, connector: impl Connector) -> Self {
        self.shared.connector = Box::new(connector);
        self
    }

    /// Serves connections until `until` is done. The listener may have been made in another network namespace: it stays
    /// there, and outgoing connections are made in this one. When this returns, all connections have ended and their
    /// ends have been reported; when it is dropped, they end too.
    pub async fn serve(self, listener: TcpListener, until: impl Future<Output = ()>) {
        let shared = Arc::new(self.shared);
        let mut until = pin!(until);
        let mut connections = JoinSet::new();
        let mut numbers = (1..).map(ConnectionId);
        loop {
            let has_room = connections.len() < shared.options.connections;
            tokio::select! {
                biased;
                () = &mut until => break,
                Some(_) = connections.join_next() => {}
                client = accept(&listener), if has_room => {
                    let Some(id) = numbers.next() else { break };
                    connections.spawn(ClientConnection::new(Arc::clone(&shared), client, id).serve());
                }
            }
        }
        connections.shutdown().await;
    }
}

/// The next connection. Accepting fails only when a resource such as descriptors is exhausted, or when a client has
/// gone already; both pass.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((client, _)) => return client,
            // timer: the listener stays readable while descriptors are scarce, so waiting for it would not wait.
            Err(_) => tokio::time::sleep(SCARCITY_PAUSE).await,
        }
    }
}
