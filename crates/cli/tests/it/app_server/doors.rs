//! The addresses and paths on which a server listens, and the clients that it accepts, with and without a token.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use windlass_sys::process::{Pid, Process};
use windlass_sys::signal::Signal;
use windlass_testkit::peers;
use windlass_testkit::wire::Wire;

use crate::rig::Home;

/// A `windlass app-server` that listens on a socket.
pub(crate) struct Listening {
    child: Child,
    pub(crate) url: String,
}

impl Listening {
    /// Starts one and waits until it prints its address.
    pub(crate) fn start(home: &Home, words: &[&str]) -> Self {
        Self::start_with(home, words, |_| ())
    }

    /// The same with changes to its environment.
    pub(crate) fn start_with(home: &Home, words: &[&str], prepare: impl FnOnce(&mut Command)) -> Self {
        let mut command = home.windlass(&[&["app-server"], words].concat());
        command.env("XDG_CONFIG_HOME", home.path().join("no-configuration"));
        prepare(&mut command);
        let mut child =
            command.current_dir(home.path()).stderr(Stdio::piped()).spawn().expect("windlass starts");
        let mut said = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut line = String::new();
        let url = loop {
            line.clear();
            assert!(said.read_line(&mut line).expect("it can be read") > 0, "it ended before it listened");
            if let Some((_, url)) = line.trim_end().split_once("listening on ") {
                break url.to_owned();
            }
        };
        // Further output of the server must not block it.
        drop(std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink())));
        Self { child, url }
    }

    pub(crate) fn address(&self) -> &str {
        self.url.strip_prefix("ws://").expect("it is on an address")
    }

    /// Ends it as a system would, and returns its exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        let server = Process::open(Pid::new(self.child.id())).expect("it is there");
        server.signal(Signal::TERM).expect("it can be signalled");
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn greet(wire: &mut Wire) {
    let hello = json!({ "clientInfo": { "name": "test", "version": "1" } });
    wire.request("initialize", &hello).expect("it answers").expect("it is glad to");
}

fn run(wire: &mut Wire, command: &[&str]) -> Value {
    let params = json!({ "command": command });
    wire.request("command/exec", &params).expect("it answers").expect("it can be run")
}

#[test]
fn a_token_in_a_file_opens_and_nothing_else_does() {
    let home = Home::new("app-token");
    let file = home.secret("token", "open-sesame\n");
    let words = ["--listen", "ws://127.0.0.1:0", "--ws-auth", "capability-token", "--ws-token-file", &file];
    let server = Listening::start(&home, &words);
    for headers in [&[][..], &[("Authorization", "Bearer open")], &[("Authorization", "open-sesame")]] {
        assert!(Wire::connect_address(server.address(), headers).is_err(), "{headers:?}");
    }
    let right = ("Authorization", "Bearer open-sesame");
    assert!(Wire::connect_address(server.address(), &[right, ("Origin", "http://localhost")]).is_err());
    let mut wire = Wire::connect_address(server.address(), &[right]).expect("the token opens");
    greet(&mut wire);
    assert_eq!(run(&mut wire, &["echo", "hello"])["stdout"], "hello\n");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_socket_at_a_path_is_for_its_owner_and_goes_with_the_server() {
    let home = Home::new("app-path");
    let path = home.path().join("app.sock");
    let url = format!("unix://{}", path.display());
    let server = Listening::start(&home, &["--listen", &url]);
    assert_eq!(server.url, url);
    assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
    let mut wire = Wire::connect_path(&path).expect("it listens");
    greet(&mut wire);
    assert_eq!(run(&mut wire, &["echo", "hello"])["stdout"], "hello\n");
    let seen = home.seen(&["app-server", "--listen", &url]);
    assert_eq!(seen.code, 1, "{seen:?}");
    assert!(seen.stderr.contains("somebody listens at"), "{seen:?}");
    assert_eq!(server.end(), Some(0));
    assert!(!path.exists());
}

#[test]
fn what_would_let_anybody_in_is_refused() {
    let home = Home::new("app-open");
    for (words, code, said) in [
        (&["--listen", "ws://0.0.0.0:0"][..], 1, "can be reached from other machines"),
        (&["--listen", "ws://127.0.0.1:0"], 1, "any process on this machine could run commands"),
        (&["--listen", "ws://127.0.0.1:0"], 1, "--insecure-loopback"),
        (&["--listen", "ws://0.0.0.0:0", "--insecure-loopback"], 1, "can be reached from other machines"),
        (&["--listen", "ws://0.0.0.0:0", "--allow-remote"], 1, "no token is asked for"),
        (&["--listen", "tcp://127.0.0.1:1"], 2, "is no place to listen"),
        (&["--allow-origin", "example.org"], 2, "takes what browsers say"),
        (&["--allow-origin", "https://example.org/"], 2, "takes what browsers say"),
        (&["--ws-auth", "capability-token"], 2, "needs --ws-token-file or --ws-token-sha256"),
        (&["--ws-auth", "signed-bearer-token"], 2, "needs --ws-shared-secret-file"),
        (&["--ws-token-sha256", "abc"], 2, "64 hexadecimal digits"),
        (&["--ws-token-file", "/nowhere"], 1, "cannot read the token in /nowhere"),
    ] {
        let seen = home.seen(&[&["app-server"], words].concat());
        assert_eq!(seen.code, code, "{words:?}: {seen:?}");
        assert!(seen.stderr.contains(said), "{words:?}: {seen:?}");
    }
}

/// A client of another implementation: sends a request and pings, and closes in order.
const NODE_CLIENT: &str = r#"
const socket = new WebSocket(process.argv[1]);
const say = (id, method, params) => socket.send(JSON.stringify({ id, method, params }));
socket.onopen = () => {
  say(1, "initialize", { clientInfo: { name: "node", version: "1" } });
  say(2, "command/exec", { command: ["echo", "x".repeat(100000)] });
};
socket.onmessage = ({ data }) => {
  const { id, result } = JSON.parse(data);
  if (id === 2) {
    console.log(result.stdout.length);
    socket.close(1000);
  }
};
socket.onclose = ({ code, wasClean }) => console.log(code, wasClean);
"#;

#[test]
fn the_websocket_of_node_understands_ours() {
    let home = Home::new("app-node");
    let server = Listening::start(&home, &["--listen", "ws://127.0.0.1:0", "--insecure-loopback"]);
    let mut node = Command::new(peers::node22());
    let output = node.args(["--eval", NODE_CLIENT, &server.url]).output().expect("node starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "100001\n1000 true\n", "{output:?}");
    assert_eq!(server.end(), Some(0));
}
