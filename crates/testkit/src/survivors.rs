//! Finds surviving processes: searches the process table for words in command lines and environments. It shares no code
//! with the product, so that it can contradict it.

use std::fs;

/// The name of the variable that tests put into a child's environment. It must not look like a secret's: Windlass
/// erases the values of those from its own environment, and tests could not find it any more.
pub const TOKEN_VARIABLE: &str = "WINDLASS_TEST_MARKER";

/// A word that no other test on this machine uses.
pub fn token(test: &str) -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{test}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Living processes that have the token in their command line or environment, as `pid command`. Zombies are not alive.
pub fn bearing(token: &str) -> Vec<String> {
    let me = std::process::id();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != me && is_alive(*pid)).filter_map(|pid| describe(pid, token)).collect()
}

/// Zombie children of this process.
pub fn zombies() -> Vec<u32> {
    zombies_of(std::process::id())
}

/// Children of a process that have ended and that it has not collected.
pub fn zombies_of(parent: u32) -> Vec<u32> {
    let parent = parent.to_string();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let fields = stat_fields(*pid);
        fields.first().is_some_and(|state| state == "Z") && fields.get(1) == Some(&parent)
    })
    .collect()
}

/// How many descriptors this process has open.
pub fn open_descriptors() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() - 1)
}

/// How many threads this process has.
pub fn threads() -> usize {
    fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

fn describe(pid: u32, token: &str) -> Option<String> {
    let (command, environment) = words(pid);
    let bears = contains(&command, token) || contains(&environment, token);
    bears.then(|| format!("{pid} {}", String::from_utf8_lossy(&command).replace('\0', " ")))
}

/// The command line and the environment. A process that is executing another program has none for a moment, or loses
/// them while they are read: they are read until they are the same twice. The kernel's own processes have neither, nor
/// a program.
fn words(pid: u32) -> (Vec<u8>, Vec<u8>) {
    let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let has_program = || fs::read_link(format!("/proc/{pid}/exe")).is_ok() && is_alive(pid);
    let mut before = Vec::new();
    for _ in 0..LONGEST_CHANGE {
        let (command, environment) = (read("cmdline"), read("environ"));
        let is_settled = !environment.is_empty() && environment == before;
        // A process that is executing another program can have none for a moment, too.
        if is_settled || !has_program() && !has_program() {
            return (command, environment);
        }
        before = environment;
        std::thread::yield_now();
    }
    (read("cmdline"), before)
}

/// How often a process is looked at that has no environment: it may be one that was started without.
const LONGEST_CHANGE: usize = 2_000;

fn contains(bytes: &[u8], token: &str) -> bool {
    bytes.windows(token.len()).any(|window| window == token.as_bytes())
}

fn is_alive(pid: u32) -> bool {
    stat_fields(pid).first().is_some_and(|state| state != "Z" && state != "X")
}

/// The fields after the name: state, parent, …
fn stat_fields(pid: u32) -> Vec<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map(|(_, fields)| fields).unwrap_or_default();
    fields.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_that_becomes_another_again_and_again_is_always_found() {
        let token = token("becoming");
        let script = "exec sh -c \"$SCRIPT\"";
        let mut becoming = Command::new("sh")
            .args(["-c", script])
            .env("SCRIPT", script)
            .env(TOKEN_VARIABLE, &token)
            .spawn()
            .expect("there is a shell");
        let missed = (0..300).filter(|_| bearing(&token).is_empty()).count();
        becoming.kill().expect("it runs");
        becoming.wait().expect("it was started here");
        assert_eq!(missed, 0);
    }
}
