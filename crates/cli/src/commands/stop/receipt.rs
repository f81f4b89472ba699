//! Waits for another windlass to record the end of its session. The kernel reports when a file of the state directory
//! changes and when a process dies, so this does not poll for them.

use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use windlass_engine::{SessionRecord, Store};
use windlass_sys::ladder::wait_until_gone;
use windlass_sys::process::{Process, is_stopped};
use windlass_sys::signal::Signal;

/// How long a runtime may take to write the receipt, and to exit if it had no other session.
const RUNTIME_LIMIT: Duration = Duration::from_secs(30);

/// The interval of the checks whether the runtime is stopped.
const STOPPED_LOOK: Duration = Duration::from_secs(1);

/// The session's record once it has a receipt, or as it is when its runtime is dead, stopped or too slow.
pub(super) fn await_receipt(
    store: &Store,
    record: &SessionRecord,
    runtime: &Process,
) -> Result<SessionRecord> {
    let doing = || format!("cannot watch {}", store.root().display());
    let changes = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).with_context(doing)?;
    inotify::add_watch(&changes, store.root(), WatchFlags::MODIFY | WatchFlags::CREATE)
        .with_context(doing)?;
    let deadline = Instant::now() + RUNTIME_LIMIT;
    loop {
        let was_alive = runtime.is_alive();
        // A record that cannot be read now may become readable with the receipt: the runtime rewrites all of it.
        let loaded = store.load(record.start.id);
        let left = deadline.saturating_duration_since(Instant::now());
        let has_receipt = loaded.as_ref().is_ok_and(|record| record.receipt.is_some());
        if has_receipt || !was_alive || left.is_zero() || is_stopped(runtime.pid()) {
            return Ok(loaded.unwrap_or_else(|_| record.clone()));
        }
        let mut events = [PollFd::new(&changes, PollFlags::IN), PollFd::new(runtime, PollFlags::IN)];
        // timer: only its parent is notified when a process is stopped.
        let limit = Timespec::try_from(left.min(STOPPED_LOOK));
        // An interrupted wait only leads to one more check.
        let _ = poll(&mut events, limit.ok().as_ref());
        forget_changes(&changes);
    }
}

/// Waits for the exit of a windlass that was started for one session alone; a server goes on. The shim of a detached
/// session stays for a while to inform its callers of the end, and is asked not to: the state directory informs them.
pub(super) fn await_end(runtime: &Process) {
    match verb_of(runtime).as_deref() {
        Some(b"shim" | b"keeper") => {
            let _ = runtime.signal(Signal::TERM);
        }
        Some(b"run" | b"keep") => {}
        _ => return,
    }
    let deadline = Instant::now() + RUNTIME_LIMIT;
    // A runtime that is stopped now has written its receipt, and exits when it is continued.
    while runtime.is_alive() && Instant::now() < deadline && !is_stopped(runtime.pid()) {
        wait_until_gone([runtime], STOPPED_LOOK.min(deadline.saturating_duration_since(Instant::now())));
    }
}

/// The subcommand of a windlass; `None` for any other program. A record alone does not prove that a process is a
/// windlass.
fn verb_of(runtime: &Process) -> Option<Vec<u8>> {
    let name = std::fs::read(format!("/proc/{}/comm", runtime.pid())).ok()?;
    let words = std::fs::read(format!("/proc/{}/cmdline", runtime.pid())).ok()?;
    let verb = words.split(|byte| *byte == 0).nth(1)?.to_vec();
    (name == b"windlass\n" && runtime.is_alive()).then_some(verb)
}

/// Discards the pending inotify events: the caller reads the whole record again.
fn forget_changes(changes: &OwnedFd) {
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = Reader::new(changes, &mut buffer);
    while reader.next().is_ok() {}
}
