//! The real tree of files.

use crate::files::{Files, Kind};
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxFlags, access, openat2, statx};
use rustix::io::Errno;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

/// The tree that this process sees. What cannot be looked at counts as not being there, and is remembered if it is ours: whoever
/// may change it could let us, or a command, look at it a moment later.
///
/// One plan asks about the same paths many times, and every confined command waits for its plan: each path is looked at once.
#[derive(Debug, Default)]
pub struct Disk {
    barred: RefCell<BTreeSet<PathBuf>>,
    kinds: RefCell<HashMap<PathBuf, Option<Kind>>>,
    without_links: RefCell<HashSet<PathBuf>>,
    /// Directories of which every name is known.
    listed: RefCell<HashMap<PathBuf, Vec<OsString>>>,
}

impl Disk {
    /// The directories of ours that could not be looked into.
    pub fn barred(self) -> BTreeSet<PathBuf> {
        self.barred.into_inner()
    }

    fn note<T>(&self, path: &Path, outcome: io::Result<T>) -> Option<T> {
        if let Err(error) = &outcome
            && error.kind() == io::ErrorKind::PermissionDenied
        {
            let mut above: Vec<&Path> = path.ancestors().collect();
            above.reverse();
            let refuses = |at: &Path, what: Access| access(at, what) == Err(Errno::ACCESS);
            let is_barred = |directory: &&Path| {
                refuses(directory, Access::EXEC_OK) || *directory == path && refuses(path, Access::READ_OK)
            };
            let barred = above.into_iter().find(is_barred).filter(|directory| is_own(directory));
            self.barred.borrow_mut().extend(barred.map(Path::to_owned));
        }
        outcome.ok()
    }

    fn known(&self, path: &Path) -> Option<Option<Kind>> {
        self.kinds.borrow().get(path).copied().or_else(|| self.is_absent(path).then_some(None))
    }

    /// Whether a listing says that there is no such name. Some file systems find a name in another case.
    fn is_absent(&self, path: &Path) -> bool {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return false };
        let listed = self.listed.borrow();
        listed.get(above).is_some_and(|names| !names.iter().any(|listed| listed.eq_ignore_ascii_case(name)))
    }

    /// Whether there is something at a path, and no link on the way. One system call, where resolving takes one for each name.
    fn is_without_links(&self, path: &Path) -> bool {
        if self.without_links.borrow().contains(path) {
            return true;
        }
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let is =
            is_normal(path) && openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).is_ok();
        if is {
            self.without_links.borrow_mut().insert(path.to_owned());
        }
        is
    }
}

/// Whether a path is written as resolving would write it, but for links.
fn is_normal(path: &Path) -> bool {
    let has_only_names =
        path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    path.is_absolute() && has_only_names && path.components().as_path().as_os_str() == path.as_os_str()
}

fn is_own(directory: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(directory).is_ok_and(|about| about.is_dir() && about.uid() == own)
}

impl Files for Disk {
    fn kind(&self, path: &Path) -> Option<Kind> {
        if let Some(known) = self.known(path) {
            return known;
        }
        let kind = self.note(path, fs::symlink_metadata(path)).map(|about| Kind::of(about.file_type()));
        self.kinds.borrow_mut().insert(path.to_owned(), kind);
        kind
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        if path.ancestors().any(|it| self.known(it) == Some(None)) {
            return None;
        }
        match self.is_without_links(path) {
            true => Some(path.to_owned()),
            false => self.note(path, fs::canonicalize(path)),
        }
    }

    fn target(&self, link: &Path) -> Option<PathBuf> {
        fs::read_link(link).ok()
    }

    fn names(&self, directory: &Path) -> Vec<OsString> {
        if let Some(names) = self.listed.borrow().get(directory) {
            return names.clone();
        }
        let entries = self.note(directory, fs::read_dir(directory)).into_iter().flatten();
        let (entries, failures): (Vec<_>, Vec<_>) = entries.partition(Result::is_ok);
        let entries: Vec<fs::DirEntry> = entries.into_iter().flatten().collect();
        let names: Vec<OsString> = entries.iter().map(fs::DirEntry::file_name).collect();
        // Where files cannot be reached, a look at each of them says so.
        if failures.is_empty() && access(directory, Access::EXEC_OK).is_ok() {
            let mut kinds = self.kinds.borrow_mut();
            for entry in &entries {
                if let Ok(kind) = entry.file_type() {
                    kinds.insert(entry.path(), Some(Kind::of(kind)));
                }
            }
            self.listed.borrow_mut().insert(directory.to_owned(), names.clone());
        }
        names
    }

