//! `windlass mcp` as clients start it: served over pipes or HTTP, and ended without leaving a process.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use windlass_sys::process::{Pid, Process};
use windlass_sys::signal::Signal;
use windlass_testkit::survivors;

use crate::rig::{Home, escapees, held, nothing_survives};

/// A windlass that serves the test over its standard streams.
pub(crate) struct Served {
    pub(crate) child: Child,
    pub(crate) input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Served {
    pub(crate) fn start(home: &Home, words: &[&str]) -> Self {
        let mut command = home.windlass(&[&["mcp"], words].concat());
        Self::of(command.env("HOME", home.path()))
    }

    pub(crate) fn of(command: &mut Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("windlass starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("its output is piped"));
        Self { child, input, output }
    }

    pub(crate) fn say(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("its input is open");
        writeln!(input, "{message}").expect("it takes what we say");
    }

    pub(crate) fn greet(&mut self) {
        self.greet_as("test");
    }

    /// Initializes the connection as a client of this name.
    pub(crate) fn greet_as(&mut self, client: &str) {
        let info = json!({ "name": client, "version": "1" });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info });
        let answer = self.ask("hello", "initialize", &params);
        assert_eq!(answer["result"]["serverInfo"]["name"], "windlass", "{answer}");
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    }

    pub(crate) fn ask(&mut self, id: &str, method: &str, params: &Value) -> Value {
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).expect("it can be read");
            let said: Value =
                serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"));
            if said["id"] == id {
                return said;
            }
        }
    }

    /// Sends requests without waiting for replies in between; returns the replies in the order in which they arrive.
    pub(crate) fn ask_together(&mut self, method: &str, requests: &[(String, Value)]) -> Vec<Value> {
        for (id, params) in requests {
            self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        }
        let mut replies = Vec::new();
        while replies.len() < requests.len() {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("it can be read") > 0, "it ended: {replies:?}");
            let said: Value = serde_json::from_str(&line).expect("a message");
            if requests.iter().any(|(id, _)| said["id"] == **id) {
                replies.push(said);
            }
        }
        replies
    }

    /// Closes its input and its output at once, as a client that dies does.
    pub(crate) fn close_both(self) -> Child {
        let Self { child, input, output } = self;
        drop((input, output));
        child
    }

    /// Starts a session whose processes try to escape, and opens them.
    fn run_escapees(&mut self, token: &str) -> Vec<Process> {
        let arguments = json!({
            "cmd": escapees(token, "HUP"),
            "login": false,
            "until": { "pattern": "(?s)(is up.*){5}" },
        });
        let answer =
            self.ask("run", "tools/call", &json!({ "name": "exec_command", "arguments": arguments }));
        assert_eq!(answer["result"]["structuredContent"]["met"], "pattern", "{answer}");
        let processes = held(&survivors::bearing(token));
        assert!(processes.len() >= 5, "{answer}");
        processes
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let process = Process::open(Pid::new(self.child.id())).expect("windlass is there");
        process.signal(signal).expect("windlass can be signalled");
    }

    /// Closes its input.
    pub(crate) fn hang_up(&mut self) {
        drop(self.input.take());
    }

    pub(crate) fn exit_code(mut self) -> Option<i32> {
        self.child.wait().expect("windlass can be waited for").code()
    }
}

#[test]
fn a_client_that_closes_its_side_takes_every_session_with_it() {
    let home = Home::new("mcp-eof");
    let token = survivors::token("mcp-eof");
    let mut served = Served::start(&home, &[]);
    served.greet();
    let processes = served.run_escapees(&token);
    drop(served.input.take());
    assert_eq!(served.exit_code(), Some(0));
    assert_eq!(survivors::bearing(&token), [] as [String; 0]);
    drop(processes);
}

#[test]
fn a_signal_ends_it_and_every_session() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let home = Home::new("mcp-signal");
        let token = survivors::token("mcp-signal");
        let mut served = Served::start(&home, &[]);
        served.greet();
        let processes = served.run_escapees(&token);
        served.signal(signal);
        assert_eq!(served.exit_code(), Some(0), "{signal:?}");
        assert_eq!(survivors::bearing(&token), [] as [String; 0], "{signal:?}");
        drop(processes);
    }
}

