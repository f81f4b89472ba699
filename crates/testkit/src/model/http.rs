//! A minimal HTTP/1.1 server for a scripted endpoint: requests one after the other on each connection, answered whole
//! or as a stream of events, with faults on demand. It is written out here because a test must not wait for, or be
//! broken by, a framework.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use serde_json::{Value, json};

use super::gate::{Gate, Wait};
use super::reply::Pace;
use crate::HANG;

/// More than agents open at a time; further connections are closed at once.
const MOST_CONNECTIONS: usize = 64;
/// Headers of agents are a few hundred bytes.
const LONGEST_HEAD: u64 = 64 * 1024;
/// Conversations with all their tools are a few hundred kilobytes.
const LONGEST_BODY: u64 = 32 * 1024 * 1024;

/// The server; dropping it closes every connection and waits for its threads.
pub(super) struct Server {
    address: SocketAddr,
    door: Arc<AcceptorShared>,
    acceptor: Option<JoinHandle<()>>,
}

/// The state that the acceptor and the server's owner share.
#[derive(Default)]
struct AcceptorShared {
    stopping: AtomicBool,
    entered: AtomicUsize,
}

/// A request.
#[derive(Debug)]
pub(super) struct ReceivedRequest {
    pub(super) method: String,
    /// Without the query.
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    /// When its last byte was here.
    pub(super) arrived: Instant,
}

/// An answer.
pub(super) enum Reply {
    Whole {
        status: u16,
        headers: Vec<(String, String)>,
        body: String,
    },
    Events(Stream),
    /// No answer: the connection is closed.
    HangUp,
}

/// An answer that comes in pieces.
pub(super) struct Stream {
    pub(super) content_type: String,
    pub(super) pieces: Vec<Vec<u8>>,
    pub(super) pace: Pace,
    /// Before which piece to wait, and for what.
    pub(super) stall: Option<(usize, Gate)>,
    pub(super) ending: StreamEnd,
    /// Called when the agent leaves before the whole stream was sent.
    pub(super) departed: Box<dyn FnOnce() + Send>,
}

/// How a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamEnd {
    Proper,
    /// The connection is dropped in the middle.
    Broken,
}

/// The state of a connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// It takes the next request.
    Kept,
    /// It is closed once the other side has read everything.
    Closed,
}

/// An event of a stream.
pub(super) struct ScriptedEvent {
    pub(super) kind: Option<String>,
    pub(super) data: String,
}

type Handler = Arc<dyn Fn(&ReceivedRequest) -> Reply + Send + Sync>;

impl Server {
    /// Listens on a free port of loopback.
    pub(super) fn start(handler: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener knows its address");
        let door = Arc::new(AcceptorShared::default());
        let own = Arc::clone(&door);
        let acceptor =
            thread::spawn(move || accept_until_stopped(&listener, &own, &(Arc::new(handler) as Handler)));
        Self { address, door, acceptor: Some(acceptor) }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections were made so far.
    pub(super) fn connections(&self) -> usize {
        self.door.entered.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.door.stopping.store(true, Ordering::SeqCst);
        // The acceptor waits for a connection; this one wakes it so that it looks at the flag.
        let woken = TcpStream::connect(self.address).is_ok();
        if let (true, Some(acceptor)) = (woken, self.acceptor.take()) {
            let _ = acceptor.join();
        }
    }
}

impl ReceivedRequest {
    /// A header, by its name in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    fn after(&self) -> After {
        let close = self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        if close { After::Closed } else { After::Kept }
    }
}

impl Reply {
    pub(super) fn json(value: &Value) -> Self {
        Self::whole(200, value.to_string())
    }

    pub(super) fn failure(status: u16, message: &str) -> Self {
        let json = json!({ "error": { "message": message, "type": "scripted", "code": null } });
        Self::whole(status, json.to_string())
    }

    fn whole(status: u16, body: String) -> Self {
        Self::Whole {
            status,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body,
        }
    }
}

/// A connection with the thread that serves it.
struct Served {
    stream: TcpStream,
    thread: JoinHandle<()>,
}

fn accept_until_stopped(listener: &TcpListener, door: &AcceptorShared, handler: &Handler) {
    let mut served: Vec<Served> = Vec::new();
    for stream in listener.incoming().flatten() {
        if door.stopping.load(Ordering::SeqCst) {
            break;
        }
        door.entered.fetch_add(1, Ordering::SeqCst);
        served.retain(|served| !served.thread.is_finished());
        if served.len() < MOST_CONNECTIONS {
            served.extend(serve_apart(stream, Arc::clone(handler)));
        }
    }
    for Served { stream, thread } in served {
        // It may be over already.
        let _ = stream.shutdown(std::net::Shutdown::Both);
        let _ = thread.join();
    }
}

fn serve_apart(stream: TcpStream, handler: Handler) -> Option<Served> {
    let own = stream.try_clone().ok()?;
    // An agent that went away in the middle is not this thread's fault, and the test sees it elsewhere.
    let thread = thread::spawn(move || drop(serve(&stream, &handler)));
    Some(Served { stream: own, thread })
}

fn serve(stream: &TcpStream, handler: &Handler) -> io::Result<()> {
    stream.set_read_timeout(Some(HANG))?;
    stream.set_write_timeout(Some(HANG))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while serve_one(stream, &mut reader, handler)? == After::Kept {}
    stream.shutdown(std::net::Shutdown::Write)?;
    // Closing with something unread would reset the connection and lose the reply.
    io::copy(&mut stream.take(LONGEST_BODY), &mut io::sink()).map(drop)
}

