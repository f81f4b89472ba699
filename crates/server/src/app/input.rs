//! The input of one process: offered to its session at once; the rest waits here. Only the replies to writes to this
//! process wait with it; all other requests of the client go on.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Mutex as Turn, watch};
use windlass_engine::{InputError, InputProgress, LastLine, Phase, QUEUE_LIMIT, Session};
use windlass_protocol::app::Done;
use windlass_protocol::envelope::{INTERNAL_ERROR, INVALID_REQUEST, OVERLOADED, Refusal, RequestId};

use super::process::Process;
use super::processes::Processes;
use crate::jsonrpc::Peer;
use crate::spill::Stock;

/// The input that may wait in memory for all processes of a connection; more waits on disk. If that fails, the
/// connection is not read for a while.
const HELD_LIMIT: u64 = 64 * 1024 * 1024;

/// How long a process may read nothing before a write that finds no room is rejected.
const STALLED: Duration = Duration::from_secs(1);

/// How long a write may wait for room at all: the server reads nothing else from the connection meanwhile.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// The largest piece that is offered to a session at a time.
const STEP: usize = 256 * 1024;

/// The number of bytes, over one connection, that wait for processes which do not read.
#[derive(Debug)]
pub(super) struct QueuedInput(watch::Sender<u64>);

impl Default for QueuedInput {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl QueuedInput {
    fn add(&self, bytes: usize) {
        self.0.send_modify(|held| *held += bytes as u64);
    }

    fn release(&self, bytes: usize) {
        self.0.send_modify(|held| *held -= bytes as u64);
    }

    fn has_room(&self, write: &Write) -> bool {
        Self::has_room_for(*self.0.borrow(), write.bytes.len())
    }

    fn has_room_for(held: u64, bytes: usize) -> bool {
        held == 0 || held + bytes as u64 <= HELD_LIMIT
    }
}

/// The queue of a client's writes to one process.
#[derive(Debug, Default)]
pub(super) struct Input {
    state: Mutex<State>,
    /// Held while a task offers bytes to the session: from taking a write out of the state until it is answered or put
    /// back.
    turn: Turn<()>,
    /// Bytes that were taken from the client and never offered to the session.
    discarded: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    closed: bool,
    waiting: VecDeque<Waiting>,
    /// Whether a task is feeding the waiting writes.
    feeding: bool,
    /// The process's read position when a write was last rejected because the process read nothing.
    stalled_at: Option<InputProgress>,
    /// The first write for which there was no room. Until the client sends it again, later writes are rejected, so that
    /// a client which did not wait for its reply leaves no hole.
    missing: Option<Fingerprint>,
}

/// Tells writes apart: the length and a digest identify a write that is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fingerprint {
    length: usize,
    hash: u64,
    last: Last,
}

impl Fingerprint {
    fn of(write: &Write) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(&write.bytes);
        Self { length: write.bytes.len(), hash: hasher.finish(), last: write.last }
    }
}

/// A write that is not answered yet.
#[derive(Debug)]
struct Waiting {
    id: RequestId,
    stock: Stock,
    taken: usize,
    last: Last,
}

/// Whether the input ends after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last {
    More,
    End,
}

/// One write of a client.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) id: RequestId,
    pub(super) bytes: Vec<u8>,
    pub(super) last: Last,
}

/// The connection's objects that a write needs besides its process.
#[derive(Clone)]
pub(super) struct Parties {
    pub(super) peer: Peer,
    pub(super) processes: Arc<Processes>,
}

/// The result of [`Input::take`].
pub(super) enum Taken {
    /// It was answered.
    Whole,
    /// The reply waits until the process has read; the caller must run [`Input::feed`] meanwhile.
    Feed(Arc<Process>),
    /// The reply waits behind that of another write.
    Later,
}

impl Input {
    /// The bytes that a client sent and no process will ever read.
    pub(super) fn discarded(&self) -> u64 {
        self.discarded.load(Ordering::Relaxed)
    }

