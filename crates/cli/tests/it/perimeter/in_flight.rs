//! Callers that show the token and whose socket no process has open: its descriptor is on its way through a Unix socket, or its
//! process is gone.

use std::path::Path;

use super::Server;
use crate::rig::{Home, Seen};

/// Sends requests that run `touch`. Then its socket is in no process's table, or its process is gone.
const ATTACK: &str = r"
import json, os, re, socket, struct, sys, time
place, token_file, how, proof, hold = sys.argv[1:]
token = open(token_file).read().strip()
host, port = re.search('//([^/:]*):([0-9]*)', place).groups()
bearer = f'Host: localhost\r\nAuthorization: Bearer {token}\r\n'
def frame(value):
    text = json.dumps(value).encode()
    head = bytes([0x81, 0x80 | len(text)]) if len(text) < 126 else bytes([0x81, 0xfe]) + struct.pack('>H', len(text))
    return head + bytes(4) + text
if how == 'mcp':
    body = json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {
        'name': 'exec_command', 'arguments': {'cmd': 'touch ' + proof, 'login': False}}})
    said = (f'POST /mcp HTTP/1.1\r\n{bearer}Content-Type: application/json\r\n'
            f'Accept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n{body}').encode()
else:
    said = (f'GET / HTTP/1.1\r\n{bearer}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
            'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n').encode()
    said += frame({'id': 1, 'method': 'initialize', 'params': {'clientInfo': {'name': 'x', 'version': '1'}}})
    said += frame({'method': 'initialized'})
    said += frame({'id': 2, 'method': 'process/spawn', 'params': {
        'processHandle': 'p', 'command': ['/usr/bin/touch', proof], 'cwd': '/'}})
s = socket.create_connection((host, int(port)))
if hold == 'leave':
    s.sendall(said)
    os._exit(0)
near, far = socket.socketpair()
# The headers are not complete before the last of these bytes.
first = said.index(b'\r\n\r\n') + 3
s.sendall(said[:first])
socket.send_fds(near, [b'x'], [s.fileno()])
s.sendall(said[first:])
if hold == 'fly':
    s.close()
time.sleep(2)
";

struct Attack {
    home: Home,
    token: String,
}

impl Attack {
    fn new(name: &str) -> Self {
        let home = Home::new(&format!("in-flight-{name}"));
        std::fs::create_dir(home.path().join("work")).expect("a directory");
        let token = home.secret("token", "a-token-that-was-stolen\n");
        Self { home, token }
    }

    /// Runs the attack, confined or not, and tells whether the server ran a command for it.
    fn succeeds(&self, server: &Server, (how, hold): (&str, &str), layers: Option<&str>) -> bool {
        let proof = self.home.path().join(format!("{how}-{hold}-{}", layers.unwrap_or("none")));
        let work = self.home.path().join("work");
        let stolen = work.join("token");
        std::fs::copy(&self.token, &stolen).expect("it can be copied");
        let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
        let (work, stolen, shown) = (text(&work), text(&stolen), text(&proof));
        let mut words = vec!["run", "-C", &work];
        if let Some(layers) = layers {
            words.extend(["--sandbox", "workspace-write", "--network", "on", "--sandbox-layers", layers]);
        }
        words.extend(["--", "python3", "-c", ATTACK, &server.url, &stolen, how, &shown, hold]);
        let seen: Seen = self.home.seen(&words);
        assert_eq!(seen.code, 0, "{how} {hold} {layers:?}: {seen:?}");
        proof.exists()
    }
}

fn a_confined_command_is_refused(how: &str, words: &[&str]) {
    let attack = Attack::new(how);
    let server = Server::start(&attack.home, &[words, &[attack.token.as_str()]].concat());
    for hold in ["keep", "fly"] {
        assert!(attack.succeeds(&server, (how, hold), None), "{hold}: an unconfined caller is served");
    }
    for layers in ["all", "landlock"] {
        for hold in ["keep", "fly", "leave"] {
            let reached = attack.succeeds(&server, (how, hold), Some(layers));
            assert!(!reached, "{how} {hold} {layers}: the server ran a command for a confined caller");
            assert!(server.said("refused a connection"), "{how} {hold} {layers}");
        }
    }
}

#[test]
fn an_mcp_server_does_not_serve_a_confined_caller_whose_socket_is_in_flight() {
    a_confined_command_is_refused(
        "mcp",
        &["mcp", "--http", "127.0.0.1:0", "--env-inherit", "core", "--token-file"],
    );
}

#[test]
fn an_app_server_does_not_serve_a_confined_caller_whose_socket_is_in_flight() {
    a_confined_command_is_refused("app", &["app-server", "--listen", "ws://127.0.0.1:0", "--ws-token-file"]);
}
