//! tmux, used as agents use it: `send-keys` to type, `capture-pane` to read the screen.

use super::RowContext;
use anyhow::{Context, Result, ensure};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A server of its own with one pane, as large as windlass makes a terminal.
#[derive(Debug)]
pub(super) struct Tmux {
    socket: PathBuf,
}

impl Tmux {
    /// A pane in which this script runs.
    pub(super) fn start(around: &RowContext, script: &str) -> Result<Self> {
        let tmux = Self { socket: around.folder()?.join("tmux") };
        let size = windlass_engine::Terminal::default().size;
        let (columns, rows) = (size.cols.to_string(), size.rows.to_string());
        tmux.run(&[
            "set",
            "-g",
            "history-limit",
            "100000",
            ";",
            "new-session",
            "-d",
            "-x",
            &columns,
            "-y",
            &rows,
            script,
        ])?;
        Ok(tmux)
    }

    pub(super) fn type_line(&self, line: &str) -> Result<()> {
        self.run(&["send-keys", "-l", line, ";", "send-keys", "Enter"]).map(drop)
    }

    /// All that the pane shows and has shown.
    pub(super) fn captured(&self) -> Result<String> {
        self.run(&["capture-pane", "-p", "-J", "-S", "-"])
    }

    /// The text on the screen.
    pub(super) fn screen(&self) -> Result<String> {
        self.run(&["capture-pane", "-p"])
    }

    /// Looks again and again until the screen has this so often; there is nothing else to wait for.
    pub(super) fn look_for(&self, text: &str, count: usize) -> Result<String> {
        loop {
            let screen = self.screen()?;
            if screen.matches(text).count() >= count {
                return Ok(screen);
            }
        }
    }

    fn run(&self, words: &[&str]) -> Result<String> {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket).args(["-f", "/dev/null"]).args(words).stdin(Stdio::null());
        command.env_remove("TMUX").env("SHELL", "/bin/bash");
        let output = command.output().context("starting tmux: install it with `apt-get install tmux`")?;
        ensure!(output.status.success(), "tmux {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // The server may have exited with its last pane.
        let _ = self.run(&["kill-server"]);
    }
}