fn serve_one(stream: &TcpStream, reader: &mut BufReader<&TcpStream>, handler: &Handler) -> io::Result<After> {
    if reader.fill_buf()?.is_empty() {
        return Ok(After::Closed);
    }
    let (reply, after) = match read_request(stream, reader) {
        Ok(asked) => (handler(&asked), asked.after()),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            (Reply::failure(400, &error.to_string()), After::Closed)
        }
        Err(error) => return Err(error),
    };
    write_reply(stream, reply, after)
}

fn read_request(mut stream: &TcpStream, reader: &mut impl BufRead) -> io::Result<ReceivedRequest> {
    let mut head = (&mut *reader).take(LONGEST_HEAD);
    let first = read_line(&mut head)?;
    let mut words = first.split(' ').map(str::to_owned);
    let (Some(method), Some(target), Some(_)) = (words.next(), words.next(), words.next()) else {
        return Err(invalid("the first line is no request"));
    };
    let headers = read_headers(&mut head)?;
    if header(&headers, "content-encoding").is_some_and(|encoding| encoding != "identity") {
        return Err(invalid("the body is compressed, which is not understood here"));
    }
    if header(&headers, "expect").is_some() {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let body = read_body(reader, &headers)?;
    Ok(ReceivedRequest { method, path: path_of(&target), headers, body, arrived: Instant::now() })
}

/// The path alone; a request to a proxy names the whole address.
fn path_of(target: &str) -> String {
    let path = target.split('?').next().unwrap_or_default();
    match path.strip_prefix("http://") {
        Some(rest) => rest.find('/').map_or("/", |start| &rest[start..]).to_owned(),
        None => path.to_owned(),
    }
}

fn read_headers(head: &mut impl BufRead) -> io::Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    loop {
        let line = read_line(head)?;
        if line.is_empty() {
            return Ok(headers);
        }
        let (name, value) = line.split_once(':').ok_or_else(|| invalid("a header has no colon"))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

fn read_body(reader: &mut impl BufRead, headers: &[(String, String)]) -> io::Result<Vec<u8>> {
    if header(headers, "transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        return read_chunks(reader);
    }
    let length = header(headers, "content-length").unwrap_or("0");
    let length = length.parse().map_err(|_| invalid("content-length is not a number"))?;
    let mut body = Vec::new();
    read_exactly(reader, length, &mut body)?;
    Ok(body)
}

fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = read_line(&mut reader.take(LONGEST_HEAD))?;
        let digits = line.split(';').next().unwrap_or_default();
        let length = u64::from_str_radix(digits, 16).map_err(|_| invalid("a chunk has no length"))?;
        read_exactly(reader, length, &mut body)?;
        read_line(&mut reader.take(LONGEST_HEAD))?;
        if length == 0 {
            return Ok(body);
        }
    }
}

fn read_exactly(reader: &mut impl BufRead, length: u64, body: &mut Vec<u8>) -> io::Result<()> {
    if body.len() as u64 + length > LONGEST_BODY {
        return Err(invalid("the body is too long"));
    }
    let read = reader.take(length).read_to_end(body)?;
    if read as u64 == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// A line without its end; the end of the connection, or of the limit, in the middle of one is an error.
fn read_line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    match line.strip_suffix('\n') {
        Some(line) => Ok(line.trim_end_matches('\r').to_owned()),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

fn write_reply(mut stream: &TcpStream, reply: Reply, after: After) -> io::Result<After> {
    match reply {
        Reply::Whole { status, headers, body } => {
            let lines = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
            let lines = format!("{}content-length: {}", lines.collect::<String>(), body.len());
            stream.write_all(format!("{}{body}", head(status, &lines, after)).as_bytes())?;
            Ok(after)
        }
        Reply::Events(events) => write_events(stream, events, after),
        Reply::HangUp => Ok(After::Closed),
    }
}

fn write_events(mut stream: &TcpStream, events: Stream, after: After) -> io::Result<After> {
    let lines = format!("content-type: {}\r\ntransfer-encoding: chunked", events.content_type);
    let told =
        stream.write_all(head(200, &lines, after).as_bytes()).and_then(|()| write_pieces(stream, &events));
    if told.is_err() {
        (events.departed)();
    }
    told?;
    // Without the empty chunk the agent sees that the stream was cut off.
    if events.ending == StreamEnd::Broken {
        return Ok(After::Closed);
    }
    stream.write_all(b"0\r\n\r\n")?;
    Ok(after)
}

fn write_pieces(stream: &TcpStream, events: &Stream) -> io::Result<()> {
    let wait = |place: usize| match &events.stall {
        Some((stalled, gate)) if *stalled == place => match gate.wait(stream) {
            Wait::Opened => Ok(()),
            Wait::Left => Err(io::Error::from(io::ErrorKind::ConnectionReset)),
        },
        _ => Ok(()),
    };
    for (place, piece) in events.pieces.iter().enumerate() {
        wait(place)?;
        let size = if events.pace == Pace::ByByte { 1 } else { piece.len().max(1) };
        piece.chunks(size).try_for_each(|bytes| write_chunk(stream, bytes))?;
    }
    wait(events.pieces.len())
}

fn write_chunk(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    stream.write_all(&chunk)
}

fn head(status: u16, headers: &str, after: After) -> String {
    let closing = if after == After::Closed { "connection: close\r\n" } else { "" };
    format!("HTTP/1.1 {status} {}\r\n{headers}\r\n{closing}\r\n", phrase(status))
}

/// The reason phrase is for people; programs look at the number.
fn phrase(status: u16) -> &'static str {
    if status == 200 { "OK" } else { "Refused" }
}

impl ScriptedEvent {
    /// As it is sent.
    pub(super) fn lines(&self) -> String {
        let kind = self.kind.as_ref().map(|kind| format!("event: {kind}\n")).unwrap_or_default();
        format!("{kind}data: {}\n\n", self.data)
    }
}
