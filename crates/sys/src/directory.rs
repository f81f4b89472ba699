//! Holding a directory; making one, and where on its disk the file system puts it.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, IFlags, Mode, OFlags, RenameFlags, fstat, ioctl_getflags, ioctl_setflags, mkdirat, open,
    openat, renameat_with, unlinkat,
};
use rustix::rand::{GetRandomFlags, getrandom};

/// Which directory it is, whatever its path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DirectoryIdentity {
    /// The number of its device.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

/// A directory that is held open: no other one gets its identity meanwhile.
#[derive(Debug)]
pub struct HeldDirectory {
    hold: Option<OwnedFd>,
    identity: DirectoryIdentity,
}

impl HeldDirectory {
    /// Holds the directory that a path leads to.
    pub fn open(path: &Path) -> io::Result<Self> {
        let hold = open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let about = fstat(&hold)?;
        let identity = DirectoryIdentity { device: about.st_dev, inode: about.st_ino };
        Ok(Self { hold: Some(hold), identity })
    }

    /// A directory that another process holds.
    pub fn of_other_process(identity: DirectoryIdentity) -> Self {
        Self { hold: None, identity }
    }

    /// Which one it is.
    pub fn identity(&self) -> DirectoryIdentity {
        self.identity
    }

    /// Its path, without links.
    pub fn path(&self) -> io::Result<PathBuf> {
        let hold = self.hold.as_ref().ok_or(io::ErrorKind::NotFound)?;
        std::fs::read_link(format!("/proc/self/fd/{}", hold.as_raw_fd()))
    }
}

impl PartialEq for HeldDirectory {
    fn eq(&self, other: &Self) -> bool {
        self.identity == other.identity
    }
}

impl Eq for HeldDirectory {}

impl std::hash::Hash for HeldDirectory {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.identity.hash(state);
    }
}

/// Makes a directory with this mode and those above it, unless it is there; and makes it at a distance from what else is in
/// the one above it, if the file system can be told to.
///
/// ext4 puts a file near its directory, and a directory near the one above. Where it has no journal, as in many small
/// virtual machines, it also keeps clear of what was deleted within the last minutes and looks at all of it again for
/// each file that it makes: while others build or install something near by, making a file takes most of a millisecond
/// instead of some microseconds. A directory that is made inside of one that is marked as the top of a hierarchy is put
/// somewhere else, and stays there when it is moved.
pub fn create_apart(path: &Path, mode: u32) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(mode);
    if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
        builder.create(above)?;
    }
    // If that fails for any reason, a plain directory is made.
    let _ = make_and_move(path, Mode::from_raw_mode(mode));
    builder.create(path)
}

fn make_and_move(path: &Path, mode: Mode) -> rustix::io::Result<()> {
    let Some(name) = path.file_name() else { return Ok(()) };
    let top = path.with_file_name(format!(".{}-{}", name.display(), std::process::id()));
    mkdirat(CWD, &top, Mode::RWXU)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let moved = openat(CWD, &top, flags, Mode::empty()).and_then(|top| move_out_of(&top, path, mode));
    let removed = unlinkat(CWD, &top, AtFlags::REMOVEDIR);
    moved.and(removed)
}

fn move_out_of(top: &OwnedFd, path: &Path, mode: Mode) -> rustix::io::Result<()> {
    ioctl_setflags(top, ioctl_getflags(top)? | IFlags::TOPDIR)?;
    // The file system chooses the location by a directory's first name, so each gets another one.
    let mut random = [0; 8];
    getrandom(&mut random, GetRandomFlags::empty())?;
    let name = format!("{:x}", u64::from_ne_bytes(random));
    mkdirat(top, &name, mode)?;
    // Another process may have created the directory first, and have files in it.
    let moved = renameat_with(top, &name, CWD, path, RenameFlags::NOREPLACE);
    moved.or_else(|error| unlinkat(top, &name, AtFlags::REMOVEDIR).and(Err(error)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    /// Removed when the value is dropped.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("windlass-{name}-{}", std::process::id()));
            std::fs::create_dir(&path).expect("a directory");
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn names(path: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(path).expect("a directory");
        entries.map(|entry| entry.expect("it can be read").file_name().display().to_string()).collect()
    }

    #[test]
    fn a_directory_is_made_with_those_above_it_and_nothing_is_left_beside_it() {
        let scratch = Scratch::new("apart");
        let path = scratch.0.join("a/b/state");
        create_apart(&path, 0o700).expect("it can be made");
        assert_eq!(std::fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o700);
        assert_eq!(names(&scratch.0.join("a/b")), ["state"]);
    }

    #[test]
    fn one_that_is_there_stays_as_it_is() {
        let scratch = Scratch::new("apart-there");
        std::fs::write(scratch.0.join("file"), "kept").expect("a file");
        create_apart(&scratch.0, 0o700).expect("it is there");
        assert_eq!(names(&scratch.0), ["file"]);
    }

    #[test]
    fn many_at_once_make_one_directory_and_lose_nothing_in_it() {
        let scratch = Scratch::new("apart-race");
        let path = scratch.0.join("state");
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (start, path) = (&start, &path);
                scope.spawn(move || {
                    start.wait();
                    create_apart(path, 0o700).expect("it can be made");
                    std::fs::write(path.join(number.to_string()), "kept").expect("it is there to stay");
                });
            }
        });
        assert_eq!(names(&path).len(), 8);
        assert_eq!(names(&scratch.0), ["state"]);
    }

    #[test]
    fn where_there_can_be_none_it_says_so() {
        let error = create_apart(Path::new("/proc/nowhere/state"), 0o700).expect_err("there can be none");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        create_apart(Path::new("/dev/null/state"), 0o700).expect_err("there can be none");
    }
}
