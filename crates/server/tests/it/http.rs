//! MCP over HTTP: authorization, responses, and misbehaving clients.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use windlass_server::mcp::fixtures::Fixtures;
use windlass_server::mcp::{
    Access, CLIENT_LIMIT, Handler, HttpOptions, ListenError, ServerReach, Token, listen, serve_http,
};

use crate::rig::{HANG, modern, request};

/// A server with a token, on a port of its own.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    token: Token,
    served: JoinHandle<std::io::Result<()>>,
    stop: oneshot::Sender<()>,
}

impl Server {
    async fn start() -> Self {
        let fixtures = Fixtures::new();
        Self::of(move || fixtures.clone()).await
    }

    /// A server that creates a handler for each client.
    pub(crate) async fn of<H: Handler>(handler: impl Fn() -> H + Send + Sync + 'static) -> Self {
        let listener =
            listen("127.0.0.1:0".parse().unwrap(), ServerReach::Loopback, None).await.expect("a free port");
        let address = listener.local_addr().expect("it has an address");
        let token = Token::random().expect("random bytes");
        let options = HttpOptions {
            access: Access::Token(token.clone()),
            names: vec!["windlass.test".into()],
            tls: None,
            report: |_| {},
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = serve_http(listener, options, handler, async { drop(stopped.await) });
        Self { address, token, served: tokio::spawn(serving), stop }
    }

    pub(crate) fn authorization(&self) -> String {
        format!("Bearer {}", self.token.reveal())
    }

    /// Sends a request with these headers besides the usual ones, and reads the reply to its end.
    pub(crate) async fn post(&self, headers: &[(&str, &str)], body: &Value) -> Answer {
        self.exchange(&self.posting(headers, &body.to_string())).await
    }

    /// The same, as bytes.
    pub(crate) fn posting(&self, headers: &[(&str, &str)], body: &str) -> String {
        let host = self.address.to_string();
        let usual = [
            ("Host", host.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("Connection", "close"),
        ];
        let given = |name: &str| headers.iter().any(|(given, _)| *given == name);
        let all = usual.iter().filter(|(name, _)| !given(name)).chain(headers);
        let head: String = all.map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let length = body.len();
        format!("POST /mcp HTTP/1.1\r\n{head}Content-Length: {length}\r\n\r\n{body}")
    }

    pub(crate) async fn exchange(&self, request: &str) -> Answer {
        let exchange = async {
            let mut stream = TcpStream::connect(self.address).await.expect("the server is there");
            stream.write_all(request.as_bytes()).await.expect("it takes the request");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.expect("it answers");
            Answer(answer)
        };
        tokio::time::timeout(HANG, exchange).await.expect("the server answers")
    }

    /// Creates a client of the older protocol: returns the headers that it sends from now on.
    pub(crate) async fn greet(&self) -> [(&'static str, String); 2] {
        let auth = self.authorization();
        let info = json!({ "name": "test", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info });
        let answer = self.post(&[("Authorization", &auth)], &request("1", "initialize", hello)).await;
        let place = answer.header("Mcp-Session-Id").expect("it has a place").to_owned();
        [("Authorization", auth), ("Mcp-Session-Id", place)]
    }

    pub(crate) async fn stop(self) {
        drop(self.stop);
        let served = tokio::time::timeout(HANG, self.served).await.expect("the server ends");
        served.expect("it does not panic").expect("and does not fail");
    }
}

/// The whole response.
pub(crate) struct Answer(pub(crate) String);

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        self.0.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.0.lines().take_while(|line| !line.is_empty());
        let mut pairs = lines.filter_map(|line| line.split_once(": "));
        pairs.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The last JSON in it, in the body or in an event.
    pub(crate) fn json(&self) -> Value {
        let lines = self.0.lines().rev().map(|line| line.trim_start_matches("data:").trim());
        let mut found = lines.filter(|line| line.starts_with('{')).map(serde_json::from_str);
        found.next().unwrap_or_else(|| panic!("no JSON in {}", self.0)).expect("it is JSON")
    }
}

fn discover() -> Value {
    request("1", "server/discover", json!({ "_meta": modern(json!({})) }))
}

const DISCOVER: [(&str, &str); 2] =
    [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "server/discover")];

#[tokio::test]
async fn only_who_shows_the_token_is_let_in() {
    let server = Server::start().await;
    let right = server.authorization();
    let almost = &right[..right.len() - 1];
    for wrong in [None, Some(""), Some("Bearer"), Some("Bearer 00"), Some(almost), Some("Basic dTpw")] {
        let headers: Vec<_> =
            wrong.map(|value| ("Authorization", value)).into_iter().chain(DISCOVER).collect();
        let answer = server.post(&headers, &discover()).await;
        assert_eq!(answer.status(), 401, "{wrong:?}: {}", answer.0);
        assert!(
            answer.header("WWW-Authenticate").is_some_and(|value| value.starts_with("Bearer")),
            "{}",
            answer.0
        );
        assert!(!answer.0.contains(server.token.reveal()));
    }
    let headers = [&[("Authorization", right.as_str())], &DISCOVER[..]].concat();
    let answer = server.post(&headers, &discover()).await;
    assert_eq!(answer.status(), 200, "{}", answer.0);
    assert_eq!(
        answer.header("Content-Type"),
        Some("application/json"),
        "one answer needs no stream: {}",
        answer.0
    );
    assert!(answer.json()["result"]["supportedVersions"].is_array(), "{}", answer.0);
    server.stop().await;
}

#[tokio::test]
async fn a_page_from_elsewhere_does_not_reach_the_server_even_with_the_token() {
    let server = Server::start().await;
    let right = server.authorization();
    let port = server.address.port();
    let check = async |name: &'static str, value: String, status: u16| {
        let headers = [&[("Authorization", right.as_str()), (name, value.as_str())], &DISCOVER[..]].concat();
        let answer = server.post(&headers, &discover()).await;
        assert_eq!(answer.status(), status, "{name}: {value}\n{}", answer.0);
    };
    for host in ["127.0.0.1", "localhost", "[::1]", "windlass.test"] {
        check("Host", format!("{host}:{port}"), 200).await;
        check("Host", host.to_owned(), 200).await;
        check("Origin", format!("http://{host}:{port}"), 200).await;
    }
    for host in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "0.0.0.0"] {
        check("Host", format!("{host}:{port}"), 403).await;
        check("Origin", format!("http://{host}"), 403).await;
    }
    check("Origin", "null".to_owned(), 403).await;
    check("Origin", format!("http://evil.example@127.0.0.1:{port}"), 403).await;
    server.stop().await;
}

