//! A fresh, empty directory for programs that the agent starts outside of the sandbox. Programs load code from the directory they
//! run in, so each start has its own: files that came into an earlier one, however they did, are found by none.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, openat};
use rustix::rand::{GetRandomFlags, getrandom};

/// Where they are made, below the state directory.
const ALL: &str = "programs";
/// Another agent that starts at the same moment may remove one before it is locked.
const TRIES: usize = 8;

/// Removed with the value. The directory of an agent that was killed is removed by the next one.
#[derive(Debug)]
pub(super) struct PrivateDirectory {
    path: PathBuf,
    /// Locked for as long as the agent lives.
    _held: File,
}

impl PrivateDirectory {
    pub(super) fn create(state: &Path) -> io::Result<Self> {
        let all = std::path::absolute(state)?.join(ALL);
        let mut builder = DirBuilder::new();
        builder.mode(0o700).recursive(true).create(&all)?;
        let metadata = all.symlink_metadata()?;
        if !metadata.is_dir() || metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it is a link, or belongs to another user",
            ));
        }
        remove_abandoned(&all);
        builder.recursive(false);
        for _ in 0..TRIES {
            let mut random = [0; 16];
            getrandom(&mut random, GetRandomFlags::empty())?;
            let path = all.join(format!("{:032x}", u128::from_ne_bytes(random)));
            // An error if anything has this name, so what is made is empty.
            builder.create(&path)?;
            if let Some(held) = locked(&path) {
                return Ok(Self { path, _held: held });
            }
        }
        Err(io::Error::new(io::ErrorKind::WouldBlock, "other agents remove each directory that is made"))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        // What cannot be removed now is removed by a later start.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Locks a directory that is still there; `None` if another process holds it or has removed it.
fn locked(path: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = File::from(openat(CWD, path, flags, Mode::empty()).ok()?);
    flock(&held, FlockOperation::NonBlockingLockExclusive).ok()?;
    let (held_now, there) = (held.metadata().ok()?, path.symlink_metadata().ok()?);
    ((held_now.dev(), held_now.ino()) == (there.dev(), there.ino())).then_some(held)
}

fn remove_abandoned(all: &Path) {
    for entry in all.read_dir().into_iter().flatten().flatten() {
        if let Some(_held) = locked(&entry.path()) {
            // A directory that cannot be removed disturbs no later start: names are random.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_testkit::Scratch;

    use super::*;

    #[test]
    fn one_that_is_in_use_stays_and_an_abandoned_one_is_removed() {
        let scratch = Scratch::new("private-directory");
        let abandoned = scratch.path().join(ALL).join("abandoned");
        std::fs::create_dir_all(&abandoned).unwrap();
        let first = PrivateDirectory::create(scratch.path()).unwrap();
        assert!(!abandoned.exists());
        let second = PrivateDirectory::create(scratch.path()).unwrap();
        assert!(first.path().exists() && second.path() != first.path());
        let path = first.path().to_owned();
        std::fs::write(path.join("cache"), "").unwrap();
        drop(first);
        assert!(!path.exists() && second.path().exists());
    }

    #[test]
    fn a_link_in_the_place_of_all_of_them_is_refused() {
        let scratch = Scratch::new("private-directory-link");
        std::fs::create_dir(scratch.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("elsewhere", scratch.path().join(ALL)).unwrap();
        assert!(PrivateDirectory::create(scratch.path()).is_err());
    }
}
