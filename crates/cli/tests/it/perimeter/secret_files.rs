//! Files with secrets that a server was given: no confined command of that server reads them, wherever they are and
//! however they change while the server runs.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use windlass_testkit::base64;
use windlass_testkit::wire::Wire;

use super::Server;
use crate::rig::{Home, WINDLASS};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const NEXT_TOKEN: &str = "fedcba9876543210fedcba9876543210";
const NOBODY: u32 = 65534;

/// Tries to read every named file, in each way that returns its content.
const READ_ALL: &str = r#"
for file; do
    cat "$file"; head -c 200 < "$file"; cp "$file" copied && cat copied
    ln "$file" linked && cat linked; mv "$file" moved && cat moved; dd if="$file" status=none
done 2>&1
echo tried
"#;

/// The user that runs a server, and the layers that confine its commands.
#[derive(Clone, Copy, Debug)]
struct Case {
    is_ordinary: bool,
    layers: &'static str,
}

/// Root and an ordinary user, with and without namespaces.
fn cases() -> impl Iterator<Item = Case> {
    let users = if rustix::process::geteuid().is_root() { &[false, true][..] } else { &[true] };
    users
        .iter()
        .flat_map(|is_ordinary| ["all", "landlock"].map(|layers| Case { is_ordinary: *is_ordinary, layers }))
}

/// A workspace with a token behind a link, another token and a private key, and the records of a server beside it.
struct Place {
    home: Home,
    case: Case,
}

impl Place {
    fn new(name: &str, case: Case) -> Self {
        let user = if case.is_ordinary { "user" } else { "own" };
        let home = Home::new(&format!("secret-files-{name}-{}-{user}", case.layers));
        let place = Self { home, case };
        for directory in ["work", "keys", "state"] {
            fs::create_dir(place.path(directory)).expect("a directory");
        }
        place.put("keys/token", TOKEN);
        place.put("work/token-file", TOKEN);
        symlink("../keys/token", place.path("work/token")).expect("a link");
        let signing_key = KeyPair::generate().expect("a key");
        let names = vec!["localhost".to_owned()];
        let certificate = CertificateParams::new(names).and_then(|params| params.self_signed(&signing_key));
        fs::write(place.path("certificate.pem"), certificate.expect("a certificate").pem()).expect("a file");
        place.put("work/key.pem", &signing_key.serialize_pem());
        place.give_away();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).into_os_string().into_string().expect("UTF-8")
    }

    /// Replaces a file, as editors and `install` do.
    fn put(&self, name: &str, text: &str) {
        let new = self.path("new");
        fs::write(&new, text).expect("a file");
        fs::set_permissions(&new, fs::Permissions::from_mode(0o600)).expect("a mode");
        if self.case.is_ordinary && rustix::process::geteuid().is_root() {
            chown(&new, Some(NOBODY), Some(NOBODY)).expect("root may give a file away");
        }
        fs::rename(new, self.path(name)).expect("it is renamed");
    }

    fn give_away(&self) {
        if self.case.is_ordinary && rustix::process::geteuid().is_root() {
            let given = Command::new("chown").args(["-hR", "65534:65534"]).arg(self.home.path()).status();
            assert!(given.expect("chown runs").success());
        }
    }

    fn windlass(&self, words: &[&str]) -> Command {
        let mut command = if self.case.is_ordinary && rustix::process::geteuid().is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", WINDLASS]);
            command
        } else {
            Command::new(WINDLASS)
        };
        command.args(words).stdin(Stdio::null()).current_dir(self.path("work"));
        command.env("WINDLASS_STATE_DIR", self.path("state")).env("HOME", self.home.path());
        command.env("SHELL", "/bin/sh");
        command
    }

    fn serve(&self, words: &[&str]) -> Server {
        Server::of(&mut self.windlass(&[words, &["--sandbox-layers", self.case.layers]].concat()))
    }

    fn check(&self, what: &str, printed: &str) {
        let case = self.case;
        assert!(printed.contains("tried"), "{what}, {case:?}: {printed}");
        for secret in [TOKEN, NEXT_TOKEN, "PRIVATE KEY"] {
            assert!(!printed.contains(secret), "{what}, {case:?}: {printed}");
        }
    }

    /// The arguments of a command that reads all of these files.
    fn reading<'a>(files: &[&'a str]) -> Vec<&'a str> {
        [&["sh", "-c", READ_ALL, "sh"], files].concat()
    }
}

fn file_url(path: &Path) -> String {
    format!("file://{}", path.display())
}

#[test]
fn commands_of_an_app_server_read_neither_its_token_nor_its_key() {
    for case in cases() {
        let place = Place::new("app", case);
        let (token, key, certificate) =
            (place.text("work/token"), place.text("work/key.pem"), place.text("certificate.pem"));
        let listen = ["app-server", "--sandbox", "workspace-write", "--listen", "wss://127.0.0.1:0"];
        // Relative to the directory that the server is started in.
        let secrets = ["--ws-token-file", "token", "--tls-key", "key.pem", "--tls-cert", &certificate];
        let server = place.serve(&[&listen[..], &secrets].concat());
        let url = server.url.replace("127.0.0.1", "localhost");
        let run = ["run", "--server", &url, "--server-ca", &certificate, "--token-file", &token, "--"];
        let (real, linked) = (place.text("keys/token"), place.text("work/token"));
        let read = |words: &[&str]| {
            let output = place.windlass(&[&run[..], words].concat()).output().expect("windlass starts");
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
        };
        place.check("app-server", &read(&Place::reading(&["token", &linked, &real, "key.pem", &key])));
        // The link leads elsewhere by now, and the server still accepts the token with which it was started.
        place.put("keys/next", NEXT_TOKEN);
        fs::remove_file(place.path("work/token")).expect("it is removed");
        symlink("../keys/next", place.path("work/token")).expect("a link");
        let run_with = |words: &[&str]| {
            let run = ["run", "--server", &url, "--server-ca", &certificate, "--token-file", &real, "--"];
            let output = place.windlass(&[&run[..], words].concat()).output().expect("windlass starts");
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
        };
        let next = place.text("keys/next");
        place.check("another link", &run_with(&Place::reading(&["token", &next, &real])));
    }
}