#[tokio::test]
async fn a_host_that_can_be_read_in_two_ways_is_refused_even_with_the_token() {
    let server = Server::start().await;
    let (auth, address) = (server.authorization(), server.address);
    let body = discover().to_string();
    let check = async |target: &str, hosts: &[String], status: u16| {
        let hosts: String = hosts.iter().map(|host| format!("Host: {host}\r\n")).collect();
        let request = format!(
            "POST {target} HTTP/1.1\r\n{hosts}Authorization: {auth}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: server/discover\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let answer = server.exchange(&request).await;
        assert_eq!(answer.status(), status, "{target} {hosts}\n{}", answer.0);
    };
    let ours = || address.to_string();
    check("/mcp", &[ours()], 200).await;
    check(&format!("http://{address}/mcp"), &[ours()], 200).await;
    for host in [
        "evil.example@127.0.0.1".to_owned(),
        format!("{address},evil.example"),
        format!("{address}@evil.example"),
    ] {
        check("/mcp", &[host], 400).await;
    }
    check("/mcp", &[], 400).await;
    check("/mcp", &[ours(), ours()], 400).await;
    check("/mcp", &[ours(), "evil.example".to_owned()], 400).await;
    check("http://evil.example/mcp", &[ours()], 400).await;
    check("http://evil.example/mcp", &["evil.example".to_owned()], 403).await;
    server.stop().await;
}

#[tokio::test]
async fn the_older_protocol_keeps_a_place_for_each_client() {
    let server = Server::start().await;
    let right = server.authorization();
    let auth = ("Authorization", right.as_str());
    let info = json!({ "name": "test", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info });
    let answer = server.post(&[auth], &request("1", "initialize", hello)).await;
    assert_eq!(answer.json()["result"]["protocolVersion"], "2025-06-18", "{}", answer.0);
    let place = answer.header("Mcp-Session-Id").expect("it has a place").to_owned();
    let headers = [auth, ("Mcp-Session-Id", place.as_str()), ("MCP-Protocol-Version", "2025-06-18")];
    let answer =
        server.post(&headers, &request("2", "tools/call", json!({ "name": "test_simple_text" }))).await;
    assert_eq!(answer.json()["result"]["isError"], false, "{}", answer.0);
    let elsewhere = [auth, ("Mcp-Session-Id", "somebody-elses")];
    let answer = server.post(&elsewhere, &request("3", "ping", json!({}))).await;
    assert_eq!(answer.status(), 404, "{}", answer.0);
    server.stop().await;
}

#[tokio::test]
async fn the_client_that_was_silent_for_longest_loses_its_place_when_there_are_too_many() {
    let server = Server::start().await;
    let right = server.authorization();
    let auth = ("Authorization", right.as_str());
    let info = json!({ "name": "test", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info });
    let hello = request("1", "initialize", hello);
    let arrive = async || {
        let answer = server.post(&[auth], &hello).await;
        answer.header("Mcp-Session-Id").expect("it has a place").to_owned()
    };
    let ping = async |place: &str| {
        let headers = [auth, ("Mcp-Session-Id", place)];
        server.post(&headers, &request("2", "ping", json!({}))).await.status()
    };
    let (first, second) = (arrive().await, arrive().await);
    for _ in 2..CLIENT_LIMIT {
        arrive().await;
    }
    assert_eq!(ping(&first).await, 200, "there is room for this many");
    let last = arrive().await;
    assert_eq!(ping(&second).await, 404, "it was silent for longest");
    assert_eq!(ping(&first).await, 200, "this one was heard of since");
    assert_eq!(ping(&last).await, 200);
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_request_of_ours_is_refused_without_harm() {
    let server = Server::start().await;
    let auth = format!(
        "Authorization: {}\r\nHost: {}\r\nConnection: close\r\n",
        server.authorization(),
        server.address
    );
    let answer = server.exchange(&format!("GET / HTTP/1.1\r\n{auth}\r\n")).await;
    assert_eq!(answer.status(), 404, "{}", answer.0);
    let answer = server.exchange("nonsense\r\n\r\n").await;
    assert_eq!(answer.status(), 400, "{}", answer.0);
    let json = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    let answer =
        server.exchange(&format!("POST /mcp HTTP/1.1\r\n{auth}{json}Content-Length: 3\r\n\r\n{{}}}}")).await;
    assert!((400..500).contains(&answer.status()), "{}", answer.0);
    let long = "Content-Length: 99999999999\r\n";
    let answer = server.exchange(&format!("POST /mcp HTTP/1.1\r\n{auth}{json}{long}\r\n")).await;
    assert_eq!(answer.status(), 413, "{}", answer.0);
    server.stop().await;
}

#[tokio::test]
async fn a_server_that_stops_waits_for_nobody() {
    let server = Server::start().await;
    // One client that sends nothing, and one that stopped in the middle of a word.
    let _silent = TcpStream::connect(server.address).await.expect("the server is there");
    let mut halfway = TcpStream::connect(server.address).await.expect("the server is there");
    halfway.write_all(b"POST /mcp HT").await.expect("it takes this much");
    // One client that is subscribed to changes.
    let auth = server.authorization();
    let mut listening = TcpStream::connect(server.address).await.expect("the server is there");
    let params = json!({ "notifications": { "toolsListChanged": true }, "_meta": modern(json!({})) });
    let body = request("1", "subscriptions/listen", params).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: {auth}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: subscriptions/listen\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    listening.write_all(head.as_bytes()).await.expect("it takes the request");
    let mut seen = String::new();
    while !seen.contains("acknowledged") {
        let mut bytes = [0; 1024];
        let count = listening.read(&mut bytes).await.expect("it answers");
        assert!(count > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
    server.stop().await;
    listening.read_to_string(&mut seen).await.expect("the stream ends");
}

#[tokio::test]
async fn an_address_that_others_can_reach_is_taken_only_if_they_may() {
    let everywhere: SocketAddr = "0.0.0.0:0".parse().unwrap();
    let refused = listen(everywhere, ServerReach::Loopback, None).await;
    assert!(matches!(refused, Err(ListenError::NotLoopback { address }) if address == everywhere));
    let taken =
        listen("127.0.0.1:0".parse().unwrap(), ServerReach::Loopback, None).await.expect("a free port");
    let again = listen(taken.local_addr().unwrap(), ServerReach::Loopback, None).await;
    assert!(matches!(again, Err(ListenError::Refused { .. })));
}
