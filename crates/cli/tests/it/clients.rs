//! The official clients of the Model Context Protocol use `windlass mcp`, each through its own API, and see the same.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use windlass_sys::signal::Signal;
use windlass_testkit::{peers, survivors};

use crate::rig::{Doomed, Home, Running, WINDLASS, held, nothing_survives};

/// In the server's fixed order: prompts are cached by their beginning.
const TOOLS: [&str; 6] =
    ["exec_command", "write_stdin", "read_output", "wait_sessions", "stop_session", "list_sessions"];

#[test]
fn mcp_1_from_pypi_over_stdio() {
    let mut client = Command::new(peers::python("mcp1"));
    client.arg(script("mcp1.py")).args([WINDLASS, "mcp"]);
    check("mcp1", client);
}

#[test]
fn mcp_2_from_pypi_over_stdio_with_a_handshake() {
    check("mcp2-legacy", mcp2("legacy"));
}

#[test]
fn mcp_2_from_pypi_over_stdio_without_a_handshake() {
    check("mcp2-modern", mcp2("2026-07-28"));
}

#[test]
fn mcp_2_from_pypi_over_stdio_as_it_likes() {
    check("mcp2-auto", mcp2("auto"));
}

#[test]
fn the_sdk_from_npm_over_stdio() {
    let mut client = sdk();
    client.args(["stdio", WINDLASS, "mcp"]);
    check("sdk-stdio", client);
}

#[test]
fn the_sdk_from_npm_over_http() {
    let scene = Scene::of("sdk-http");
    let mut windlass = scene.home.windlass(&["mcp", "--http", "127.0.0.1:0", "--json"]);
    let mut server = Running::of(scene.surround(&mut windlass));
    let _doomed = Doomed::hold(&json!(server.child.id()));
    let line = server.line();
    let door: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"));
    let [url, token] = ["url", "token"].map(|key| door[key].as_str().expect("a text").to_owned());

    let mut client = sdk();
    client.args(["http", &url, &token]);
    check_scene(&printed(&mut client));

    server.signal(Signal::TERM);
    server.exit_code();
    scene.leaves_nothing();
}

fn mcp2(mode: &str) -> Command {
    let mut client = Command::new(peers::python("mcp2"));
    client.arg(script("mcp2.py")).args([mode, WINDLASS, "mcp"]);
    client
}

fn sdk() -> Command {
    let mut client = Command::new(peers::node22());
    client.arg(script("sdk.mjs")).env("MODULES", peers::npm_modules());
    client
}

/// A client's script, beside this file.
fn script(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/it/clients", name].iter().collect()
}

/// A state directory for one client, and the token that identifies its processes.
struct Scene {
    home: Home,
    token: String,
}

impl Scene {
    fn of(name: &str) -> Self {
        Self { home: Home::new(name), token: survivors::token(name) }
    }

    fn variables(&self) -> [(&'static str, String); 2] {
        let state = self.home.path().display().to_string();
        [("WINDLASS_STATE_DIR", state), ("WINDLASS_TEST_CLIENT", self.token.clone())]
    }

    /// Gives a command the variables for windlass.
    fn surround<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.envs(self.variables()).env("SHELL", "/bin/sh")
    }

    fn leaves_nothing(&self) {
        nothing_survives(&held(&survivors::bearing(&self.token)), &self.token);
    }
}

/// Runs the scene with a client that starts its server, checks what it saw and that no process is left.
fn check(name: &str, mut client: Command) {
    let scene = Scene::of(name);
    check_scene(&printed(scene.surround(&mut client)));
    scene.leaves_nothing();
}

/// The JSON that a client printed; it must exit successfully.
fn printed(client: &mut Command) -> Value {
    let (code, seen) = ended(client);
    assert_eq!(code, Some(0), "{seen}");
    seen
}

