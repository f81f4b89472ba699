//! The fixtures that all tests share: a state directory, the program, and trees that try to escape.

use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;
use windlass_sys::guardian::wait_until_gone;
use windlass_sys::process::{Pid, Process};
use windlass_sys::signal::Signal;
use windlass_testkit::{HANG, Scratch, survivors};

/// The program under test.
pub(crate) const WINDLASS: &str = env!("CARGO_BIN_EXE_windlass");

/// A state directory, removed with the test.
pub(crate) struct Home {
    scratch: Scratch,
}

/// The output and exit code of a finished windlass.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Seen {
    /// Runs a command that is, or becomes, windlass to its end.
    pub(crate) fn of(windlass: &mut Command) -> Self {
        let output = windlass.output().expect("windlass starts");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let code = output.status.code().expect("windlass exits by itself");
        Self { code, stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// The JSON that it printed.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}

impl Home {
    pub(crate) fn new(name: &str) -> Self {
        Self { scratch: Scratch::new(&format!("cli-{name}")) }
    }

    pub(crate) fn path(&self) -> &Path {
        self.scratch.path()
    }

    /// Writes a file with a secret that only its owner can read.
    pub(crate) fn secret(&self, name: &str, text: &str) -> String {
        let path = self.path().join(name);
        std::fs::write(&path, text).expect("a file");
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("a mode");
        path.into_os_string().into_string().expect("UTF-8")
    }

    /// A command for windlass with empty input, not yet started.
    pub(crate) fn windlass(&self, words: &[&str]) -> Command {
        let mut command = Command::new(WINDLASS);
        command.args(words).stdin(Stdio::null());
        command.env("WINDLASS_STATE_DIR", self.path()).env("SHELL", "/bin/sh").env_remove("NO_COLOR");
        command
    }

    /// The same for an ordinary user, who owns this directory from now on, also if root runs the tests: root can read
    /// every file and every process.
    pub(crate) fn ordinary(&self, words: &[&str]) -> Command {
        let windlass = self.windlass(words);
        if !rustix::process::geteuid().is_root() {
            return windlass;
        }
        let owned = Command::new("chown").args(["-R", "65534:65534"]).arg(self.path()).status();
        assert!(owned.expect("chown runs").success());
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", WINDLASS]).args(words);
        command.envs(windlass.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env_remove("NO_COLOR").current_dir(self.path()).stdin(Stdio::null());
        command
    }

    /// Runs windlass to its end.
    pub(crate) fn seen(&self, words: &[&str]) -> Seen {
        Seen::of(&mut self.windlass(words))
    }

    /// The JSON that windlass prints.
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        self.seen(words).json()
    }

    /// Starts windlass with its output in a pipe to the test.
    pub(crate) fn start(&self, words: &[&str]) -> Running {
        Running::of(&mut self.windlass(words))
    }
}

/// An ordinary user that every system has.
pub(crate) const NOBODY: u32 = 65534;

/// The same command as an ordinary user, if root runs the tests; otherwise the tests have an ordinary user anyway.
pub(crate) fn as_ordinary(command: &Command) -> Command {
    let mut other = Command::new("setpriv");
    if rustix::process::geteuid().is_root() {
        other.args([&format!("--reuid={NOBODY}"), &format!("--regid={NOBODY}"), "--clear-groups"]);
    }
    other.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => other.env(name, value),
            None => other.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        other.current_dir(directory);
    }
    other
}

/// Gives files to that user, if root runs the tests.
pub(crate) fn give_to_ordinary(path: &Path) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    std::os::unix::fs::lchown(path, Some(NOBODY), Some(NOBODY)).expect("root may give files away");
    if path.is_dir() && !path.is_symlink() {
        let entries = std::fs::read_dir(path).expect("it can be listed").flatten();
        entries.for_each(|entry| give_to_ordinary(&entry.path()));
    }
}

/// A running windlass.
pub(crate) struct Running {
    pub(crate) child: Child,
    lines: BufReader<ChildStdout>,
}

impl Running {
    /// Starts a command that is, or becomes, windlass.
    pub(crate) fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("windlass starts");
        let lines = BufReader::new(child.stdout.take().expect("its output is piped"));
        Self { child, lines }
    }

    /// Reads until a line that contains this.
    pub(crate) fn printed(&mut self, text: &str) {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            let count = self.lines.read_line(&mut line).expect("its output can be read");
            assert!(count > 0, "the output ended before {text:?}");
        }
    }

    /// Reads the next line.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("its output can be read");
        line
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let process = Process::open(Pid::new(self.child.id())).expect("windlass is there");
        process.signal(signal).expect("windlass can be signalled");
    }

    /// Waits for its end; returns its code, or `None` if a signal ended it.
    pub(crate) fn exit_code(mut self) -> Option<i32> {
        self.child.wait().expect("windlass can be waited for").code()
    }
}

/// A script whose children try all ways to escape. Each reports its start, all have the token in their command line,
/// and they ignore the signals in `deaf`.
pub(crate) fn escapees(token: &str, deaf: &str) -> String {
    let stray = |way: &str| format!("'{WINDLASS}' demo-stray {token}-{way}");
    format!(
        "trap '' {deaf}; setsid {} & (setsid {} &) ; env -i setsid {} & {} & (env -i setsid sh -c \"{} & wait\" &) ; wait; wait",
        stray("session"),
        stray("fork"),
        stray("environment"),
        stray("child"),
        stray("grandchild"),
    )
}

/// The ways to escape in [`escapees`].
pub(crate) const WAYS: [&str; 5] = ["session", "fork", "environment", "child", "grandchild"];

/// Waits until all of them run, and opens their processes.
pub(crate) fn hold_escapees(running: &mut Running, token: &str) -> Vec<Process> {
    // They start in any order, and each line is read once.
    for _ in WAYS {
        running.printed("is up");
    }
    let found = survivors::bearing(token);
    for way in WAYS {
        assert!(
            found.iter().any(|line| line.contains(&format!("{token}-{way}"))),
            "{way} is not in {found:?}"
        );
    }
    held(&found)
}

/// Opens the processes in these lines; those that have exited are left out.
pub(crate) fn held(lines: &[String]) -> Vec<Process> {
    let pids = lines.iter().filter_map(|line| line.split(' ').next()?.parse().ok());
    pids.filter_map(|pid| Process::open(Pid::new(pid)).ok()).collect()
}

/// A process that outlives its windlass and must not outlive its test.
pub(crate) struct Doomed(Process);

impl Doomed {
    /// Opens the process with this number.
    pub(crate) fn hold(pid: &Value) -> Self {
        let pid = pid.as_u64().and_then(|pid| u32::try_from(pid).ok()).expect("the number of a process");
        Self(Process::open(Pid::new(pid)).expect("the process is there"))
    }

    pub(crate) fn process(&self) -> &Process {
        &self.0
    }

    /// Kills it now.
    pub(crate) fn end(&self) {
        self.0.signal(Signal::KILL).expect("it can be ended");
        wait_until_gone(std::slice::from_ref(&self.0), HANG);
    }
}

impl Drop for Doomed {
    fn drop(&mut self) {
        // An error means that it has exited.
        let _ = self.0.signal(Signal::KILL);
    }
}

/// Waits for their deaths, and checks that no other process has the token.
pub(crate) fn nothing_survives(held: &[Process], token: &str) {
    wait_until_gone(held, HANG);
    assert_eq!(survivors::bearing(token), Vec::<String>::new());
}