    /// Takes a write. Waits only if the connection as a whole holds too much.
    pub(super) async fn take(
        &self,
        process: &Arc<Process>,
        mut write: Write,
        parties: &Parties,
    ) -> Result<Taken, Refusal> {
        self.check_open(&write)?;
        self.check_order(&process.session, &write)?;
        let mut on_disk = None;
        if self.would_hold(&process.session, &write) && !parties.processes.held.has_room(&write) {
            match parties.processes.spill.put(std::mem::take(&mut write.bytes)).await {
                Ok(spilled) => on_disk = Some(spilled),
                Err(bytes) => {
                    write.bytes = bytes;
                    let room = self.wait_for_room(&process.session, &write, parties).await;
                    room.inspect_err(|_| self.lock().missing = Some(Fingerprint::of(&write)))?;
                }
            }
        }
        self.lock().missing = None;
        if write.last == Last::End && std::mem::replace(&mut self.lock().closed, true) {
            // On a terminal, a second end would be typed as a character for the next program that reads there.
            write.last = Last::More;
        }
        let is_here = on_disk.is_none();
        let stock = on_disk.map_or(Stock::Here(write.bytes), Stock::OnDisk);
        let mut waiting = Waiting { id: write.id, stock, taken: 0, last: write.last };
        let _turn = self.turn.lock().await;
        let at_once = is_here && !self.lock().feeding;
        if at_once && self.offer(&mut waiting, &process.session).await == Offered::Whole {
            let finished = waiting.finish(&process.session, parties).await;
            if finished.is_err() {
                self.lock().closed = false;
            }
            return finished.map(|()| Taken::Whole);
        }
        Ok(self.put_by(process, waiting, parties))
    }

    fn check_open(&self, write: &Write) -> Result<(), Refusal> {
        if self.lock().closed && !write.bytes.is_empty() {
            return Err(Refusal::new(INVALID_REQUEST, "stdin is already closed"));
        }
        Ok(())
    }

    /// After a write found no room, accepts only that write.
    fn check_order(&self, session: &Session, write: &Write) -> Result<(), Refusal> {
        let Some(missing) = self.lock().missing else { return Ok(()) };
        if missing == Fingerprint::of(write) {
            return Ok(());
        }
        let message = format!(
            "an earlier write of {} bytes to session {} was refused, and nothing behind it is taken until it is written again",
            missing.length,
            session.id(),
        );
        Err(Refusal::new(OVERLOADED, message))
    }

    /// Whether part of a write may have to be held until the process reads.
    fn would_hold(&self, session: &Session, write: &Write) -> bool {
        let free = (QUEUE_LIMIT as u64).saturating_sub(session.progress().input.queued());
        self.lock().feeding || write.bytes.len() as u64 > free
    }

    fn put_by(&self, process: &Arc<Process>, waiting: Waiting, parties: &Parties) -> Taken {
        let mut state = self.lock();
        parties.processes.held.add(waiting.in_memory());
        state.waiting.push_back(waiting);
        if std::mem::replace(&mut state.feeding, true) {
            Taken::Later
        } else {
            Taken::Feed(Arc::clone(process))
        }
    }

    /// Passes the waiting writes on as the process reads, and answers them.
    pub(super) async fn feed(&self, process: &Process, parties: &Parties) {
        let mut progress = process.session.watch();
        loop {
            let takes = {
                let level = progress.borrow_and_update();
                level.phase == Phase::Running && !level.closed
            };
            if !takes {
                return self.give_up(parties);
            }
            match self.feed_one(&process.session, parties).await {
                Fed::All => return,
                Fed::One => {}
                // The sender lives as long as the session, which the process holds.
                Fed::Nothing => drop(progress.changed().await),
            }
        }
    }

    async fn feed_one(&self, session: &Session, parties: &Parties) -> Fed {
        let _turn = self.turn.lock().await;
        let Some(mut waiting) = self.lock().waiting.pop_front() else {
            return self.rest();
        };
        if let Err(error) = waiting.fetch(&parties.processes.held).await {
            let message =
                format!("what was written to session {} was put aside and is lost: {error}", session.id());
            parties.peer.refuse(&waiting.id, &Refusal::new(INTERNAL_ERROR, message));
            return Fed::One;
        }
        let before = waiting.left();
        let offered = self.offer(&mut waiting, session).await;
        parties.processes.held.release(before - waiting.left());
        match offered {
            Offered::Whole => {
                let id = waiting.id.clone();
                if let Err(refusal) = waiting.finish(session, parties).await {
                    self.lock().closed = false;
                    parties.peer.refuse(&id, &refusal);
                }
                Fed::One
            }
            Offered::Part => {
                self.lock().waiting.push_front(waiting);
                Fed::Nothing
            }
        }
    }

