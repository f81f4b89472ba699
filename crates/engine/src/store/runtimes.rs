//! Runtimes that have, or had, processes. The record of a session is written after its first process exists, and the
//! disk may refuse it; a runtime is registered before that, so that the next Windlass finds the processes of one that
//! died together with its guardian.
//!
//! A registration is an empty file, whose name gives the runtime's family of marks and its process:
//!
//! ```text
//! runtimes/715827882-4711-123456-9f…-4026531836
//! ```
//!
//! The name is all: a file that was cut short says as much, and it is never half written. A lock held by the runtime is
//! not needed, because the key of a process shows whether it lives, and a process between `fork` and `exec` would hold
//! the lock as well.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, DirEntry, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use super::record::{PidScope, Presence, ProcessKey};
use super::{DIRECTORY_MODE, FILE_MODE, Store};
use crate::regular_file;
use windlass_sys::mark::RuntimeTag;

/// The directory of the registrations in the state directory.
const RUNTIMES: &str = "runtimes";

/// The registration of this runtime, in place or not.
#[derive(Debug)]
pub(crate) struct Registration {
    path: PathBuf,
    /// Whether no process of this runtime is left. It is also the lock without which a late try would put a removed
    /// registration back.
    is_over: Mutex<bool>,
    is_retried: AtomicBool,
}

/// The first pause before a registration that the disk refused is tried again. Each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A registered runtime of this user and pid namespace that lives.
#[derive(Clone, Copy, Debug)]
pub(super) struct LivingRuntime {
    pub(super) family: u32,
    pub(super) key: ProcessKey,
    /// When it was registered, shortly before its first session.
    pub(super) since: Option<SystemTime>,
}

/// A runtime that died, whose processes may be alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadRuntime {
    /// The number of its family of marks.
    pub family: u32,
    /// Its registration, to be removed once none of its processes is left.
    pub registration: PathBuf,
}

impl Store {
    /// The registration of a runtime, not in place yet. `None` if no Windlass could use it: sessions bear no marks
    /// here, or the process could be mistaken for another one.
    pub(crate) fn registration(&self, runtime_tag: RuntimeTag, runtime: ProcessKey) -> Option<Registration> {
        runtime.scope.filter(|_| runtime_tag.gives_marks())?;
        // The guardian gets the path, and has another working directory.
        let runtimes = std::path::absolute(self.root.join(RUNTIMES)).ok()?;
        let path = runtimes.join(format!("{}-{runtime}", runtime_tag.family()));
        Some(Registration { path, is_over: Mutex::default(), is_retried: AtomicBool::default() })
    }

    /// Registered runtimes that are dead. They were started by this user in this pid namespace since the machine was
    /// booted, in a state directory of this user. Registrations of earlier boots are removed: none of their processes
    /// can be alive.
    pub fn dead_runtimes(&self) -> Vec<DeadRuntime> {
        let Some(own) = PidScope::of_this_process().filter(|_| self.is_own()) else { return Vec::new() };
        let (mut living, mut dead) = (BTreeSet::new(), Vec::new());
        // The next Windlass looks again at a directory that cannot be listed now.
        for entry in fs::read_dir(self.root.join(RUNTIMES)).into_iter().flatten().flatten() {
            let Some((family, runtime)) = entry.file_name().to_str().and_then(parse) else { continue };
            let is_here = runtime.scope == Some(own);
            match runtime.presence() {
                Presence::Alive(_) => drop(living.insert(family)),
                Presence::Gone if is_here && is_of_this_user(&entry) => {
                    dead.push(DeadRuntime { family, registration: entry.path() });
                }
                Presence::Gone if runtime.scope.is_some_and(|scope| scope.boot != own.boot) => {
                    let _ = fs::remove_file(entry.path());
                }
                Presence::Gone | Presence::OutOfSight => {}
            }
        }
        // Families are drawn at random: a living runtime's family is never touched, whatever a file says.
        dead.retain(|runtime| !living.contains(&runtime.family));
        dead
    }
}

impl Store {
    /// Registered runtimes that live, this process among them.
    pub(super) fn living_runtimes(&self) -> Vec<LivingRuntime> {
        let entries = fs::read_dir(self.root.join(RUNTIMES)).into_iter().flatten().flatten();
        let living = entries.filter_map(|entry| {
            let (family, key) = entry.file_name().to_str().and_then(parse)?;
            let is_alive = matches!(key.presence(), Presence::Alive(_));
            let since = entry.metadata().and_then(|metadata| metadata.modified()).ok();
            (is_alive && is_of_this_user(&entry)).then_some(LivingRuntime { family, key, since })
        });
        living.collect()
    }
}

