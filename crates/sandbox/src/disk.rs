//! The real tree of files.

mod memory;

pub(crate) use memory::DirectoryMemory;

use self::memory::Directory;
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

/// The tree of files that this process sees. A path that cannot be read counts as missing; if it belongs to our user,
/// it is remembered as barred, because a command could change its mode and read it a moment later.
///
/// One plan asks about the same paths many times, and every confined command waits for its plan: each path is looked up
/// once, and not even once in a directory that has not changed since the last plan.
#[derive(Debug, Default)]
pub struct Disk {
    barred: RefCell<BTreeSet<PathBuf>>,
    without_links: RefCell<HashSet<PathBuf>>,
    /// The directories that this plan has looked at.
    directories: RefCell<HashMap<PathBuf, Directory>>,
    before: RefCell<DirectoryMemory>,
}

impl Disk {
    /// The same tree, with the facts that an earlier plan has found.
    pub(crate) fn with_memory(before: DirectoryMemory) -> Self {
        Self { before: RefCell::new(before), ..Self::default() }
    }

    /// The facts that the next plan may use.
    pub(crate) fn into_memory(self) -> DirectoryMemory {
        let mut directories = self.directories.into_inner();
        directories.retain(|_, directory| directory.can_be_kept());
        DirectoryMemory(directories)
    }

    /// The directories of this user that could not be read.
    pub fn barred(&self) -> BTreeSet<PathBuf> {
        self.barred.borrow().clone()
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

    /// Applies `work` to the known facts about a directory.
    fn with_directory<T>(&self, path: &Path, work: impl FnOnce(&mut Directory) -> T) -> T {
        let mut directories = self.directories.borrow_mut();
        if let Some(directory) = directories.get_mut(path) {
            return work(directory);
        }
        let before = self.before.borrow_mut().0.remove(path);
        work(directories.entry(path.to_owned()).or_insert_with(|| Directory::at(path, before)))
    }

    fn known(&self, path: &Path) -> Option<Option<Kind>> {
        let (above, name) = (path.parent()?, path.file_name()?);
        self.with_directory(above, |directory| {
            let kind = directory.kinds.get(name).copied();
            kind.or_else(|| directory.is_absent(name).then_some(None))
        })
    }

    fn learn(&self, path: &Path, kind: Option<Kind>) {
        if let (Some(above), Some(name)) = (path.parent(), path.file_name()) {
            self.with_directory(above, |directory| directory.kinds.insert(name.to_owned(), kind));
        }
    }

    /// Whether a path exists and has no link in it. Takes one system call, where resolving takes one for each name.
    fn is_without_links(&self, path: &Path) -> bool {
        if self.without_links.borrow().contains(path) {
            return true;
        }
        let is = is_normal(path) && self.recall_links(path).unwrap_or_else(|| self.look_for_links(path));
        if is {
            self.without_links.borrow_mut().insert(path.to_owned());
        }
        is
    }

    /// The same from remembered facts; `None`: a path has to be looked up.
    fn recall_links(&self, path: &Path) -> Option<bool> {
        for (depth, part) in path.ancestors().enumerate().filter(|(_, part)| part.parent().is_some()) {
            match (self.known(part)?, depth) {
                (Some(Kind::Directory), _) | (Some(Kind::File), 0) => {}
                _ => return Some(false),
            }
        }
        Some(true)
    }

    fn look_for_links(&self, path: &Path) -> bool {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let is = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).is_ok();
        if is {
            for above in path.ancestors().skip(1) {
                self.learn(above, Some(Kind::Directory));
            }
            self.kind(path);
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
        let about = fs::symlink_metadata(path);
        let is_refused = about.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::NotFound);
        let kind = self.note(path, about).map(|about| Kind::of(about.file_type()));
        if !is_refused {
            self.learn(path, kind);
        }
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
        if let Some(names) = self.with_directory(directory, |directory| directory.names.clone()) {
            return names;
        }
        let entries = self.note(directory, fs::read_dir(directory)).into_iter().flatten();
        let (entries, failures): (Vec<_>, Vec<_>) = entries.partition(Result::is_ok);
        let entries: Vec<fs::DirEntry> = entries.into_iter().flatten().collect();
        let names: Vec<OsString> = entries.iter().map(fs::DirEntry::file_name).collect();
        // Where the directory cannot be entered, the lookup of each of its files says so.
        if failures.is_empty() && access(directory, Access::EXEC_OK).is_ok() {
            self.with_directory(directory, |known| {
                let kinds = entries.iter().filter_map(|entry| Some((entry, entry.file_type().ok()?)));
                known.kinds.extend(kinds.map(|(entry, kind)| (entry.file_name(), Some(Kind::of(kind)))));
                known.names = Some(names.clone());
            });
        }
        names
    }

