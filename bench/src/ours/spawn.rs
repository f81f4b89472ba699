//! Starts sessions one after the other and waits for each: the time includes the mark, the record, the receipt and the
//! search for orphans.

use super::{command, ensure_success, figure, io};
use crate::order::WorkSpec;
use crate::rounds::median;
use anyhow::Result;
use std::time::Instant;
use windlass_engine::{Engine, Stdin};

pub(super) async fn measure(engine: &Engine, order: &WorkSpec) -> Result<()> {
    let ballast = ballast(order.number("ballast").unwrap_or(0));
    let spec = command(["/bin/true"], io(order, Stdin::Closed)?);
    let mut samples = Vec::new();
    for _ in 0..order.number("count")? {
        let begun = Instant::now();
        let session = engine.start(spec.clone())?;
        let receipt = session.exited().await?;
        samples.push(begun.elapsed().as_secs_f64() * 1e6);
        ensure_success(&receipt)?;
    }
    drop(ballast);
    figure("micros", median(&samples));
    Ok(())
}

/// Memory that is really there: every page of it has been written.
fn ballast(bytes: usize) -> Vec<u8> {
    std::hint::black_box(vec![1; bytes])
}
