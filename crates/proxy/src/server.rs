//! The proxy itself: takes connections from a listener and gives each a task of its own. When serving is over, all of them
//! are.

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

/// The only way out for whoever can reach its listener.
pub struct Proxy {
    shared: ProxyShared,
}

/// What all connections share.
pub(crate) struct ProxyShared {
    allow: AllowList,
    options: Options,
    resolver: Box<dyn Resolver>,
    connector: Box<dyn Connector>,
    sink: Box<dyn Sink>,
}

impl Proxy {
    /// A proxy that reaches what is listed, and tells the sink about everything it was asked.
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

    /// Serves whoever connects until `until` is done. The listener may have been made in another network namespace: it
    /// stays there, and what is connected to from here is in this one. All connections have ended, and been told of, when this returns;
    /// when it is dropped, they end too.
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

/// The next connection. A listener only fails for want of something, such as descriptors, or with a client that has gone
/// already; both pass.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((client, _)) => return client,
            // timer: the listener stays readable while descriptors are scarce, so waiting for it would not wait.
            Err(_) => tokio::time::sleep(SCARCITY_PAUSE).await,
        }
    }
}
