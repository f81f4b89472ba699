//! Tests that hang: shortly before the test runner ends one, its process tree is printed, because afterwards the reason
//! for the hang is lost.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// The test runner ends a test after 240 s.
const SUSPICIOUS: Duration = Duration::from_secs(215);
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);
/// The kernel counts the time of starts in these.
const TICKS_PER_SECOND: u64 = 100;
/// The name of the process whose children are tests.
const RUNNER: &str = "cargo-nextest";

/// A thread that looks for hanging tests from time to time, until this is dropped.
pub(crate) struct Watch {
    _over: Sender<()>,
}

pub(crate) fn watch() -> Watch {
    let (over, is_over) = mpsc::channel();
    thread::spawn(move || {
        let mut shown = HashSet::new();
        while let Err(RecvTimeoutError::Timeout) = is_over.recv_timeout(BETWEEN_LOOKS) {
            let table = Table::now();
            for test in table.tests().filter(|test| test.age >= SUSPICIOUS) {
                if shown.insert(test.pid) {
                    eprintln!("\n== this test seems to hang; its processes:\n{}", table.picture(test.pid));
                }
            }
        }
    });
    Watch { _over: over }
}

/// A process as the kernel lists it.
struct Entry {
    pid: u32,
    parent: u32,
    name: String,
    state: String,
    age: Duration,
}

/// All processes there are.
struct Table(Vec<Entry>);

impl Table {
    fn now() -> Self {
        let uptime = fs::read_to_string("/proc/uptime").unwrap_or_default();
        let now: f64 = uptime.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
        let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
        let lines = numbers.filter_map(|number| fs::read_to_string(number.path().join("stat")).ok());
        Self(lines.filter_map(|line| entry(&line, Duration::from_secs_f64(now))).collect())
    }

    fn tests(&self) -> impl Iterator<Item = &Entry> {
        let is_runner = |pid| self.0.iter().any(|entry| entry.pid == pid && entry.name == RUNNER);
        self.0.iter().filter(move |entry| is_runner(entry.parent))
    }

    /// A process and all below it, each with what its threads do.
    fn picture(&self, root: u32) -> String {
        let mut text = String::new();
        let mut waiting = vec![(root, 0)];
        while let Some((pid, depth)) = waiting.pop() {
            waiting.extend(self.0.iter().filter(|one| one.parent == pid).map(|one| (one.pid, depth + 1)));
            if let Some(entry) = self.0.iter().find(|entry| entry.pid == pid) {
                entry.draw(depth, &mut text);
            }
        }
        text
    }
}

/// From a line whose second field is a name that may contain anything.
fn entry(line: &str, now: Duration) -> Option<Entry> {
    let (head, tail) = line.rsplit_once(") ")?;
    let (pid, name) = head.split_once(" (")?;
    let fields: Vec<&str> = tail.split_whitespace().collect();
    let ticks: u64 = fields.get(19)?.parse().ok()?;
    Some(Entry {
        pid: pid.parse().ok()?,
        parent: fields.get(1)?.parse().ok()?,
        name: name.to_owned(),
        state: (*fields.first()?).to_owned(),
        age: now.saturating_sub(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND)),
    })
}

impl Entry {
    fn draw(&self, depth: usize, text: &mut String) {
        let indent = "  ".repeat(depth);
        let words = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).replace(['\0', '\n'], " ");
        let words: String = words.chars().take(300).collect();
        let Self { pid, name, state, age, .. } = self;
        let _ = writeln!(text, "{indent}{pid} ({name}) {state}, {} s: {words}", age.as_secs());
        let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for thread in threads {
            let read = |what: &str| fs::read_to_string(thread.path().join(what)).unwrap_or_default();
            let stack: Vec<String> = read("stack").lines().take(6).map(function).collect();
            let (name, call) = (read("comm"), read("syscall"));
            let _ = writeln!(text, "{indent}  - {}: {} {}", name.trim(), call.trim(), stack.join(" < "));
        }
        if is_ours(*pid) {
            text.push_str(&backtraces(*pid));
        }
    }
}

/// Of `[<0>] do_epoll_wait+0x6a/0x90`, the function.
fn function(line: &str) -> String {
    let place = line.split_whitespace().last().unwrap_or_default();
    place.split('+').next().unwrap_or_default().to_owned()
}

/// Whether it is a program that was built here, which a debugger can say more about.
fn is_ours(pid: u32) -> bool {
    let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    program.components().any(|part| part.as_os_str() == "target") && Path::new("/usr/bin/gdb").exists()
}

fn backtraces(pid: u32) -> String {
    let mut command = Command::new("timeout");
    command.args(["10", "gdb", "-nx", "-batch", "-p", &pid.to_string(), "-ex", "thread apply all bt 30"]);
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    said.lines().filter(|line| line.starts_with(['#', 'T'])).fold(String::new(), |text, line| {
        let line: String = line.chars().take(200).collect();
        text + "      " + &line + "\n"
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn a_picture_shows_a_process_and_what_it_started() {
        let mut command = Command::new("sh");
        command
            .args(["-c", "exec 3<&0; cat <&3 & echo up; wait"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("sh starts");
        let mut said = [0; 3];
        child.stdout.as_mut().expect("piped").read_exact(&mut said).expect("it says that it is up");
        let picture = Table::now().picture(child.id());
        let lines: Vec<&str> = picture.lines().collect();
        assert!(lines[0].starts_with(&format!("{} (sh) ", child.id())), "{picture}");
        assert!(lines.iter().any(|line| line.starts_with("  ") && !line.contains(" - ")), "{picture}");
        drop(child.stdin.take());
        assert!(child.wait().expect("it ends").success());
    }

    #[test]
    fn a_line_of_the_kernel_is_read_though_the_name_is_strange() {
        let fields = "S 5 7 7 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 300 0 0";
        let entry = entry(&format!("7 (a) (b) {fields}"), Duration::from_secs(10)).expect("it can be read");
        assert_eq!((entry.pid, entry.parent, entry.name.as_str()), (7, 5, "a) (b"));
        assert_eq!(entry.age, Duration::from_secs(7));
    }
}
