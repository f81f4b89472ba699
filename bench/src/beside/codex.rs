//! Codex, in two roles: its `app-server`, which runs commands for programs, and its own tools, as its model uses them.
//! The model is a script on loopback, so what is measured is Codex and nothing behind it.

use super::RowContext;
use super::client::Client;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use windlass_testkit::codex::{self, Configuration};
use windlass_testkit::model::{Model, ModelTurn, Reply, Request, ToolName, always, turn};

/// Codex in a home of its own, with access to this machine only.
fn command(around: &RowContext) -> Result<(Command, PathBuf)> {
    let home = around.folder()?;
    Ok((codex::command(&home), home))
}

/// `codex app-server`, not yet started.
pub(super) fn app_server(around: &RowContext) -> Result<Command> {
    let (mut command, home) = command(around)?;
    Configuration::WITHOUT_MODEL.write(&home)?;
    command.arg("app-server");
    Ok(command)
}

/// Starts it and completes the handshake.
pub(super) fn connected(command: &mut Command) -> Result<Client> {
    let mut client = Client::start(command)?;
    let who = json!({ "name": "windlass-bench", "title": "bench", "version": env!("CARGO_PKG_VERSION") });
    client.request("initialize", &json!({ "clientInfo": who }))?;
    client.notify("initialized")?;
    Ok(client)
}

/// Runs a script to its end.
pub(super) fn run(client: &mut Client, script: &str) -> Result<Value> {
    let order = json!({
        "command": ["bash", "-c", script],
        "sandboxPolicy": { "type": "dangerFullAccess" },
        "timeoutMs": 60_000,
    });
    let result = client.request("command/exec", &order)?;
    ensure!(result["exitCode"] == json!(0), "the command failed: {result}");
    Ok(result)
}

/// The steps of Codex's model, call by call.
pub(super) enum CodexStep {
    /// Starts a command on a terminal.
    Exec(String),
    /// Types into the one that was started last.
    Write(String),
}

/// Lets Codex's model do these steps with Codex's own tools; the text that each returned.
pub(super) fn converse(around: &RowContext, steps: Vec<CodexStep>) -> Result<Vec<String>> {
    let count = steps.len();
    let model = Model::playing(turns(steps));
    let (mut command, home) = command(around)?;
    let features = "unified_exec = true";
    Configuration { model: &model.base_url(), features, more: "" }.write(&home)?;
    command.args(["exec", "--json", "--skip-git-repo-check", "Measure."]).stdin(Stdio::null());
    let output = command.output().context("starting codex exec")?;
    ensure!(output.status.success(), "codex exec failed: {}", String::from_utf8_lossy(&output.stdout));
    let requests = model.finish();
    let results: Vec<String> = requests.iter().skip(1).map(Request::last_result).collect();
    ensure!(results.len() == count, "{} results of {count} calls", results.len());
    Ok(results)
}

fn turns(steps: Vec<CodexStep>) -> Vec<ModelTurn> {
    let mut turns: Vec<ModelTurn> = Vec::new();
    for step in steps {
        turns.push(match step {
            CodexStep::Exec(script) => {
                let arguments = json!({ "cmd": script, "tty": true, "login": false });
                always(Reply::call(ToolName::plain("exec_command"), arguments))
            }
            CodexStep::Write(chars) => turn(move |request| {
                let session = request.results().iter().rev().find_map(|result| session(result));
                let arguments = json!({ "session_id": session.expect("a session runs"), "chars": chars });
                Reply::call(ToolName::plain("write_stdin"), arguments)
            }),
        });
    }
    turns.push(always(Reply::text("Done.")));
    turns
}

fn session(result: &str) -> Option<u64> {
    let rest = result.split("Process running with session ID ").nth(1)?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The seconds that Codex itself reports for a call: its own work and waiting, without the conversation.
pub(super) fn wall_seconds(result: &str) -> Result<f64> {
    let rest = result.split("Wall time: ").nth(1).and_then(|rest| rest.split(' ').next());
    rest.and_then(|rest| rest.parse().ok()).with_context(|| format!("no wall time in {result}"))
}

/// The output of the command, as far as the result shows it.
pub(super) fn output(result: &str) -> &str {
    result.split_once("Output:\n").map_or("", |(_, output)| output)
}
