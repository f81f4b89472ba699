//! `session/wait`: answers when a condition of a session becomes true.

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_engine::{Met, Offset, PatternText, Until};
use windlass_output::Pattern;
use windlass_protocol::app::{OutputMatch, SessionWaitParams, SessionWaitResult, WaitMet, WaitUntil};
use windlass_protocol::envelope::{INVALID_PARAMS, Refusal};

use super::target;
use crate::app::connection::{Connection, Request};
use crate::app::ending::exit_of;
use crate::app::process::Process;

pub(super) fn call(connection: &mut Connection, mut request: Request) -> Result<(), Refusal> {
    let params: SessionWaitParams = request.read()?;
    connection.client()?;
    let until = until(&params.until, params.timeout_ms)?;
    let process = target::find(connection, params.target)?;
    let (peer, id) = (connection.peer.clone(), request.id.clone());
    let waiting = async move {
        let met = process.session.wait(&until).await;
        peer.answer(&request.id, &result(&process, met).await);
    };
    connection.run_answering(id, waiting)
}

fn until(wanted: &WaitUntil, timeout_ms: Option<u64>) -> Result<Until, Refusal> {
    let pattern = wanted
        .pattern
        .as_deref()
        .map(Pattern::new)
        .transpose()
        .map_err(|error| Refusal::new(INVALID_PARAMS, format!("session/wait until.pattern: {error}")))?;
    Ok(Until {
        exit: true,
        patterns: pattern.into_iter().collect(),
        text: PatternText::Settled,
        idle: wanted.idle_ms.map(Duration::from_millis),
        silent_from: None,
        reached: wanted.offset.map(Offset::new),
        input: wanted.input,
        ports: wanted.port.into_iter().collect(),
        from: Offset::new(wanted.pattern_from),
        deadline: timeout_ms.and_then(|limit| Instant::now().checked_add(Duration::from_millis(limit))),
    })
}

async fn result(process: &Arc<Process>, met: Met) -> SessionWaitResult {
    let mut matched = None;
    let met = match met {
        Met::Exit(receipt) => {
            process.settle(receipt).await;
            WaitMet::Exit
        }
        Met::Pattern(found) => {
            let (from, to) = (found.raw.from().get(), found.raw.to().get());
            matched = Some(OutputMatch { text: found.text, from, to });
            WaitMet::Pattern
        }
        Met::Idle(_) => WaitMet::Idle,
        Met::Reached(_) => WaitMet::Offset,
        Met::Input(_) => WaitMet::Input,
        Met::Port(_) => WaitMet::Port,
        Met::Closed => WaitMet::Closed,
        Met::Deadline => WaitMet::Timeout,
    };
    SessionWaitResult {
        session_id: process.session.id().get(),
        met,
        end: process.session.progress().end.get(),
        matched,
        exit: process.receipt().map(|receipt| exit_of(process, receipt)),
    }
}
