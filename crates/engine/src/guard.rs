//! The guardian, kept: a runtime whose guardian was killed gets another one.

use crate::reactor;
use rustix::io::Errno;
use std::ops::ControlFlow;
use tokio::io::Interest;
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
pub(crate) struct Standing(Option<JoinHandle<()>>);

/// A guardian that dies over and over does not do so by accident.
const MOST_GUARDIANS: usize = 8;

impl Guard {
    /// The first guardian is started here, so that its failure is told to whoever makes the engine.
    pub(crate) fn stand(self, brand: Brand) -> Result<Standing, Errno> {
        let Self::Program(plan) = self else { return Ok(Standing(None)) };
        let first = guardian::start(&plan(brand.family()))?;
        Ok(Standing(Some(tokio::spawn(keep(first, plan, brand)))))
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

async fn keep(first: Guardian, plan: fn(u32) -> GuardianProgram, brand: Brand) {
    let mut current = first;
    for _ in 1..MOST_GUARDIANS {
        if died(current).await.is_break() {
            return;
        }
        match guardian::start(&plan(brand.family())) {
            Ok(next) => current = next,
            Err(_) => return,
        }
    }
    // The last one is held and no longer replaced.
    let _held = current;
    std::future::pending::<()>().await;
}

/// Returns when it is dead and collected; breaks off where it cannot be watched.
async fn died(guardian: Guardian) -> ControlFlow<()> {
    let watched = match reactor::watch(guardian, Interest::READABLE) {
        Ok(watched) => watched,
        // Unwatched, but it stands: hold it.
        Err((_held, _)) => return std::future::pending().await,
    };
    if watched.readable().await.is_err() {
        return ControlFlow::Break(());
    }
    watched.get_ref().reap();
    ControlFlow::Continue(())
}
