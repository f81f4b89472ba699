//! The output of a session: read without blocking, journaled, then published.

use super::Shared;
use super::source::{Filled, Source};
use crate::Stream;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::cell::RefCell;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;
use windlass_output::QueryScanner;
use windlass_sys::pty::{self, Size};

/// The reading half of a session's task.
#[derive(Debug)]
pub(crate) struct Outputs {
    sources: [Option<Source>; Self::SOURCES],
    /// Where the next look begins, so that neither stream starves the other.
    turn: usize,
    /// How many batches of a flood were read without yielding to other tasks.
    unbroken: u32,
    terminal: Option<TerminalEnd>,
}

#[derive(Debug)]
struct TerminalEnd {
    master: Arc<OwnedFd>,
    /// Held while the root lives, so that a program which closes its terminal and opens it again does not end it.
    slave: Option<OwnedFd>,
    /// Looks for questions to the terminal, if the engine is to answer them.
    scanner: Option<QueryScanner>,
}

/// The outcome of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadOutcome {
    /// Nothing, now.
    Nothing,
    /// Output.
    Output,
    /// Output in which a program asks its terminal something.
    Question,
}

thread_local! {
    /// One buffer per thread: a waiting session holds none.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// After so many batches the task yields to all others.
const MOST_UNBROKEN: u32 = 8;

/// How a source is read.
type Fill = fn(&mut Source, &mut [u8]) -> Filled;

impl Outputs {
    pub(crate) const SOURCES: usize = 2;

    pub(crate) fn pipes(stdout: Source, stderr: Option<Source>) -> Self {
        Self { sources: [Some(stdout), stderr], turn: 0, unbroken: 0, terminal: None }
    }

    pub(crate) fn terminal(source: Source, slave: OwnedFd, scanner: Option<QueryScanner>) -> Self {
        let terminal = TerminalEnd { master: Arc::clone(source.fd()), slave: Some(slave), scanner };
        Self { sources: [Some(source), None], turn: 0, unbroken: 0, terminal: Some(terminal) }
    }

    /// The next source that has something to read, or has ended.
    pub(crate) fn poll_readable(&mut self, cx: &mut Context<'_>) -> Poll<usize> {
        if self.unbroken >= MOST_UNBROKEN {
            // A notified waiter needs this very thread, which would otherwise read on until the flood ebbs.
            self.unbroken = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        for place in 0..Self::SOURCES {
            let number = (self.turn + place) % Self::SOURCES;
            if let Some(source) = &mut self.sources[number]
                && source.poll_readable(cx).is_ready()
            {
                self.turn = number + 1;
                return Poll::Ready(number);
            }
        }
        Poll::Pending
    }

    /// Reads a source that the reactor announced, journals, and publishes the progress.
    pub(crate) fn read(&mut self, source: usize, shared: &Shared) -> ReadOutcome {
        self.read_gathered_beside(source, shared);
        self.read_by(source, shared, Source::fill_announced)
    }

    /// Reads the other, coalescing stream first: its bytes were most likely printed before those that are announced
    /// now; and where both streams print, their order is worth more than the cost of a wakeup for every piece.
    fn read_gathered_beside(&mut self, source: usize, shared: &Shared) {
        let gathers = |source: &Option<Source>| source.as_ref().is_some_and(Source::is_gathering);
        if gathers(&self.sources[source]) {
            return;
        }
        for other in (0..Self::SOURCES).filter(|other| *other != source) {
            if gathers(&self.sources[other]) {
                self.read_by(other, shared, Source::fill);
            }
            self.sources[other].iter_mut().for_each(Source::expect_drop);
        }
    }

    /// A client wrote to the session and may be waiting for the next output.
    pub(crate) fn expect_drop(&mut self) {
        self.sources.iter_mut().flatten().for_each(Source::expect_drop);
    }

    /// Reads available output, announced or not: the exit of the root may be known before its last output is announced.
    pub(crate) fn read_now(&mut self, source: usize, shared: &Shared) -> ReadOutcome {
        self.read_by(source, shared, Source::fill)
    }

    fn read_by(&mut self, number: usize, shared: &Shared, fill: Fill) -> ReadOutcome {
        BUFFER.with_borrow_mut(|buffer| {
            let Some(source) = &mut self.sources[number] else { return ReadOutcome::Nothing };
            let (stream, batch) = (source.stream(), source.batch());
            if buffer.len() < batch {
                buffer.resize(batch, 0);
            }
            let filled = fill(source, &mut buffer[..batch]);
            let count = self.heed(number, filled, shared);
            if count == 0 {
                return ReadOutcome::Nothing;
            }
            shared.remember(stream, &buffer[..count]);
            self.scan(&buffer[..count])
        })
    }

    /// Handles the outcome of a read and returns the number of bytes. A source that has ended is forgotten, and a flood
    /// is prepared for.
    fn heed(&mut self, number: usize, filled: Filled, shared: &Shared) -> usize {
        let root_gone = self.terminal.as_ref().is_some_and(|terminal| terminal.slave.is_none());
        let Some(source) = &mut self.sources[number] else { return 0 };
        match filled {
            // A process opened the terminal again after it had ended: waiting for it would be a busy loop.
            Filled::Emptied(0) if source.has_hung_up() && root_gone => {
                self.sources[number] = None;
                0
            }
            Filled::Emptied(count) => {
                source.flows(count, &shared.roomy);
                count
            }
            Filled::Chased(count) => {
                source.trickles(&shared.roomy);
                self.unbroken += 1;
                count
            }
            Filled::More(count) => {
                source.flows(count, &shared.roomy);
                // Tasks that pass output on must not get it late; some milliseconds are acceptable.
                self.unbroken += if shared.story.receiver_count() > 0 { MOST_UNBROKEN / 4 } else { 1 };
                count
            }
            Filled::Ended(count) => {
                self.sources[number] = None;
                count
            }
        }
    }

    fn scan(&mut self, bytes: &[u8]) -> ReadOutcome {
        let scanner = self.terminal.as_mut().and_then(|terminal| terminal.scanner.as_mut());
        if scanner.is_some_and(|scanner| scanner.feed(bytes)) {
            ReadOutcome::Question
        } else {
            ReadOutcome::Output
        }
    }

    /// Whether every source has reached its end.
    pub(crate) fn is_closed(&self) -> bool {
        self.sources.iter().all(Option::is_none)
    }

    /// From now on the terminal ends when the last program closes it.
    pub(crate) fn root_exited(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            terminal.slave = None;
        }
    }

    /// The runtime's end of the terminal, if there is one.
    pub(crate) fn master(&self) -> Option<&OwnedFd> {
        self.terminal.as_ref().map(|terminal| &*terminal.master)
    }

    pub(crate) fn resize(&self, size: Size) -> Result<(), Errno> {
        match &self.terminal {
            Some(terminal) => pty::resize(&*terminal.master, size),
            None => Err(Errno::NOTTY),
        }
    }
}

impl Shared {
    /// Journals first, then publishes: no reader hears of a byte that cannot be read.
    fn remember(&self, stream: Stream, bytes: &[u8]) {
        let now = Instant::now();
        let span = self.journal.append(stream, now.duration_since(self.started), bytes);
        if let Some(degraded) = self.journal.take_new_degradation() {
            self.record_degraded(&degraded);
        }
        self.progress.send_modify(|progress| {
            progress.end = span.to();
            progress.last_output = now;
        });
        self.story.send_replace(());
    }
}
