//! Where a caller's path leads, as its caller would find it: from its own root, directory or open descriptor.

use crate::calls::Place;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{
    Access, AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, StatVfsMountFlags, accessat, fstat, fstatvfs,
    open, openat2, readlinkat, statat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use windlass_sys::lockdown::notice::{Notice, read_memory};

/// A path, and where it begins for the caller.
pub(super) struct Located {
    /// The caller's root, working directory or open descriptor, in the table of processes.
    base: String,
    rest: PathBuf,
}

/// Where a call's path begins.
pub(super) enum Found {
    Here(Located),
    /// Nowhere: the kernel will say so, too.
    Nothing,
    /// It could not be read.
    Hidden,
}

/// What a call is about could not be made out.
pub(super) struct Hidden;

/// What is at a path.
pub(super) enum Look {
    At(Seen),
    Nothing,
    /// It could not be followed as the caller would.
    Hidden,
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
/// The kernel follows no more links than this either.
const MOST_LINKS: usize = 40;

impl Located {
    pub(super) fn of(notice: &Notice, place: Place) -> Found {
        if let (0, Some(argument)) = (notice.arguments[place.path], place.directory) {
            // No path at all: it is about the descriptor itself.
            return Found::Here(Self::descriptor(notice, argument));
        }
        let text = match text_at(notice, notice.arguments[place.path]) {
            Text::Read(text) => text,
            Text::Invalid => return Found::Nothing,
            Text::Hidden => return Found::Hidden,
        };
        let descriptor = place.directory.map(|argument| notice.arguments[argument] as i32);
        let path = Path::new(OsStr::from_bytes(&text));
        Found::Here(match descriptor.filter(|descriptor| *descriptor != WORKING_DIRECTORY) {
            Some(descriptor) if !path.is_absolute() => {
                Self { base: format!("/proc/{}/fd/{descriptor}", notice.pid), rest: path.to_owned() }
            }
            _ => Self::from_working_directory(notice, path),
        })
    }

    pub(super) fn from_working_directory(notice: &Notice, path: &Path) -> Self {
        let pid = notice.pid.to_string();
        match path.is_absolute() {
            true => absolute(path, &pid),
            false => Self { base: format!("/proc/{pid}/cwd"), rest: path.to_owned() },
        }
    }

    pub(super) fn descriptor(notice: &Notice, argument: usize) -> Self {
        let (pid, descriptor) = (notice.pid, notice.arguments[argument] as i32);
        Self { base: format!("/proc/{pid}/fd/{descriptor}"), rest: PathBuf::new() }
    }

    /// What is there, a link at the end followed or not.
    pub(super) fn look(&self, follow: bool) -> Look {
        let links = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
        if self.rest.as_os_str().is_empty() {
            return Seen::of(open(self.base.as_str(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()));
        }
        match open(self.base.as_str(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
            Ok(base) => Seen::below(&base, &self.rest, links),
            Err(errno) => Look::without(errno),
        }
    }

    /// The directory and the name in it; nothing where there is no such directory.
    pub(super) fn entry(&self) -> Result<Option<Entry>, Hidden> {
        let (Some(name), Some(parent)) = (self.rest.file_name(), self.rest.parent()) else { return Ok(None) };
        let parent = Self { base: self.base.clone(), rest: parent.to_owned() };
        match parent.look(true) {
            Look::At(directory) => {
                Ok(directory.is_directory.then(|| Entry { directory, name: name.to_owned() }))
            }
            Look::Nothing => Ok(None),
            Look::Hidden => Err(Hidden),
        }
    }

    /// The same, but if there is a link of that name, where it leads in the end: a file is made there, not here.
    pub(super) fn last_entry(&self) -> Result<Option<Entry>, Hidden> {
        let mut found = self.entry()?;
        for _ in 0..MOST_LINKS {
            let Some(entry) = found else { return Ok(None) };
            let Ok(target) = readlinkat(&entry.directory.hold, &entry.name, Vec::new()) else {
                return Ok(Some(entry));
            };
            let target = entry.directory.path.join(OsStr::from_bytes(target.as_bytes()));
            let rest = target.strip_prefix("/").map_err(|_| Hidden)?.to_owned();
            found = Self { base: "/".to_owned(), rest }.entry()?;
        }
        Err(Hidden)
    }
}

/// What the caller means by itself is the caller, not whoever looks.
fn absolute(path: &Path, pid: &str) -> Located {
    const OWN: [(&str, &str); 6] = [
        ("/proc/self", ""),
        ("/proc/thread-self", ""),
        ("/dev/fd", "/fd"),
        ("/dev/stdin", "/fd/0"),
        ("/dev/stdout", "/fd/1"),
        ("/dev/stderr", "/fd/2"),
    ];
    for (prefix, own) in OWN {
        if let Ok(rest) = path.strip_prefix(prefix) {
            let mut base = format!("/proc/{pid}{own}");
            let mut names = rest.components();
            // The first names below lead through links that only the kernel can follow; those of the caller are meant.
            let through = match (own, rest.starts_with("fd")) {
                ("", true) => 2,
                ("" | "/fd", _) => 1,
                _ => 0,
            };
            for name in names.by_ref().take(through) {
                base = format!("{base}/{}", name.as_os_str().to_string_lossy());
            }
            return Located { base, rest: names.as_path().to_owned() };
        }
    }
    Located { base: format!("/proc/{pid}/root"), rest: path.strip_prefix("/").unwrap_or(path).to_owned() }
}

impl Look {
    /// Why nothing was found: because there is nothing, or because it cannot be seen.
    fn without(errno: Errno) -> Self {
        match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::BADF | Errno::NAMETOOLONG => Self::Nothing,
            _ => Self::Hidden,
        }
    }
}

impl Seen {
    /// From a place that is held, through ordinary links only: others would lead us where they would lead somebody else.
    fn below(base: &OwnedFd, rest: &Path, flags: OFlags) -> Look {
        let how = ResolveFlags::NO_MAGICLINKS;
        Self::of(openat2(base, rest, OFlags::PATH | OFlags::CLOEXEC | flags, Mode::empty(), how))
    }

    fn of(hold: Result<OwnedFd, Errno>) -> Look {
        let hold = match hold {
            Ok(hold) => hold,
            Err(errno) => return Look::without(errno),
        };
        let (Ok(about), Ok(path)) = (fstat(&hold), std::fs::read_link(own_link(&hold))) else {
            return Look::Hidden;
        };
        let kind = FileType::from_raw_mode(about.st_mode);
        let (is_directory, is_regular) = (kind == FileType::Directory, kind == FileType::RegularFile);
        Look::At(Self { hold, path, is_directory, is_regular })
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

/// A caller's text.
enum Text {
    Read(Vec<u8>),
    /// There is no memory there, and the kernel will say so.
    Invalid,
    /// There may be, and we cannot read it.
    Hidden,
}

/// A text that ends with a zero. Read page by page: what lies beyond the end may not be there to read.
fn text_at(notice: &Notice, address: u64) -> Text {
    const PAGE: u64 = 4096;
    let mut text = Vec::new();
    let mut at = address;
    while text.len() < LONGEST_PATH {
        let length = (PAGE - at % PAGE) as usize;
        let start = text.len();
        text.resize(start + length, 0);
        let read = match read_memory(notice.pid, at, &mut text[start..]) {
            Ok(0) | Err(Errno::FAULT) => return Text::Invalid,
            Ok(read) => read,
            Err(_) => return Text::Hidden,
        };
        text.truncate(start + read);
        if let Some(end) = text[start..].iter().position(|byte| *byte == 0) {
            text.truncate(start + end);
            return Text::Read(text);
        }
        at += read as u64;
    }
    // Longer than the kernel takes.
    Text::Invalid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_caller_means_by_itself_is_the_caller() {
        let check = |path: &str, base: &str, rest: &str| {
            let Located { base: found, rest: left } = absolute(Path::new(path), "7");
            assert_eq!((found.as_str(), left), (base, PathBuf::from(rest)), "{path}");
        };
        check("/etc/hosts", "/proc/7/root", "etc/hosts");
        check("/proc/self/cwd/x/y", "/proc/7/cwd", "x/y");
        check("/proc/self/fd/3/a/b", "/proc/7/fd/3", "a/b");
        check("/dev/fd/3/a", "/proc/7/fd/3", "a");
        check("/dev/stdout", "/proc/7/fd/1", "");
        check("/", "/proc/7/root", "");
    }
}
