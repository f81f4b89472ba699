//! As much of an HTTP/1.1 server as a scripted endpoint needs: one request for each connection, answered whole or as a
//! stream of events. It is written out here because a test must not wait for, or be broken by, a framework.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};

use crate::HANG;

/// More than agents open at a time; what comes beyond is closed at once.
const MOST_CONNECTIONS: usize = 64;
/// Headers of agents are a few hundred bytes.
const LONGEST_HEAD: u64 = 64 * 1024;
/// Conversations with all their tools are a few hundred kilobytes.
const LONGEST_BODY: u64 = 32 * 1024 * 1024;

/// The server; dropping it closes every connection and waits for its threads.
pub(super) struct Server {
    address: SocketAddr,
    stopping: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

/// A request.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) method: String,
    /// Without the query.
    pub(super) path: String,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// An answer.
pub(super) enum Reply {
    Whole { status: u16, json: String },
    Events { events: Vec<Event>, ending: Ending },
}

/// How a stream ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Proper,
    /// The connection goes away in the middle.
    Broken,
}

/// An event of a stream.
pub(super) struct Event {
    pub(super) kind: Option<String>,
    pub(super) data: String,
}

type Handler = Arc<dyn Fn(&Asked) -> Reply + Send + Sync>;

impl Server {
    /// Listens on a free port of loopback.
    pub(super) fn start(handler: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener knows its address");
        let stopping = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stopping);
        let acceptor =
            thread::spawn(move || accept_until_stopped(&listener, &flag, &(Arc::new(handler) as Handler)));
        Self { address, stopping, acceptor: Some(acceptor) }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        // The acceptor waits for a connection; this is the one that tells it to look at the flag.
        let woken = TcpStream::connect(self.address).is_ok();
        if let (true, Some(acceptor)) = (woken, self.acceptor.take()) {
            let _ = acceptor.join();
        }
    }
}

impl Asked {
    /// A header, by its name in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }
}

impl Reply {
    pub(super) fn json(value: &Value) -> Self {
        Self::Whole { status: 200, json: value.to_string() }
    }

    pub(super) fn failure(status: u16, message: &str) -> Self {
        let json = json!({ "error": { "message": message, "type": "scripted", "code": null } });
        Self::Whole { status, json: json.to_string() }
    }

    pub(super) fn events(events: Vec<Event>) -> Self {
        Self::Events { events, ending: Ending::Proper }
    }

    pub(super) fn broken_events(events: Vec<Event>) -> Self {
        Self::Events { events, ending: Ending::Broken }
    }
}

/// A connection with the thread that serves it.
struct Served {
    stream: TcpStream,
    thread: JoinHandle<()>,
}

fn accept_until_stopped(listener: &TcpListener, stopping: &AtomicBool, handler: &Handler) {
    let mut served: Vec<Served> = Vec::new();
    for stream in listener.incoming().flatten() {
        if stopping.load(Ordering::SeqCst) {
            break;
        }
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
    // An agent that went away in the middle is not this thread's fault, and the test will see it elsewhere.
    let thread = thread::spawn(move || drop(serve(&stream, &handler)));
    Some(Served { stream: own, thread })
}

fn serve(stream: &TcpStream, handler: &Handler) -> io::Result<()> {
    stream.set_read_timeout(Some(HANG))?;
    stream.set_write_timeout(Some(HANG))?;
    let reply = match read_request(stream) {
        Ok(asked) => handler(&asked),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Reply::failure(400, &error.to_string()),
        Err(error) => return Err(error),
    };
    write_reply(stream, &reply)?;
    stream.shutdown(std::net::Shutdown::Write)?;
    // Closing with something unread would reset the connection and lose the reply.
    io::copy(&mut stream.take(LONGEST_BODY), &mut io::sink()).map(drop)
}

fn read_request(stream: &TcpStream) -> io::Result<Asked> {
    let mut reader = BufReader::new(stream);
    let mut head = (&mut reader).take(LONGEST_HEAD);
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
        let mut stream = stream;
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let body = read_body(&mut reader, &headers)?;
    let path = target.split('?').next().unwrap_or_default().to_owned();
    Ok(Asked { method, path, headers, body })
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

fn write_reply(mut stream: &TcpStream, reply: &Reply) -> io::Result<()> {
    match reply {
        Reply::Whole { status, json } => {
            let length = json.len();
            let head = head(*status, &format!("content-type: application/json\r\ncontent-length: {length}"));
            stream.write_all(format!("{head}{json}").as_bytes())
        }
        Reply::Events { events, ending } => {
            stream.write_all(
                head(200, "content-type: text/event-stream\r\ntransfer-encoding: chunked").as_bytes(),
            )?;
            for event in events {
                stream.write_all(chunk(&event.lines()).as_bytes())?;
            }
            // Without the empty chunk the stream is seen to be cut off.
            if *ending == Ending::Proper { stream.write_all(chunk("").as_bytes()) } else { Ok(()) }
        }
    }
}

fn head(status: u16, headers: &str) -> String {
    format!("HTTP/1.1 {status} {}\r\n{headers}\r\nconnection: close\r\n\r\n", phrase(status))
}

/// The words are for people; programs look at the number.
fn phrase(status: u16) -> &'static str {
    if status == 200 { "OK" } else { "Refused" }
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

impl Event {
    fn lines(&self) -> String {
        let kind = self.kind.as_ref().map(|kind| format!("event: {kind}\n")).unwrap_or_default();
        format!("{kind}data: {}\n\n", self.data)
    }
}
