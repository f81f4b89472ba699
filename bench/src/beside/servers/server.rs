//! A server at work, ours or Codex's, and the client's side of the conversation.

use super::dialect::{Io, Name, ServerKind, ServerLine};
use crate::beside::contest::Who;
use crate::beside::{RowContext, process};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;
use windlass_testkit::base64;
use windlass_testkit::codex::{self, Configuration};
use windlass_testkit::wire::Wire;

/// Not yet started, with a home and a state directory of its own.
pub(super) struct Idle {
    command: Command,
    dialect: ServerKind,
    folder: PathBuf,
}

/// A server with which the handshake is complete.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) wire: Wire,
    pub(super) dialect: ServerKind,
    folder: PathBuf,
    last: u64,
}

impl Idle {
    pub(super) fn of(around: &RowContext, who: Who, dialect: ServerKind) -> Result<Self> {
        let folder = around.folder()?;
        let mut command = match who {
            Who::Windlass => {
                let program = around.place.program.with_file_name("windlass");
                ensure!(program.exists(), "{} is missing: build the workspace first", program.display());
                let mut command = Command::new(program);
                command.env("HOME", &folder).env("WINDLASS_STATE_DIR", folder.join("store"));
                command
            }
            _ => {
                Configuration::WITHOUT_MODEL.write(&folder)?;
                codex::command(&folder)
            }
        };
        // A workspace beside the home, as people have it: a home that commands can write is protected name by name.
        let workspace = folder.join("work");
        std::fs::create_dir_all(&workspace)?;
        command.current_dir(workspace).args(dialect.verb()).stderr(Stdio::null());
        Ok(Self { command, dialect, folder })
    }

    /// Starts it and completes the handshake.
    pub(super) fn start(mut self) -> Result<Server> {
        let mut wire = Wire::start(&mut self.command)?;
        wire.request("initialize", &self.dialect.hello())??;
        wire.notify("initialized")?;
        Ok(Server { wire, dialect: self.dialect, folder: self.folder, last: 0 })
    }
}

impl Server {
    /// One that has run its first command.
    pub(super) fn warm(around: &RowContext, who: Who, dialect: ServerKind) -> Result<Self> {
        let mut server = Idle::of(around, who, dialect)?.start()?;
        server.run_true()?;
        Ok(server)
    }

    /// Runs the shortest program there is, to its end.
    pub(super) fn run_true(&mut self) -> Result<()> {
        self.ask_for_true()?;
        self.ended()
    }

    pub(super) fn ask_for_true(&mut self) -> Result<()> {
        let name = self.next_name();
        let (method, params) = self.dialect.run(name, &["/bin/true"], &self.folder);
        self.wire.ask(method, &params)?;
        Ok(())
    }

    /// Asks the app-server for a program under a policy, its output in the answer.
    pub(super) fn ask_under(&mut self, policy: &Value, argv: &[&str]) -> Result<()> {
        let params = json!({ "command": argv, "disableTimeout": true, "sandboxPolicy": policy });
        self.wire.ask("command/exec", &params)?;
        Ok(())
    }

    /// The same with its output streamed.
    pub(super) fn stream_under(&mut self, policy: &Value, argv: &[&str]) -> Result<()> {
        let name = self.next_name();
        let (method, mut params) = self.dialect.start(name, argv, (Io::Output, &self.folder));
        params["sandboxPolicy"] = policy.clone();
        self.wire.ask(method, &params)?;
        Ok(())
    }

    /// Waits for the end of any program; discards output on the way.
    pub(super) fn ended(&mut self) -> Result<()> {
        loop {
            match self.event_before(None)? {
                ServerLine::Ended { code } => {
                    ensure!(code.unwrap_or_default() == 0, "the program failed: {code:?}");
                    return Ok(());
                }
                ServerLine::Refused(text) => bail!("the server refused: {text}"),
                ServerLine::Output(_) | ServerLine::Other => {}
            }
        }
    }

    /// Starts a program and waits for nothing.
    pub(super) fn start(&mut self, argv: &[&str], io: Io) -> Result<Name> {
        let name = self.next_name();
        let (method, params) = self.dialect.start(name, argv, (io, &self.folder));
        self.wire.ask(method, &params)?;
        Ok(name)
    }

    pub(super) fn write(&mut self, name: Name, bytes: &[u8]) -> Result<()> {
        self.last += 1;
        let (method, params) = self.dialect.write(name, bytes, self.last);
        self.wire.ask(method, &params)?;
        Ok(())
    }

    /// Passes on every piece of output until `take` returns that it is enough, or a program ends.
    pub(super) fn output(&mut self, mut take: impl FnMut(&[u8]) -> Result<Enough>) -> Result<()> {
        let mut bytes = Vec::new();
        loop {
            match self.event_before(None)? {
                ServerLine::Output(text) => {
                    ensure!(base64::decode_into(text, &mut bytes), "not base64");
                    if take(&bytes)? == Enough::Yes {
                        return Ok(());
                    }
                }
                ServerLine::Ended { code } => {
                    ensure!(code.unwrap_or_default() == 0, "the program failed: {code:?}");
                    return Ok(());
                }
                ServerLine::Refused(text) => bail!("the server refused: {text}"),
                ServerLine::Other => {}
            }
        }
    }

    /// The next event of the server, before a deadline if there is one.
    fn event_before(&mut self, deadline: Option<Instant>) -> Result<ServerLine<'_>> {
        let line = match deadline {
            Some(deadline) => self.wire.next_line_before(deadline)?,
            None => self.wire.next_line()?,
        };
        Ok(self.dialect.event(line.context("the server ended")?))
    }

    pub(super) fn memory_mib(&self, field: &str) -> Result<f64> {
        Ok(process::memory_kib(self.wire.pid(), field)? / 1024.0)
    }

    pub(super) fn cpu_seconds(&self) -> Result<f64> {
        process::cpu_seconds(self.wire.pid())
    }

    /// Disconnects and waits for it to exit by itself.
    pub(super) fn end(self) -> Result<()> {
        self.wire.end()?;
        Ok(())
    }

    fn next_name(&mut self) -> Name {
        self.last += 1;
        Name(self.last)
    }
}

/// Whether a taker of output wants more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Enough {
    Yes,
    No,
}