    /// Offers the rest of a write, piece by piece, until the session takes no more.
    async fn offer(&self, waiting: &mut Waiting, session: &Session) -> Offered {
        while waiting.left() > 0 {
            let step = waiting.left().min(STEP);
            match session.write(waiting.next(step)).await {
                Ok(taken) => {
                    waiting.taken += taken;
                    if taken < step {
                        return Offered::Part;
                    }
                }
                // The process reads no more: writes are accepted and lost, as in a pipe without a reader.
                Err(_) => {
                    self.discarded.fetch_add(waiting.left() as u64, Ordering::Relaxed);
                    waiting.taken += waiting.left();
                }
            }
        }
        Offered::Whole
    }

    /// Whether the feeder is done. Decided under the lock under which writes are queued.
    fn rest(&self) -> Fed {
        let mut state = self.lock();
        state.feeding = !state.waiting.is_empty();
        if state.feeding { Fed::One } else { Fed::All }
    }

    /// The process has ended: answers every write and counts all unread bytes.
    pub(super) async fn settle(&self, parties: &Parties) {
        // A task that is offering bytes right now may put the rest of them back.
        let _turn = self.turn.lock().await;
        self.give_up(parties);
    }

    /// The process reads no more: answers and drops all waiting writes.
    pub(super) fn give_up(&self, parties: &Parties) {
        let waiting = {
            let mut state = self.lock();
            state.feeding = false;
            std::mem::take(&mut state.waiting)
        };
        for waiting in waiting {
            parties.processes.held.release(waiting.in_memory());
            self.discarded.fetch_add(waiting.left() as u64, Ordering::Relaxed);
            parties.peer.answer(&waiting.id, &Done {});
        }
    }

