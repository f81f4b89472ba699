//! A client of any server that speaks JSON-RPC in lines on its standard input and output: MCP servers, and Codex.

use super::process;
use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A server at work, in a process group of its own, all of which ends with it.
#[derive(Debug)]
pub(super) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
    last: u64,
}

/// Which request an answer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestId(u64);

impl Client {
    /// Starts the server and sends nothing yet.
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .with_context(|| format!("starting {}", command.get_program().display()))?;
        let input = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().context("reading from the server")?);
        Ok(Self { child, input, lines, last: 0 })
    }

    /// Starts an MCP server, and completes the handshake.
    pub(super) fn mcp(command: &mut Command) -> Result<Self> {
        let mut client = Self::start(command)?;
        let who = json!({ "name": "windlass-bench", "version": env!("CARGO_PKG_VERSION") });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who });
        client.request("initialize", &hello)?;
        client.notify("notifications/initialized")?;
        Ok(client)
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks, and waits for the answer.
    pub(super) fn request(&mut self, method: &str, parameters: &Value) -> Result<Value> {
        let asked = self.ask(method, parameters)?;
        loop {
            let (answered, result) = self.answer()?;
            if answered == asked {
                return Ok(result);
            }
        }
    }

    /// Calls a tool of an MCP server; fails if the tool reports an error.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        let result = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        ensure!(result["isError"] != json!(true), "{tool} {arguments} failed: {result}");
        Ok(result)
    }

    /// Asks without waiting.
    pub(super) fn ask(&mut self, method: &str, parameters: &Value) -> Result<RequestId> {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }))?;
        Ok(RequestId(id))
    }

    pub(super) fn notify(&mut self, method: &str) -> Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method }))
    }

    /// The next answer to any request.
    pub(super) fn answer(&mut self) -> Result<(RequestId, Value)> {
        loop {
            let mut line = String::new();
            ensure!(self.lines.read_line(&mut line)? > 0, "the server ended before it had answered");
            let mut message: Value = serde_json::from_str(&line).with_context(|| line.clone())?;
            let Some(id) = message["id"].as_u64().filter(|_| message.get("method").is_none()) else {
                continue;
            };
            if let Some(error) = message.get("error") {
                bail!("the server refused: {error}");
            }
            return Ok((RequestId(id), message["result"].take()));
        }
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let input = self.input.as_mut().context("the server's input is closed")?;
        input.write_all(format!("{message}\n").as_bytes()).context("writing to the server")
    }

    /// Resident memory in KiB; the field is one of `/proc/PID/status`.
    pub(super) fn memory_kib(&self, field: &str) -> Result<f64> {
        process::memory_kib(self.pid(), field)
    }

    /// Closes its input and waits for it to exit by itself.
    pub(super) fn end(mut self) -> Result<()> {
        self.input = None;
        ensure!(self.child.wait()?.success(), "the server failed in the end");
        Ok(())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // A process that is exiting needs no signal.
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        let _ = self.child.wait();
    }
}

/// The first text of an MCP tool's result: what a model reads.
pub(super) fn text(result: &Value) -> Result<&str> {
    result["content"][0]["text"].as_str().with_context(|| format!("no text in {result}"))
}
