//! Names of running sessions. Each name of an owner is held by one session, however many processes start sessions at
//! once.
//!
//! A claim is a directory with one entry, whose name gives the session and the process that hold it:
//!
//! ```text
//! names/web@claude-code%09%2Fhome%2Fme/1001-4711-123456-9f…-4026531836
//! ```
//!
//! A new claim is a directory that is renamed into place, which fails if there is a claim: only an empty directory is
//! replaced. A claim whose holder is dead is taken over by renaming its entry: of several processes that try, exactly
//! one succeeds. A file with the holder in it could be created as safely, but not taken over: the process that replaces
//! it cannot say *which* file it means to replace.

use std::fs::{self, DirBuilder, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::record::{Presence, ProcessKey};
use super::{DIRECTORY_MODE, FILE_MODE, LoadRecord, Store};
use crate::SessionId;

/// The directory of the claims in the state directory.
const NAMES: &str = "names";

/// Claims that are not in place yet begin with this; no encoded name does.
const UNFINISHED: char = '.';

/// Each failed try is a claim of another process that succeeded.
const MOST_TRIES: usize = 1000;

/// The longest encoded name. File systems take 255 bytes.
const LONGEST: usize = 200;

/// A name for a session that is about to start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WantedName<'a> {
    pub(crate) name: &'a str,
    pub(crate) owner: Option<&'a str>,
    pub(crate) session: SessionId,
    pub(crate) runtime: ProcessKey,
}

/// Why a name could not be claimed.
#[derive(Debug)]
pub(crate) enum ClaimName {
    /// Another session has it, which runs or may run.
    Taken { holder: SessionId },
    /// The claim could not be written or read.
    Failed { path: PathBuf, source: io::Error },
}

/// A name that a session of this process holds until this is dropped.
#[derive(Debug)]
pub(crate) struct NameClaim {
    entry: Option<PathBuf>,
}

impl NameClaim {
    /// Leaves the name to the session, which outlives this process: the name is free again when the session's root is
    /// dead.
    pub(crate) fn leave(mut self) {
        self.entry = None;
    }
}

impl Drop for NameClaim {
    fn drop(&mut self) {
        if let Some(entry) = &self.entry {
            remove_claim(entry);
        }
    }
}

impl Store {
    /// Claims a name among the sessions of its owner.
    pub(crate) fn claim_name(&self, wanted: WantedName<'_>) -> Result<NameClaim, ClaimName> {
        let names = self.root.join(NAMES);
        let claim = names.join(encoded(wanted.name, wanted.owner));
        let failed = |source| ClaimName::Failed { path: claim.clone(), source };
        let own = Holder { session: wanted.session, runtime: wanted.runtime }.to_string();
        for _ in 0..MOST_TRIES {
            let Some((entry, holder)) = read_claim(&claim).map_err(failed)? else {
                if place_claim(&names, &claim, &own).map_err(failed)? {
                    return Ok(NameClaim { entry: Some(claim.join(own)) });
                }
                continue;
            };
            if self.is_held(holder) {
                return Err(ClaimName::Taken { holder: holder.session });
            }
            match fs::rename(entry, claim.join(&own)) {
                Ok(()) => return Ok(NameClaim { entry: Some(claim.join(own)) }),
                // Another process took it over first, or its holder gave it up.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed(error)),
            }
        }
        let busy = io::Error::new(io::ErrorKind::TimedOut, "other processes claim this name all the time");
        Err(failed(busy))
    }

    /// Whether the session of a claim runs, or may run.
    fn is_held(&self, Holder { session, runtime }: Holder) -> bool {
        let record = self.load_record(session);
        match (runtime.presence(), record) {
            (_, Ok(record)) if record.receipt.is_some() => false,
            // A session that outlived its runtime keeps its name.
            (Presence::Gone, Ok(record)) => !matches!(record.start.root.presence(), Presence::Gone),
            // Its record cannot be read now: the session may be alive.
            (Presence::Gone, Err(failure)) => {
                matches!(failure, LoadRecord::Read { .. } | LoadRecord::UnknownVersion { .. })
            }
            (Presence::Alive(_) | Presence::OutOfSight, _) => true,
        }
    }

