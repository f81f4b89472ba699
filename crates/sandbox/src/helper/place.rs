//! Resolves a caller's path as the caller would: from its own root, directory or open descriptor.
//!
//! The found object is held, so that the judged object is the one that is used, even if the path changes meanwhile.

use super::memory::{Missing, path_at};
use super::process_links;
use crate::calls::PathArgument;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{
    Access, AtFlags, CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags, Stat, StatVfsMountFlags,
    Timespec, Timestamps, accessat, fstat, fstatfs, fstatvfs, open, openat2, readlinkat, statat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use windlass_sys::lockdown::notice::Notice;
use windlass_sys::process::Pid;

/// A path, and the point where it begins for the caller.
#[derive(Debug)]
pub(super) struct Located {
    /// The caller's root, working directory or open descriptor, as a path in `/proc`.
    base: String,
    /// The path as it was given; empty: the base itself is meant.
    rest: OsString,
    /// The caller, to which `/proc/self` on the way refers.
    caller: Pid,
}

/// An object that exists.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    hold: Rc<OwnedFd>,
    pub(super) path: PathBuf,
    pub(super) about: Stat,
}

/// A name in a directory, whether or not the name exists.
#[derive(Clone, Debug)]
pub(super) struct NamedEntry {
    pub(super) directory: Seen,
    pub(super) name: OsString,
    /// The name as the caller gave it, perhaps with a slash at its end, which changes the kernel's errors.
    pub(super) given: OsString,
}

/// The end of a path that is opened.
#[derive(Debug)]
pub(super) enum End {
    /// At a name in a directory.
    Name(NamedEntry),
    /// A descriptor that is open already, without a name.
    Open(Seen),
}

/// `AT_FDCWD` as it stands in a register.
const WORKING_DIRECTORY: i32 = -100;
/// The kernel follows no more links than this either.
pub(super) const MOST_LINKS: usize = 40;

impl Located {
    pub(super) fn of(notice: &Notice, place: PathArgument) -> Result<Self, Missing> {
        if let (0, Some(argument)) = (notice.arguments[place.path], place.directory) {
            // No path at all: it is about the descriptor itself.
            return Ok(Self::descriptor(notice, argument));
        }
        let text = path_at(notice, notice.arguments[place.path])?;
        if text.is_empty() {
            return Err(Errno::NOENT.into());
        }
        let descriptor = place.directory.map(|argument| notice.arguments[argument] as i32);
        let path = Path::new(OsStr::from_bytes(&text));
        Ok(match descriptor.filter(|descriptor| *descriptor != WORKING_DIRECTORY) {
            Some(descriptor) if !path.is_absolute() => {
                let base = format!("/proc/{}/fd/{descriptor}", notice.pid);
                Self { base, rest: path.into(), caller: notice.pid }
            }
            _ => Self::from_working_directory(notice, path),
        })
    }

    pub(super) fn from_working_directory(notice: &Notice, path: &Path) -> Self {
        let caller = notice.pid;
        match path.is_absolute() {
            true => absolute(path, caller),
            false => Self { base: format!("/proc/{caller}/cwd"), rest: path.into(), caller },
        }
    }

    pub(super) fn descriptor(notice: &Notice, argument: usize) -> Self {
        let base = match (notice.pid, notice.arguments[argument] as i32) {
            (pid, WORKING_DIRECTORY) => format!("/proc/{pid}/cwd"),
            (pid, descriptor) => format!("/proc/{pid}/fd/{descriptor}"),
        };
        Self { base, rest: OsString::new(), caller: notice.pid }
    }

    /// Whether nothing but the base is meant: an open descriptor.
    pub(super) fn is_base(&self) -> bool {
        self.rest.is_empty()
    }

    /// The object at the path, a link at the end followed or not.
    pub(super) fn look(&self, follow: bool) -> Result<Seen, Missing> {
        let base = self.open_base()?;
        if self.is_base() {
            return Seen::of(base);
        }
        let links = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
        self.below(&base, &self.rest, links)
    }

