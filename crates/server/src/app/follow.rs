//! Follows one process from its start to its end: sends its output to the client as it comes, and its end last.

use std::sync::Arc;

use windlass_engine::{JournalPiece, Offset, Progress, Receipt, Session, Span, Stream};
use windlass_protocol::app::{CommandExecResult, ProcessExited, notification};
use windlass_protocol::envelope::{INTERNAL_ERROR, Refusal, RequestId};

use super::connection::Client;
use super::delta::{Delta, Deltas};
use super::ending::exit_of;
use super::input::Parties;
use super::output::{Allowance, Cap, Channel, Collected};
use super::process::{Name, Process};
use super::processes::Processes;
use crate::jsonrpc::Peer;

/// How far a process may print ahead of what its client has taken. Within the window a slow client delays nothing;
/// beyond it the process waits, and nothing is lost.
pub(super) const WINDOW: u64 = 4 * 1024 * 1024;

/// The number of bytes taken between two confirmations to the process.
const CONFIRM_EVERY: u64 = WINDOW / 4;

/// The most output in one delta.
const DELTA: usize = 64 * 1024;

/// The task that follows a process.
pub(super) struct Follow {
    pub(super) process: Arc<Process>,
    pub(super) processes: Arc<Processes>,
    pub(super) peer: Peer,
    pub(super) cap: Cap,
    pub(super) manner: Manner,
    pub(super) telling: EndMessage,
    /// Whether output was dropped before it could be sent.
    pub(super) lost: bool,
}

/// How the output reaches the client.
#[derive(Debug)]
pub(super) enum Manner {
    /// As delta notifications while it is printed.
    Deltas(Deltas),
    /// Together with the end.
    Collected(Collected),
    /// Not at all: the client does not want it.
    Untold,
}

impl Manner {
    /// Chooses how output is sent: as these notifications, with the name in this member, if the process has a name and
    /// the client wants them.
    pub(super) fn of(streamed: Option<&Name>, (method, member): (&str, &str), client: &Client) -> Self {
        match streamed {
            Some(_) if !client.wants(method) => Self::Untold,
            Some(name) => Self::Deltas(Deltas::new(method, member, &name.quoted())),
            None => Self::Collected(Collected::default()),
        }
    }
}

/// The message that reports the end.
#[derive(Debug)]
pub(super) enum EndMessage {
    /// As the answer to `command/exec`.
    Answer(RequestId),
    /// As `process/exited`, if the client wants it.
    Notification { handle: String, wanted: bool },
}

/// The offset before which no more output is wanted, found without reading it. This is the usual end of a flood that
/// fills its cap and prints nothing to the other stream.
fn unwanted_up_to(session: &Session, allowance: &Allowance) -> Option<Offset> {
    if !allowance.is_partly_used_up() {
        return None;
    }
    let account = session.journal().account();
    allowance.has_enough_of(account.bytes).then_some(account.end)
}

/// The client has gone.
struct Gone;

impl Follow {
    /// Follows the process to its end.
    pub(super) async fn run(mut self) {
        let Ok(receipt) = self.follow().await else { return };
        let receipt = match receipt {
            Some(receipt) => Some(self.process.settle(receipt).await),
            None => None,
        };
        if receipt.as_ref().is_some_and(|receipt| receipt.cut_off) {
            // Processes left running may go on printing, and no follower sets their pace any more.
            self.process.session.confirm(Offset::new(u64::MAX)).await;
        }
        if let Some(input) = &self.process.input {
            let parties = Parties { peer: self.peer.clone(), processes: Arc::clone(&self.processes) };
            input.settle(&parties).await;
        }
        // The name is freed before the end is sent: the client may use it again at once.
        self.processes.finish(&self.process);
        match receipt {
            Some(receipt) => self.tell(&receipt),
            None => self.tell_unknown(),
        }
    }

    /// Takes the output until the end, and returns the receipt.
    async fn follow(&mut self) -> Result<Option<Arc<Receipt>>, Gone> {
        let mut allowance = Allowance::new(self.cap);
        let session = self.process.session.clone();
        let mut story = session.watch_output();
        let (mut position, mut confirmed) = (Offset::ZERO, Offset::ZERO);
        while !self.has_enough(&allowance) {
            story.mark_unchanged();
            let Progress { end, receipt, closed, .. } = session.progress();
            while position < end && !allowance.is_used_up() {
                if let Some(later) = unwanted_up_to(&session, &allowance) {
                    session.confirm(later).await;
                    (position, confirmed) = (later, later);
                    continue;
                }
                self.room().await?;
                let reading = session.journal().read(Span::new(position, end), DELTA);
                position = reading.next;
                self.take(reading.pieces, &mut allowance);
                if position.since(confirmed) >= CONFIRM_EVERY {
                    session.confirm(position).await;
                    confirmed = position;
                }
            }
            if receipt.is_some() || closed {
                return Ok(receipt);
            }
            // The sender lives as long as the session.
            let _ = story.changed().await;
        }
        // No more output is wanted: the process must not wait for this follower.
        session.confirm(Offset::new(u64::MAX)).await;
        Ok(session.exited().await.ok())
    }