    /// The names that sessions of a runtime hold, with the session of each.
    pub(super) fn claims_of(&self, runtime: ProcessKey) -> Vec<Claimed> {
        let claims = fs::read_dir(self.root.join(NAMES)).into_iter().flatten().flatten();
        let held = claims.filter_map(|claim| {
            let (entry, holder) = read_claim(&claim.path()).ok()??;
            let since = fs::symlink_metadata(entry).and_then(|metadata| metadata.modified()).ok();
            let name = decoded(claim.file_name().to_str()?);
            (holder.runtime == runtime).then_some(Claimed { session: holder.session, name, since })
        });
        held.collect()
    }

    /// Removes the claims of sessions that ended with their runtime's death, and claims that were never put in place.
    pub(super) fn remove_stale_names(&self) {
        let names = self.root.join(NAMES);
        // A claim that cannot be listed or removed now is removed the next time, or a session that wants the name takes
        // it over.
        for claim in fs::read_dir(&names).into_iter().flatten().flatten() {
            if claim.file_name().to_string_lossy().starts_with(UNFINISHED) {
                if is_older_than(&claim.path(), self.limits.stray_age) {
                    let _ = fs::remove_dir_all(claim.path());
                }
            } else if let Ok(Some((entry, holder))) = read_claim(&claim.path())
                && !self.is_held(holder)
            {
                remove_claim(&entry);
            }
        }
    }
}

/// A name as its claim shows it.
#[derive(Debug)]
pub(super) struct Claimed {
    pub(super) session: SessionId,
    /// `None` if it was too long for a file name.
    pub(super) name: Option<String>,
    /// When it was claimed.
    pub(super) since: Option<SystemTime>,
}

/// The session that a claim is for, and the process that runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Holder {
    session: SessionId,
    runtime: ProcessKey,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.session, self.runtime)
    }
}

impl Holder {
    fn parse(text: &str) -> Option<Self> {
        let (session, runtime) = text.split_once('-')?;
        Some(Self { session: SessionId::new(session.parse().ok()?), runtime: ProcessKey::parse(runtime)? })
    }
}

/// The entry of a claim and its holder; `None` if the name is free. Invalid entries are removed: they would keep the
/// name from being claimed for ever.
fn read_claim(claim: &Path) -> io::Result<Option<(PathBuf, Holder)>> {
    let entries = match fs::read_dir(claim) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        match entry.file_name().to_str().and_then(Holder::parse) {
            Some(holder) => return Ok(Some((entry.path(), holder))),
            None => fs::remove_file(entry.path())?,
        }
    }
    Ok(None)
}

/// Puts a new claim in place; returns whether no other was there.
fn place_claim(names: &Path, claim: &Path, own: &str) -> io::Result<bool> {
    // Process ids are not unique: state directories are shared between containers.
    let unique = RandomState::new().build_hasher().finish();
    let new = names.join(format!("{UNFINISHED}{unique:016x}"));
    DirBuilder::new().mode(DIRECTORY_MODE).recursive(true).create(&new)?;
    let made = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(new.join(own));
    let placed = made.and_then(|_| fs::rename(&new, claim));
    if placed.is_err() {
        // If this fails, `remove_stale_names` removes the directory once it is old.
        let _ = fs::remove_dir_all(&new);
    }
    match placed {
        Ok(()) => Ok(true),
        Err(error) if is_in_the_way(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_in_the_way(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists)
}

/// Removes this very claim. The directory stays if another session has claimed the name since.
fn remove_claim(entry: &Path) {
    let _ = fs::remove_file(entry);
    let _ = entry.parent().map(fs::remove_dir);
}

fn is_older_than(path: &Path, age: Duration) -> bool {
    let modified = fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|elapsed| elapsed >= age))
}

/// A name and its owner as the name of a file. A long one is cut, and a checksum of all of it stands for the rest.
fn encoded(name: &str, owner: Option<&str>) -> String {
    let mut text = String::new();
    escape(name, &mut text);
    match owner {
        Some(owner) => {
            text.push('@');
            escape(owner, &mut text);
        }
        // Never empty, not even for an empty name.
        None => text.push('='),
    }
    if text.len() > LONGEST {
        let checksum = checksum(text.as_bytes());
        text.truncate(LONGEST);
        text.push_str(&format!("~{checksum:032x}"));
    }
    text
}

fn escape(part: &str, text: &mut String) {
    for byte in part.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => text.push(char::from(byte)),
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
}

