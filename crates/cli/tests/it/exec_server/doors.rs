//! The addresses on which it listens, and the callers that it serves there.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;
use windlass_sys::signal::Signal;

use crate::rig::{Doomed, Home, Running};

/// The headers of a WebSocket client's first request, without the host and credentials.
const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==";

/// The status of the answer to a request.
fn status(address: &str, path: &str, header: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    let headers = if header.is_empty() { String::new() } else { format!("{header}\r\n") };
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n").expect("it is taken");
    let mut status = [0; "HTTP/1.1 200".len()];
    stream.read_exact(&mut status).expect("there is an answer");
    String::from_utf8_lossy(&status[9..]).into_owned()
}

/// Starts a server, lets the test connect, and ends it.
fn knock(words: &[&str], home: &Home, test: impl FnOnce(&str)) {
    let words = [&["exec-server", "--listen", "ws://127.0.0.1:0"], words].concat();
    let mut server = Running::of(home.windlass(&words).current_dir(home.path()));
    let _doomed = Doomed::hold(&json!(server.child.id()));
    // The first line is the URL for clients, and nothing else.
    let line = server.line();
    let address = line.trim_end().strip_prefix("ws://127.0.0.1:").expect("a port of the loopback address");
    test(&format!("127.0.0.1:{address}"));
    server.signal(Signal::TERM);
    assert_eq!(server.exit_code(), Some(0));
}

#[test]
fn it_listens_on_a_free_port_and_says_which() {
    let home = Home::new("exec-doors");
    knock(&["--insecure-loopback"], &home, |address| {
        assert_eq!(status(address, "/readyz", ""), "200");
        assert_eq!(status(address, "/", UPGRADE), "101");
        assert_eq!(status(address, "/", &format!("{UPGRADE}\r\nOrigin: https://example.org")), "403");
    });
}

#[test]
fn with_a_token_only_who_has_it_is_let_in() {
    let home = Home::new("exec-token");
    let file = home.secret("token", "0123456789abcdef0123456789abcdef\n");
    let words = ["--ws-auth", "capability-token", "--ws-token-file", &file];
    knock(&words, &home, |address| {
        let showing = |token: &str| format!("{UPGRADE}\r\nAuthorization: bearer {token}");
        assert_eq!(status(address, "/", UPGRADE), "401");
        assert_eq!(status(address, "/", &showing("0123456789abcdef0123456789abcdee")), "401");
        assert_eq!(status(address, "/", &showing("0123456789abcdef0123456789abcdef")), "101");
        assert_eq!(status(address, "/readyz", ""), "200", "whether it is there is no secret");
    });
}
