//! Processes of one server with different permissions: the unix socket of one gives no caller more permissions than it
//! has.

use serde_json::{Value, json};
use windlass_testkit::Scratch;
use windlass_testkit::wire::Message;

use super::Exec;

/// A server that creates the files that its callers name.
const SERVER: &str = "import socket, sys
listener = socket.socket(socket.AF_UNIX); listener.bind(sys.argv[1]); listener.listen(); print('ready', flush=True)
while True:
    caller = listener.accept()[0]
    try: open(caller.recv(4096).decode(), 'w').close()
    except OSError: pass
    caller.sendall(b'heard'); caller.close()";
const CLIENT: &str = "import socket, sys
caller = socket.socket(socket.AF_UNIX); caller.connect(sys.argv[1]); caller.sendall(sys.argv[2].encode())
print(caller.recv(9).decode())";

/// A directory in which processes with all of these permissions meet, and one in which only one of them may write.
struct Places {
    meeting: Scratch,
    outside: Scratch,
}

impl Places {
    fn new() -> Self {
        let below = |name: &str| Scratch::below(std::path::Path::new("/var/tmp"), name);
        Self { meeting: below("exec-meeting"), outside: below("exec-beyond") }
    }

    fn permissions(&self, who: Who) -> Option<Value> {
        let write = |place: &Scratch| {
            let path = format!("file://{}", place.path().display());
            json!({ "path": { "type": "path", "path": path }, "access": "write" })
        };
        let root = json!({ "path": { "type": "special", "value": { "kind": "root" } }, "access": "read" });
        let entries = match who {
            Who::Unconfined => return None,
            Who::Wide => vec![root, write(&self.meeting), write(&self.outside)],
            Who::Narrow => vec![root, write(&self.meeting)],
        };
        let files = json!({ "type": "restricted", "entries": entries });
        Some(json!({ "permissions": { "type": "managed", "file_system": files, "network": "restricted" } }))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Unconfined,
    Wide,
    Narrow,
}

impl Exec {
    fn python(&mut self, name: &str, permissions: Option<Value>, words: &[&str]) {
        let mut params = self.params(name, &[&["/usr/bin/env", "python3", "-c"], words].concat());
        if let Some(permissions) = permissions {
            params["sandbox"] = permissions;
        }
        self.begin(&params);
    }

    /// Whether a client got an answer from a server that runs in another process.
    fn is_answered(&mut self, server: Who, client: Who, places: &Places) -> bool {
        let name = format!("{server:?}-{client:?}");
        let socket = places.meeting.path().join(&name).display().to_string();
        let file = places.outside.path().join(&name).display().to_string();
        self.python(&name, places.permissions(server), &[SERVER, &socket]);
        self.printed(&name, ("ready", 1));
        let caller = format!("{name}-caller");
        self.python(&caller, places.permissions(client), &[CLIENT, &socket, &file]);
        let is_its = |message: &Message| {
            message.notice("process/exited").is_some_and(|params| params["processId"] == caller.as_str())
        };
        let end = self.wire.wait_for(is_its).expect("it ends");
        let end = end.notice("process/exited").cloned().unwrap_or_default();
        let answered = end["exitCode"] == 0;
        assert_eq!(end["sandboxDenied"], !answered, "{name}: {end}");
        self.wire
            .request("process/terminate", &json!({ "processId": name }))
            .expect("it answers")
            .expect("it ends");
        answered
    }
}

#[test]
fn a_socket_of_a_process_that_may_do_more_is_out_of_reach() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        println!("untried: no python3");
        return;
    }
    for layers in ["all", "landlock"] {
        let mut exec = Exec::start_with("policies", &["--sandbox-layers", layers]);
        let places = Places::new();
        for (server, client) in [
            (Who::Unconfined, Who::Unconfined),
            (Who::Wide, Who::Wide),
            (Who::Narrow, Who::Narrow),
            (Who::Narrow, Who::Wide),
        ] {
            assert!(exec.is_answered(server, client, &places), "{layers}: {server:?}, {client:?}");
        }
        assert!(places.outside.names().contains(&"Unconfined-Unconfined".to_owned()));
        for (server, client) in [(Who::Wide, Who::Narrow), (Who::Unconfined, Who::Narrow)] {
            assert!(!exec.is_answered(server, client, &places), "{layers}: {server:?}, {client:?}");
        }
        assert!(!places.outside.names().contains(&"Wide-Narrow".to_owned()), "{layers}");
        exec.end();
    }
}
