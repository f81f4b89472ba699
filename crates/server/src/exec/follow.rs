//! Sends the attached client the events of a process, at the client's pace, and forgets the process a while after its
//! end.
//!
//! The position up to which events were sent belongs to the process, not to the connection: a client that comes back
//! gets the events after it, and asks with `process/read` for those that were lost on the way.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use tokio::sync::watch;
use windlass_engine::{Exit, Offset, Stream};
use windlass_protocol::exec::{ExecClosedNotification, ExecExitedNotification};

use super::process::Process;
use super::sequence::{EventRange, Output, ProcessEvent};
use super::sessions::{Attachment, ExecSession};
use crate::jsonrpc::Peer;

/// The most output of one turn, after which other processes have theirs.
const TURN: u64 = 256 * 1024;

/// The amount of output between two confirmations to the process: a small part of how far it may print ahead.
const CONFIRMED: u64 = 4 * 1024 * 1024;

/// How long a process stays known after its end was sent.
const KEPT: Duration = Duration::from_secs(30);

/// Sends the events of a process until its end, and forgets it.
pub(super) async fn follow(process: Arc<Process>, exec: Arc<ExecSession>) {
    let mut attachment = exec.attachment();
    let told = Teller {
        process: &process,
        story: process.session().watch_output(),
        told: 0,
        confirmed: Offset::ZERO,
    }
    .tell(&mut attachment);
    if told.await.is_err() {
        return;
    }
    loop {
        // timer: the server cannot know whether the client will ask again about a process that ended.
        tokio::time::sleep(KEPT).await;
        // A client that is away may have missed the end and must be able to ask.
        if matches!(*attachment.borrow_and_update(), Attachment::Attached(_)) {
            return exec.forget(&process);
        }
        if attached(&mut attachment).await.is_err() {
            return;
        }
    }
}

/// The exec session is over.
struct Over;

struct Teller<'a> {
    process: &'a Arc<Process>,
    /// Wakes the follower after a change.
    story: watch::Receiver<()>,
    /// The number of the last event that was sent.
    told: u64,
    /// The offset up to which output was confirmed to the process.
    confirmed: Offset,
}

impl Teller<'_> {
    /// Returns when the end of all output was sent.
    async fn tell(mut self, attachment: &mut watch::Receiver<Attachment>) -> Result<(), Over> {
        loop {
            let peer = attached(attachment).await?;
            let room = tokio::select! {
                room = peer.room() => room,
                _ = attachment.changed() => continue,
            };
            if room.is_err() {
                // The connection is gone; the task that serves it detaches soon.
                attachment.changed().await.map_err(|_| Over)?;
                continue;
            }
            match self.turn(&peer).await {
                FollowStep::Ended => return Ok(()),
                FollowStep::More => {}
                FollowStep::Done => tokio::select! {
                    changed = self.story.changed() => changed.map_err(|_| Over)?,
                    changed = attachment.changed() => changed.map_err(|_| Over)?,
                },
            }
        }
    }

    async fn turn(&mut self, peer: &Peer) -> FollowStep {
        self.story.mark_unchanged();
        let batch = self.process.collect(EventRange { after: self.told, most: TURN });
        let Some(last) = batch.last() else { return FollowStep::Done };
        for event in &batch.events {
            push(peer, self.process, event);
        }
        self.told = last;
        if batch.reached.since(self.confirmed) >= CONFIRMED {
            self.confirmed = batch.reached;
            self.process.confirm(batch.reached).await;
        }
        match batch.events.last() {
            Some(ProcessEvent::Closed { .. }) => FollowStep::Ended,
            _ if batch.is_cut => FollowStep::More,
            _ => FollowStep::Done,
        }
    }
}

enum FollowStep {
    /// All events so far were sent.
    Done,
    /// There is more.
    More,
    /// The last event was sent.
    Ended,
}

