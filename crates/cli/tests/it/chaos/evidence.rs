//! Saves the evidence of a round in which an invariant did not hold: its file systems and its processes end with its
//! namespaces.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::Round;

/// Saves the evidence of a round that panics.
pub(super) struct Evidence<'a>(&'a Round);

impl<'a> Evidence<'a> {
    pub(super) fn of(round: &'a Round) -> Self {
        Self(round)
    }
}

impl Drop for Evidence<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let Round { seed, faults, .. } = self.0;
        let kept = std::env::temp_dir().join(format!("windlass-chaos-{seed}-{}", super::wall_clock()));
        eprintln!("chaos: a violation with seed {seed}; `cargo xtask chaos --seed {seed}` repeats the round");
        match keep(self.0, &kept) {
            Ok(()) => {
                eprintln!("chaos: state, claims, output and processes of the round: {}", kept.display());
            }
            Err(error) => eprintln!("chaos: the round cannot be kept in {}: {error}", kept.display()),
        }
        eprintln!("chaos: faults: {faults:?}");
    }
}

/// Copies the files of a round, and records its processes.
fn keep(round: &Round, kept: &Path) -> std::io::Result<()> {
    fs::create_dir(kept)?;
    fs::write(kept.join("processes"), processes())?;
    for name in ["state", "claims", "printed", "servers"] {
        let copied = Command::new("cp").arg("-a").arg(round.path(name)).arg(kept).status()?;
        if !copied.success() {
            eprintln!("chaos: {name} is not complete: {copied}");
        }
    }
    Ok(())
}

/// Pid, parent, state, the limit that holds the mark, and command line of every process of the round.
fn processes() -> String {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let numbered = entries.filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()))
    });
    numbered.map(|path| describe(&path)).collect()
}

fn describe(process: &Path) -> String {
    let read = |name: &str| fs::read_to_string(process.join(name)).unwrap_or_default();
    let (status, limits) = (read("status"), read("limits"));
    let fields =
        status.lines().filter(|line| ["Pid:", "PPid:", "State:"].iter().any(|it| line.starts_with(it)));
    let mark = limits.lines().find(|line| line.starts_with("Max file locks")).unwrap_or_default();
    let fields: Vec<&str> = fields.collect();
    format!("{} | {mark} | {}\n", fields.join(" "), read("cmdline").replace('\0', " "))
}
