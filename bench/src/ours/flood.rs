//! As much output as a producer can print, into the journal on disk, with the default retention.

use super::memory::{peak_kib, resident_kib};
use super::produced::{Newline, Produced};
use super::{command, ensure_success, figure, io};
use crate::order::WorkSpec;
use anyhow::Result;
use std::time::Instant;
use windlass_engine::{Engine, Stdin};

pub(super) async fn measure(engine: &Engine, order: &WorkSpec) -> Result<()> {
    let io = io(order, Stdin::Closed)?;
    let newline = if order.text("io")? == "pipe" { Newline::AsIs } else { Newline::Returned };
    let produced = Produced { bytes: order.number("bytes")?, newline };
    let asked = format!("bytes={}", produced.bytes);
    let spec = command([order.text("bare")?, "produce", &asked], io);
    let before = resident_kib()?;
    let begun = Instant::now();
    let session = engine.start(spec)?;
    let receipt = session.exited().await?;
    let took = begun.elapsed();
    let gained = peak_kib()? - before;
    ensure_success(&receipt)?;
    produced.ensure_kept_by(session.journal())?;
    figure("mb_per_s", produced.arriving() as f64 / 1e6 / took.as_secs_f64());
    figure("gained_mib", gained.max(0.0) / 1024.0);
    Ok(())
}
