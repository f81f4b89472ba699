//! From the last instruction of a child to the answer of a waiting caller. The child notes the time in a shared file:
//! it sends nothing that could wake a waiter early.

use super::{command, ensure_success, figure};
use crate::order::WorkSpec;
use crate::rounds::median;
use anyhow::{Result, ensure};
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::os::unix::fs::FileExt;
use windlass_engine::{Engine, Io, Met, Stdin, Until};

pub(super) async fn measure(engine: &Engine, order: &WorkSpec) -> Result<()> {
    let path = order.text("note")?;
    let note = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
    note.set_len(size_of::<f64>() as u64)?;
    let spec = command([order.text("bare")?, "linger", &format!("note={path}")], Io::Pipes(Stdin::Closed));
    let mut samples = Vec::new();
    for _ in 0..order.number("count")? {
        let session = engine.start(spec.clone())?;
        let met = session.wait(&Until::exit()).await;
        let answered = micros();
        let Met::Exit(receipt) = met else { anyhow::bail!("waited for the exit, met {met:?}") };
        ensure_success(&receipt)?;
        let mut exited = [0; size_of::<f64>()];
        note.read_exact_at(&mut exited, 0)?;
        let exited = f64::from_ne_bytes(exited);
        ensure!(exited > 0.0, "the child noted no time");
        samples.push(answered - exited);
    }
    figure("micros", median(&samples));
    Ok(())
}

/// On the clock that the child uses.
fn micros() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as f64 * 1e6 + now.tv_nsec as f64 / 1e3
}
