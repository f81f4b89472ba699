//! Records that another process removed or cut while their sessions run. The runtime writes them anew with its next
//! block, and until then the session must be found and stopped all the same.
//!
//! Registered runtimes are asked, through the kernel: the descriptor of a ledger that was removed still leads to all of it. Of one
//! that was cut, the processes of the runtime tell what runs, and the claim of a name which session it is. Runtimes hide their
//! descriptors from ordinary users: there the same is told by their processes and by the numbers that they show.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::files::OwnFile;
use super::names::Claimed;
use super::record::{ProcessKey, SessionRecord, StartRecord};
use super::runtimes::LivingRuntime;
use super::{Store, ids, ledger, text};
use crate::{Lifetime, Limits, SessionId, TerminalSizes};
use windlass_sys::held_files::{HeldFile, held_in};
use windlass_sys::mark::{Fate, Mark, RuntimeTag};
use windlass_sys::process::{self, Pid};
use windlass_sys::tree;

/// The longest possible ledger: 64 sessions with their arguments. A longer file is not a ledger.
const LONGEST: u64 = 64 << 20;

/// The sequence number of an engine's first session.
const FIRST_SEQUENCE: u32 = 1;

impl Store {
    /// Live sessions of other runtimes whose records are missing or incomplete in the state directory. `known` are all
    /// that could be read. Runtimes of other users and pid namespaces cannot be inspected.
    pub(super) fn recovered(&self, known: &[SessionRecord]) -> Vec<SessionRecord> {
        let mut found = Vec::new();
        // A process knows more about its own sessions than any file.
        for runtime in self.living_runtimes().into_iter().filter(|one| !one.key.is_this_process()) {
            let Ok(held) = held_in(Pid::new(runtime.key.pid), self.root()) else {
                found.extend(self.unrecorded_and_shown(&runtime, (known, &found)));
                continue;
            };
            let held = held.into_iter().filter_map(|file| Some((ledger_of(&file.path)?, file)));
            let mut held: Vec<(SessionId, HeldFile)> = held.collect();
            held.sort_by_key(|(first, _)| *first);
            for (place, (first, file)) in held.into_iter().enumerate() {
                let path = ledger::path(self.root(), first);
                let is_new = |record: &SessionRecord, found: &[SessionRecord]| {
                    let id = record.start.id;
                    known.iter().chain(found).all(|known| known.start.id != id)
                };
                if file.is_removed {
                    let all = read_removed(&file).into_iter().filter(|record| is_new(record, &found));
                    let why = format!("the record {} was removed while its sessions run", path.display());
                    found.extend(all.map(|record| with_reason(record, &why)).collect::<Vec<_>>());
                }
                if is_cut(&file) {
                    let oldest = (place == 0).then_some(first);
                    let rest = self.unrecorded(&runtime, oldest, (known, &found));
                    let why = format!("the record {} was cut while its session runs", path.display());
                    let rest = rest.filter(|record| is_new(record, &found));
                    found.extend(rest.map(|record| with_reason(record, &why)));
                }
            }
        }
        found
    }

    /// Sessions of which a living runtime has a file open: they are not over, whatever happened to their records.
    pub(super) fn held_by_living(&self) -> BTreeSet<SessionId> {
        let id = |file: HeldFile| Some(OwnFile::parse(file.path.file_name()?.to_str()?)?.id());
        let of = |runtime: LivingRuntime| match held_in(Pid::new(runtime.key.pid), self.root()) {
            Ok(files) => files.into_iter().filter_map(id).collect(),
            // It hides them: each session that it recorded may have some.
            Err(_) => ids::recorded_by(self.root(), runtime.key),
        };
        self.living_runtimes().into_iter().flat_map(of).collect()
    }

    /// The same where the runtime's descriptors cannot be read, as an ordinary user's: which records it wrote, it shows.
    fn unrecorded_and_shown(
        &self,
        runtime: &LivingRuntime,
        (known, found): (&[SessionRecord], &[SessionRecord]),
    ) -> Option<SessionRecord> {
        let mut shown = ids::recorded_by(self.root(), runtime.key);
        shown.retain(|id| known.iter().all(|record| record.start.id != *id));
        // With nothing missing, no process is looked at.
        if shown.is_empty() {
            return None;
        }
        let record = self.unrecorded(runtime, shown.first().copied(), (known, found))?;
        let id = record.start.id;
        // The record of a session that has just begun may have been written after all were read.
        let is_gone = || self.load_record(id).is_err_and(|failure| failure.may_be_replaced());
        if !shown.contains(&id) || !is_gone() {
            return None;
        }
        let path = ledger::path(self.root(), id);
        let why =
            format!("the record {} was removed, cut or replaced while its session runs", path.display());
        Some(with_reason(record, &why))
    }

