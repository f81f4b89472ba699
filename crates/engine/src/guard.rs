//! The guardian, kept: a runtime whose guardian was killed gets another one.

use crate::reactor;
use rustix::io::Errno;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::io::Interest;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use windlass_sys::guardian::{self, Guardian, GuardianProgram};
use windlass_sys::mark::Brand;

/// Who ends a runtime's processes when it dies without doing so itself.
#[derive(Debug, Default)]
pub enum Guard {
    /// Nobody: only a runtime that shuts down by itself leaves nothing behind.
    #[default]
    None,
    /// A guardian made from this program; the arguments are made from the number of the runtime's brand.
    Program(fn(family: u32) -> GuardianProgram),
}

/// Stands guard until it is dropped; then the guardian does its work.
#[derive(Debug)]
pub(crate) struct Standing {
    kept: Mutex<Option<Kept>>,
}

#[derive(Debug)]
struct Kept {
    relieved: oneshot::Sender<()>,
    keeping: JoinHandle<()>,
}

impl Standing {
    /// Lets the guardian do its work now, and waits until it is gone, up to this long.
    pub(crate) async fn relieve(&self, patience: Duration) {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Kept { relieved, keeping }) = kept else { return };
        drop(relieved);
        // timer: a guardian that fights with processes that cannot be killed must not keep the runtime.
        let _ = tokio::time::timeout(patience, keeping).await;
    }
}

/// A guardian that dies over and over does not do so by accident.
const MOST_GUARDIANS: usize = 8;

impl Guard {
    /// The first guardian is started here, so that its failure is told to whoever makes the engine.
    pub(crate) fn stand(self, brand: Brand) -> Result<Standing, Errno> {
        let Self::Program(plan) = self else { return Ok(Standing { kept: Mutex::default() }) };
        let first = guardian::start(&plan(brand.family()))?;
        let (sender, relieved) = oneshot::channel();
        let keeping = tokio::spawn(keep(first, plan, brand, relieved));
        Ok(Standing { kept: Mutex::new(Some(Kept { relieved: sender, keeping })) })
    }
}

/// Replaces the guardian when it dies, and collects it when it was relieved and has done its work. Ends by itself then.
async fn keep(
    first: Guardian,
    plan: fn(u32) -> GuardianProgram,
    brand: Brand,
    mut relieved: oneshot::Receiver<()>,
) {
    let mut current = first;
    for _ in 0..MOST_GUARDIANS {
        let Ok(watched) = reactor::watch(current, Interest::READABLE) else { return };
        tokio::select! {
            _ = &mut relieved => return collect(watched.into_inner()).await,
            _ = watched.readable() => watched.get_ref().reap(),
        }
        match guardian::start(&plan(brand.family())) {
            Ok(next) => current = next,
            Err(_) => return,
        }
    }
    // The last one is held and no longer replaced.
    let _ = relieved.await;
    collect(current).await;
}

/// Lets it work, and leaves no zombie of it.
async fn collect(guardian: Guardian) {
    let Ok(watched) = reactor::watch(guardian.release(), Interest::READABLE) else { return };
    // An error means that the runtime is ending, and this process with it.
    if watched.readable().await.is_ok() {
        let _ = watched.get_ref().reap();
    }
}
