//! Connections that never finish their request, or never begin one: clients with the token are served, however many of
//! these connections there are.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use super::Server;
use crate::rig::Home;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// More connections than a server keeps at a time.
const HALF_OPEN: usize = 600;

/// The number of consecutive requests that must all be answered.
const REQUESTS: usize = 20;

/// A request that is not answered after this time hangs.
const PATIENCE: Duration = Duration::from_secs(90);

/// The shortest deadline after which a server closes a connection: a client that has to wait for one is locked out.
const SHORTEST_DEADLINE: Duration = Duration::from_secs(10);

/// The bytes that an attacker without a token sends on each connection.
const HALF_A_REQUEST: &str = "GET / HTTP/1.1\r\nHost: localh";

/// An attacker, in a thread: keeps connections open on which it has sent something, and replaces each one that the
/// server closes.
struct Attacker {
    renewing: Option<std::thread::JoinHandle<()>>,
    stop: Option<OwnedFd>,
}

impl Attacker {
    /// Starts the thread, and returns once all of its connections are open.
    fn start<S: AsFd + Send + 'static>(connect: impl Fn() -> S + Send + 'static) -> Self {
        let mut open: Vec<S> = (0..HALF_OPEN).map(|_| connect()).collect();
        let (stop, stopped) = UnixStream::pair().expect("two sockets");
        let renewing = std::thread::spawn(move || while renew(&mut open, &connect, &stopped) {});
        Self { renewing: Some(renewing), stop: Some(stop.into()) }
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.renewing.take().map(std::thread::JoinHandle::join);
        assert!(std::thread::panicking() || matches!(ended, Some(Ok(()))), "the attacker failed");
    }
}

/// Waits until the server closes some connections and replaces them; returns false after the signal to stop.
fn renew<S: AsFd>(open: &mut [S], connect: &impl Fn() -> S, stopped: &UnixStream) -> bool {
    let mut watched: Vec<_> = open.iter().map(|stream| PollFd::new(stream, PollFlags::RDHUP)).collect();
    watched.push(PollFd::from_borrowed_fd(stopped.as_fd(), PollFlags::IN));
    poll(&mut watched, None).expect("they can be watched");
    let mut closed: Vec<bool> = watched.iter().map(|one| !one.revents().is_empty()).collect();
    let told_to_stop = closed.pop().unwrap_or(true);
    for (stream, _) in open.iter_mut().zip(closed).filter(|(_, closed)| *closed) {
        *stream = connect();
    }
    !told_to_stop
}

fn half_open(server: SocketAddr) -> TcpStream {
    opened(TcpStream::connect(server), HALF_A_REQUEST)
}

fn opened<S: Write>(stream: std::io::Result<S>, says: &str) -> S {
    let mut stream = stream.expect("the server listens");
    // The server may close the connection before it reads this.
    let _ = stream.write_all(says.as_bytes());
    stream
}

/// The status of the answer to a request, if it arrives in time.
fn status(server: SocketAddr, request: &str, until: Instant) -> Result<String, std::io::Error> {
    let left = || until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    let mut stream = TcpStream::connect_timeout(&server, left())?;
    stream.set_read_timeout(Some(left()))?;
    status_on(&mut stream, request)
}

fn status_on(stream: &mut (impl Read + Write), request: &str) -> Result<String, std::io::Error> {
    stream.write_all(request.as_bytes())?;
    let mut status = [0; "HTTP/1.1 200".len()];
    stream.read_exact(&mut status)?;
    Ok(String::from_utf8_lossy(&status[9..]).into_owned())
}

/// Sends requests to an idle server and to the attacked one in turn. Each single answer of the attacked server is
/// compared: one that waited for a deadline is not hidden by quick ones. Other load on the machine slows both down.
fn each_is_answered_soon(what: &str, idle: impl Fn() -> Duration, attacked: impl Fn() -> Duration) {
    const MOST_TIMES: u32 = 20;
    let (idle, attacked): (Vec<_>, Vec<_>) = (0..REQUESTS).map(|_| (idle(), attacked())).unzip();
    let slowest = |times: &[Duration]| times.iter().copied().max().unwrap_or_default();
    let most = (slowest(&idle) * MOST_TIMES).clamp(SHORTEST_DEADLINE / 4, SHORTEST_DEADLINE / 2);
    assert!(slowest(&attacked) <= most, "{what}: {attacked:?} beside {idle:?}");
}

fn check(words: &[&str], says: &str, (request, expected): (&str, &str)) {
    let home = Home::new(&format!("half-open-{}", words[0]));
    let file = home.path().join("token");
    std::fs::write(&file, TOKEN).expect("a file");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("a mode");
    let words = [words, &[file.to_str().expect("UTF-8")]].concat();
    let servers = [Server::start(&home, &words), Server::start(&home, &words)];
    let [idle, attacked] = servers.each_ref().map(|server| -> SocketAddr {
        let address = server.url.split('/').nth(2).and_then(|address| address.parse().ok());
        address.expect("it says where it listens")
    });
    let says = says.to_owned();
    let _attacker = Attacker::start(move || opened(TcpStream::connect(attacked), &says));
    let timed = |address: SocketAddr| {
        let began = Instant::now();
        let answered = status(address, request, began + PATIENCE);
        assert!(matches!(&answered, Ok(status) if status == expected), "{words:?}: {answered:?}");
        began.elapsed()
    };
    each_is_answered_soon(words[0], || timed(idle), || timed(attacked));
}

