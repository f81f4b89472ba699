//! A fixture: a proxy with names of its own, and clients that send exactly the bytes that a test wants.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use windlass_proxy::decision::{ConnectionEnd, Decision, EventReceiver, ProxyEvent, channel};
use windlass_proxy::host::Name;
use windlass_proxy::resolve::{Connector, Later, Resolver};
use windlass_proxy::{AllowList, Options, Proxy};

/// How long anything may take before it counts as hung.
pub(crate) const HANG: Duration = windlass_testkit::HANG;

/// An address that counts as public. Nothing is ever sent to it: see [`Roads`].
pub(crate) const PUBLIC: &str = "93.184.216.34";

/// The addresses that a name resolves to, the first time, the second time, and so on; the last answer stays.
#[derive(Clone, Default)]
pub(crate) struct Names {
    answers: Arc<Mutex<HashMap<String, Vec<Answer>>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

#[derive(Clone)]
pub(crate) enum Answer {
    Addresses(Vec<IpAddr>),
    Failure,
    /// It never comes.
    Silence,
}

impl Answer {
    pub(crate) fn at(addresses: &[&str]) -> Self {
        Self::Addresses(addresses.iter().map(|text| text.parse().expect("an address")).collect())
    }
}

impl Names {
    pub(crate) fn with(self, name: &str, answers: &[Answer]) -> Self {
        self.answers.lock().expect("names").insert(name.to_owned(), answers.to_vec());
        self
    }

    /// The names that were looked up.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("names").clone()
    }

    fn answer(&self, name: &Name) -> Answer {
        self.asked.lock().expect("names").push(name.to_string());
        let mut answers = self.answers.lock().expect("names");
        let Some(answers) = answers.get_mut(name.as_str()) else { return Answer::Failure };
        if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() }
    }
}

impl Resolver for Names {
    fn lookup<'a>(&'a self, name: &'a Name) -> Later<'a, io::Result<Vec<IpAddr>>> {
        let answer = self.answer(name);
        Box::pin(async move {
            match answer {
                Answer::Addresses(addresses) => Ok(addresses),
                Answer::Failure => Err(io::Error::other("no such name")),
                Answer::Silence => std::future::pending().await,
            }
        })
    }
}

/// Leads public addresses to servers of the test, and notes every address that was asked for.
#[derive(Clone, Default)]
pub(crate) struct Roads {
    detours: Arc<Mutex<HashMap<IpAddr, SocketAddr>>>,
    taken: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Roads {
    pub(crate) fn with(self, public: &str, server: SocketAddr) -> Self {
        self.detours.lock().expect("roads").insert(public.parse().expect("an address"), server);
        self
    }

    pub(crate) fn taken(&self) -> Vec<SocketAddr> {
        self.taken.lock().expect("roads").clone()
    }
}

impl Connector for Roads {
    fn connect(&self, address: SocketAddr) -> Later<'_, io::Result<TcpStream>> {
        self.taken.lock().expect("roads").push(address);
        let detour = self.detours.lock().expect("roads").get(&address.ip()).copied();
        Box::pin(async move {
            match detour {
                Some(server) => TcpStream::connect(server).await,
                None if address.ip().is_loopback() => TcpStream::connect(address).await,
                None => Err(io::ErrorKind::ConnectionRefused.into()),
            }
        })
    }
}

/// A proxy that runs.
pub(crate) struct Rig {
    pub(crate) address: SocketAddr,
    pub(crate) names: Names,
    pub(crate) roads: Roads,
    events: EventReceiver,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

impl Rig {
    /// A proxy with this list, for which `allowed.test` is a public host: the given server.
    pub(crate) async fn start(entries: &[&str], server: SocketAddr) -> Self {
        let names = Names::default().with("allowed.test", &[Answer::at(&[PUBLIC])]);
        Self::with(entries, Options::default(), names, Roads::default().with(PUBLIC, server)).await
    }

    pub(crate) async fn with(entries: &[&str], options: Options, names: Names, roads: Roads) -> Self {
        let allow = AllowList::parse(entries).expect("a good list");
        let (sink, events) = channel(1000);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it has an address");
        let (stop, stopped) = oneshot::channel::<()>();
        let proxy = Proxy::new(allow, options, names.clone(), sink).with_connector(roads.clone());
        let served = tokio::spawn(proxy.serve(listener, async { drop(stopped.await) }));
        Self { address, names, roads, events, stop, served }
    }

    pub(crate) async fn next(&mut self) -> ProxyEvent {
        within(self.events.next()).await.expect("the proxy is there")
    }

    pub(crate) async fn decision(&mut self) -> Decision {
        match self.next().await {
            ProxyEvent::Decided(decision) => decision,
            other => panic!("{other:?} is no decision"),
        }
    }

    pub(crate) async fn ending(&mut self) -> ConnectionEnd {
        match self.next().await {
            ProxyEvent::Ended(ending) => ending,
            other => panic!("{other:?} is no ending"),
        }
    }

    /// Ends the proxy and returns the events that were not read yet.
    pub(crate) async fn stop(mut self) -> Vec<ProxyEvent> {
        drop(self.stop);
        within(self.served).await.expect("serving does not panic");
        let mut rest = Vec::new();
        while let Some(event) = within(self.events.next()).await {
            rest.push(event);
        }
        assert_eq!(self.events.lost(), 0);
        rest
    }

    pub(crate) async fn connect(&self) -> Client {
        Client(within(TcpStream::connect(self.address)).await.expect("the proxy listens"))
    }

    /// Sends all this, and hears everything until the proxy closes.
    pub(crate) async fn exchange(&self, request: &[u8]) -> String {
        let mut client = self.connect().await;
        client.send(request).await;
        client.rest().await
    }
}

/// A connection to the proxy.
pub(crate) struct Client(pub(crate) TcpStream);

impl Client {
    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        within(self.0.write_all(bytes)).await.expect("the proxy takes it");
    }

    pub(crate) async fn read(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        within(self.0.read_exact(&mut bytes)).await.expect("the proxy answers");
        bytes
    }

    /// Everything until the end, as text.
    pub(crate) async fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        within(self.0.read_to_end(&mut bytes)).await.expect("the proxy closes in peace");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The head of an answer.
    pub(crate) async fn head(&mut self) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.extend(self.read(1).await);
        }
        String::from_utf8(head).expect("a head is text")
    }

    /// Asks for a tunnel and gets it.
    pub(crate) async fn tunnel(&mut self, target: &str) {
        self.send(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n").as_bytes()).await;
        assert_eq!(self.head().await, "HTTP/1.1 200 Connection established\r\n\r\n");
    }

    /// Says hello in SOCKS 5 and asks for a name; the code of the answer.
    pub(crate) async fn socks(&mut self, name: &str, port: u16) -> u8 {
        self.send(&[5, 1, 0]).await;
        assert_eq!(self.read(2).await, [5, 0]);
        let length = u8::try_from(name.len()).expect("a short name");
        self.send(&[&[5, 1, 0, 3, length], name.as_bytes(), &port.to_be_bytes()].concat()).await;
        let reply = self.read(10).await;
        assert_eq!((reply[0], reply[2]), (5, 0));
        reply[1]
    }
}

/// A plain request for a page.
pub(crate) fn get(target: &str, path: &str) -> Vec<u8> {
    format!("GET http://{target}{path} HTTP/1.1\r\nHost: {target}\r\n\r\n").into_bytes()
}

/// Awaits a future that must finish soon.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(HANG, future).await.expect("it does not hang")
}