    /// Waits until the connection may hold so much more. Does not wait for a process that reads nothing of what it has.
    async fn wait_for_room(
        &self,
        session: &Session,
        write: &Write,
        parties: &Parties,
    ) -> Result<(), Refusal> {
        let mut held = parties.processes.held.0.subscribe();
        let mut progress = session.watch();
        let begun = Instant::now();
        let mut since = begun;
        let mut read = progress.borrow_and_update().input;
        loop {
            if QueuedInput::has_room_for(*held.borrow_and_update(), write.bytes.len()) {
                return Ok(());
            }
            let (input, phase) = {
                let level = progress.borrow_and_update();
                (level.input, level.phase)
            };
            if phase != Phase::Running {
                return Ok(());
            }
            if input != read {
                (read, since) = (input, Instant::now());
            }
            // A process that has read all its input is not the one that stalls.
            let has_unread = input.queued() > 0;
            if has_unread && (self.lock().stalled_at == Some(input) || since.elapsed() >= STALLED) {
                self.lock().stalled_at = Some(input);
                return Err(stalled(session));
            }
            if begun.elapsed() >= LONGEST_WAIT {
                return Err(crowded(session));
            }
            let until = if has_unread { since + STALLED } else { begun + LONGEST_WAIT };
            // timer: a process that reads nothing causes no event.
            let patience = tokio::time::sleep_until(until.min(begun + LONGEST_WAIT).into());
            tokio::select! {
                _ = held.changed() => {}
                _ = progress.changed() => {}
                () = patience => {}
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Fed {
    /// No write waits any more.
    All,
    /// More writes may wait.
    One,
    /// The process must read first.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Offered {
    Whole,
    Part,
}

impl Waiting {
    fn left(&self) -> usize {
        self.stock.len() - self.taken
    }

    fn in_memory(&self) -> usize {
        self.stock.here().len().saturating_sub(self.taken)
    }

    /// The next bytes, at most `step`, of those in memory.
    fn next(&self, step: usize) -> &[u8] {
        &self.stock.here()[self.taken..self.taken + step]
    }

    /// Loads the bytes into memory, because their turn has come.
    async fn fetch(&mut self, held: &QueuedInput) -> io::Result<()> {
        held.add(self.stock.fetch().await?);
        Ok(())
    }

    /// Adds to a refusal how many bytes were taken: a client that tries again must not write them twice.
    fn after_writing(&self, refusal: Refusal) -> Refusal {
        match self.stock.len() {
            0 => refusal,
            count => {
                let message = format!("{} (the {count} bytes before the end were written)", refusal.message);
                Refusal::new(refusal.code, message)
            }
        }
    }

    /// Ends the input if this write asks for that, and answers.
    async fn finish(self, session: &Session, parties: &Parties) -> Result<(), Refusal> {
        if self.last == Last::End {
            end(session).await.map_err(|refusal| self.after_writing(refusal))?;
        }
        parties.peer.answer(&self.id, &Done {});
        Ok(())
    }
}

/// Ends the input after what is queued. Whether that is possible is known at once only if nothing is queued.
async fn end(session: &Session) -> Result<(), Refusal> {
    let on_terminal = session.facts().terminal.is_some();
    let queued = session.progress().input.queued();
    let session = session.clone();
    let ending = async move { session.end_input_with(LastLine::Ended).await };
    if !on_terminal || queued > 0 {
        drop(tokio::spawn(ending));
        return Ok(());
    }
    match ending.await {
        Err(error @ InputError::NotInLineMode) => Err(Refusal::new(INVALID_REQUEST, error.to_string())),
        // The input has ended, one way or another.
        Ok(()) | Err(_) => Ok(()),
    }
}

fn stalled(session: &Session) -> Refusal {
    let id = session.id();
    let message = format!(
        "session {id} has read nothing for {} s, and with this write more than {} MiB of input would wait on this connection; nothing of this write was taken, retry later",
        STALLED.as_secs(),
        HELD_LIMIT >> 20,
    );
    Refusal::new(OVERLOADED, message)
}

fn crowded(session: &Session) -> Refusal {
    let id = session.id();
    let message = format!(
        "with this write to session {id} more than {} MiB of input would wait on this connection, and too little of it was read within {} s; nothing of this write was taken, retry later",
        HELD_LIMIT >> 20,
        LONGEST_WAIT.as_secs(),
    );
    Refusal::new(OVERLOADED, message)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt, BufReader};
    use windlass_engine::{Engine, EngineOptions};

    use super::*;
    use crate::app::connection::{AfterLoss, Connection};
    use crate::app::process::Name;
    use crate::app::{AppOptions, AppServer};
    use crate::jsonrpc::{Framing, MessageHandler, Stamping};

    #[tokio::test]
    async fn an_end_that_waited_and_cannot_be_typed_is_refused() {
        let engine = Engine::new(EngineOptions::default()).expect("an engine can be made");
        let options = AppOptions {
            directory: "/".into(),
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            state_directory: "/state".into(),
            sandbox: windlass_engine::sandbox::Policy::FullAccess,
            process_sandbox: windlass_engine::sandbox::Policy::FullAccess,
        };
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let peer = Peer::new(Box::new(theirs), Framing::Lines, Stamping::Plain);
        let server = AppServer::new(engine.clone(), options);
        let mut connection = Connection::new(server, peer.clone(), AfterLoss::Ends);
        for message in [
            r#"{"id":1,"method":"initialize","params":{"clientInfo":{"name":"test","version":"1"}}}"#,
            r#"{"id":2,"method":"command/exec","params":{"command":["sh","-c","stty raw -echo; echo ready; exec sleep 1000"],"processId":"r","tty":true}}"#,
        ] {
            connection.take(message.as_bytes()).await;
        }
        let mut lines = BufReader::new(ours).lines();
        let mut next = async || lines.next_line().await.expect("it can be read").expect("a line");
        while !next().await.contains("command/exec/outputDelta") {}

        let process = connection.processes.find(&Name::Command("r".into())).expect("it runs");
        let input = process.input.as_ref().expect("a terminal can be written to");
        let parties = Parties { peer, processes: Arc::clone(&connection.processes) };
        input.lock().closed = true;
        let id = RequestId::Text("last".into());
        input.put_by(
            &process,
            Waiting { id, stock: Stock::Here(Vec::new()), taken: 0, last: Last::End },
            &parties,
        );
        input.feed(&process, &parties).await;
        let answer = next().await;
        assert!(answer.contains("\"id\":\"last\"") && answer.contains("not in line mode"), "{answer}");
        assert!(!input.lock().closed);
        connection.close().await;
        engine.shutdown().await;
    }
}
