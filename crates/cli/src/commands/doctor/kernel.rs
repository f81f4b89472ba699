//! The kernel: its version, and each of its features that finding, ending and watching processes depends on.

use std::time::Duration;

use windlass_sys::guardian::{self, wait_until_gone};
use windlass_sys::mark::RuntimeTag;
use windlass_sys::process::{Ended, How, Pid, Process};

use super::{Check, kernel_file};
use crate::commands::guardian::program;

/// From this version on, a child can be waited for by its pidfd.
const OLDEST: (u32, u32) = (5, 4);
/// From this version on, a child's surplus descriptors can be closed with one call.
const WHOLE: (u32, u32) = (5, 9);

pub(super) fn checks() -> Vec<Check> {
    vec![version(), pidfd(), marks(), subreaper(), guardian(), evidence(), visibility()]
}

fn version() -> Check {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let said = format!("Linux {release}");
    match parse(&release) {
        None => Check::note("kernel", format!("{said}, which is no version we can read")),
        Some(version) if version < OLDEST => {
            let (major, minor) = OLDEST;
            Check::problem("kernel", said, format!("windlass needs Linux {major}.{minor} or newer"))
        }
        Some(version) if version < WHOLE => {
            let (major, minor) = WHOLE;
            let said =
                format!("{said}; before {major}.{minor}, commands inherit descriptors that others left open");
            Check::note("kernel", said)
        }
        Some(_) => Check::ok("kernel", said),
    }
}

/// Major and minor number.
fn parse(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn pidfd() -> Check {
    match Process::open(Pid::of_this_process()) {
        Ok(own) if own.is_alive() => {
            Check::ok("pidfd", "processes can be held, waited for and signalled safely")
        }
        Ok(_) => Check::problem("pidfd", "a pidfd says that a living process is dead", "use another kernel"),
        Err(errno) => Check::problem(
            "pidfd",
            format!("processes cannot be held: {}", errno.kind()),
            "allow pidfd_open in the container's seccomp profile",
        ),
    }
}

fn marks() -> Check {
    if RuntimeTag::generate().can_mark() {
        return Check::ok("process marks", "everything a command starts can be found again");
    }
    Check::problem(
        "process marks",
        "the hard limit on file locks (RLIMIT_LOCKS) is too low to carry a mark, so a process that leaves its tree is lost",
        "start windlass where `ulimit -Hx` says unlimited",
    )
}

/// Tries to become one and undoes it, so that no process that a later check starts is reparented to this one.
fn subreaper() -> Check {
    let asked = rustix::process::set_child_subreaper(rustix::process::Pid::from_raw(1));
    let given_up = rustix::process::set_child_subreaper(None);
    match asked.and(given_up) {
        Ok(()) => Check::ok("subreaper", "orphaned processes of a command become children of windlass"),
        Err(errno) => Check::problem(
            "subreaper",
            format!("orphaned processes of a command do not become children of windlass: {}", errno.kind()),
            "allow prctl(PR_SET_CHILD_SUBREAPER) in the container's seccomp profile",
        ),
    }
}

/// Starts a guardian that has nothing to guard, and so exits at once.
fn guardian() -> Check {
    const NAME: &str = "guardian";
    const LIMIT: Duration = Duration::from_secs(30);
    let advice = "without it, what commands started lives on when windlass is killed";
    let started = match guardian::start(&program(RuntimeTag::generate().family()), None) {
        Ok(guardian) => guardian.release(),
        Err(errno) => return Check::problem(NAME, format!("cannot be started: {}", errno.kind()), advice),
    };
    wait_until_gone([&started], LIMIT);
    match started.reap() {
        Ok(Some(Ended { how: How::Exited(0), .. })) => {
            Check::ok(NAME, "what commands started ends even if windlass is killed")
        }
        ended => Check::problem(NAME, format!("does not do its work: {ended:?}"), advice),
    }
}

/// Whether the kernel shows what a silent program does. A command is tried: windlass hides its own processes from
/// others of the same user, so only root could inspect those.
fn evidence() -> Check {
    const NAME: &str = "kernel evidence";
    let Err(error) = system_call_of_a_command() else {
        return Check::ok(NAME, "the kernel says what a silent command waits for");
    };
    match kernel_file("/proc/sys/kernel/yama/ptrace_scope").as_deref() {
        Some("2" | "3") => {
            let said = "ptrace_scope hides what a silent command waits for";
            Check::note(NAME, said).advise("set kernel.yama.ptrace_scope to 1 or 0 to see it")
        }
        _ => Check::note(
            NAME,
            format!("the kernel does not say what a silent command waits for: {}", error.kind()),
        ),
    }
}

/// Starts a command that waits for input, and reads the system call in which it waits. Its first line of output shows
/// that the exec has happened: before, the process is hidden like windlass itself.
fn system_call_of_a_command() -> std::io::Result<String> {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "echo; read line"]).env_clear();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut String::new())?;
    }
    let call = std::fs::read_to_string(format!("/proc/{}/syscall", child.id()));
    // The pipe's end closes the command's input, and the command exits.
    drop(child.stdin.take());
    child.wait()?;
    call
}

/// Whether processes of other users are visible, such as those that a command starts through sudo.
fn visibility() -> Check {
    const NAME: &str = "process table";
    let mounts = kernel_file("/proc/self/mountinfo").unwrap_or_default();
    let is_proc = |line: &&str| line.split(' ').nth(4) == Some("/proc");
    let options = mounts.lines().rfind(is_proc).unwrap_or_default();
    let hidden = [
        "hidepid=1",
        "hidepid=2",
        "hidepid=4",
        "hidepid=noaccess",
        "hidepid=invisible",
        "hidepid=ptraceable",
    ];
    match hidden.iter().find(|option| options.contains(*option)) {
        Some(option) => Check::note(
            NAME,
            format!("/proc is mounted with {option}: what a command starts as another user cannot be found"),
        ),
        None => Check::ok(NAME, "/proc shows every process"),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_release_begins_with_its_version() {
        for (release, version) in [
            ("6.18.44-fc", Some((6, 18))),
            ("5.4", Some((5, 4))),
            ("5.10.0-8-amd64", Some((5, 10))),
            ("6-custom", None),
            ("", None),
        ] {
            assert_eq!(parse(release), version, "{release}");
        }
    }
}
