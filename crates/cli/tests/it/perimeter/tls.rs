//! Encrypted connections: servers that other machines can reach need a certificate, and clients verify it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use windlass_testkit::peers;

use super::Server;
use crate::rig::{Home, Seen};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A certificate for this machine, its key, and a token, in files.
struct Files {
    home: Home,
    certificate: PathBuf,
    key: PathBuf,
    token: PathBuf,
}

impl Files {
    fn new(name: &str) -> Self {
        Self::with(name, IsCa::NoCa)
    }

    fn with(name: &str, is_ca: IsCa) -> Self {
        let home = Home::new(&format!("tls-{name}"));
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).expect("names");
        params.is_ca = is_ca;
        let signing_key = KeyPair::generate().expect("a key");
        let cert = params.self_signed(&signing_key).expect("a certificate");
        let certificate = home.path().join("certificate.pem");
        fs::write(&certificate, cert.pem()).expect("a file");
        let key = home.secret("key.pem", &signing_key.serialize_pem()).into();
        let token = home.secret("token", &format!("{TOKEN}\n")).into();
        Self { certificate, key, token, home }
    }

    /// The options that make a server encrypt.
    fn tls(&self) -> [&str; 4] {
        ["--tls-cert", text(&self.certificate), "--tls-key", text(&self.key)]
    }

    /// Starts a server of a dialect on an encrypted address that requires the token; returns it with its port.
    fn serve(&self, dialect: &str) -> (Server, String) {
        let words = [dialect, "--listen", "wss://127.0.0.1:0", "--ws-token-file", text(&self.token)];
        let server = Server::start(&self.home, &[&words[..], &self.tls()].concat());
        let port = server.url.strip_prefix("wss://127.0.0.1:").expect("it says that it encrypts").to_owned();
        (server, port)
    }

    fn run(&self, words: &[&str]) -> Seen {
        self.home.seen(&[&["run", "--token-file", text(&self.token)], words].concat())
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn a_command_runs_on_an_encrypted_server_that_shows_a_good_certificate() {
    let files = Files::new("run");
    let (_server, port) = files.serve("app-server");
    let (named, numbered) = (format!("wss://localhost:{port}"), format!("wss://127.0.0.1:{port}"));
    for url in [&named, &numbered] {
        let words = ["--server", url, "--server-ca", text(&files.certificate), "--", "echo", "hello"];
        let seen = files.run(&words);
        assert_eq!((seen.code, seen.stdout.as_str()), (0, "hello\n"), "{seen:?}");
    }
    // More than all buffers on the way hold, and nothing after it.
    let flood = [
        "--server",
        &named,
        "--server-ca",
        text(&files.certificate),
        "--",
        "head",
        "-c",
        "30000000",
        "/dev/zero",
    ];
    assert_eq!(files.run(&flood).stdout.len(), 30_000_000);
    let mut trusting = files.home.windlass(&["run", "--server", &named, "--token-file", text(&files.token)]);
    let output = trusting.args(["--", "echo", "hello"]).env("SSL_CERT_FILE", &files.certificate).output();
    let output = output.expect("windlass starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "hello\n", "{output:?}");
}

/// `openssl req -x509` makes such certificates.
#[test]
fn a_certificate_that_signs_itself_as_an_authority_is_good_where_it_is_named() {
    let files = Files::with("authority", IsCa::Ca(BasicConstraints::Unconstrained));
    let (_server, port) = files.serve("app-server");
    let url = format!("wss://localhost:{port}");
    let seen = files.run(&["--server", &url, "--server-ca", text(&files.certificate), "--", "echo", "hello"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (0, "hello\n"), "{seen:?}");
    let mut named = files.home.windlass(&["run", "--server", &url, "--token-file", text(&files.token)]);
    let output = named.args(["--", "echo", "hello"]).env("SSL_CERT_FILE", &files.certificate).output();
    assert_eq!(output.expect("windlass starts").stdout, b"hello\n");
    let seen = files.run(&["--server", &url, "--", "echo", "hello"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (125, ""), "{seen:?}");
    for said in ["is not trusted: it signs itself", "--server-ca", "SSL_CERT_FILE"] {
        assert!(seen.stderr.contains(said), "{seen:?}");
    }
}

#[test]
fn a_server_whose_certificate_is_not_trusted_hears_nothing() {
    let files = Files::new("distrust");
    let (_server, port) = files.serve("app-server");
    let url = format!("wss://localhost:{port}");
    let other = Files::new("distrust-other");
    for authority in [&["--server-ca", text(&other.certificate)][..], &[]] {
        let seen = files.run(&[&["--server", &url], authority, &["--", "echo", "hello"]].concat());
        assert_eq!((seen.code, seen.stdout.as_str()), (125, ""), "{seen:?}");
        assert!(seen.stderr.contains("certificate"), "{seen:?}");
    }
    let plain = format!("ws://localhost:{port}");
    let seen = files.run(&["--server", &plain, "--", "echo", "hello"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (125, ""), "{seen:?}");
}

/// Sends a request over TLS, as the first argument says; the second argument is the certificate, and the third one, if
/// there is one, the token.
const ASK: &str = r"
import json, ssl, sys, urllib.request
url, certificate, token = sys.argv[1:4]
context = ssl.create_default_context(cafile=certificate)
request = urllib.request.Request(url)
if token:
    meta = {'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}}
    body = {'jsonrpc': '2.0', 'id': 1, 'method': 'server/discover', 'params': {'_meta': meta}}
    headers = {'Authorization': 'Bearer ' + token, 'Content-Type': 'application/json',
               'Accept': 'application/json, text/event-stream', 'Mcp-Method': 'server/discover',
               'MCP-Protocol-Version': '2026-07-28'}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
try:
    print(urllib.request.urlopen(request, context=context).status)
except urllib.error.HTTPError as error:
    print(error.code, error.read())
";

#[test]
fn the_other_servers_encrypt_as_well() {
    let files = Files::new("others");
    let ask = |url: &str, token: &str| {
        let mut python = Command::new("python3");
        let output =
            python.args(["-c", ASK, url, text(&files.certificate), token]).output().expect("python starts");
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    let (_exec, port) = files.serve("exec-server");
    assert_eq!(ask(&format!("https://localhost:{port}/readyz"), ""), "200\n");
    let words = ["mcp", "--http", "127.0.0.1:0", "--token-file", text(&files.token)];
    let mcp = Server::start(&files.home, &[&words[..], &files.tls()].concat());
    assert!(mcp.url.starts_with("https://127.0.0.1:"), "{}", mcp.url);
    assert_eq!(ask(&mcp.url, TOKEN), "200\n");
    assert!(ask(&mcp.url, "wrong").starts_with("401 "));
}

#[test]
fn an_address_that_other_machines_can_reach_needs_a_certificate() {
    let files = Files::new("reach");
    let token = text(&files.token);
    for words in [
        &["app-server", "--listen", "ws://0.0.0.0:0", "--allow-remote", "--ws-token-file", token][..],
        &["exec-server", "--listen", "ws://0.0.0.0:0", "--allow-remote", "--ws-token-file", token],
        &["mcp", "--http", "0.0.0.0:0", "--allow-remote", "--token-file", token],
    ] {
        let seen = files.home.seen(words);
        assert_eq!(seen.code, 1, "{words:?}: {seen:?}");
        for said in ["connections are not encrypted", "--tls-cert", "--tls-key", "--insecure-plaintext"] {
            assert!(seen.stderr.contains(said), "{words:?}: {seen:?}");
        }
        // If the option requests it explicitly, the server runs without encryption.
        let server = Server::start(&files.home, &[words, &["--insecure-plaintext"]].concat());
        assert!(server.url.starts_with("ws://0.0.0.0:") || server.url.starts_with("http://0.0.0.0:"));
    }
    for (words, said) in [
        (&["app-server", "--listen", "wss://127.0.0.1:0", "--insecure-loopback"][..], "needs a certificate"),
        (&["app-server", "--listen", "ws://127.0.0.1:0", "--insecure-plaintext"], "--allow-remote"),
        (&["app-server", "--listen", "wss://127.0.0.1:0", "--tls-cert", token], "--tls-key"),
    ] {
        let seen = files.home.seen(words);
        assert!(seen.code != 0 && seen.stderr.contains(said), "{words:?}: {seen:?}");
    }
    let wrong = ["app-server", "--listen", "wss://127.0.0.1:0", "--tls-cert", token, "--tls-key", token];
    let seen = files.home.seen(&[&wrong[..], &["--ws-token-file", token]].concat());
    assert!(seen.code == 1 && seen.stderr.contains("there is no certificate"), "{seen:?}");
    let unused = files.home.seen(&[&["app-server"], &files.tls()[..]].concat());
    assert!(unused.code == 2 && unused.stderr.contains("wss://"), "{unused:?}");
}

/// One rule for every secret in a file, whichever option names it.
#[test]
fn a_secret_that_others_can_read_is_refused_by_every_option() {
    let files = Files::new("exposed");
    let (token, key) = (text(&files.token), text(&files.key));
    let (_server, port) = files.serve("app-server");
    let url = format!("wss://localhost:{port}");
    let listen = ["--listen", "wss://127.0.0.1:0"];
    for (name, option, words) in [
        ("token", token, [&["app-server"], &listen[..], &["--ws-token-file", token], &files.tls()].concat()),
        ("token", token, [&["exec-server"], &listen[..], &["--ws-token-file", token], &files.tls()].concat()),
        ("token", token, ["mcp", "--http", "127.0.0.1:0", "--token-file", token].to_vec()),
        ("token", token, ["run", "--server", &url, "--token-file", token, "--", "echo", "hello"].to_vec()),
        (
            "secret",
            token,
            [&["app-server"], &listen[..], &["--ws-shared-secret-file", token], &files.tls()].concat(),
        ),
        ("key", key, [&["app-server"], &listen[..], &["--ws-token-file", token], &files.tls()].concat()),
        ("key", key, [&["mcp", "--http", "127.0.0.1:0"], &files.tls()[..]].concat()),
        (
            "passphrase",
            token,
            ["agent", "--portable", "export", "/nowhere/x.age", "--passphrase-file", token].to_vec(),
        ),
    ] {
        fs::set_permissions(option, fs::Permissions::from_mode(0o644)).expect("a mode");
        let seen = files.home.seen(&words);
        fs::set_permissions(option, fs::Permissions::from_mode(0o600)).expect("a mode");
        let said =
            format!("{name} file {option} can be read or changed by others (mode 0644); `chmod 600` it");
        assert!(seen.code == 2 && seen.stderr.contains(&said), "{words:?}: {seen:?}");
    }
}

const PYTHON_CLIENT: &str = r"
import asyncio, sys
from windlass import Client
async def main():
    async with await Client.connect(sys.argv[1], token=sys.argv[2]) as client:
        process = await client.start(['echo', 'hello'])
        async for chunk in process.output():
            print(chunk.data)
asyncio.run(main())
";

#[test]
fn the_python_package_and_node_connect_encrypted() {
    let files = Files::new("packages");
    let (_server, port) = files.serve("app-server");
    let url = format!("wss://localhost:{port}");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/python/src");
    let mut python = Command::new(peers::python("clients"));
    python
        .args(["-c", PYTHON_CLIENT, &url, TOKEN])
        .env("PYTHONPATH", source)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let output = python.env("SSL_CERT_FILE", &files.certificate).output().expect("python starts");
    assert!(String::from_utf8_lossy(&output.stdout).contains("hello"), "{output:?}");
    // The package for TypeScript uses `ws`, which leaves certificates to Node.
    let script = "fetch(process.argv[1]).then(async (answer) => console.log(answer.status))";
    let mut node = Command::new(peers::node22());
    node.args(["--eval", script, &format!("https://localhost:{port}/readyz")]);
    let output = node.env("NODE_EXTRA_CA_CERTS", &files.certificate).output().expect("node starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "200\n", "{output:?}");
}
