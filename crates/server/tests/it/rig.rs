//! The fixture that these tests share: a server on a pair of pipes, and a client that sends lines.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use windlass_server::mcp::fixtures::Fixtures;
use windlass_server::mcp::{Handler, serve_pipes};

/// A test that waits this long has failed.
pub(crate) const HANG: Duration = Duration::from_secs(60);

/// The capacity of the pipes between client and server.
const PIPE: usize = 64 * 1024;

/// A client that sends arbitrary lines.
pub(crate) struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    input: WriteHalf<DuplexStream>,
    served: JoinHandle<()>,
    stop: Option<oneshot::Sender<()>>,
}

impl Client {
    /// A client of the conformance fixtures.
    pub(crate) fn of_fixtures() -> Self {
        Self::of(Fixtures::new())
    }

    /// A client of any server.
    pub(crate) fn of(handler: impl Handler) -> Self {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let (stop, stopped) = oneshot::channel::<()>();
        let pipes = tokio::io::split(theirs);
        let served = tokio::spawn(serve_pipes(handler, pipes, async { drop(stopped.await) }));
        let (output, input) = tokio::io::split(ours);
        Self { lines: BufReader::new(output).lines(), input, served, stop: Some(stop) }
    }

    /// The same, after the handshake of 2025-11-25.
    pub(crate) async fn greeted(handler: impl Handler, capabilities: Value) -> Self {
        let mut client = Self::of(handler);
        client.greet(capabilities).await;
        client
    }

    pub(crate) async fn greet(&mut self, capabilities: Value) {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": { "name": "test", "version": "1" },
        });
        let answer = self.request("hello", "initialize", params).await;
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    }

    pub(crate) async fn say(&mut self, message: &Value) {
        self.say_bytes(format!("{message}\n").as_bytes()).await;
    }

    pub(crate) async fn say_bytes(&mut self, bytes: &[u8]) {
        self.input.write_all(bytes).await.expect("the server takes it");
    }

    /// The server's next message.
    pub(crate) async fn hear(&mut self) -> Value {
        let line =
            tokio::time::timeout(HANG, self.lines.next_line()).await.expect("the server says something");
        let line = line.expect("it can be read").expect("the server is there");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line}"))
    }

    /// Sends a request, and returns the reply under its id; earlier messages are dropped.
    pub(crate) async fn request(&mut self, id: &str, method: &str, params: Value) -> Value {
        self.say(&request(id, method, params)).await;
        self.answer(id).await
    }

    /// The reply under an id; earlier messages are dropped.
    pub(crate) async fn answer(&mut self, id: &str) -> Value {
        loop {
            let said = self.hear().await;
            if said["id"] == id && said.get("method").is_none() {
                return said;
            }
        }
    }

    /// Stops the server and waits until it has ended.
    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        self.gone().await;
    }

    /// Closes the client's side and returns all later messages of the server.
    pub(crate) async fn close(mut self) -> Vec<Value> {
        self.input.shutdown().await.expect("it can be closed");
        let mut said = Vec::new();
        while let Some(line) = self.lines.next_line().await.expect("it can be read") {
            said.push(serde_json::from_str(&line).expect("it is JSON"));
        }
        self.gone().await;
        said
    }

    /// Disconnects, and waits until the server has noticed.
    pub(crate) async fn vanish(self) {
        let Self { lines, input, served, stop } = self;
        drop((lines, input));
        tokio::time::timeout(HANG, served).await.expect("the server ends").expect("and does not panic");
        drop(stop);
    }

    async fn gone(&mut self) {
        let served = tokio::time::timeout(HANG, &mut self.served).await;
        served.expect("the server ends").expect("and does not panic");
    }
}

pub(crate) fn request(id: &str, method: &str, params: impl Into<Value>) -> Value {
    let params = params.into();
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// The metadata in every request of the newer protocol.
pub(crate) fn modern(capabilities: impl Into<Value>) -> Value {
    let capabilities = capabilities.into();
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}
