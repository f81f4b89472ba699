//! Where a caller's path leads, as its caller would find it: from its own root, directory or open descriptor.

use crate::calls::Place;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{
    Access, AtFlags, CWD, FileType, Mode, OFlags, StatVfsMountFlags, accessat, fstat, fstatvfs, open, statat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use windlass_sys::lockdown::notice::{Notice, read_memory};

/// A path that begins where the caller's does.
pub(super) struct Located {
    path: PathBuf,
}

/// Something that is there.
pub(super) struct Seen {
    hold: OwnedFd,
    pub(super) path: PathBuf,
    pub(super) is_directory: bool,
    pub(super) is_regular: bool,
}

/// A name in a directory, whether or not there is something of that name.
pub(super) struct Entry {
    pub(super) directory: Seen,
    pub(super) name: OsString,
}

/// `AT_FDCWD` as it stands in a register.
const WORKING_DIRECTORY: i32 = -100;
const LONGEST_PATH: usize = 4096;

impl Located {
    pub(super) fn of(notice: &Notice, place: Place) -> Option<Self> {
        if let (0, Some(argument)) = (notice.arguments[place.path], place.directory) {
            // No path at all: it is about the descriptor itself.
            return Some(Self::descriptor(notice, argument));
        }
        let text = text_at(notice, notice.arguments[place.path])?;
        let pid = notice.pid;
        let descriptor = place.directory.map(|argument| notice.arguments[argument] as i32);
        let relative = Path::new(OsStr::from_bytes(&text));
        let mut path = match (relative.is_absolute(), descriptor) {
            (true, _) => return Some(Self { path: absolute(relative, &pid.to_string()) }),
            (false, None | Some(WORKING_DIRECTORY)) => PathBuf::from(format!("/proc/{pid}/cwd")),
            (false, Some(descriptor)) => PathBuf::from(format!("/proc/{pid}/fd/{descriptor}")),
        };
        if !text.is_empty() {
            path.push(relative);
        }
        Some(Self { path })
    }

    pub(super) fn from_working_directory(notice: &Notice, path: &Path) -> Self {
        let pid = notice.pid;
        match path.is_absolute() {
            true => Self { path: absolute(path, &pid.to_string()) },
            false => Self { path: Path::new(&format!("/proc/{pid}/cwd")).join(path) },
        }
    }

    pub(super) fn descriptor(notice: &Notice, argument: usize) -> Self {
        let (pid, descriptor) = (notice.pid, notice.arguments[argument] as i32);
        Self { path: PathBuf::from(format!("/proc/{pid}/fd/{descriptor}")) }
    }

    /// What is there, a link at the end followed or not.
    pub(super) fn look(&self, follow: bool) -> Option<Seen> {
        let links = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
        Seen::at(&self.path, links)
    }

    /// The directory and the name in it.
    pub(super) fn entry(&self) -> Option<Entry> {
        let name = self.path.file_name()?.to_owned();
        Some(Entry { directory: Seen::at(self.path.parent()?, OFlags::DIRECTORY)?, name })
    }
}

/// What the caller means by `/proc/self` is itself, not whoever looks.
fn absolute(path: &Path, pid: &str) -> PathBuf {
    let own = path.strip_prefix("/proc/self").or_else(|_| path.strip_prefix("/proc/thread-self"));
    match own {
        Ok(rest) => Path::new("/proc").join(pid).join(rest),
        Err(_) => {
            let root = PathBuf::from(format!("/proc/{pid}/root"));
            root.join(path.strip_prefix("/").unwrap_or(path))
        }
    }
}

impl Seen {
    fn at(path: &Path, flags: OFlags) -> Option<Self> {
        let hold = open(path, OFlags::PATH | OFlags::CLOEXEC | flags, Mode::empty()).ok()?;
        let kind = FileType::from_raw_mode(fstat(&hold).ok()?.st_mode);
        let path = std::fs::read_link(own_link(&hold)).ok()?;
        let (is_directory, is_regular) = (kind == FileType::Directory, kind == FileType::RegularFile);
        Some(Self { hold, path, is_directory, is_regular })
    }

    /// The kernel's own word on whether anything here can be changed.
    pub(super) fn is_on_read_only_mount(&self) -> bool {
        fstatvfs(&self.hold).is_ok_and(|mount| mount.f_flag.contains(StatVfsMountFlags::RDONLY))
    }

    /// Whether its owner lets us write: the kernel asks that first, and says afterwards that the place is read-only.
    pub(super) fn owner_lets_write(&self) -> bool {
        let answer = accessat(CWD, own_link(&self.hold), Access::WRITE_OK, AtFlags::empty());
        matches!(answer, Ok(()) | Err(Errno::ROFS))
    }
}

impl Entry {
    pub(super) fn path(&self) -> PathBuf {
        self.directory.path.join(&self.name)
    }

    pub(super) fn exists(&self) -> bool {
        statat(&self.directory.hold, &self.name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }
}

fn own_link(hold: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", hold.as_raw_fd())
}

/// A text that ends with a zero. Read page by page: what lies beyond the end may not be there to read.
fn text_at(notice: &Notice, address: u64) -> Option<Vec<u8>> {
    const PAGE: u64 = 4096;
    let mut text = Vec::new();
    let mut at = address;
    while text.len() < LONGEST_PATH {
        let length = usize::try_from(PAGE - at % PAGE).ok()?;
        let start = text.len();
        text.resize(start + length, 0);
        let read = read_memory(notice.pid, at, &mut text[start..]).ok()?;
        text.truncate(start + read);
        if let Some(end) = text[start..].iter().position(|byte| *byte == 0) {
            text.truncate(start + end);
            return Some(text);
        }
        if read == 0 {
            return None;
        }
        at += read as u64;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callers_own_entries_in_the_table_of_processes_stay_its_own() {
        let check = |path: &str, expected: &str| {
            assert_eq!(absolute(Path::new(path), "7"), PathBuf::from(expected), "{path}");
        };
        check("/etc/hosts", "/proc/7/root/etc/hosts");
        check("/proc/self/cwd/x", "/proc/7/cwd/x");
        check("/proc/thread-self/fd/3", "/proc/7/fd/3");
        check("/", "/proc/7/root");
    }
}
