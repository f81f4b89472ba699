//! Codex, from npm, with Windlass as the environment for its commands and files: only the model is a script.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::json;
use windlass_sys::signal::Signal;
use windlass_testkit::codex::Configuration;
use windlass_testkit::model::{Model, ModelTurn, Reply, Request, ToolName, always, turn};
use windlass_testkit::{Scratch, survivors};

use super::{Agent, CONCLUSION, Quarters, TYPED, session_in};
use crate::rig::{Doomed, Running, WINDLASS, held, nothing_survives};

/// A model that Codex knows to write patches.
const WRITES_PATCHES: &str = "gpt-5.5";

const PATCH: &str = "*** Begin Patch
*** Add File: new/file.txt
+hello
*** Update File: old.txt
@@
-one
+uno
 two
*** Delete File: gone.txt
*** End Patch
";

#[test]
fn codex_does_its_work_in_the_environment_that_windlass_gives_it() {
    let stage = Stage::new("codex-environment");
    let model = Model::playing(conversation(|| {}));
    let url = stage.url.clone();
    stage.play(&url, model);
}

#[test]
fn codex_goes_on_in_its_environment_after_its_connection_was_lost() {
    let stage = Stage::new("codex-resumes");
    let relay = Relay::to(stage.url.trim_start_matches("ws://").parse().expect("an address"));
    let cut = relay.clone();
    let model = Model::playing(conversation(move || cut.cut()));
    stage.play(&format!("ws://{}", relay.address), model);
    // Codex decides how often it tries.
    assert!(relay.taken() >= 2, "it never came back");
}

#[test]
fn codex_that_wants_a_sandbox_gets_one() {
    let stage = Stage::new("codex-sandbox");
    // Codex lets commands write to the usual directory for temporary files.
    let outside = Scratch::below(Path::new("/var/tmp"), "codex-outside");
    let command = format!("touch ran; touch '{}/ran' || echo kept from it", outside.path().display());
    let model = Model::playing(vec![
        always(Reply::call(ToolName::plain("exec_command"), json!({ "cmd": command }))),
        always(Reply::call_with_text(ToolName::plain("apply_patch"), PATCH)),
        always(Reply::text(CONCLUSION)),
    ]);
    let mut codex = codex(&stage.quarters, &model, &stage.url);
    let seen = Agent::start(codex.args(["--sandbox", "workspace-write"])).run_out();
    let requests = model.finish();
    let result = requests[1].last_result();
    assert!(
        result.contains("Read-only file system") && result.contains("kept from it"),
        "{result} in {seen}"
    );
    let work = stage.quarters.path().join("work");
    assert!(work.join("ran").exists());
    // Its patches have the same permissions.
    let result = requests[2].last_result();
    assert!(result.contains("A new/file.txt"), "{result} in {seen}");
    assert_eq!(std::fs::read_to_string(work.join("new/file.txt")).expect("the patch made it"), "hello\n");
    assert_eq!(std::fs::read_to_string(work.join("old.txt")).expect("it is there"), "uno\ntwo\n");
    assert!(!work.join("gone.txt").exists());
    assert_eq!(outside.names(), Vec::<String>::new());
    stage.end();
}

/// A command, a program on a terminal with typed input, a patch, and a command that shows the patch's result. Before
/// the input is typed, a function can interfere.
fn conversation(before_typing: impl FnOnce() + Send + 'static) -> Vec<ModelTurn> {
    let call = |name: &str, arguments| Reply::call(ToolName::plain(name), arguments);
    vec![
        always(call("exec_command", json!({ "cmd": "echo $WINDLASS_TEST_QUARTERS; echo oops >&2; exit 3" }))),
        always(call(
            "exec_command",
            json!({ "cmd": "read line; echo \"heard: $line\"", "tty": true, "yield_time_ms": 250 }),
        )),
        turn(move |request| {
            before_typing();
            let session = session_in(&request.last_result());
            let typed = format!("{TYPED}\n");
            // The reply comes as soon as the program has ended.
            call("write_stdin", json!({ "session_id": session, "chars": typed, "yield_time_ms": 30_000 }))
        }),
        always(Reply::call_with_text(ToolName::plain("apply_patch"), PATCH)),
        always(call("exec_command", json!({ "cmd": "cat new/file.txt old.txt; ls" }))),
        always(Reply::text(CONCLUSION)),
    ]
}