/// Waits until a client is attached.
async fn attached(attachment: &mut watch::Receiver<Attachment>) -> Result<Peer, Over> {
    let settled = |attachment: &Attachment| matches!(attachment, Attachment::Attached(_) | Attachment::Over);
    match attachment.wait_for(settled).await.as_deref() {
        Ok(Attachment::Attached(peer)) => Ok(peer.clone()),
        _ => Err(Over),
    }
}

fn push(peer: &Peer, process: &Process, event: &ProcessEvent) {
    let id = process.id();
    match event {
        ProcessEvent::Output(output) => peer.push(output_message(id, output)),
        ProcessEvent::Exited(exited) => {
            let (process_id, seq) = (id.to_owned(), exited.seq);
            let params = ExecExitedNotification {
                process_id,
                seq,
                exit_code: exited.exit.code(),
                signal: signal(exited.exit),
                sandbox_denied: process.was_denied(),
            };
            peer.notify("process/exited", &params);
        }
        ProcessEvent::Closed { seq } => {
            peer.notify("process/closed", &ExecClosedNotification { process_id: id.to_owned(), seq: *seq });
        }
    }
}

/// The notification of some output, written straight into JSON: this is most of what a server sends.
fn output_message(id: &str, output: &Output) -> Vec<u8> {
    let mut message = Vec::with_capacity(128 + id.len() + output.bytes.len() / 3 * 4 + 4);
    message.extend_from_slice(br#"{"method":"process/output","params":{"processId":"#);
    append(&mut message, id);
    message.extend_from_slice(br#","seq":"#);
    append(&mut message, &output.seq);
    message.extend_from_slice(br#","stream":""#);
    message.extend_from_slice(stream_name(output.stream).as_bytes());
    message.extend_from_slice(br#"","chunk":""#);
    let start = message.len();
    message.resize(start + output.bytes.len().div_ceil(3) * 4, 0);
    // The buffer has exactly the length of the encoded bytes.
    let written = STANDARD.encode_slice(&output.bytes, &mut message[start..]).unwrap_or_default();
    message.truncate(start + written);
    message.push(b'"');
    if output.dropped > 0 {
        message.extend_from_slice(br#","droppedBytes":"#);
        append(&mut message, &output.dropped);
    }
    message.extend_from_slice(b"}}");
    message
}

/// Appends JSON. Strings and numbers can always be serialised to memory.
fn append(message: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let _ = serde_json::to_writer(message, value);
}

/// The number of the signal that ended a process, if one did.
pub(super) fn signal(exit: Exit) -> Option<i32> {
    match exit {
        Exit::Signal(number) => Some(number),
        Exit::Code(_) | Exit::Unknown => None,
    }
}

fn stream_name(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
        Stream::Terminal => "pty",
    }
}

#[cfg(test)]
mod tests {
    use windlass_protocol::exec::{ExecOutputDeltaNotification, ExecOutputStream, ProcessOutputChunk};

    use super::*;

    #[test]
    fn the_written_notification_is_the_shape() {
        for (bytes, dropped) in [(&b"hi\n"[..], 0), (b"", 7), (b"\xff\x00", 0)] {
            let output = Output { seq: 3, stream: Stream::Terminal, bytes: bytes.to_vec(), dropped };
            let message = output_message("a \"quoted\" id", &output);
            let value: serde_json::Value = serde_json::from_slice(&message).expect("JSON");
            assert_eq!(value["method"], "process/output");
            let read: ExecOutputDeltaNotification =
                serde_json::from_value(value["params"].clone()).expect("the shape");
            let output = ProcessOutputChunk {
                seq: 3,
                stream: ExecOutputStream::Pty,
                chunk: STANDARD.encode(bytes),
                dropped_bytes: (dropped > 0).then_some(dropped),
            };
            assert_eq!(
                read,
                ExecOutputDeltaNotification { process_id: "a \"quoted\" id".to_owned(), output }
            );
        }
    }
}
