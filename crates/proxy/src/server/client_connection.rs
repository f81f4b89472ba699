//! One client connection: detects the protocol by the first byte, and turns clients away.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};

use super::account::Account;
use super::route::Upstream;
use super::{ProxyShared, http, socks};
use crate::decision::{ConnectionId, Decision, DenyReason, HostVerdict, HowEnded, Protocol, ProxyEvent};
use crate::wire::head::is_token;
use crate::wire::request::ParsedTarget;
use crate::wire::socks::{OLD_REFUSED, OLD_VERSION, VERSION};

/// How many bytes of a client's request are read at once.
const READ: usize = 4 * 1024;

/// How long, and for how many bytes, the proxy still reads from a client that it turns away. Closing a socket with
/// unread bytes makes the kernel send a reset, and the client would lose our answer with it.
const LINGER_TIME: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 1024 * 1024;

/// A client and the state of its connection.
pub(crate) struct ClientConnection {
    pub(crate) shared: Arc<ProxyShared>,
    pub(crate) client: TcpStream,
    /// Bytes that were read and not yet parsed.
    pub(crate) unread: Vec<u8>,
    id: ConnectionId,
    /// The deadline for a complete request.
    deadline: Instant,
}

/// The reason why a client sends nothing more.
pub(crate) enum Silence {
    /// It has gone.
    Gone,
    /// It takes too long.
    Late,
}

/// A connection to the far side, with its account.
pub(crate) struct Reached {
    pub(crate) far: TcpStream,
    pub(crate) account: Account,
}

impl ClientConnection {
    pub(crate) fn new(shared: Arc<ProxyShared>, client: TcpStream, id: ConnectionId) -> Self {
        let deadline = Instant::now() + shared.options.head_time;
        // `TCP_NODELAY`: small messages must not wait for one another. A socket that refuses the option still works.
        let _ = client.set_nodelay(true);
        Self { shared, client, unread: Vec::new(), id, deadline }
    }

    /// Serves the client's request, or refuses it, until the connection is over.
    pub(crate) async fn serve(mut self) {
        if let Err(silence) = self.more().await {
            return self.fell_silent(&silence);
        }
        match self.unread.first() {
            Some(&VERSION) => socks::serve(self).await,
            Some(&OLD_VERSION) => {
                self.turn_away(&OLD_REFUSED, "SOCKS 4 is not spoken here, SOCKS 5 is").await;
            }
            Some(&byte) if is_token(byte) => http::serve(self).await,
            _ => self.turn_away(&[], "the first byte is neither of HTTP nor of SOCKS").await,
        }
    }

    /// Reads more of the client's request.
    pub(crate) async fn more(&mut self) -> Result<(), Silence> {
        self.unread.reserve(READ);
        // timer: a client that never completes its request gives its place to others.
        match timeout_at(self.deadline, self.client.read_buf(&mut self.unread)).await {
            Ok(Ok(1..)) => Ok(()),
            Ok(Ok(0) | Err(_)) => Err(Silence::Gone),
            Err(_) => Err(Silence::Late),
        }
    }

    /// Judges a target, and reports the decision.
    pub(crate) async fn decide(
        &self,
        protocol: Protocol,
        asked: &ParsedTarget,
    ) -> Result<Upstream, DenyReason> {
        let judgement = self.shared.judge(&asked.target).await;
        let verdict = match &judgement.verdict {
            Ok(way) => HostVerdict::Allowed { entry: way.entry.clone() },
            Err(refusal) => HostVerdict::Refused(refusal.clone()),
        };
        self.shared.sink.tell(ProxyEvent::Decided(Decision {
            connection: self.id,
            protocol,
            host: asked.host.clone(),
            port: asked.target.port,
            address: judgement.address,
            verdict,
        }));
        judgement.verdict
    }

    /// Connects by a route that was allowed.
    pub(crate) async fn reach(&self, way: &Upstream) -> io::Result<Reached> {
        let mut account = Account::open(Arc::clone(&self.shared), self.id);
        let connected: io::Result<(TcpStream, SocketAddr)> = self.shared.connect(way).await;
        match connected {
            Ok((far, address)) => {
                account.reached(address);
                Ok(Reached { far, account })
            }
            Err(error) => {
                account.close(HowEnded::Unreachable(error.to_string()));
                Err(error)
            }
        }
    }

    /// Turns away a client whose request was not understood.
    pub(crate) async fn turn_away(self, answer: &[u8], why: &str) {
        self.shared.sink.tell(ProxyEvent::TurnedAway { connection: self.id, why: why.to_owned() });
        self.dismiss(answer).await;
    }

    /// Notes that a client went, or did nothing, before its request was understood. A client that sent no byte is not
    /// reported.
    pub(crate) fn fell_silent(&self, silence: &Silence) {
        let why = match silence {
            Silence::Gone if self.unread.is_empty() => return,
            Silence::Gone => "the client went away in the middle of its request",
            Silence::Late => "the request did not come to its end in time",
        };
        self.shared.sink.tell(ProxyEvent::TurnedAway { connection: self.id, why: why.to_owned() });
    }

    /// Sends the last answer, and reads from the client for a moment.
    pub(crate) async fn dismiss(mut self, answer: &[u8]) {
        let farewell = async {
            self.client.write_all(answer).await?;
            self.client.shutdown().await?;
            let mut heard = 0;
            let mut buffer = vec![0; READ];
            while heard < LINGER_BYTES {
                match self.client.read(&mut buffer).await? {
                    0 => break,
                    read => heard += read,
                }
            }
            io::Result::Ok(())
        };
        // timer: a client that neither reads nor closes is cut off in the end. So is one to which writing fails.
        let _ = timeout(LINGER_TIME, farewell).await;
    }
}
