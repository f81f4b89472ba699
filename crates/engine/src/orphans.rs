//! Orphans: descendants whose parent died, which the kernel hands to this process. Somebody has to collect them when
//! they die, and it must never be the root of a session, whose exit belongs to its task.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use windlass_sys::mark::Brand;
use windlass_sys::process::{self, Pid, Process};
use windlass_sys::tree::Adoption;

/// The roots of all sessions, by the sequence number in their mark.
#[derive(Debug, Default)]
pub(crate) struct Roots {
    by_sequence: Mutex<HashMap<u32, Root>>,
    /// Told whenever one is gone and the engine is, too.
    fewer: Notify,
}

#[derive(Clone, Copy, Debug)]
enum Root {
    /// The process may exist already, but its number is not known yet: nothing of this session may be collected.
    Starting,
    Started(Pid),
    /// Not a root: stands for the engine that is gone. No session has its number.
    NoEngine,
}

/// The number that stands for the absence of the engine: no session has it.
const NO_ENGINE: u32 = u32::MAX;

impl Roots {
    pub(crate) fn starting(&self, sequence: u32) {
        self.with(|roots| roots.insert(sequence, Root::Starting));
    }

    pub(crate) fn started(&self, sequence: u32, root: Pid) {
        self.with(|roots| roots.insert(sequence, Root::Started(root)));
    }

    /// The root was collected, or never was.
    pub(crate) fn gone(&self, sequence: u32) {
        let without_engine = self.with(|roots| {
            roots.remove(&sequence);
            roots.contains_key(&NO_ENGINE)
        });
        // With an engine the collector waits for deaths alone. Woken here as well, it would run before whoever waits for
        // this session, and hand that one to another thread.
        if without_engine {
            self.fewer.notify_one();
        }
    }

    /// The engine is gone: the collector ends with the last session.
    pub(crate) fn engine_gone(&self) {
        self.with(|roots| roots.insert(NO_ENGINE, Root::NoEngine));
        self.fewer.notify_one();
    }

    fn is_finished(&self) -> bool {
        self.with(|roots| roots.len() == 1 && roots.contains_key(&NO_ENGINE))
    }

    fn is_orphan(&self, sequence: u32, pid: Pid) -> bool {
        self.with(|roots| match roots.get(&sequence) {
            Some(Root::Starting | Root::NoEngine) => false,
            Some(Root::Started(root)) => *root != pid,
            None => true,
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut HashMap<u32, Root>) -> T) -> T {
        work(&mut self.by_sequence.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Collects dead orphans as long as there is an engine or one of its sessions. The kernel says when a child died, not
/// which: several deaths may be one signal, so each signal is a look at all that were adopted.
pub(crate) async fn collect(brand: Brand, adoption: Arc<Adoption>, roots: Arc<Roots>) {
    // Without the signal, orphans are still collected whenever this process ends; nothing else depends on it.
    let Ok(mut deaths) = signal(SignalKind::child()) else { return };
    while !roots.is_finished() {
        collect_dead(brand, &adoption, &roots);
        tokio::select! {
            _ = deaths.recv() => {}
            () = roots.fewer.notified() => {}
        }
        // Most deaths are of roots, and somebody waits for those: their sessions go first.
        tokio::task::yield_now().await;
    }
    collect_dead(brand, &adoption, &roots);
}

fn collect_dead(brand: Brand, adoption: &Adoption, roots: &Roots) {
    // Where we cannot look now, the next death is another chance.
    for pid in adoption.adopted().unwrap_or_default() {
        let Some(mark) = brand.on(pid) else { continue };
        let dead = Process::open(pid).is_ok_and(|process| !process.is_alive());
        if dead && roots.is_orphan(mark.sequence(), pid) {
            process::reap_orphan(pid);
        }
    }
}
