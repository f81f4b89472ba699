//! Sockets that a confined command puts in the place of a server's: a client shows them no token.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use super::Server;
use crate::rig::Home;

/// Moves the server's socket away, listens in its place, and prints what the next client says first.
const IMPOSTOR: &str = r"
import os, socket, sys
path = sys.argv[1]
os.rename(path, path + '.old')
s = socket.socket(socket.AF_UNIX)
s.bind(path)
s.listen()
print('ready', flush=True)
c, _ = s.accept()
print('heard', c.recv(4000).decode(errors='replace'), flush=True)
";

const TOKEN: &str = "a-token-for-servers-only";

/// Whether an impostor with this confinement hears the token of a client.
fn hears(name: &str, confinement: &[&str]) -> bool {
    let home = Home::new(&format!("impostor-{name}"));
    let work = home.path().join("work");
    std::fs::create_dir(&work).expect("a directory");
    let token = home.secret("token", TOKEN);
    let path = work.join("a.sock").display().to_string();
    let url = format!("unix://{path}");
    let _server = Server::start(&home, &["app-server", "--listen", &url, "--ws-token-file", &token]);
    let client = ["run", "--server", &url, "--token-file", &token, "--", "true"];
    assert_eq!(home.seen(&client).code, 0, "the server itself is shown the token");
    let work = work.to_str().expect("UTF-8");
    let words = [&["run", "-C", work], confinement, &["--", "python3", "-c", IMPOSTOR, &path]].concat();
    let mut impostor = home.windlass(&words).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut said = BufReader::new(impostor.stdout.take().expect("it is piped"));
    let mut line = String::new();
    let _ = said.read_line(&mut line).expect("it says something");
    assert_eq!(line, "ready\n", "{name}");
    let mut seen = home.windlass(&client).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut heard = String::new();
    let _ = said.read_to_string(&mut heard).expect("it is text");
    let _ = seen.kill();
    let _ = impostor.kill();
    let _ = (seen.wait(), impostor.wait());
    assert!(heard.starts_with("heard"), "{name}: {heard}");
    heard.contains(TOKEN)
}

#[test]
fn a_client_shows_its_token_to_no_confined_command_in_the_place_of_a_server() {
    assert!(hears("unconfined", &[]), "a process outside of a sandbox is one of the user's own");
    for layers in ["all", "landlock"] {
        let confinement = ["--sandbox", "workspace-write", "--sandbox-layers", layers];
        assert!(!hears(layers, &confinement), "{layers}: the token was shown");
    }
}