/// The name in the file name of a claim; `None` for a long one, which was cut.
fn decoded(claim: &str) -> Option<String> {
    let name = claim.split(['@', '=']).next().filter(|_| !claim.contains('~'))?;
    let mut bytes = Vec::new();
    let mut parts = name.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

/// FNV-1a: it must stay the same in every version, which the standard library's does not promise.
fn checksum(bytes: &[u8]) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(BASIS, |sum, byte| (sum ^ u128::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreLimits;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use windlass_sys::process::Pid;
    use windlass_testkit::Scratch;

    fn wanted(name: &str, session: u64) -> WantedName<'_> {
        let runtime = ProcessKey::of(Pid::of_this_process());
        WantedName { name, owner: None, session: SessionId::new(session), runtime }
    }

    fn dead(session: u64) -> WantedName<'static> {
        let mut wanted = wanted("web", session);
        wanted.runtime.start_ticks += 1;
        wanted
    }

    fn taken_by(claimed: Result<NameClaim, ClaimName>) -> u64 {
        match claimed {
            Err(ClaimName::Taken { holder }) => holder.get(),
            other => panic!("the name is free: {other:?}"),
        }
    }

    #[test]
    fn a_name_is_held_until_its_claim_is_dropped_and_by_one_session_of_each_owner() {
        let scratch = Scratch::new("names");
        let store = Store::open(scratch.path(), StoreLimits::default()).unwrap();
        let first = store.claim_name(wanted("web", 1)).unwrap();
        assert_eq!(taken_by(store.claim_name(wanted("web", 2))), 1);
        let other = store.claim_name(WantedName { owner: Some("me\t/home"), ..wanted("web", 3) }).unwrap();
        drop(first);
        let second = store.claim_name(wanted("web", 4)).unwrap();
        assert_eq!(taken_by(store.claim_name(wanted("web", 5))), 4);
        drop((other, second));
        assert_eq!(fs::read_dir(scratch.path().join(NAMES)).unwrap().count(), 0);
    }

    #[test]
    fn of_many_processes_that_take_over_a_dead_ones_name_one_succeeds() {
        let scratch = Scratch::new("names-race");
        for round in 0..50 {
            let store = Store::open(scratch.path(), StoreLimits::default()).unwrap();
            if round % 2 == 0 {
                store.claim_name(dead(1)).unwrap().leave();
            }
            let successes = AtomicUsize::new(0);
            let claims: Vec<_> = std::thread::scope(|scope| {
                let claim = |session| {
                    let claimed = store.claim_name(wanted("web", session)).ok();
                    successes.fetch_add(usize::from(claimed.is_some()), Ordering::Relaxed);
                    claimed
                };
                let threads: Vec<_> = (2..10).map(|session| scope.spawn(move || claim(session))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert_eq!(successes.load(Ordering::Relaxed), 1, "round {round}");
            drop(claims);
        }
    }

    #[test]
    fn a_holder_of_another_pid_namespace_keeps_its_name() {
        let scratch = Scratch::new("names-elsewhere");
        let store = Store::open(scratch.path(), StoreLimits::default()).unwrap();
        let mut elsewhere = wanted("web", 1);
        elsewhere.runtime.scope.as_mut().unwrap().pid_namespace += 1;
        store.claim_name(elsewhere).unwrap().leave();
        assert_eq!(taken_by(store.claim_name(wanted("web", 2))), 1);
        store.remove_stale_names();
        assert_eq!(taken_by(store.claim_name(wanted("web", 2))), 1);
        store.claim_name(WantedName { name: "db", ..dead(3) }).unwrap().leave();
        store.remove_stale_names();
        assert_eq!(fs::read_dir(scratch.path().join(NAMES)).unwrap().count(), 1);
    }

    #[test]
    fn every_name_has_a_file_name_of_its_own() {
        let long = "x".repeat(300);
        let names =
            ["web", "Web", "", ".", "..", "a/b", "a%2Fb", "a@b", "\u{1f980}", &long, &format!("{long}y")];
        let owners = [None, Some(""), Some("b"), Some("client\t/home/me")];
        let all: Vec<_> = names.iter().flat_map(|name| owners.map(|owner| encoded(name, owner))).collect();
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), all.len(), "{all:?}");
        let is_fit = |file: &String| !file.is_empty() && file.len() < 255 && !file.contains(['/', '.']);
        assert!(all.iter().all(is_fit), "{all:?}");
        for name in names.iter().filter(|name| name.len() < 100) {
            assert!(owners.iter().all(|owner| decoded(&encoded(name, *owner)).as_deref() == Some(name)));
        }
        assert!(Holder::parse("1-2-3").is_some() && Holder::parse("1-2-3-4").is_none());
    }
}