    fn text(&self, file: &Path) -> Option<String> {
        const LONGEST: u64 = 1 << 20;
        if self.known(file) == Some(None) {
            return None;
        }
        // A pipe would keep us until somebody comes to its other end.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(file).ok()?;
        let about = file.metadata().ok().filter(fs::Metadata::is_file)?;
        let mut text = Vec::with_capacity(about.len().min(LONGEST) as usize + 1);
        file.take(LONGEST).read_to_end(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    fn made_at(&self, path: &Path) -> Option<u64> {
        made_at(path)
    }

    fn sockets(&self) -> Vec<PathBuf> {
        let table = socket_table().unwrap_or_default();
        let mut found: Vec<PathBuf> = table.split(|byte| *byte == b'\n').filter_map(socket).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// When the file or directory at a path was made, in nanoseconds since 1970. No call can change that time.
pub(crate) fn made_at(path: &Path) -> Option<u64> {
    const NANOSECONDS: u64 = 1_000_000_000;
    let about = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BTIME).ok()?;
    let is_known = about.stx_mask & StatxFlags::BTIME.bits() != 0;
    let seconds = u64::try_from(about.stx_btime.tv_sec).ok()?;
    is_known.then(|| seconds * NANOSECONDS + u64::from(about.stx_btime.tv_nsec))
}

/// The kernel makes the table anew for each read and skips what was read before, so few large reads are faster than many small
/// ones.
fn socket_table() -> io::Result<Vec<u8>> {
    let mut table = Vec::with_capacity(64 << 10);
    fs::File::open("/proc/net/unix")?.read_to_end(&mut table)?;
    Ok(table)
}

impl Kind {
    fn of(kind: fs::FileType) -> Self {
        if kind.is_dir() {
            Self::Directory
        } else if kind.is_symlink() {
            Self::Link
        } else {
            Self::File
        }
    }
}

/// `Num: RefCount Protocol Flags Type St Inode Path`, where the path is the rest of the line.
fn socket(line: &[u8]) -> Option<PathBuf> {
    let start = line.windows(2).position(|pair| pair == b" /")? + 1;
    Some(PathBuf::from(OsStr::from_bytes(&line[start..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_table_of_sockets_names_its_path() {
        let line = b"0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/a socket\xff";
        assert_eq!(socket(line), Some(PathBuf::from(OsStr::from_bytes(b"/run/a socket\xff"))));
        let abstract_one = b"0000000000000000: 00000002 00000000 00010000 0001 01 12345 @name";
        assert_eq!(socket(abstract_one), None);
        assert_eq!(socket(b"Num       RefCount Protocol Flags    Type St Inode Path"), None);
    }

    #[test]
    fn a_listed_directory_is_not_looked_at_again_but_for_names_in_another_case() {
        let top = std::env::temp_dir().join(format!("windlass-listed-{}", std::process::id()));
        fs::create_dir_all(top.join("inner")).unwrap();
        fs::write(top.join("Config"), "").unwrap();
        let disk = Disk::default();
        let mut names = disk.names(&top);
        names.sort();
        let known = ["inner", "Config", "config", "hooks"].map(|name| disk.known(&top.join(name)));
        let kind = disk.kind(&top.join("config"));
        fs::remove_dir_all(&top).unwrap();
        assert_eq!(names, ["Config", "inner"]);
        assert_eq!(known, [Some(Some(Kind::Directory)), Some(Some(Kind::File)), None, Some(None)]);
        assert_eq!(kind, None);
    }

    #[test]
    fn links_are_found_also_where_paths_are_written_oddly() {
        let top = std::env::temp_dir().join(format!("windlass-links-{}", std::process::id()));
        let top = {
            fs::create_dir_all(top.join("a/b")).unwrap();
            fs::canonicalize(&top).unwrap()
        };
        std::os::unix::fs::symlink("a", top.join("link")).unwrap();
        let disk = Disk::default();
        let expected = Some(top.join("a/b"));
        let found =
            ["a/b", "link/b", "a/../a/b", "a//b", "a/./b", "a/b/"].map(|path| disk.real(&top.join(path)));
        let absent = disk.real(&top.join("a/c"));
        fs::remove_dir_all(&top).unwrap();
        assert!(found.iter().all(|real| *real == expected), "{found:?}");
        assert_eq!(absent, None);
    }

    #[test]
    fn a_pipe_that_nobody_writes_to_has_no_text() {
        let pipe = std::env::temp_dir().join(format!("windlass-pipe-{}", std::process::id()));
        rustix::fs::mkfifoat(CWD, &pipe, Mode::RWXU).unwrap();
        let text = Disk::default().text(&pipe);
        fs::remove_file(&pipe).unwrap();
        assert_eq!(text, None);
    }
}
