//! Sessions that wait for input: what each costs while it waits, and how long it takes to end them all.

use super::memory::{resident_kib, threads};
use super::{command, figure, io};
use crate::order::WorkSpec;
use anyhow::{Result, ensure};
use std::time::Instant;
use windlass_engine::{Engine, Session, Stdin};

pub(super) async fn measure(engine: &Engine, order: &WorkSpec) -> Result<()> {
    warm_up(engine, order).await?;
    let count: u32 = order.number("count")?;
    let (memory, thread_count) = (resident_kib()?, threads()?);
    let sessions = start_idle(engine, order, count)?;
    figure("each_kib", (resident_kib()? - memory) / f64::from(count));
    figure("threads", threads()? - thread_count);
    let begun = Instant::now();
    let end = engine.shutdown().await;
    figure("end_ms", begun.elapsed().as_secs_f64() * 1e3);
    ensure!(end.remaining.is_empty(), "processes remain: {:?}", end.remaining);
    ensure!(sessions.iter().all(|session| session.receipt().is_some()), "a session has no receipt");
    Ok(())
}

/// Pays the cost of an engine's first session, which all later ones share.
async fn warm_up(engine: &Engine, order: &WorkSpec) -> Result<()> {
    let session = engine.start(command(["/bin/true"], io(order, Stdin::Closed)?))?;
    session.exited().await?;
    Ok(())
}

/// Sessions of `cat` that get no input.
pub(super) fn start_idle(engine: &Engine, order: &WorkSpec, count: u32) -> Result<Vec<Session>> {
    let spec = command(["/bin/cat"], io(order, Stdin::Open)?);
    (0..count).map(|_| Ok(engine.start(spec.clone())?)).collect()
}
