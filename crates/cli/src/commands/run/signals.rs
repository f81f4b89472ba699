//! Signals that people and systems send to `windlass run`, and the window's size.

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal as Arrivals, SignalKind, signal};
use windlass_sys::signal::Signal;

/// What we are told from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Ctrl-C or Ctrl-\: meant for the command first.
    Interrupt(Signal),
    /// We are to end, and the command with us.
    End(Signal),
    /// The window has another size.
    Resized,
}

/// All of them, caught from the moment this exists.
pub(crate) struct Signals {
    interrupt: Arrivals,
    quit: Arrivals,
    terminate: Arrivals,
    hangup: Arrivals,
    window: Arrivals,
}

impl Signals {
    pub(crate) fn catch() -> Result<Self> {
        let catch = |kind| signal(kind).context("cannot catch signals");
        Ok(Self {
            interrupt: catch(SignalKind::interrupt())?,
            quit: catch(SignalKind::quit())?,
            terminate: catch(SignalKind::terminate())?,
            hangup: catch(SignalKind::hangup())?,
            window: catch(SignalKind::window_change())?,
        })
    }

    /// The next one. May be dropped and asked again without losing any.
    pub(crate) async fn next(&mut self) -> Told {
        tokio::select! {
            biased;
            Some(()) = self.terminate.recv() => Told::End(Signal::TERM),
            Some(()) = self.hangup.recv() => Told::End(Signal::HUP),
            Some(()) = self.interrupt.recv() => Told::Interrupt(Signal::INT),
            Some(()) = self.quit.recv() => Told::Interrupt(Signal::QUIT),
            Some(()) = self.window.recv() => Told::Resized,
            else => std::future::pending().await,
        }
    }
}
