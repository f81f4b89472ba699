//! `process/read`: the events after a number, at once if there are any, otherwise when the next one comes.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use windlass_engine::{Exit, Stream};
use windlass_protocol::envelope::{INTERNAL_ERROR, Refusal};
use windlass_protocol::exec::{ExecOutputStream, ProcessOutputChunk, ReadParams, ReadResponse};

use super::follow::signal;
use super::process::Process;
use super::reply::Reply;
use super::sequence::{EventRange, Output, ProcessEvent};

/// The most bytes in one reply, whatever the client asked for: base64 makes a third more of them, and clients take no
/// larger messages. `nextSeq` says where a cut reply continues.
const MOST: u64 = 8 * 1024 * 1024;

/// The longest wait. A client that wants to wait longer asks again.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Waits until there is an event, then answers. Large replies are made one at a time.
pub(super) async fn read(process: Arc<Process>, params: ReadParams, turn: Arc<Semaphore>, reply: Reply) {
    let _answered = OnPanic(reply.clone());
    wait(&process, &params).await;
    // The semaphore is never closed.
    let _turn = turn.acquire().await;
    if reply.peer().room().await.is_ok() {
        let answer = answer(&process, &params);
        reply.give(Ok(answer));
    }
}

/// Answers the request with an error on a panic: its client would wait for ever.
struct OnPanic(Reply);

impl Drop for OnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let refusal = Refusal::new(INTERNAL_ERROR, "process/read failed: this is a fault of the server");
            self.0.clone().give(Err::<ReadResponse, _>(refusal));
        }
    }
}

/// Returns when there is a new event, or none can come, or the time is over.
async fn wait(process: &Process, params: &ReadParams) {
    let after = params.after_seq.unwrap_or(0);
    let deadline = Instant::now() + Duration::from_millis(params.wait_ms.unwrap_or(0)).min(LONGEST);
    let mut story = process.session().watch_output();
    loop {
        story.mark_unchanged();
        // A range of no bytes is enough: one event is returned whatever its length.
        let batch = process.collect(EventRange { after, most: 0 });
        if !batch.events.is_empty() || process.sequence().is_closed() {
            return;
        }
        // timer: the client says how long it wants to wait.
        match tokio::time::timeout_at(deadline, story.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return,
        }
    }
}

fn answer(process: &Process, params: &ReadParams) -> ReadResponse {
    let after = params.after_seq.unwrap_or(0);
    let most = params.max_bytes.map_or(MOST, |most| most.min(MOST));
    let receipt = process.session().receipt();
    let batch = process.collect(EventRange { after, most });
    let sequence = process.sequence();
    let exited = sequence.exited();
    let chunks: Vec<ProcessOutputChunk> = batch.events.into_iter().filter_map(chunk).collect();
    let limited = params.max_bytes.is_some() || batch.is_cut;
    let last = chunks.last().filter(|_| limited).map(|chunk| chunk.seq);
    let next_seq = last.map_or(sequence.next(), |last| last + 1);
    // A client that set no limit takes the reply for the complete output, so it must not report an end that it does not
    // reach.
    let has_exited = match params.max_bytes {
        Some(_) => receipt.is_some(),
        None => exited.is_some_and(|exited| exited.seq < next_seq),
    };
    let closed = sequence.is_closed() && (params.max_bytes.is_some() || !batch.is_cut);
    let failure = (closed && exited.is_none()).then(|| "how the process ended is not known".to_owned());
    let exit = receipt.map(|receipt| receipt.exit).filter(|_| has_exited);
    ReadResponse {
        chunks,
        next_seq,
        exited: has_exited,
        exit_code: exit.map(Exit::code),
        signal: exit.and_then(signal),
        closed,
        failure,
        sandbox_denied: process.was_denied(),
    }
}

fn chunk(event: ProcessEvent) -> Option<ProcessOutputChunk> {
    let ProcessEvent::Output(Output { seq, stream, bytes, dropped }) = event else { return None };
    let stream = match stream {
        Stream::Stdout => ExecOutputStream::Stdout,
        Stream::Stderr => ExecOutputStream::Stderr,
        Stream::Terminal => ExecOutputStream::Pty,
    };
    let dropped_bytes = (dropped > 0).then_some(dropped);
    Some(ProcessOutputChunk { seq, stream, chunk: STANDARD.encode(bytes), dropped_bytes })
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use windlass_protocol::envelope::RequestId;

    use super::*;
    use crate::jsonrpc::Peer;
    use crate::jsonrpc::peer::{Framing, Stamping};

    #[tokio::test]
    async fn a_read_that_fails_is_answered_and_one_that_does_not_is_answered_once() {
        let (ours, mut theirs) = tokio::io::duplex(1024);
        let peer = Peer::new(Box::new(ours), Framing::Lines, Stamping::Plain);
        let [good, bad] = [1, 2].map(|id| Reply::new(&peer, RequestId::Number(id)));
        drop(OnPanic(good));
        let failing = tokio::spawn(async move {
            let _answered = OnPanic(bad);
            panic!("as it should");
        });
        assert!(failing.await.is_err());
        drop(peer);
        let mut said = String::new();
        theirs.read_to_string(&mut said).await.expect("it can be read");
        let told: Vec<serde_json::Value> =
            said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(told.len(), 1, "{said}");
        assert_eq!((&told[0]["id"], &told[0]["error"]["code"]), (&2.into(), &INTERNAL_ERROR.into()));
    }
}
