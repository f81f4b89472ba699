//! Types a line into `cat` and waits, by progress, until the terminal has echoed it and cat has printed it.

use super::idle::start_idle;
use super::{command, figure};
use crate::order::WorkSpec;
use crate::rounds::median;
use anyhow::{Result, ensure};
use std::time::Instant;
use windlass_engine::{Engine, Io, Met, Session, Terminal, Until};
use windlass_output::{Offset, Span};

const LINE: &[u8] = b"0123456789abcdef\n";
/// The terminal's echo and cat's answer, each with a carriage return before its newline.
const ANSWER: &[u8] = b"0123456789abcdef\r\n0123456789abcdef\r\n";

pub(super) async fn measure(engine: &Engine, order: &WorkSpec) -> Result<()> {
    start_idle(engine, order, order.number("idle")?)?;
    let session = engine.start(command(["/bin/cat"], Io::Terminal(Terminal::default())))?;
    let mut samples = Vec::new();
    let mut end = Offset::ZERO;
    for _ in 0..order.number("count")? {
        end += ANSWER.len() as u64;
        let begun = Instant::now();
        session.write(LINE).await?;
        let met = session.wait(&Until { exit: true, reached: Some(end), ..Until::default() }).await;
        samples.push(begun.elapsed().as_secs_f64() * 1e6);
        ensure!(matches!(met, Met::Reached(reached) if reached == end), "waited for {end}, met {met:?}");
    }
    ensure_answers(&session, end)?;
    figure("micros", median(&samples));
    Ok(())
}

fn ensure_answers(session: &Session, end: Offset) -> Result<()> {
    let mut bytes = Vec::new();
    let read = session.journal().read_into(Span::new(Offset::ZERO, end), usize::MAX, &mut bytes);
    ensure!(read == Span::new(Offset::ZERO, end), "only {read:?} of {end} bytes can be read");
    ensure!(
        bytes.chunks(ANSWER.len()).all(|answer| answer == ANSWER),
        "the answers differ from what was typed"
    );
    Ok(())
}