#[test]
fn not_even_a_kill_leaves_a_session_behind() {
    let home = Home::new("mcp-kill");
    let token = survivors::token("mcp-kill");
    let mut served = Served::start(&home, &[]);
    served.greet();
    let processes = served.run_escapees(&token);
    served.signal(Signal::KILL);
    assert_eq!(served.exit_code(), None);
    nothing_survives(&processes, &token);
}

#[test]
fn a_client_that_reads_no_more_ends_it() {
    let home = Home::new("mcp-deaf");
    let mut served = Served::start(&home, &[]);
    served.greet();
    let Served { mut child, input, output } = served;
    drop(output);
    let mut input = input.expect("its input is open");
    // The answer is written to a closed pipe.
    let asked = writeln!(input, "{}", json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }));
    asked.expect("it still takes what we say");
    assert_eq!(child.wait().expect("windlass can be waited for").code(), Some(0));
    drop(input);
}

#[test]
fn files_serve_as_well_as_pipes() {
    let home = Home::new("mcp-files");
    let info = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let (asked, answered) = (home.path().join("asked"), home.path().join("answered"));
    std::fs::write(&asked, format!("{hello}\n{list}\n")).expect("a file");
    let mut command = home.windlass(&["mcp"]);
    let (input, output) =
        (File::open(&asked).expect("it is there"), File::create(&answered).expect("it can be"));
    command.stdin(input).stdout(output);
    assert!(command.status().expect("windlass runs").success());
    let said = std::fs::read_to_string(&answered).expect("it is there");
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(said.contains("\"exec_command\""), "{said}");
}

#[test]
fn over_http_it_says_where_it_is_and_what_opens_it() {
    let home = Home::new("mcp-http");
    for short in ["0", "localhost:0", ":0", "[::1]:0"] {
        let mut running = home.start(&["mcp", "--http", short, "--json"]);
        let said: Value = serde_json::from_str(&running.line()).expect("it says where it is");
        let host = if short.starts_with('[') { "http://[::1]:" } else { "http://127.0.0.1:" };
        assert!(said["url"].as_str().is_some_and(|url| url.starts_with(host)), "{short}: {said}");
        running.signal(Signal::TERM);
        assert_eq!(running.exit_code(), Some(0));
    }
    let mut running = home.start(&["mcp", "--http", "127.0.0.1:0", "--json"]);
    let said: Value = serde_json::from_str(&running.line()).expect("it says where it is");
    let (url, token) = (said["url"].as_str().expect("a URL"), said["token"].as_str().expect("a token"));
    assert_eq!(token.len(), 64);
    assert!(discover(url, "").starts_with("HTTP/1.1 401 "));
    let answer = discover(url, &format!("Authorization: Bearer {token}\r\n"));
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("\"windlass\""), "{answer}");
    running.signal(Signal::TERM);
    assert_eq!(running.exit_code(), Some(0));
}

#[test]
fn a_token_in_a_file_is_for_its_owner_and_shown_nowhere_else() {
    let home = Home::new("mcp-token");
    let file = home.path().join("token");
    let path = file.to_str().expect("a path");
    let mut running = home.start(&["mcp", "--http", "127.0.0.1:0", "--json", "--token-file", path]);
    let said: Value = serde_json::from_str(&running.line()).expect("it says where it is");
    assert_eq!(said["token"], Value::Null);
    let token = std::fs::read_to_string(&file).expect("the token is there");
    assert_eq!(std::fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o600);
    let answer = discover(
        said["url"].as_str().expect("a URL"),
        &format!("Authorization: Bearer {}\r\n", token.trim()),
    );
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    running.signal(Signal::TERM);
    assert_eq!(running.exit_code(), Some(0));
}

#[test]
fn an_address_that_others_can_reach_needs_a_word_more() {
    let home = Home::new("mcp-reach");
    let seen = home.seen(&["mcp", "--http", "0.0.0.0:0"]);
    assert_eq!(seen.code, 1);
    assert!(seen.stderr.contains("can be reached from other machines"), "{}", seen.stderr);
    assert!(seen.stderr.contains("--allow-remote"), "{}", seen.stderr);
}

/// Asks a server for its description, with this further header, and returns the complete response.
fn discover(url: &str, header: &str) -> String {
    let address =
        url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp")).expect("our own kind of URL");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": { "_meta": meta } })
        .to_string();
    let length = body.len();
    let mut stream = TcpStream::connect(address).expect("it is there");
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nConnection: close\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: server/discover\r\n{header}Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).expect("it takes the request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}