/// A working directory and a server.
struct Stage {
    quarters: Quarters,
    server: Running,
    url: String,
    /// Ends the server if the test fails.
    _doomed: Doomed,
}

impl Stage {
    fn new(name: &str) -> Self {
        let quarters = Quarters::of(name);
        quarters.write("work/old.txt", "one\ntwo\n");
        quarters.write("work/gone.txt", "bye\n");
        let mut server = Running::of(&mut server(&quarters));
        let url = server.line().trim_end().to_owned();
        let doomed = Doomed::hold(&json!(server.child.id()));
        Self { quarters, server, url, _doomed: doomed }
    }

    /// Runs the conversation, and checks what the model saw, what was done, and that nothing is left.
    fn play(self, url: &str, model: Model) {
        let seen = Agent::start(&mut codex(&self.quarters, &model, url)).run_out();
        assert!(seen.contains(CONCLUSION), "{seen}");
        let requests = model.finish();
        assert_eq!(requests.len(), 6, "{seen}");
        check_seen(&requests, &self.quarters.token);
        // Codex itself would create files that others may read.
        let made =
            std::fs::metadata(self.quarters.path().join("work/new/file.txt")).expect("the patch made it");
        assert_eq!(made.permissions().mode() & 0o777, 0o600, "the server wrote it");
        self.end();
    }

    /// Ends the server, and fails if any process is left.
    fn end(self) {
        let left = held(&survivors::bearing(&self.quarters.token));
        self.server.signal(Signal::TERM);
        assert_eq!(self.server.exit_code(), Some(0));
        nothing_survives(&left, &self.quarters.token);
    }
}

fn check_seen(requests: &[Request], token: &str) {
    let result = |turn: usize| requests[turn].last_result();
    let first = result(1);
    // Codex has no such variable: only the server's commands do.
    assert!(first.contains(token) && first.contains("oops"), "{first}");
    assert!(first.contains("exited with code 3"), "{first}");
    let typed = result(3);
    assert!(typed.contains(&format!("heard: {TYPED}")), "{typed}");
    assert_eq!(typed.matches(TYPED).count(), 2, "once by the echo, once by the program: {typed}");
    assert!(result(4).contains("Success"), "{}", result(4));
    let last = result(5);
    assert!(last.contains("hello\nuno\ntwo\nnew\nold.txt\n"), "{last}");
}

/// Windlass as an environment that differs from Codex's own: it has one more variable, and creates files that only
/// their owner can read.
fn server(quarters: &Quarters) -> Command {
    let mut command = Command::new("/bin/sh");
    // Codex has no setting for a token.
    let script = "umask 077; exec \"$0\" exec-server --listen ws://127.0.0.1:0 --insecure-loopback";
    command.args(["-c", script, WINDLASS]);
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("SHELL", "/bin/bash");
    command.envs(quarters.variables()).env("HOME", quarters.path()).current_dir(quarters.path());
    command
}

fn codex(quarters: &Quarters, model: &Model, url: &str) -> Command {
    let configuration = Configuration { model: &model.base_url(), features: "", more: "" };
    configuration.write(quarters.path()).expect("the configuration can be written");
    let mut codex = quarters.agent("codex");
    codex.env("CODEX_HOME", quarters.path()).env("CODEX_EXEC_SERVER_URL", url);
    codex.args(["exec", "--json", "--skip-git-repo-check", "--model", WRITES_PATCHES, "Is anybody there?"]);
    codex
}

/// A proxy between a client and a server, which can cut the connections.
#[derive(Clone)]
struct Relay {
    address: SocketAddr,
    connections: Arc<Mutex<Vec<TcpStream>>>,
}

impl Relay {
    fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let connections: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let known = Arc::clone(&connections);
        thread::spawn(move || {
            // Ends with the test's process.
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(server).expect("the server is there");
                let both = |stream: &TcpStream| stream.try_clone().expect("a descriptor");
                known.lock().unwrap_or_else(PoisonError::into_inner).push(both(&client));
                let (client_too, server_too) = (both(&client), both(&server));
                thread::spawn(move || pass_on(client, server));
                thread::spawn(move || pass_on(server_too, client_too));
            }
        });
        Self { address, connections }
    }

    /// Cuts all open connections.
    fn cut(&self) {
        for connection in self.connections.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // An error means that the connection is closed.
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    /// The number of connections so far.
    fn taken(&self) -> usize {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// Copies bytes until either side closes, and then closes the other one.
fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
