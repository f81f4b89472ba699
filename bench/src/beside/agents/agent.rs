//! The two programs, configured for the scripted model, and the resources that a run of one of them used.

use crate::beside::RowContext;
use crate::beside::contest::Who;
use anyhow::{Context, Result, ensure};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use windlass_sys::process::{How, Pid, Process};
use windlass_testkit::codex::{self, Configuration};
use windlass_testkit::model::{MODEL, Model};

/// The sandbox of commands. Windlass and Codex use the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sandbox {
    None,
    WorkspaceWrite,
}

impl Sandbox {
    fn word(self) -> &'static str {
        match self {
            Self::None => "danger-full-access",
            Self::WorkspaceWrite => "workspace-write",
        }
    }
}

/// An agent with a home of its own, not yet started.
pub(super) struct Agent {
    command: Command,
    complaints: PathBuf,
}

/// A run from its start to its end.
pub(super) struct RunMetrics {
    pub(super) began: Instant,
    pub(super) wall: Duration,
    /// Processor time, also that of everything it started and waited for.
    pub(super) cpu: Duration,
}

impl Agent {
    /// An agent that is configured for this model, with commands confined like this.
    pub(super) fn of(around: &RowContext, who: Who, (model, sandbox): (&Model, Sandbox)) -> Result<Self> {
        let home = around.folder()?;
        let mut command = match who {
            Who::Windlass => windlass(around, &home, model)?,
            _ => {
                let address = model.base_url();
                Configuration { model: &address, features: "unified_exec = true", more: "" }.write(&home)?;
                let mut command = codex::command(&home);
                command.arg("exec");
                command
            }
        };
        let (complaints, workspace) = (home.join("complaints"), home.join("workspace"));
        let temporary = home.join("temporary");
        std::fs::create_dir(&workspace)?;
        std::fs::create_dir(&temporary)?;
        // Codex's sandbox does not work with a home below the folder for temporary files, where this may well run.
        command.current_dir(&workspace).env("TMPDIR", &temporary);
        command.args(["--json", "--skip-git-repo-check", "--sandbox", sandbox.word(), "Measure."]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&complaints)?);
        Ok(Self { command, complaints })
    }

    /// Starts it, publishes its process id, and waits for its end.
    pub(super) fn run(mut self, pid: &OnceLock<u32>) -> Result<RunMetrics> {
        let began = Instant::now();
        let child = self.command.spawn().context("starting the agent")?;
        pid.get_or_init(|| child.id());
        let ended = Process::open(Pid::new(child.id()))?.reap_blocking()?;
        let wall = began.elapsed();
        let complaints = std::fs::read_to_string(&self.complaints).unwrap_or_default();
        ensure!(ended.how == How::Exited(0), "the agent failed: {:?}\n{complaints}", ended.how);
        Ok(RunMetrics { began, wall, cpu: ended.cpu_user + ended.cpu_system })
    }
}

/// `windlass agent`, with no low limit on the number of sub-agents.
fn windlass(around: &RowContext, home: &Path, model: &Model) -> Result<Command> {
    let program = around.place.program.with_file_name("windlass");
    ensure!(program.exists(), "{} is missing: build the workspace first", program.display());
    let settings = home.join(".config/windlass");
    std::fs::create_dir_all(&settings)?;
    let text = format!(
        "model = \"{MODEL}\"\nmodel_provider = \"{MODEL}\"\napproval_policy = \"never\"\n\
         [agents]\nmax_concurrent_threads_per_session = 1000\n\
         [model_providers.{MODEL}]\nname = \"{MODEL}\"\nbase_url = \"{}\"\nwire_api = \"responses\"\n\
         request_max_retries = 0\nstream_max_retries = 0\n",
        model.base_url()
    );
    std::fs::write(settings.join("config.toml"), text)?;
    let mut command = Command::new(program);
    // The root agent answers while its sub-agents work, and goes on as each of them ends.
    command
        .args(["agent", "--wait-background"])
        .env("HOME", home)
        .env("WINDLASS_STATE_DIR", home.join("store"));
    command.env("SHELL", "/bin/bash").env_remove("XDG_CONFIG_HOME");
    codex::cut_off(&mut command);
    Ok(command)
}
