//! Unix sockets between sessions: the next command of the same runtime can connect to a server that an earlier one
//! started.

use serde_json::{Value, json};

use super::Quarters;
use crate::mcp::Served;

const SERVER: &str = "import socket
l = socket.socket(socket.AF_UNIX); l.bind('s'); l.listen(); print('ready', flush=True)
l.accept()[0].sendall(b'hello')";
const CLIENT: &str =
    "import socket; c = socket.socket(socket.AF_UNIX); c.connect('s'); print(c.recv(9).decode())";

#[test]
fn a_server_of_one_session_can_be_reached_from_the_next() {
    if !has_python() {
        println!("untried: no python3");
        return;
    }
    for (layers, network) in [("all", "off"), ("all", "on"), ("landlock", "off")] {
        let quarters = Quarters::new("between");
        let words = ["mcp", "--sandbox", "workspace-write", "--sandbox-layers", layers, "--network", network];
        let mut command = quarters.home.windlass(&words);
        let mut served = Served::of(command.current_dir(&quarters.work));
        served.greet();
        let server = python(&mut served, SERVER, &json!({ "pattern": "ready" }));
        assert!(server["result"]["structuredContent"]["session_id"].is_number(), "{server}");
        let client = python(&mut served, CLIENT, &json!({ "exit": true }));
        let text = client["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains("hello"), "{layers}, {network}: {client}");
    }
}

fn python(served: &mut Served, script: &str, until: &Value) -> Value {
    let arguments = json!({ "cmd": format!("python3 -c \"{script}\""), "until": until });
    served.ask("call", "tools/call", &json!({ "name": "exec_command", "arguments": arguments }))
}

fn has_python() -> bool {
    std::process::Command::new("python3")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}
