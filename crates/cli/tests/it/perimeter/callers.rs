//! Callers of a server's listeners: no confined process is served, whichever layers confine it.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use super::{Server, User};
use crate::rig::{Home, Seen, WINDLASS, as_ordinary, give_to_ordinary};

/// Sends a request to a server, and prints the result.
const PROBE: &str = r"
import socket, sys
kind, place = sys.argv[1].split('://')
try:
    if kind == 'unix':
        s = socket.socket(socket.AF_UNIX); s.connect(place)
    else:
        host, port = place.split('/')[0].rsplit(':', 1)
        s = socket.create_connection((host, int(port)))
    s.sendall(b'GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    answer = s.makefile('rb').read(4000).decode()
    print('refused' if answer.startswith('HTTP/1.1 403 ') and 'runs in a sandbox' in answer else
          'answered' if answer else 'cut off')
except OSError:
    # The sandbox does not let the connection be made.
    print('cut off')
";

/// Sends everything at once and exits: when the server reads it, the process no longer exists.
const SAY_AND_LEAVE: &str = r"
import base64, json, os, socket, struct, sys
host, port = sys.argv[1].split('://')[1].rsplit(':', 1)
def frame(value):
    text = json.dumps(value).encode()
    head = bytes([0x81, 0x80 | len(text)]) if len(text) < 126 else bytes([0x81, 0xfe]) + struct.pack('>H', len(text))
    return head + bytes(4) + text
upgrade = (b'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'
           b'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n')
hello = {'id': 1, 'method': 'initialize', 'params': {'clientName': 'x', 'resumeSessionId': None}}
ready = {'method': 'initialized'}
start = {'id': 2, 'method': 'process/start', 'params': {
    'processId': 'p', 'argv': ['/usr/bin/touch', sys.argv[2]], 'cwd': 'file:///', 'env': {}, 'tty': False}}
s = socket.create_connection((host, int(port)))
s.sendall(upgrade + frame(hello) + frame(ready) + frame(start))
os._exit(0)
";

/// Asks the sandbox's proxy for a connection, and prints the status of its answer.
const THROUGH_PROXY: &str = r"
import os, socket, sys
host, port = os.environ['HTTP_PROXY'].split('://')[1].strip('/').rsplit(':', 1)
s = socket.create_connection((host.split('@')[-1], int(port)))
s.sendall(f'CONNECT {sys.argv[1]} HTTP/1.1\r\nHost: {sys.argv[1]}\r\n\r\n'.encode())
print(s.makefile('rb').readline().split()[1].decode())
";

struct Callers {
    home: Home,
    work: PathBuf,
    user: User,
}

impl Callers {
    fn new(name: &str) -> Self {
        Self::of(name, User::Own)
    }

    /// The server and its callers run as this user.
    fn of(name: &str, user: User) -> Self {
        let home = Home::new(&format!("callers-{name}-{user:?}"));
        let work = home.path().join("work");
        std::fs::create_dir(&work).expect("a directory");
        if user == User::Ordinary {
            give_to_ordinary(home.path());
        }
        Self { home, work, user }
    }

    fn windlass(&self, words: &[&str]) -> Command {
        let mut command = self.home.windlass(words);
        command.env("HOME", self.home.path()).current_dir(self.home.path());
        if self.user == User::Ordinary { as_ordinary(&command) } else { command }
    }

    fn seen(&self, words: &[&str]) -> Seen {
        Seen::of(&mut self.windlass(words))
    }

    fn unconfined(&self, script: &str, words: &[&str]) -> Seen {
        let work = self.work.to_str().expect("UTF-8");
        self.seen(&[&["run", "-C", work, "--", "python3", "-c", script], words].concat())
    }

    fn confined(&self, layers: &str, script: &str, words: &[&str]) -> Seen {
        let work = self.work.to_str().expect("UTF-8");
        let run = ["run", "-C", work, "--sandbox", "workspace-write", "--network", "on"];
        let python = ["--sandbox-layers", layers, "--", "python3", "-c", script];
        self.seen(&[&run[..], &python, words].concat())
    }

    /// The same with a rule that lets the command use a socket.
    fn confined_with_socket(&self, layers: &str, socket: &str, url: &str) -> Seen {
        let work = self.work.to_str().expect("UTF-8");
        let run =
            ["run", "-C", work, "--sandbox", "workspace-write", "--network", "on", "--writable", socket];
        self.seen(&[&run[..], &["--sandbox-layers", layers, "--", "python3", "-c", PROBE, url]].concat())
    }

    fn check(&self, server: &[&str]) {
        let server = Server::of(&mut self.windlass(server));
        let seen = self.unconfined(PROBE, &[&server.url]);
        assert_eq!(seen.stdout, "answered\n", "{}: {seen:?}", server.url);
        for layers in ["all", "landlock"] {
            let seen = self.confined(layers, PROBE, &[&server.url]);
            let is_unix = server.url.starts_with("unix");
            // The sandbox itself denies the unix sockets of other programs.
            let expected = if is_unix { "cut off\n" } else { "refused\n" };
            assert_eq!(seen.stdout, expected, "{layers} {}: {seen:?}", server.url);
            if !is_unix {
                assert!(server.said("refused a connection: the calling process runs in a sandbox"));
            }
        }
    }
}

#[test]
fn no_listener_of_ours_serves_a_confined_caller() {
    no_listener_serves(User::Own);
}

#[test]
fn no_listener_of_an_ordinary_user_serves_a_confined_caller() {
    no_listener_serves(User::Ordinary);
}

fn no_listener_serves(user: User) {
    let callers = Callers::of("listeners", user);
    let unix = format!("unix://{}", callers.work.join("server").display());
    for dialect in ["exec-server", "app-server"] {
        callers.check(&[dialect, "--listen", &unix]);
        callers.check(&[dialect, "--listen", "ws://127.0.0.1:0", "--insecure-loopback"]);
    }
    callers.check(&["mcp", "--http", "127.0.0.1:0", "--env-inherit", "core"]);
}

/// The sandbox lets a command connect to a socket that a rule names. The server itself then rejects the caller.
#[test]
fn a_server_at_a_socket_that_a_rule_opens_refuses_a_confined_caller_itself() {
    for user in [User::Own, User::Ordinary] {
        let callers = Callers::of("sockets", user);
        let socket = callers.home.path().join("server").display().to_string();
        let url = format!("unix://{socket}");
        for dialect in ["exec-server", "app-server"] {
            let server = Server::of(&mut callers.windlass(&[dialect, "--listen", &url]));
            let mode = std::fs::metadata(&socket).expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{dialect}: others can connect");
            assert_eq!(callers.unconfined(PROBE, &[&url]).stdout, "answered\n", "{dialect} {user:?}");
            for layers in ["all", "landlock"] {
                let seen = callers.confined_with_socket(layers, &socket, &url);
                assert_eq!(seen.stdout, "refused\n", "{dialect} {layers} {user:?}: {seen:?}");
                assert!(server.said("refused a connection: the calling process runs in a sandbox"));
            }
        }
    }
}

/// For the server the caller would be the proxy, which is not confined.
#[test]
fn no_listener_of_ours_is_reached_through_the_proxy_of_a_sandbox() {
    let callers = Callers::new("proxied");
    let status = |address: &str| {
        let work = callers.work.to_str().expect("UTF-8");
        let run = ["run", "-C", work, "--sandbox", "workspace-write", "--network", address, "--"];
        callers.home.seen(&[&run[..], &["python3", "-c", THROUGH_PROXY, address]].concat()).stdout
    };
    let other = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = other.local_addr().expect("an address").port();
    assert_eq!(status(&format!("localhost:{port}")), "200\n", "what is listed can be reached");
    for words in [
        &["exec-server", "--listen", "ws://127.0.0.1:0", "--insecure-loopback"][..],
        &["app-server", "--listen", "ws://127.0.0.1:0", "--insecure-loopback"],
        &["mcp", "--http", "127.0.0.1:0", "--env-inherit", "core"],
    ] {
        let server = Server::start(&callers.home, words);
        let place =
            server.url.split("://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address");
        let port = place.rsplit(':').next().expect("a port");
        for address in [format!("localhost:{port}"), format!("127.0.0.1:{port}")] {
            let seen = status(&address);
            assert!(seen.starts_with('4') || seen.starts_with('5'), "{words:?} {address}: {seen}");
        }
    }
}

/// The client in a sandbox reports the reason of the rejection, also on an encrypted connection.
#[test]
fn a_client_in_a_sandbox_is_told_why_the_server_refuses_it() {
    let callers = Callers::new("told");
    let server =
        Server::start(&callers.home, &["app-server", "--listen", "ws://127.0.0.1:0", "--insecure-loopback"]);
    let script = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))";
    let words = [WINDLASS, "run", "--server", &server.url, "--", "true"];
    for layers in ["all", "landlock"] {
        let seen = callers.confined(layers, script, &words);
        assert_eq!(seen.code, 125, "{layers}: {seen:?}");
        assert!(seen.stderr.contains("HTTP status 403: the calling process runs in a sandbox"), "{seen:?}");
    }
}

