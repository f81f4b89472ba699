//! The user's shell, which runs scripts, and the time that a login shell takes to set up its environment.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use windlass_sys::guardian::wait_until_gone;
use windlass_sys::process::{Pid, Process};
use windlass_sys::signal::Signal;

use super::Check;
use crate::config::{Config, is_executable};
use crate::report;

/// How long to wait for a login shell.
const LIMIT: Duration = Duration::from_secs(3);
/// From this duration on, people notice it.
const SLOW: Duration = Duration::from_millis(500);

pub(super) fn checks(config: &Config) -> Vec<Check> {
    let shown = Path::new(&config.shell).display();
    match find(config) {
        Some(shell) => {
            vec![Check::ok("shell", format!("{} runs scripts", shell.display())), login(&shell)]
        }
        None => vec![Check::problem(
            "shell",
            format!("{shown} is not there or cannot be executed, so scripts cannot be run"),
            "set SHELL to the path of a shell",
        )],
    }
}

fn find(config: &Config) -> Option<PathBuf> {
    let shell = Path::new(&config.shell);
    if shell.is_absolute() {
        return is_executable(shell).then(|| shell.to_owned());
    }
    config.find_program(shell.to_str()?)
}

fn login(shell: &Path) -> Check {
    const NAME: &str = "login environment";
    let began = Instant::now();
    let ended = match run_login(shell) {
        Ok(ended) => ended,
        Err(error) => return Check::note(NAME, format!("{} cannot be started: {error}", shell.display())),
    };
    let time = report::seconds(began.elapsed());
    match ended {
        None => {
            let said = format!("a login shell was not up within {}", report::seconds(LIMIT));
            Check::note(NAME, said).advise("look for what waits in the shell's start files")
        }
        Some(status) if !status.success() => {
            Check::note(NAME, format!("a login shell failed ({status}) after {time}"))
        }
        Some(_) if began.elapsed() > SLOW => {
            let said = format!("a login shell takes {time} to start");
            Check::note(NAME, said).advise("look for what is slow in the shell's start files")
        }
        Some(_) => Check::ok(NAME, format!("a login shell takes {time} to start")),
    }
}

/// Starts a login shell that does nothing and waits for its end; one that takes too long is ended together with its
/// group, and the result is `None`.
fn run_login(shell: &Path) -> std::io::Result<Option<ExitStatus>> {
    let mut command = Command::new(shell);
    command.args(["-l", "-c", "exit 0"]).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let held = Process::open(Pid::new(child.id()))?;
    wait_until_gone(std::slice::from_ref(&held), LIMIT);
    let late = held.is_alive();
    if late {
        // The shell leads its own group and is not reaped yet, so the group's number cannot have been reused.
        let _ = held.signal_group(Signal::KILL);
    }
    let status = child.wait()?;
    Ok((!late).then_some(status))
}
