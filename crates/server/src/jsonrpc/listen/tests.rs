//! Tests of listening with an independent WebSocket client.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;
use tungstenite::client::IntoClientRequest;
use tungstenite::protocol::frame::Frame;
use tungstenite::protocol::frame::coding::{Data, OpCode};
use tungstenite::{Message, WebSocket};
use windlass_testkit::Scratch;
use windlass_testkit::bytes::Noise;

use super::*;
use crate::gate::{Gate, Token, TokenDigest};
use crate::jsonrpc::connection::Next;

/// Echoes messages. `bye` makes it hang up.
struct Echo {
    peer: Peer,
    closed: Arc<Mutex<usize>>,
}

impl MessageHandler for Echo {
    async fn take(&mut self, message: &[u8]) -> Next {
        self.peer.push(message);
        if message == b"bye" { Next::HangUp } else { Next::GoOn }
    }

    fn too_long(&mut self, _: &[u8]) {
        self.peer.push("too long");
    }

    async fn close(self) {
        *self.closed.lock().expect("nobody panicked") += 1;
    }
}

fn open_gate() -> Gate {
    Gate { access: Access::Open, origins: Vec::new(), names: Vec::new() }
}

fn loopback() -> Listen {
    "ws://127.0.0.1:0".parse().expect("a place to listen")
}

/// Serves echoes while `visit` blocks on another thread; returns its result, and how many handlers were closed.
async fn with_server<T: Send + 'static>(
    (listen, gate): (Listen, Gate),
    visit: impl FnOnce(&str) -> T + Send + 'static,
) -> (T, usize) {
    let listener = Listener::bind(
        &listen,
        Perimeter { gate, reach: ServerReach::OpenLoopback, tls: None, report: |_| {} },
    )
    .await
    .expect("it can be listened to");
    let url = listener.url().expect("it has an address");
    let closed = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&closed);
    let (done, stop) = oneshot::channel::<()>();
    let open = move |peer, _| Echo { peer, closed: Arc::clone(&counted) };
    let serving = listener.serve(Stamping::Plain, open, async { drop(stop.await) });
    let visiting = tokio::task::spawn_blocking(move || {
        let seen = visit(&url);
        drop(done);
        seen
    });
    let ((), seen) = tokio::join!(serving, visiting);
    let closed = *closed.lock().expect("nobody panicked");
    (seen.expect("the visit went well"), closed)
}

type Client = WebSocket<TcpStream>;

fn stream(url: &str) -> TcpStream {
    TcpStream::connect(url.strip_prefix("ws://").expect("an address")).expect("it listens")
}

fn connect(url: &str) -> Client {
    tungstenite::client(url, stream(url)).expect("a WebSocket").0
}

fn say<S: Read + Write>(client: &mut WebSocket<S>, message: Message) -> Message {
    client.send(message).expect("it is taken");
    client.read().expect("it is answered")
}