    /// Looks a path up as the caller would find it: the kernel resolves `/proc/self` to the supervisor.
    fn below(&self, base: &OwnedFd, rest: &OsStr, flags: OFlags) -> Result<Seen, Missing> {
        let found = Seen::below(base, rest, flags);
        let is_ours = match &found {
            Ok(seen) => process_links::is_about_us(seen),
            Err(_) => process_links::names_itself(Path::new(rest)),
        };
        if is_ours { process_links::walk(base, Path::new(rest), flags, self.caller) } else { found }
    }

    fn open_base(&self) -> Result<OwnedFd, Missing> {
        open(self.base.as_str(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(|errno| match errno {
            // The caller has no descriptor of that number.
            Errno::NOENT => Missing::Fails(Errno::BADF),
            errno => missing(errno),
        })
    }

    /// The directory and the name in it.
    pub(super) fn entry(&self) -> Result<NamedEntry, Missing> {
        let (parent, given) = split(self.rest.as_bytes());
        let base = self.open_base()?;
        let directory = if parent.is_empty() {
            Seen::of(base)?
        } else {
            self.below(&base, OsStr::from_bytes(parent), OFlags::DIRECTORY)?
        };
        if !directory.is_directory() {
            return Err(Errno::NOTDIR.into());
        }
        let end = given.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
        let (name, given) = (OsStr::from_bytes(&given[..end]), OsStr::from_bytes(given));
        Ok(NamedEntry { directory, name: name.to_owned(), given: given.to_owned() })
    }

    /// The end of a path that is opened: a link of that name is followed, because the file is created where the link
    /// leads.
    pub(super) fn end(&self, follow: bool) -> Result<End, Missing> {
        if self.is_base() {
            return self.look(true).map(End::Open);
        }
        let mut entry = self.entry()?;
        for _ in 0..MOST_LINKS {
            let Some(target) = entry.link_target().filter(|_| follow) else { return Ok(End::Name(entry)) };
            entry.check_link()?;
            let target = process_links::target(&entry.directory, &entry.name, self.caller).unwrap_or(target);
            let next = match Path::new(&target).is_absolute() {
                true => absolute(Path::new(&target), self.caller),
                false => Self { base: own_link(&entry.directory.hold), rest: target, caller: self.caller },
            };
            if next.is_base() {
                return next.look(true).map(End::Open);
            }
            entry = next.entry()?;
        }
        Err(Errno::LOOP.into())
    }
}

/// The directories of a path and its last name, both as they were given.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    let start = path[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    path.split_at(start)
}

/// Replaces names by which the caller means itself by the caller's number: the kernel would resolve them to the
/// supervisor.
fn absolute(path: &Path, caller: Pid) -> Located {
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
            let mut base = format!("/proc/{caller}{own}");
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
            return Located { base, rest: names.as_path().into(), caller };
        }
    }
    let bytes = path.as_os_str().as_bytes();
    let rest = match bytes.iter().position(|byte| *byte != b'/') {
        Some(start) => OsStr::from_bytes(&bytes[start..]),
        None => OsStr::new("."),
    };
    Located { base: format!("/proc/{caller}/root"), rest: rest.to_owned(), caller }
}

/// The error where a path led nowhere: because there is nothing, or because it cannot be seen.
fn missing(errno: Errno) -> Missing {
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::BADF | Errno::NAMETOOLONG => {
            Missing::Fails(errno)
        }
        _ => Missing::Hidden,
    }
}

impl Seen {
    /// Looks a path up below an open directory, through ordinary links only: the magic links of `/proc` would lead the
    /// supervisor elsewhere than the caller.
    pub(super) fn below(base: &OwnedFd, rest: &OsStr, flags: OFlags) -> Result<Self, Missing> {
        let how = ResolveFlags::NO_MAGICLINKS;
        let hold = openat2(base, rest, OFlags::PATH | OFlags::CLOEXEC | flags, Mode::empty(), how);
        Self::of(hold.map_err(missing)?)
    }