    /// The session of a runtime that no record describes, as its processes show it. `None` if the runtime has several
    /// such sessions: their numbers cannot be assigned.
    fn unrecorded(
        &self,
        runtime: &LivingRuntime,
        oldest: Option<SessionId>,
        (known, found): (&[SessionRecord], &[SessionRecord]),
    ) -> Option<SessionRecord> {
        let is_described =
            |mark: Mark| known.iter().chain(found).any(|record| record.start.mark == Some(mark));
        let mut roots = roots_of(runtime).into_iter().filter(|(mark, _)| !is_described(*mark));
        let ((mark, root), None) = (roots.next()?, roots.next()) else { return None };
        let is_described = |id| known.iter().chain(found).any(|record| record.start.id == id);
        let mut claims = self.claims_of(runtime.key).into_iter().filter(|claim| !is_described(claim.session));
        let (id, name, claimed) = match (claims.next(), claims.next()) {
            (Some(Claimed { session, name, since }), None) => (session, name, since),
            // The first session of a runtime has the first number of its first ledger, and the first mark.
            (None, _) if mark.sequence() == FIRST_SEQUENCE => (oldest?, None, None),
            (None, _) => return None,
            (Some(_), Some(_)) => return None,
        };
        let started = claimed.or(runtime.since).unwrap_or(SystemTime::UNIX_EPOCH);
        Some(described(id, name, started, (runtime.key, root, mark)))
    }
}

fn with_reason(record: SessionRecord, why: &str) -> SessionRecord {
    let runtime = record.start.runtime.pid;
    let unreadable = format!(
        "{why}: what is shown comes from its windlass (process {runtime}), which writes the record anew when the session changes or ends"
    );
    SessionRecord { unreadable: Some(unreadable), ..record }
}

fn ledger_of(path: &Path) -> Option<SessionId> {
    OwnFile::parse(path.file_name()?.to_str()?)?.recorded()
}

/// The records in a ledger without a name, as far as their sessions have not ended.
fn read_removed(file: &HeldFile) -> Vec<SessionRecord> {
    let mut bytes = Vec::new();
    let read = file.open().and_then(|file: File| file.take(LONGEST).read_to_end(&mut bytes));
    match read {
        Ok(_) => text::parse(&bytes).sessions.into_values().filter(|one| one.receipt.is_none()).collect(),
        Err(_) => Vec::new(),
    }
}

/// Whether a ledger is shorter than the text that its runtime wrote to it.
fn is_cut(file: &HeldFile) -> bool {
    let opened = file.open().and_then(|opened| opened.metadata());
    opened.is_ok_and(|found| found.len() < file.position)
}

/// The processes that a runtime started itself: one of each mark, the oldest, for the runtime also adopts orphans.
fn roots_of(runtime: &LivingRuntime) -> Vec<(Mark, Pid)> {
    let runtime_tag = RuntimeTag::of_family(runtime.family);
    let mut roots: Vec<(Mark, Pid)> = Vec::new();
    for member in tree::members(runtime_tag, |_| true) {
        let pid = member.pid();
        let is_child = process::parent_of(pid) == Some(Pid::new(runtime.key.pid));
        let Some(mark) = runtime_tag.on(pid).filter(|_| is_child) else { continue };
        match roots.iter_mut().find(|(known, _)| *known == mark) {
            Some((_, root)) if process::start_ticks(pid) < process::start_ticks(*root) => *root = pid,
            Some(_) => {}
            None => roots.push((mark, pid)),
        }
    }
    roots
}

/// A record from the facts that the kernel shows about the root.
fn described(
    id: SessionId,
    name: Option<String>,
    started: SystemTime,
    (runtime, root, mark): (ProcessKey, Pid, Mark),
) -> SessionRecord {
    let in_proc = |file: &str| PathBuf::from(format!("/proc/{}/{file}", root.get()));
    let words = fs::read(in_proc("cmdline")).unwrap_or_default();
    let words = words.strip_suffix(b"\0").unwrap_or(&words);
    let start = StartRecord {
        id,
        name,
        argv: words.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect(),
        script: None,
        withheld: Vec::new(),
        owner: None,
        cwd: fs::read_link(in_proc("cwd")).unwrap_or_default(),
        terminal: fs::read_link(in_proc("fd/0")).is_ok_and(|input| input.starts_with("/dev/pts")),
        lifetime: match mark.fate() {
            Fate::Detached => Lifetime::Detached,
            Fate::WithRuntime => Lifetime::Runtime,
        },
        sandbox: None,
        started,
        runtime,
        root: ProcessKey::of(root),
        mark: Some(mark),
        limits: Limits::default(),
    };
    let sizes = TerminalSizes::default();
    SessionRecord { start, receipt: None, sizes, degraded: None, unreadable: None }
}
