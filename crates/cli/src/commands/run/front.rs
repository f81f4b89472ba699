//! Connects the session with the terminal or pipes of windlass: passes on keys, signals and sizes, and writes the
//! output.

use std::io;
use std::pin::pin;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use windlass_engine::{Engine, Session, Until};
use windlass_sys::terminal::RawMode;

use super::input;
use super::plan::{Keyboard, Presentation};
use super::run_end::RunEnd;
use super::signals::{OutsideSignal, Signals};
use super::stream::{self, Goal, Streamed};
use crate::config;

/// How long the last output may take to be written after a signal to end.
const LAST_WORDS: Duration = Duration::from_secs(1);

pub(crate) struct LocalFront {
    session: Session,
    signals: Signals,
    interrupts: u32,
    raw_mode: Option<RawMode>,
    keys: Option<JoinHandle<()>>,
    output: Output,
    goal: watch::Sender<Goal>,
}

impl LocalFront {
    pub(crate) fn open(
        session: &Session,
        presentation: Presentation,
        keyboard: Keyboard,
        signals: Signals,
    ) -> Self {
        let (goal, goals) = watch::channel(Goal::Exit);
        let streaming = presentation == Presentation::Stream;
        let raw = keyboard == Keyboard::Raw;
        Self {
            session: session.clone(),
            signals,
            interrupts: 0,
            // A terminal that rejects raw mode can still be used line by line.
            raw_mode: raw.then(|| RawMode::enter(rustix::stdio::stdin()).ok()).flatten(),
            keys: (keyboard != Keyboard::Unused).then(|| tokio::spawn(input::forward(session.clone()))),
            output: match streaming {
                true => Output::Streaming(tokio::spawn(stream::stream(session.clone(), goals))),
                false => Output::Unused,
            },
            goal,
        }
    }

    /// Waits for the end of the run, and handles signals meanwhile.
    pub(crate) async fn attend(&mut self, until: &Until) -> RunEnd {
        let session = self.session.clone();
        let mut wait = pin!(session.wait(until));
        loop {
            tokio::select! {
                biased;
                told = self.signals.next() => {
                    if let Some(turn) = self.obey(told).await {
                        return turn;
                    }
                }
                met = &mut wait => return RunEnd::from(met),
                turn = self.output.failed() => return turn,
            }
        }
    }

    async fn obey(&mut self, told: OutsideSignal) -> Option<RunEnd> {
        match told {
            OutsideSignal::End(signal) => return Some(RunEnd::Ended(signal)),
            OutsideSignal::Interrupt(signal) if self.interrupts > 0 => return Some(RunEnd::Stopped(signal)),
            OutsideSignal::Interrupt(signal) => {
                self.interrupts += 1;
                // An error means that the session has exited.
                let _ = self.session.signal(signal).await;
            }
            OutsideSignal::Resized => {
                // A session on pipes has no size.
                let _ = self.session.resize(config::own_size()).await;
            }
        }
        None
    }

    /// Carries out on the session what the end of the run requires.
    pub(crate) async fn carry_out(&self, turn: &RunEnd, engine: &Engine) {
        match turn {
            RunEnd::Exited(_) => {}
            RunEnd::Ended(_) => drop(engine.shutdown().await),
            _ => drop(self.session.stop().await),
        }
    }

    /// Waits until the last output is written (after a signal to end, only for a moment) and restores the terminal. An
    /// error in writing may still change how the run ended.
    pub(crate) async fn close(mut self, turn: RunEnd) -> RunEnd {
        if let Some(keys) = self.keys.take() {
            keys.abort();
        }
        if self.session.receipt().is_none() {
            self.goal.send_replace(Goal::Offset(self.session.journal().end()));
        }
        match turn {
            // After a signal to end, this does not wait long for a reader that does not read.
            RunEnd::Ended(_) => drop(tokio::time::timeout(LAST_WORDS, self.last_output()).await),
            _ => self.last_output().await,
        }
        drop(self.raw_mode.take());
        turn.after(self.output.result())
    }

    async fn last_output(&mut self) {
        loop {
            tokio::select! {
                () = self.output.ended() => return,
                told = self.signals.next() => {
                    if told != OutsideSignal::Resized {
                        return;
                    }
                }
            }
        }
    }
}

/// The task that streams output, or its result.
enum Output {
    Unused,
    Streaming(JoinHandle<io::Result<Streamed>>),
    Over(io::Result<Streamed>),
}

impl Output {
    /// Waits until the last output is written. Cancel-safe.
    async fn ended(&mut self) {
        if let Self::Streaming(writing) = self {
            let result = writing.await.unwrap_or_else(|error| Err(io::Error::other(error)));
            *self = Self::Over(result);
        }
    }

    /// Completes when output cannot be written any more; never, while it can.
    async fn failed(&mut self) -> RunEnd {
        self.ended().await;
        match self {
            Self::Over(Err(error)) => RunEnd::of_failed_write(error),
            Self::Over(Ok(_)) | Self::Unused | Self::Streaming(_) => std::future::pending().await,
        }
    }

    fn result(&self) -> Option<&io::Result<Streamed>> {
        match self {
            Self::Over(result) => Some(result),
            Self::Unused | Self::Streaming(_) => None,
        }
    }
}