    pub(super) fn of(hold: OwnedFd) -> Result<Self, Missing> {
        let (Ok(about), Ok(path)) = (fstat(&hold), std::fs::read_link(own_link(&hold))) else {
            return Err(Missing::Hidden);
        };
        Ok(Self { hold: Rc::new(hold), path, about })
    }

    /// The same object at its present path.
    pub(super) fn again(&self) -> Option<Self> {
        let (about, path) = (fstat(&self.hold).ok()?, std::fs::read_link(self.link()).ok()?);
        Some(Self { hold: Rc::clone(&self.hold), path, about })
    }

    pub(super) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.about.st_mode)
    }

    pub(super) fn is_directory(&self) -> bool {
        self.kind() == FileType::Directory
    }

    pub(super) fn is_regular(&self) -> bool {
        self.kind() == FileType::RegularFile
    }

    pub(super) fn is_fifo(&self) -> bool {
        self.kind() == FileType::Fifo
    }

    /// Whether the kernel reports its mount as read-only.
    pub(super) fn is_on_read_only_mount(&self) -> bool {
        fstatvfs(&self.hold).is_ok_and(|mount| mount.f_flag.contains(StatVfsMountFlags::RDONLY))
    }

    /// Whether it is in `/proc`, where the kernel checks which process opens a file and not only its mode.
    pub(super) fn is_of_processes(&self) -> bool {
        fstatfs(&self.hold).is_ok_and(|system| system.f_type == PROC_SUPER_MAGIC)
    }

    /// Whether its mode lets this user write: the kernel checks that first, and the read-only mount afterwards.
    pub(super) fn owner_lets_write(&self) -> bool {
        let answer = accessat(CWD, self.link(), Access::WRITE_OK, AtFlags::empty());
        matches!(answer, Ok(()) | Err(Errno::ROFS))
    }

    /// Whether it belongs to our user, or we are root. Where only one user is mapped, the files of all others show the
    /// overflow user (65534), which may be ours: only the owner may open a file with `O_NOATIME`.
    pub(super) fn is_own(&self) -> bool {
        let own = rustix::process::geteuid();
        if own.is_root() || own.as_raw() != self.about.st_uid {
            return own.is_root();
        }
        let untraced = OFlags::RDONLY | OFlags::NOATIME | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let can_be_asked = self.is_regular() || self.is_directory();
        !can_be_asked || !matches!(open(self.link(), untraced, Mode::empty()), Err(Errno::PERM))
    }

    /// Whether the kernel lets this process make hard links to it: with `fs.protected_hardlinks` only to the user's own
    /// files, and to regular files that the user can read and write and that are neither setuid nor setgid.
    pub(super) fn owner_lets_link(&self) -> bool {
        let is_limited = std::fs::read("/proc/sys/fs/protected_hardlinks").is_ok_and(|text| text != b"0\n");
        let is_accessible = || {
            let answer = accessat(CWD, self.link(), Access::READ_OK | Access::WRITE_OK, AtFlags::empty());
            matches!(answer, Ok(()) | Err(Errno::ROFS))
        };
        let is_safe = || {
            let mode = Mode::from_raw_mode(self.about.st_mode);
            let setgid = Mode::SGID | Mode::XGRP;
            self.is_regular() && !mode.contains(Mode::SUID) && !mode.contains(setgid) && is_accessible()
        };
        !is_limited || self.is_own() || is_safe()
    }

    /// A path by which the supervisor can open exactly this object.
    pub(super) fn link(&self) -> String {
        own_link(&self.hold)
    }

    /// When it was last read and changed.
    pub(super) fn times(&self) -> Timestamps {
        let Stat { st_atime, st_atime_nsec, st_mtime, st_mtime_nsec, .. } = self.about;
        Timestamps {
            last_access: Timespec { tv_sec: st_atime, tv_nsec: st_atime_nsec as i64 },
            last_modification: Timespec { tv_sec: st_mtime, tv_nsec: st_mtime_nsec as i64 },
        }
    }

    pub(super) fn hold(&self) -> &OwnedFd {
        &self.hold
    }

    /// The same as if it had another mode.
    pub(super) fn with_mode(mut self, mode: u32) -> Self {
        self.about.st_mode = mode;
        self
    }
}

