//! `windlass mcp`, the program that was built beside this one.

use super::RowContext;
use super::client::Client;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::process::Command;

/// Not yet started, with a home and a state directory of its own, as the others have: the figures must not contain the
/// cost of the user's own start-up files. Bash, so that the same shell runs everywhere.
pub(super) fn command(around: &RowContext) -> Result<Command> {
    let program = around.place.program.with_file_name("windlass");
    ensure!(program.exists(), "{} is missing: build the workspace first", program.display());
    let mut command = Command::new(program);
    let home = around.folder()?;
    command
        .arg("mcp")
        .env("HOME", &home)
        .env("WINDLASS_STATE_DIR", home.join("store"))
        .env("SHELL", "/bin/bash");
    Ok(command)
}

/// A windlass that has done its first command.
pub(super) fn warm(around: &RowContext) -> Result<Client> {
    let mut client = Client::mcp(&mut command(around)?)?;
    run_true(&mut client)?;
    Ok(client)
}

pub(super) fn run_true(client: &mut Client) -> Result<()> {
    let result = client.call("exec_command", &json!({ "cmd": "true" }))?;
    ensure_success(&result)
}

/// Fails unless the command in this answer exited with 0.
pub(super) fn ensure_success(result: &Value) -> Result<()> {
    ensure!(result["structuredContent"]["exit_code"] == json!(0), "the command failed: {result}");
    Ok(())
}

/// The id of the session that an answer reports as running.
pub(super) fn session(result: &Value) -> Result<u64> {
    result["structuredContent"]["session_id"].as_u64().with_context(|| format!("no session in {result}"))
}

/// The output of the command, as far as the answer shows it.
pub(super) fn output(result: &Value) -> Result<&str> {
    result["structuredContent"]["output"].as_str().with_context(|| format!("no output in {result}"))
}