#[test]
fn a_secret_that_is_replaced_while_a_command_runs_stays_hidden_from_it() {
    for case in cases() {
        let place = Place::new("replaced", case);
        let pipe = place.path("work/pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).expect("a pipe");
        place.give_away();
        let token = place.text("work/token-file");
        let listen = ["app-server", "--sandbox", "workspace-write", "--listen", "ws://127.0.0.1:0"];
        let server = place.serve(&[&listen[..], &["--ws-token-file", &token]].concat());
        let script = format!("cat pipe; {READ_ALL}");
        let (url, real) = (server.url.as_str(), place.text("keys/token"));
        let words = ["run", "--server", url, "--token-file", &real, "--", "sh", "-c", &script, "sh"];
        let mut command = place.windlass(&[&words[..], &["token-file", &token]].concat());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("windlass starts");
        // The open returns once the command reads the pipe.
        let mut told = fs::OpenOptions::new().write(true).open(&pipe).expect("the command reads it");
        place.put("work/token-file", NEXT_TOKEN);
        told.write_all(b"replaced\n").expect("the command takes it");
        drop(told);
        let output = child.wait_with_output().expect("it ends");
        let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(printed.contains("replaced"), "{case:?}: {printed}");
        place.check("replaced", &printed);
    }
}

#[test]
fn processes_and_file_operations_of_an_exec_server_read_no_token() {
    for case in cases() {
        let place = Place::new("exec", case);
        let token = place.text("work/token-file");
        let server = place.serve(&["exec-server", "--listen", "ws://127.0.0.1:0", "--ws-token-file", &token]);
        let address = server.url.strip_prefix("ws://").expect("an address");
        let bearer = format!("Bearer {TOKEN}");
        let mut wire =
            Wire::connect_address(address, &[("Authorization", &bearer)]).expect("the token opens it");
        let hello = json!({ "clientName": "test", "resumeSessionId": null });
        wire.request("initialize", &hello).expect("it answers").expect("it is glad to");
        wire.notify("initialized").expect("it listens");
        let special = |kind: &str| json!({ "type": "special", "value": { "kind": kind } });
        let entries = json!([
            { "path": special("root"), "access": "read" },
            { "path": special("project_roots"), "access": "write" },
        ]);
        let files = json!({ "type": "restricted", "entries": entries });
        let cwd = file_url(&place.path("work"));
        let permissions = json!({ "type": "managed", "file_system": files, "network": "restricted" });
        let sandbox = json!({ "permissions": permissions, "cwd": &cwd });
        let argv = Place::reading(&["token-file", &token]);
        let params = json!({
            "processId": "p", "argv": argv, "cwd": &cwd, "env": { "PATH": "/usr/bin:/bin" }, "tty": false,
            "sandbox": &sandbox,
        });
        wire.request("process/start", &params).expect("it answers").expect("it starts");
        wire.wait_for(|message| message.notice("process/closed").is_some()).expect("it ends");
        let read = wire.request("process/read", &json!({ "processId": "p" })).expect("it answers");
        let chunks = read.expect("it is known")["chunks"].as_array().cloned().unwrap_or_default();
        let bytes = |chunk: &Value| base64::decode(chunk["chunk"].as_str()?.as_bytes());
        let printed: Vec<u8> = chunks.iter().filter_map(bytes).flatten().collect();
        place.check("exec-server", &String::from_utf8_lossy(&printed));
        let params = json!({ "path": file_url(Path::new(&token)), "sandbox": sandbox });
        let read = wire.request("fs/readFile", &params).expect("it answers");
        assert!(read.is_err(), "{case:?}: {read:?}");
    }
}

#[test]
fn commands_of_an_mcp_server_read_no_token_detached_or_not() {
    for case in cases() {
        let place = Place::new("mcp", case);
        let token = place.text("work/token-file");
        let words = ["mcp", "--no-rules", "--http", "127.0.0.1:0", "--sandbox", "workspace-write"];
        let server = place.serve(&[&words[..], &["--token-file", "token-file"]].concat());
        for lifetime in ["runtime", "detached"] {
            let script = format!("set -- token-file '{token}'; {READ_ALL}");
            let arguments =
                json!({ "cmd": script, "login": false, "lifetime": lifetime, "until": { "exit": true } });
            place.check(lifetime, &called(&server.url, &arguments));
        }
    }
}

/// The answer to a call of `exec_command`.
fn called(url: &str, arguments: &Value) -> String {
    called_with(url, TOKEN, "exec_command", arguments)
}

/// The answer over HTTP to a call of a tool, with a token.
pub(super) fn called_with(url: &str, token: &str, tool: &str, arguments: &Value) -> String {
    let address = url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp")).expect("an address");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nConnection: close\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\nAuthorization: Bearer {token}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).expect("it is there");
    stream.write_all(request.as_bytes()).expect("it takes the request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}