impl NamedEntry {
    pub(super) fn path(&self) -> PathBuf {
        self.directory.path.join(&self.name)
    }

    /// The same name, with its directory's present path.
    pub(super) fn again(&self) -> Option<Self> {
        Some(Self { directory: self.directory.again()?, ..self.clone() })
    }

    pub(super) fn exists(&self) -> bool {
        statat(&self.directory.hold, &self.name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// The object under the name; a link is not followed.
    pub(super) fn look(&self) -> Result<Seen, Missing> {
        Seen::below(&self.directory.hold, &self.name, OFlags::NOFOLLOW)
    }

    fn link_target(&self) -> Option<OsString> {
        let target = readlinkat(&self.directory.hold, &self.name, Vec::new()).ok()?;
        Some(OsStr::from_bytes(target.as_bytes()).to_owned())
    }

    /// In a sticky directory that every user may write to, the kernel follows only links of the caller and of the
    /// directory's owner (`fs.protected_symlinks`).
    fn check_link(&self) -> Result<(), Missing> {
        const EVERYBODYS: u32 = 0o1002;
        let link = statat(&self.directory.hold, &self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        let directory = &self.directory.about;
        let own = [rustix::process::geteuid().as_raw(), directory.st_uid].contains(&link.st_uid);
        match directory.st_mode & EVERYBODYS == EVERYBODYS && !own {
            true => Err(Errno::ACCESS.into()),
            false => Ok(()),
        }
    }
}

fn own_link(hold: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", hold.as_raw_fd())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_caller_means_by_itself_is_the_caller() {
        let check = |path: &str, base: &str, rest: &str| {
            let Located { base: found, rest: left, .. } = absolute(Path::new(path), Pid::new(7));
            assert_eq!((found.as_str(), left), (base, OsString::from(rest)), "{path}");
        };
        check("/etc/hosts", "/proc/7/root", "etc/hosts");
        check("/proc/self/cwd/x/y", "/proc/7/cwd", "x/y");
        check("/proc/self/fd/3/a/b", "/proc/7/fd/3", "a/b");
        check("/dev/fd/3/a", "/proc/7/fd/3", "a");
        check("/dev/stdout", "/proc/7/fd/1", "");
        check("/", "/proc/7/root", ".");
        check("//a/./b/", "/proc/7/root", "a/./b/");
    }

    #[test]
    fn a_path_is_its_directories_and_a_name_as_they_were_given() {
        let check = |path: &str, parent: &str, name: &str| {
            assert_eq!(split(path.as_bytes()), (parent.as_bytes(), name.as_bytes()), "{path}");
        };
        check("name", "", "name");
        check("a/b", "a/", "b");
        check("a//b//", "a//", "b//");
        check("a/..", "a/", "..");
        check("a/.", "a/", ".");
        check("..", "", "..");
        check("", "", "");
    }

    proptest! {
        #[test]
        fn a_path_that_is_taken_apart_is_still_all_there(path in prop::collection::vec(any::<u8>(), 0..64)) {
            let (parent, name) = split(&path);
            prop_assert_eq!([parent, name].concat(), path.clone());
            prop_assert!(parent.is_empty() || parent.ends_with(b"/"));
            let end = name.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
            prop_assert!(!name[..end].contains(&b'/'));
        }

        #[test]
        fn no_absolute_path_is_too_strange(path in prop::collection::vec(any::<u8>(), 0..64)) {
            let path = [b"/", path.as_slice()].concat();
            let located = absolute(Path::new(OsStr::from_bytes(&path)), Pid::new(7));
            prop_assert!(located.base.starts_with("/proc/7"));
        }
    }
}
