//! The resources that sessions use: terminals, descriptors, and disk space for journals.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, StatVfs, StatVfsMountFlags};
use rustix::process::{Resource, getrlimit};
use windlass_sys::pty::{self, Size};

use super::{Check, kernel_file};
use crate::config::{Config, below_home};
use crate::report;

/// The most descriptors of one session: three pipes or both ends of a terminal, its process, its journal.
const DESCRIPTORS_PER_SESSION: u64 = 5;
/// The descriptors that windlass uses besides.
const DESCRIPTORS_ALWAYS: u64 = 32;
/// Fewer concurrent sessions than this are few for an agent with sub-agents.
const FEW_SESSIONS: u64 = 100;
/// The space that one session's journal may take.
const LITTLE_SPACE: u64 = 256 << 20;
/// With less space, not even the beginning of a journal can be written.
const NO_SPACE: u64 = 1 << 20;

pub(super) fn checks(config: &Config) -> Vec<Check> {
    vec![terminals(), open_files(), state_directory(config)]
}

fn terminals() -> Check {
    const NAME: &str = "terminals";
    if let Err(errno) = pty::open(Size::default()) {
        return Check::problem(
            NAME,
            format!("no terminal can be opened: {}", errno.kind()),
            "mount devpts on /dev/pts, or end programs that hold terminals; --tty fails until then",
        );
    }
    let number = |name: &str| kernel_file(&format!("/proc/sys/kernel/pty/{name}"))?.parse::<u64>().ok();
    match (number("nr"), number("max")) {
        (Some(used), Some(most)) if used.saturating_mul(5) > most.saturating_mul(4) => {
            let said = format!("{used} of {most} terminals are in use");
            Check::note(NAME, said).advise("raise kernel.pty.max, or end programs that hold some")
        }
        (Some(used), Some(most)) => Check::ok(NAME, format!("{used} of {most} in use")),
        _ => Check::ok(NAME, "one can be opened; how many more is not said"),
    }
}

fn open_files() -> Check {
    const NAME: &str = "open files";
    // Windlass raises its own soft limit as far as the hard one allows.
    let Some(most) = getrlimit(Resource::Nofile).maximum else {
        return Check::ok(NAME, "as many as there is memory for");
    };
    let sessions = most.saturating_sub(DESCRIPTORS_ALWAYS) / DESCRIPTORS_PER_SESSION;
    if sessions == 0 {
        let said = format!("at most {most}, which is not enough for a session");
        return Check::problem(NAME, said, "raise the hard limit, `ulimit -Hn`");
    }
    let said = format!(
        "at most {most}, enough for about {} at a time",
        report::plural(usize::try_from(sessions).unwrap_or(usize::MAX), "session")
    );
    if sessions < FEW_SESSIONS {
        return Check::note(NAME, said).advise("raise the hard limit, `ulimit -Hn`");
    }
    Check::ok(NAME, said)
}

fn state_directory(config: &Config) -> Check {
    const NAME: &str = "state directory";
    const ADVICE: &str = "set WINDLASS_STATE_DIR to a directory that can be written";
    let Some(directory) = &config.state_directory else {
        return Check::problem(NAME, "there is none: neither HOME nor WINDLASS_STATE_DIR is set", ADVICE);
    };
    let shown = below_home(directory, &config.environment);
    if let Err(error) = writable(directory) {
        return Check::problem(NAME, format!("{shown} cannot be written: {error}"), ADVICE);
    }
    let place = existing(directory);
    let Ok(space) = rustix::fs::statvfs(&place) else {
        return Check::note(NAME, format!("{shown} can be written; how much room it has is not said"));
    };
    judge_space(&space, &format!("{shown} on {}", file_system(&place)))
}

fn judge_space(space: &StatVfs, place: &str) -> Check {
    const NAME: &str = "state directory";
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    let said = format!("{place}, {} free", report::bytes(free));
    if space.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Check::problem(
            NAME,
            format!("{place} is read-only"),
            "set WINDLASS_STATE_DIR to another place",
        );
    }
    match free {
        0..NO_SPACE => Check::problem(NAME, said, "make room, or set WINDLASS_STATE_DIR to another place"),
        NO_SPACE..LITTLE_SPACE => {
            Check::note(NAME, said).advise("a single session may keep 256 MiB; make room")
        }
        _ => Check::ok(NAME, said),
    }
}

/// Tries to write if the directory exists; otherwise checks whether it could be created, without creating it.
fn writable(directory: &Path) -> std::io::Result<()> {
    let place = existing(directory);
    if !place.is_dir() {
        return Err(std::io::Error::other(format!("{} is not a directory", place.display())));
    }
    if place != directory {
        return Ok(rustix::fs::access(&place, Access::WRITE_OK | Access::EXEC_OK)?);
    }
    let probe = directory.join(format!(".doctor-{}", std::process::id()));
    OpenOptions::new().write(true).create_new(true).open(&probe)?;
    std::fs::remove_file(&probe)
}

/// The directory itself, or its nearest ancestor that exists.
fn existing(directory: &Path) -> PathBuf {
    let found = directory.ancestors().find(|path| path.symlink_metadata().is_ok());
    found.filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}

/// The kind of a file system, by its number in the kernel.
fn file_system(place: &Path) -> String {
    const KINDS: &[(u64, &str)] = &[
        (0xef53, "ext4"),
        (0x9123_683e, "btrfs"),
        (0x5846_5342, "xfs"),
        (0xf2f5_2010, "f2fs"),
        (0x2fc1_2fc1, "zfs"),
        (0xca45_1a4e, "bcachefs"),
        (0x794c_7630, "overlayfs"),
        (0x0102_1994, "tmpfs, which forgets everything at a restart"),
        (0x6969, "NFS, which is slow for journals"),
        (0xff53_4d42, "CIFS, which is slow for journals"),
        (0x0102_1997, "9p"),
        (0x6573_5546, "a FUSE file system"),
    ];
    let Ok(found) = rustix::fs::statfs(place) else { return "an unknown file system".to_owned() };
    // The field is signed on some machines; only its low 32 bits matter.
    let number = found.f_type as u64 & 0xffff_ffff;
    let kind = KINDS.iter().find(|(kind, _)| *kind == number).map(|(_, name)| (*name).to_owned());
    kind.unwrap_or_else(|| format!("a file system of kind {number:#x}"))
}