/// The exit code of a client, and the JSON that it printed.
fn ended(client: &mut Command) -> (Option<i32>, Value) {
    let output = client.output().expect("the client starts");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let (seen, complaints) = (text(&output.stdout), text(&output.stderr));
    let seen = serde_json::from_str(&seen)
        .unwrap_or_else(|error| panic!("{error} in {seen:?}, {}: {complaints}", output.status));
    (output.status.code(), seen)
}

/// Checks what every client sees: the list of tools, a command that exits, one on a terminal, and a session that never
/// existed.
fn check_scene(seen: &Value) {
    assert_eq!(seen["tools"], json!(TOOLS));
    check_hello(&seen["hello"]);

    check_text(&seen["started"], "Process running with session ID ");
    assert!(seen["started"]["structured"]["session_id"].is_u64(), "{}", seen["started"]);

    // Once from the terminal's echo, once from the program.
    let typed = seen["typed"]["text"].as_str().expect("a text");
    assert_eq!(typed.matches("is anybody there?").count(), 2, "{typed}");

    check_unknown(&seen["unknown"]);
}

fn check_hello(hello: &Value) {
    check_text(hello, "Process exited with code 0\n");
    check_text(hello, "Output:\nhello");
    assert_eq!(hello["is_error"], json!(false));
    assert_eq!(hello["structured"]["exit_code"], json!(0));
    assert_eq!(hello["structured"]["output"], json!("hello\n"));
}

fn check_unknown(unknown: &Value) {
    check_text(unknown, "Unknown session id 999999");
    assert_eq!(unknown["is_error"], json!(true), "{unknown}");
}

fn check_text(result: &Value, expected: &str) {
    let text = result["text"].as_str().expect("a text");
    assert!(text.contains(expected), "no {expected:?} in {text:?}");
}

/// The inspector starts a server for each request, so it cannot return to a session.
mod inspector {
    use super::*;

    /// Its exit code when the tool reports an invalid call.
    const TOOL_ERROR: i32 = 5;

    #[test]
    fn the_inspector_lists_the_tools_and_finds_their_schemas_portable() {
        let (code, seen) = ask("inspector-list", &["tools/list", "--strict"]);
        assert_eq!(code, Some(0), "{seen}");
        let tools = seen["tools"].as_array().expect("a list");
        let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
        assert_eq!(json!(names), json!(TOOLS));
    }

    #[test]
    fn the_inspector_runs_a_command() {
        let (code, seen) = call("inspector-call", "exec_command", "cmd=echo hello");
        assert_eq!(code, Some(0), "{seen}");
        check_hello(&seen);
    }

    #[test]
    fn the_inspector_is_told_of_a_session_that_never_was() {
        let (code, seen) = call("inspector-unknown", "write_stdin", "session_id=999999");
        assert_eq!(code, Some(TOOL_ERROR), "{seen}");
        check_unknown(&seen);
    }

    /// The result in the form of the other clients.
    fn call(name: &str, tool: &str, argument: &str) -> (Option<i32>, Value) {
        let (code, seen) = ask(name, &["tools/call", "--tool-name", tool, "--tool-arg", argument]);
        let result = json!({
            "text": seen["content"][0]["text"],
            "structured": seen["structuredContent"],
            "is_error": seen["isError"].as_bool().unwrap_or_default(),
        });
        (code, result)
    }

    fn ask(name: &str, question: &[&str]) -> (Option<i32>, Value) {
        let scene = Scene::of(name);
        let mut inspector = Command::new(peers::node22());
        inspector.arg(peers::npm_bin("mcp-inspector")).args(["--cli", WINDLASS, "mcp"]);
        // It passes on little of its own environment.
        for (variable, value) in scene.variables() {
            inspector.args(["-e", &format!("{variable}={value}")]);
        }
        inspector.arg("--method").args(question).env("HOME", scene.home.path());
        let seen = ended(&mut inspector);
        scene.leaves_nothing();
        seen
    }
}