    fn text(&self, file: &Path) -> Option<String> {
        const LONGEST: u64 = 1 << 20;
        if self.known(file) == Some(None) {
            return None;
        }
        // Without this flag, opening a pipe would block until a process opens its other end.
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

/// Whether something with this time of creation existed before the runtime began. The clock of file systems advances in
/// ticks: a thing that was created in the same tick may have existed.
pub(crate) fn was_there_before(made: u64, runtime_began: u64) -> bool {
    made <= runtime_began
}

/// Reads the table with few large reads: for each read the kernel generates it anew and skips what was read before.
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
    fn a_file_of_the_same_tick_as_the_runtime_was_there_before() {
        assert!(was_there_before(6, 7) && was_there_before(7, 7) && !was_there_before(8, 7));
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

    /// Answers about every path below a directory.
    fn facts(disk: &Disk, top: &Path) -> Vec<(Option<Kind>, Option<PathBuf>, Vec<OsString>)> {
        let inner = ["", "a", "a/x", "a/b", "a/b/x", "l", "l/x", "l/b", "gone", "gone/x"];
        let fact = |name: &str| {
            let path = if name.is_empty() { top.to_owned() } else { top.join(name) };
            let mut names = disk.names(&path);
            names.sort();
            (disk.kind(&path), disk.real(&path), names)
        };
        inner.iter().map(|name| fact(name)).collect()
    }

    /// Waits until facts are kept: only those about directories that have not changed for a moment are.
    fn wait_until_settled() {
        let begun = windlass_sys::clock::of_files();
        while windlass_sys::clock::of_files() < begun + 100_000_000 {
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_is_remembered_from_the_plan_before_is_what_a_new_look_finds() {
        let top = std::env::temp_dir().join(format!("windlass-memory-{}", std::process::id()));
        fs::create_dir_all(top.join("a/b")).unwrap();
        let top = fs::canonicalize(&top).unwrap();
        std::os::unix::fs::symlink("a", top.join("l")).unwrap();
        let changes: [fn(&Path); 9] = [
            |_| {},
            |top| fs::write(top.join("a/x"), "").unwrap(),
            |top| fs::rename(top.join("a/x"), top.join("a/b/x")).unwrap(),
            |top| fs::rename(top.join("a/b"), top.join("gone")).unwrap(),
            |top| std::os::unix::fs::symlink("../gone", top.join("a/b")).unwrap(),
            |top| fs::remove_file(top.join("l")).unwrap(),
            |top| std::os::unix::fs::symlink("gone", top.join("l")).unwrap(),
            |top| fs::remove_dir_all(top.join("gone")).unwrap(),
            |top| fs::rename(top.join("a"), top.join("gone")).unwrap(),
        ];
        let mut memory = DirectoryMemory::default();
        for (number, change) in changes.iter().enumerate() {
            change(&top);
            // Once right after the change, when its time may equal that of the last look, and once later.
            for _ in 0..2 {
                let disk = Disk::with_memory(memory);
                assert_eq!(facts(&disk, &top), facts(&Disk::default(), &top), "change {number}");
                memory = disk.into_memory();
                wait_until_settled();
            }
            assert!(memory.0.contains_key(&top), "nothing is kept");
        }
        fs::remove_dir_all(&top).unwrap();
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