fn upgrade() -> String {
    format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
}

#[test]
fn half_open_connections_lock_no_client_out_of_the_app_server() {
    check(
        &["app-server", "--listen", "ws://127.0.0.1:0", "--ws-token-file"],
        HALF_A_REQUEST,
        (&upgrade(), "101"),
    );
}

#[test]
fn half_open_connections_lock_no_client_out_of_the_exec_server() {
    check(
        &["exec-server", "--listen", "ws://127.0.0.1:0", "--ws-token-file"],
        HALF_A_REQUEST,
        (&upgrade(), "101"),
    );
}

/// The client has the token, and sends nothing after the handshake.
#[test]
fn silent_websockets_lock_no_client_out() {
    for dialect in ["app-server", "exec-server"] {
        let words = [dialect, "--listen", "ws://127.0.0.1:0", "--ws-token-file"];
        check(&words, &upgrade(), (&upgrade(), "101"));
    }
}

#[test]
fn silent_connections_lock_no_client_out_of_a_unix_socket() {
    for dialect in ["app-server", "exec-server"] {
        for says in [HALF_A_REQUEST.to_owned(), upgrade()] {
            let home = Home::new(&format!("half-open-unix-{dialect}"));
            let [idle, attacked] = ["idle", "attacked"].map(|name| home.path().join(name));
            let _servers = [&idle, &attacked].map(|path| {
                let listen = format!("unix://{}", path.display());
                Server::start(&home, &[dialect, "--listen", &listen])
            });
            let path = attacked.clone();
            let _attacker = Attacker::start(move || opened(UnixStream::connect(&path), &says));
            let timed = |path: &Path| {
                let began = Instant::now();
                let mut stream = UnixStream::connect(path).expect("the server listens");
                stream.set_read_timeout(Some(PATIENCE)).expect("a deadline");
                let answered = status_on(&mut stream, &upgrade());
                assert!(matches!(&answered, Ok(status) if status == "101"), "{dialect}: {answered:?}");
                began.elapsed()
            };
            each_is_answered_soon(dialect, || timed(&idle), || timed(&attacked));
        }
    }
}

/// A request to the MCP server that announces a body of this length.
fn discover(length: Option<usize>) -> String {
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let body =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{{"_meta":{meta}}}}}"#);
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: server/discover\r\nContent-Length: {}\r\n\r\n{body}",
        length.unwrap_or(body.len())
    )
}

const MCP: [&str; 4] = ["mcp", "--http", "127.0.0.1:0", "--token-file"];

#[test]
fn half_open_connections_lock_no_client_out_of_the_mcp_server() {
    check(&MCP, HALF_A_REQUEST, (&discover(None), "200"));
}

/// The client has the token. It announces more than it sends, or sends nothing after its first request.
#[test]
fn clients_that_send_no_more_lock_no_other_out_of_the_mcp_server() {
    for says in [discover(Some(100_000)), discover(None)] {
        check(&MCP, &says, (&discover(None), "200"));
    }
}

/// Opens connections with half a request on each. Returns once the server holds its maximum of connections.
fn hold_half_open(server: SocketAddr) -> Vec<TcpStream> {
    /// The most connections that a server holds.
    const KEPT: usize = 128;
    let mut open: Vec<TcpStream> = (0..HALF_OPEN).map(|_| half_open(server)).collect();
    let until = Instant::now() + PATIENCE;
    while open.len() > KEPT {
        assert!(Instant::now() < until, "the server keeps {} connections", open.len());
        let mut watched: Vec<_> = open.iter().map(|stream| PollFd::new(stream, PollFlags::IN)).collect();
        poll(&mut watched, None).expect("they can be watched");
        let mut closed = watched.iter().map(|one| !one.revents().is_empty()).collect::<Vec<_>>().into_iter();
        open.retain(|_| !closed.next().unwrap_or(false));
    }
    open
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Without a token the server looks for the process of each caller, which takes long. It must not do so for callers
/// that have not sent a request.
#[test]
fn half_open_connections_make_a_server_without_a_token_no_slower() {
    /// The factor by which it may appear slower while other processes run on the machine.
    const MOST: u32 = 8;
    for dialect in ["exec-server", "app-server"] {
        let home = Home::new(&format!("half-open-ratio-{dialect}"));
        let words = [dialect, "--listen", "ws://127.0.0.1:0", "--insecure-loopback"];
        let servers = [Server::start(&home, &words), Server::start(&home, &words)];
        let addresses = servers.each_ref().map(|server| -> SocketAddr {
            server.url.strip_prefix("ws://").and_then(|address| address.parse().ok()).expect("an address")
        });
        let [idle, busy] = addresses;
        let _open = hold_half_open(busy);
        let timed = |address: SocketAddr| {
            let began = Instant::now();
            let answered = status(address, &upgrade(), began + PATIENCE);
            assert!(matches!(&answered, Ok(status) if status == "101"), "{dialect}: {answered:?}");
            began.elapsed()
        };
        let (idle, busy): (Vec<_>, Vec<_>) = (0..REQUESTS).map(|_| (timed(idle), timed(busy))).unzip();
        let (idle, busy) = (median(idle), median(busy));
        println!("{dialect}: {busy:?} beside {idle:?}");
        assert!(busy <= idle * MOST, "{dialect}: {busy:?} beside {idle:?}");
    }
}
