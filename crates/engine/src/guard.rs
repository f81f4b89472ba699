//! Keeps a guardian running: a runtime whose guardian was killed starts another one, however often, and reports when it
//! has none.

use crate::reactor;
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::Interest;
use tokio::sync::{oneshot, watch};
use windlass_sys::guardian::{self, Guardian, GuardianProgram};
use windlass_sys::mark::RuntimeTag;

/// The process that ends a runtime's processes when the runtime dies without doing so itself.
#[derive(Debug, Default)]
pub enum Guard {
    /// None: only a runtime that shuts down by itself leaves nothing behind.
    #[default]
    None,
    /// A guardian that is this program; its arguments are derived from the number of the runtime tag.
    Program(fn(family: u32) -> GuardianProgram),
}

/// A handle to the guardian's task. When it is dropped, the guardian does its work.
#[derive(Debug)]
pub(crate) struct Standing {
    /// Dropped to let the guardian do its work.
    relieved: Mutex<Option<oneshot::Sender<()>>>,
    /// Closed once the last guardian is collected. Several tasks may wait, as when a client hangs up while a signal
    /// asks for the end.
    collected: Option<watch::Receiver<()>>,
    missing: Missing,
}

/// Why there is no guardian right now, if so.
#[derive(Clone, Debug, Default)]
struct Missing(Arc<Mutex<Option<String>>>);

impl Missing {
    fn set(&self, reason: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = reason;
    }
}

impl Standing {
    /// Lets the guardian do its work now, and waits until it is gone, up to this long.
    pub(crate) async fn relieve(&self, patience: Duration) {
        drop(self.relieved.lock().unwrap_or_else(PoisonError::into_inner).take());
        let Some(mut collected) = self.collected.clone() else { return };
        // timer: a guardian that struggles with processes that cannot be killed must not hold up the runtime.
        let _ = tokio::time::timeout(patience, collected.changed()).await;
    }

    /// Why this runtime has no guardian right now, if it should have one.
    pub(crate) fn trouble(&self) -> Option<String> {
        let missing = self.missing.0.lock().unwrap_or_else(PoisonError::into_inner);
        missing.as_ref().map(|reason| {
            format!("no guardian process stands ({reason}): if this windlass is killed now, what its sessions started lives on")
        })
    }
}

/// A guardian that lived this long did not die of the same cause as the one before.
const STEADY: Duration = Duration::from_secs(10);
/// The pause before a guardian that died at once is replaced; each time twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl Guard {
    /// The first guardian is started here, so that its failure is reported to the caller that makes the engine.
    pub(crate) fn stand(
        self,
        runtime_tag: RuntimeTag,
        registration: Option<&Path>,
    ) -> Result<Standing, Errno> {
        let missing = Missing::default();
        let Self::Program(plan) = self else {
            return Ok(Standing { relieved: Mutex::default(), collected: None, missing });
        };
        let registration = registration.map(Path::to_path_buf);
        let first = guardian::start(&plan(runtime_tag.family()), registration.as_deref())?;
        let (sender, relieved) = oneshot::channel();
        let (collecting, collected) = watch::channel(());
        let post = Post { plan, runtime_tag, registration, missing: missing.clone(), pause: FIRST_PAUSE };
        drop(tokio::spawn(async move {
            post.keep(first, relieved).await;
            drop(collecting);
        }));
        Ok(Standing { relieved: Mutex::new(Some(sender)), collected: Some(collected), missing })
    }
}

/// The parameters with which guardians are started.
struct Post {
    plan: fn(u32) -> GuardianProgram,
    runtime_tag: RuntimeTag,
    registration: Option<PathBuf>,
    missing: Missing,
    pause: Duration,
}

impl Post {
    /// Replaces the guardian when it dies. When it is relieved, waits for its work, collects it, and returns.
    async fn keep(mut self, first: Guardian, mut relieved: oneshot::Receiver<()>) {
        let mut current = first;
        loop {
            let began = Instant::now();
            match watch_until_dead(current, &mut relieved).await {
                WatchOutcome::Relieved(guardian) => return collect(guardian).await,
                WatchOutcome::Dead => {
                    self.missing.set(Some("it was killed, and is being replaced".to_owned()));
                }
            }
            if began.elapsed() >= STEADY {
                self.pause = FIRST_PAUSE;
            } else if self.is_relieved_meanwhile(&mut relieved).await {
                return;
            }
            match self.replacement(&mut relieved).await {
                Some(next) => current = next,
                None => return,
            }
        }
    }

    /// Pauses, each time twice as long; returns whether the runtime needs no guardian any more.
    async fn is_relieved_meanwhile(&mut self, relieved: &mut oneshot::Receiver<()>) -> bool {
        let pause = self.pause;
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        tokio::select! {
            _ = relieved => true,
            // timer: a guardian that dies at once would be replaced in a busy loop, and no event says when another can
            // be started.
            () = tokio::time::sleep(pause) => false,
        }
    }

    /// The next guardian; `None` once the runtime needs none any more.
    async fn replacement(&mut self, relieved: &mut oneshot::Receiver<()>) -> Option<Guardian> {
        loop {
            match guardian::start(&(self.plan)(self.runtime_tag.family()), self.registration.as_deref()) {
                Ok(next) => {
                    self.missing.set(None);
                    return Some(next);
                }
                Err(errno) => self.missing.set(Some(format!("it cannot be started: {errno}"))),
            }
            if self.is_relieved_meanwhile(relieved).await {
                return None;
            }
        }
    }
}

/// The outcome of watching a guardian.
enum WatchOutcome {
    /// It is to do its work now.
    Relieved(Guardian),
    /// It died, and was collected.
    Dead,
}

async fn watch_until_dead(mut guardian: Guardian, relieved: &mut oneshot::Receiver<()>) -> WatchOutcome {
    loop {
        let unwatched = match reactor::watch(guardian, Interest::READABLE) {
            Ok(watched) => {
                let is_relieved = tokio::select! {
                    _ = &mut *relieved => true,
                    _ = watched.readable() => false,
                };
                let guardian = watched.into_inner();
                if is_relieved {
                    return WatchOutcome::Relieved(guardian);
                }
                guardian.reap();
                return WatchOutcome::Dead;
            }
            Err((guardian, _)) => guardian,
        };
        // Dropping the guardian now would make it kill living sessions.
        tokio::select! {
            _ = &mut *relieved => return WatchOutcome::Relieved(unwatched),
            // timer: descriptors become free as sessions end; there is no event for that.
            () = tokio::time::sleep(LONGEST_PAUSE) => {}
        }
        guardian = unwatched;
    }
}

/// Lets the guardian work, and leaves no zombie of it.
async fn collect(guardian: Guardian) {
    let Ok(watched) = reactor::watch(guardian.release(), Interest::READABLE) else { return };
    // An error means that the runtime is ending, and this process with it.
    if watched.readable().await.is_ok() {
        let _ = watched.get_ref().reap();
    }
}