/// Without a token, a caller whose process cannot be found is not served.
#[test]
fn a_caller_that_says_everything_at_once_and_leaves_is_not_served_without_a_token() {
    let callers = Callers::new("leavers");
    let words = ["exec-server", "--listen", "ws://127.0.0.1:0", "--insecure-loopback"];
    let server = Server::start(&callers.home, &words);
    for layers in ["all", "landlock"] {
        let proof = callers.home.path().join(layers);
        let seen = callers.confined(layers, SAY_AND_LEAVE, &[&server.url, proof.to_str().expect("UTF-8")]);
        assert_eq!(seen.code, 0, "{layers}: {seen:?}");
        // The next caller is served after the check of the one before.
        assert_eq!(callers.unconfined(PROBE, &[&server.url]).stdout, "answered\n");
        assert!(!proof.exists(), "{layers}: the server ran a command for a confined caller");
    }
}

#[test]
fn a_loopback_address_without_a_token_needs_insecure_loopback() {
    let home = Home::new("callers-loopback");
    for dialect in ["exec-server", "app-server"] {
        let seen = home.seen(&[dialect, "--listen", "ws://127.0.0.1:0"]);
        assert_eq!(seen.code, 1, "{dialect}: {seen:?}");
        for said in ["no token is asked for", "--ws-token-file", "unix://PATH", "--insecure-loopback"] {
            assert!(seen.stderr.contains(said), "{dialect}: {seen:?}");
        }
    }
}

/// Standard input is empty here, so a server that reads it exits at once.
#[test]
fn the_exec_server_serves_its_own_input_and_output_unless_told_otherwise() {
    let seen = Home::new("callers-default").seen(&["exec-server"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (0, ""), "{seen:?}");
}