/// The HTTP status of a WebSocket request with one more header.
fn status(url: &str, header: Option<(&'static str, &str)>) -> u16 {
    let mut request = url.into_client_request().expect("a request");
    if let Some((name, value)) = header {
        request.headers_mut().insert(name, value.parse().expect("a header"));
    }
    match tungstenite::client(request, stream(url)) {
        Ok((_, response)) => response.status().as_u16(),
        Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(response))) => {
            response.status().as_u16()
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn places_to_listen_are_read_as_they_are_written() {
    let address = |text: &str| Ok(Listen::WebSocket(text.parse().expect("an address")));
    for (text, expected) in [
        ("stdio://", Ok(Listen::Stdio)),
        ("stdio", Ok(Listen::Stdio)),
        ("off", Ok(Listen::Off)),
        ("ws://127.0.0.1:0", address("127.0.0.1:0")),
        ("ws://localhost:1", address("127.0.0.1:1")),
        ("ws://[::1]:80/", address("[::1]:80")),
        ("wss://127.0.0.1:1", Ok(Listen::SecureWebSocket(([127, 0, 0, 1], 1).into()))),
        ("unix:///a/b c", Ok(Listen::Unix("/a/b c".into()))),
        ("unix://a", Ok(Listen::Unix("a".into()))),
    ] {
        assert_eq!(text.parse(), expected, "{text}");
    }
    for text in ["", "ws://", "ws://name:1", "ws://127.0.0.1", "wss://127.0.0.1", "unix://", "stdio://x"] {
        assert_eq!(text.parse::<Listen>(), Err(NoListen(text.to_owned())), "{text}");
    }
}

#[tokio::test]
async fn messages_of_every_size_come_and_go() {
    let (seen, closed) = with_server((loopback(), open_gate()), |url| {
        let mut client = connect(url);
        for length in [0, 1, 125, 126, 65535, 65536, 3 << 20] {
            let message = Message::text("é".repeat(length / 2) + &"x".repeat(length % 2));
            assert_eq!(say(&mut client, message.clone()), message, "{length}");
        }
        // Not UTF-8, and still not the end: the handler rejects such a message, not the frame parser.
        client.send(Message::binary(vec![0xff])).expect("it is taken");
        assert!(client.read().is_err(), "the echo of it is no text");
        connect(url).close(None).expect("it can be closed");
        say(&mut connect(url), Message::text("last"))
    })
    .await;
    assert_eq!((seen, closed), (Message::text("last"), 3));
}

#[tokio::test]
async fn fragments_pings_and_the_end_are_the_protocols() {
    let ((), closed) = with_server((loopback(), open_gate()), |url| {
        let mut client = connect(url);
        let piece = |text: &'static str, opcode, last| {
            Message::Frame(Frame::message(text.as_bytes(), OpCode::Data(opcode), last))
        };
        client.send(piece("in ", Data::Text, false)).expect("it is taken");
        assert_eq!(say(&mut client, Message::Ping("here?".into())), Message::Pong("here?".into()));
        assert_eq!(say(&mut client, piece("two", Data::Continue, true)), Message::text("in two"));
        client.close(None).expect("it can be closed");
        assert!(matches!(client.read(), Ok(Message::Close(_))), "a close is answered");
        let mut client = connect(url);
        assert_eq!(say(&mut client, Message::text("bye")), Message::text("bye"));
        assert!(matches!(client.read(), Ok(Message::Close(Some(_)))), "it hangs up after the last answer");
        let mut client = connect(url);
        client.get_mut().write_all(&[0xff; 8]).expect("it is taken");
        let Ok(Message::Close(Some(why))) = client.read() else { panic!("nonsense ends the connection") };
        assert_eq!(u16::from(why.code), 1002);
    })
    .await;
    assert_eq!(closed, 3);
}

#[tokio::test]
async fn a_socket_at_a_path_serves_whatever_it_is_called() {
    let scratch = Scratch::new("listen-unix");
    let path = scratch.path().join("socket");
    let listen = Listen::Unix(path.clone());
    let (seen, _) = with_server((listen, open_gate()), move |url| {
        assert_eq!(url, format!("unix://{}", path.display()));
        let stream = UnixStream::connect(&path).expect("it listens");
        let (mut client, _) = tungstenite::client("ws://whatever/rpc", stream).expect("a WebSocket");
        say(&mut client, Message::text("hello"))
    })
    .await;
    assert_eq!(seen, Message::text("hello"));
    assert!(scratch.names().is_empty(), "the socket is gone");
}

#[tokio::test]
async fn pages_and_strange_names_are_refused_and_probes_answered() {
    let gate = Gate { origins: vec!["https://good.example".to_owned()], ..open_gate() };
    with_server((loopback(), gate), |url| {
        assert_eq!(status(url, None), 101);
        assert_eq!(status(url, Some(("origin", "https://good.example"))), 101);
        assert_eq!(status(url, Some(("origin", url))), 403);
        assert_eq!(status(url, Some(("host", "evil.example"))), 403);
        assert_eq!(status(url, Some(("host", "0.0.0.0"))), 403);
        assert_eq!(status(url, Some(("host", "192.0.2.1"))), 403);
        assert_eq!(status(url, Some(("host", "evil.example@127.0.0.1"))), 400);
        assert_eq!(status(url, Some(("host", "127.0.0.1,evil.example"))), 400);
        assert_eq!(plainly(url, "/readyz", "host: localhost"), 400, "two of them are ambiguous");
        assert_eq!(plainly(url, "http://evil.example/readyz", "x: y"), 400);
        assert_eq!(plainly(url, "http://localhost/readyz", "x: y"), 200);
        assert_eq!(status(url, Some(("sec-websocket-version", "12"))), 426);
        assert_eq!(plainly(url, "/readyz", "x: y"), 200);
        assert_eq!(plainly(url, "/healthz", "x: y"), 200);
        assert_eq!(plainly(url, "/readyz", "origin: null"), 403);
        assert_eq!(plainly(url, "/", "x: y"), 426);
    })
    .await;
}

/// The HTTP status of a plain request.
fn plainly(url: &str, path: &str, header: &str) -> u16 {
    let mut stream = stream(url);
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{header}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it is answered");
    answer.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status")
}

#[tokio::test]
async fn only_the_token_opens_a_socket() {
    let token = Token::chosen("hello").expect("a token");
    let digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    let digest = TokenDigest::from_hex(digest).expect("a digest");
    for access in [Access::Token(token), Access::Digest(digest)] {
        let gate = Gate { access, ..open_gate() };
        with_server((loopback(), gate), |url| {
            assert_eq!(status(url, None), 401);
            assert_eq!(status(url, Some(("authorization", "Bearer hell"))), 401);
            assert_eq!(status(url, Some(("authorization", "bEARER hello"))), 101);
            assert_eq!(status(url, Some(("origin", "https://a.example"))), 403);
            assert_eq!(plainly(url, "/readyz", "x: y"), 200);
        })
        .await;
    }
}

#[tokio::test]
async fn an_address_that_others_can_reach_takes_a_token_and_a_certificate() {
    let token = || Gate { access: Access::Token(Token::random().expect("random bytes")), ..open_gate() };
    let bind = async |listen: &str, gate: Gate, reach: ServerReach| {
        let listen: Listen = listen.parse().expect("a place to listen");
        Listener::bind(&listen, Perimeter { gate, reach, tls: None, report: |_| {} }).await.map(drop)
    };
    let refused = bind("ws://127.0.0.1:0", open_gate(), ServerReach::Loopback).await;
    assert!(matches!(refused, Err(BindError::OpenLoopback { .. })));
    assert!(bind("ws://127.0.0.1:0", token(), ServerReach::Loopback).await.is_ok());
    for reach in [ServerReach::Loopback, ServerReach::OpenLoopback] {
        let refused = bind("ws://0.0.0.0:0", token(), reach).await;
        assert!(matches!(refused, Err(BindError::NotLoopback { .. })));
    }
    for reach in [ServerReach::Network, ServerReach::PlaintextNetwork] {
        let refused = bind("ws://0.0.0.0:0", open_gate(), reach).await;
        assert!(matches!(refused, Err(BindError::OpenToAll { .. })));
    }
    let refused = bind("ws://0.0.0.0:0", token(), ServerReach::Network).await;
    assert!(matches!(refused, Err(BindError::Unencrypted { .. })));
    assert!(bind("ws://0.0.0.0:0", token(), ServerReach::PlaintextNetwork).await.is_ok());
    let refused = bind("wss://127.0.0.1:0", token(), ServerReach::Loopback).await;
    assert!(matches!(refused, Err(BindError::NoCertificate)));
}

#[tokio::test]
async fn a_client_that_takes_nothing_disturbs_nobody_and_is_closed_at_the_end() {
    let (seen, closed) = with_server((loopback(), open_gate()), |url| {
        let mut stalled = connect(url);
        stalled.get_mut().set_nonblocking(true).expect("it need not block");
        let message = Message::text("x".repeat(1 << 20));
        // Until neither side accepts more bytes.
        while stalled.send(message.clone()).is_ok() {}
        (stalled, say(&mut connect(url), Message::text("hello")))
    })
    .await;
    assert_eq!(seen.1, Message::text("hello"));
    assert_eq!(closed, 2);
}

#[tokio::test]
async fn noise_of_any_kind_costs_its_own_connection_at_most() {
    const CONNECTIONS: usize = 60;
    let (seen, closed) = with_server((loopback(), open_gate()), |url| {
        let mut good = connect(url);
        let mut noise = Noise::new(11);
        for round in 0..CONNECTIONS {
            let mut bytes = vec![0; 1 + round * 7];
            noise.fill(&mut bytes);
            // Every third begins like a valid frame: masked, of a length that may or may not follow.
            if round % 3 == 0 {
                bytes.splice(..0, [0x81, 0x80 | u8::try_from(round).unwrap_or_default()]);
            }
            let mut noisy = connect(url);
            // The server may have closed the connection already.
            let _ = noisy.get_mut().write_all(&bytes);
            let _ = noisy.get_mut().shutdown(std::net::Shutdown::Write);
            let mut answer = Vec::new();
            let _ = noisy.get_mut().read_to_end(&mut answer);
            assert_eq!(say(&mut good, Message::text("still here")), Message::text("still here"));
        }
        // Without the WebSocket handshake the server handles nothing.
        let mut stranger = stream(url);
        let _ = stranger.write_all(&[0xff; 100]);
        say(&mut good, Message::text("last"))
    })
    .await;
    assert_eq!((seen, closed), (Message::text("last"), CONNECTIONS + 1));
}