    fn has_enough(&self, allowance: &Allowance) -> bool {
        matches!(self.manner, Manner::Untold) || allowance.is_used_up()
    }

    async fn room(&self) -> Result<(), Gone> {
        match &self.manner {
            Manner::Deltas(_) => self.peer.room().await.map_err(|_| Gone),
            Manner::Collected(_) | Manner::Untold => Ok(()),
        }
    }

    /// Takes pieces of output. Consecutive pieces of one stream are joined.
    fn take(&mut self, pieces: Vec<JournalPiece>, allowance: &mut Allowance) {
        let mut run: Option<(Stream, Offset, Vec<u8>)> = None;
        for piece in pieces {
            // Dropped output, because the disk is full for example, cannot be sent; the end message reports the loss.
            let JournalPiece::Bytes { span, stream, bytes, .. } = piece else {
                self.lost = true;
                continue;
            };
            match &mut run {
                Some((same, _, run)) if *same == stream => run.extend_from_slice(&bytes),
                _ => {
                    if let Some(run) = run.replace((stream, span.from(), bytes)) {
                        self.take_run(run, allowance);
                    }
                }
            }
        }
        if let Some(run) = run {
            self.take_run(run, allowance);
        }
    }

    fn take_run(&mut self, (stream, offset, bytes): (Stream, Offset, Vec<u8>), allowance: &mut Allowance) {
        let channel = Channel::of(stream);
        let Some(grant) = allowance.take(channel, bytes.len()) else { return };
        let bytes = &bytes[..grant.bytes];
        match &mut self.manner {
            Manner::Deltas(deltas) => {
                let delta = Delta { channel, offset, bytes, cap_reached: grant.fills };
                self.peer.push(deltas.write(delta, self.peer.stamp()));
            }
            Manner::Collected(collected) => collected.add(channel, bytes),
            Manner::Untold => {}
        }
    }

    fn tell(&mut self, receipt: &Receipt) {
        let exit = exit_of(&self.process, receipt);
        let [stdout, stderr] = [Channel::Stdout, Channel::Stderr].map(|channel| channel.bytes(receipt.bytes));
        let [stdout_truncated, stderr_truncated] =
            [stdout, stderr].map(|printed| self.cap.is_exceeded_by(printed) || self.lost && printed > 0);
        let (stdout_text, stderr_text) = match &mut self.manner {
            Manner::Collected(collected) => (
                collected.text(Channel::Stdout, stdout_truncated),
                collected.text(Channel::Stderr, stderr_truncated),
            ),
            Manner::Deltas(_) | Manner::Untold => Default::default(),
        };
        match &self.telling {
            EndMessage::Answer(id) => self.peer.answer_with(
                id,
                CommandExecResult {
                    exit_code: exit.exit_code,
                    stdout: stdout_text,
                    stderr: stderr_text,
                    signal: exit.signal,
                    timed_out: exit.timed_out,
                    stdout_truncated,
                    stderr_truncated,
                    drain_timed_out: exit.drain_timed_out,
                    receipt: Some(exit.receipt),
                },
            ),
            EndMessage::Notification { wanted: false, .. } => {}
            EndMessage::Notification { handle, .. } => self.peer.notify(
                notification::PROCESS_EXITED,
                &ProcessExited {
                    process_handle: handle.clone(),
                    exit_code: exit.exit_code,
                    stdout: stdout_text,
                    stdout_cap_reached: self.cap.is_filled_by(stdout) && stdout > 0,
                    stderr: stderr_text,
                    stderr_cap_reached: self.cap.is_filled_by(stderr) && stderr > 0,
                    output_drain_timed_out: exit.drain_timed_out,
                    signal: exit.signal,
                    timed_out: exit.timed_out,
                    stdout_truncated,
                    stderr_truncated,
                    receipt: Some(exit.receipt),
                },
            ),
        }
    }

    /// Answers a client that waits for the end when the runtime shut down before the receipt was made.
    fn tell_unknown(&self) {
        if let EndMessage::Answer(id) = &self.telling {
            let message = "the command is no longer watched, and how it ends will not be known";
            self.peer.refuse(id, &Refusal::new(INTERNAL_ERROR, message));
        }
    }
}