impl Registration {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Puts it in place if it is missing: before the first session, and again after the file was removed.
    pub(crate) fn ensure(&self) -> io::Result<()> {
        let is_over = self.lock();
        if *is_over || rustix::fs::access(&self.path, rustix::fs::Access::EXISTS).is_ok() {
            return Ok(());
        }
        match self.create() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let directory = self.path.parent().unwrap_or(&self.path);
                match DirBuilder::new().mode(DIRECTORY_MODE).create(directory) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                    _ => self.create(),
                }
            }
            created => created,
        }
    }

    fn create(&self) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(FILE_MODE);
        regular_file::open(&mut options, &self.path).map(drop)
    }

    /// Tries again until it is in place or not needed any more. Of several tasks that do so at the same time only one
    /// continues.
    pub(crate) async fn retry(self: Arc<Self>) {
        if self.is_retried.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut pause = FIRST_PAUSE;
        loop {
            // timer: no event says when a disk works again.
            tokio::time::sleep(pause).await;
            if self.ensure().is_ok() {
                break;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        self.is_retried.store(false, Ordering::Relaxed);
    }

    /// Removes it for good: no process of this runtime is left. If that fails, the next Windlass finds the same.
    pub(crate) fn remove(&self) {
        *self.lock() = true;
        let _ = fs::remove_file(&self.path);
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_over.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn parse(name: &str) -> Option<(u32, ProcessKey)> {
    let (family, runtime) = name.split_once('-')?;
    Some((family.parse().ok().filter(|family| *family > 0)?, ProcessKey::parse(runtime)?))
}

/// Another user's processes cannot be signalled, and a guardian would try for long.
fn is_of_this_user(entry: &DirEntry) -> bool {
    entry.metadata().is_ok_and(|metadata| metadata.uid() == rustix::process::geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreLimits;
    use windlass_sys::process::Pid;
    use windlass_testkit::Scratch;

    #[test]
    fn a_registration_that_was_removed_is_put_in_place_again() {
        let scratch = Scratch::new("registration");
        let store = Store::open(scratch.path(), StoreLimits::default()).unwrap();
        let registration =
            store.registration(RuntimeTag::of_family(77), ProcessKey::of(Pid::of_this_process())).unwrap();
        for _ in 0..2 {
            registration.ensure().unwrap();
            assert!(registration.path().exists());
            fs::remove_dir_all(scratch.path().join(RUNTIMES)).unwrap();
        }
        fs::remove_dir_all(scratch.path()).unwrap();
        assert_eq!(registration.ensure().unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[tokio::test]
    async fn a_registration_that_the_disk_refused_is_put_in_place_once_it_can_be_and_not_after_its_removal() {
        let scratch = Scratch::new("registration-late");
        let store = Store::open(&scratch.path().join("state"), StoreLimits::default()).unwrap();
        let registration = Arc::new(
            store.registration(RuntimeTag::of_family(77), ProcessKey::of(Pid::of_this_process())).unwrap(),
        );
        // A file in the place of the directory.
        fs::write(scratch.path().join("state/runtimes"), "").unwrap();
        assert!(registration.ensure().is_err());
        let retry = tokio::spawn(Arc::clone(&registration).retry());
        tokio::task::yield_now().await;
        fs::remove_file(scratch.path().join("state/runtimes")).unwrap();
        retry.await.unwrap();
        assert!(registration.path().exists());
        registration.remove();
        Arc::clone(&registration).retry().await;
        assert!(!registration.path().exists());
    }

    #[test]
    fn files_that_are_no_registrations_are_left_alone() {
        let scratch = Scratch::new("no-registration");
        let store = Store::open(scratch.path(), StoreLimits::default()).unwrap();
        fs::create_dir(scratch.path().join(RUNTIMES)).unwrap();
        for name in ["77", "0-1-1", "a-1-1", "77-1-1", "77-1-1-x-2", "notes.txt"] {
            fs::write(scratch.path().join(RUNTIMES).join(name), "").unwrap();
        }
        assert_eq!(store.dead_runtimes(), Vec::new());
        assert_eq!(fs::read_dir(scratch.path().join(RUNTIMES)).unwrap().count(), 6);
    }
}
