//! Signals that people and systems send to `windlass run`, and changes of the window's size.

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal as Arrivals, SignalKind, signal};
use windlass_sys::signal::Signal;

/// A signal from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutsideSignal {
    /// Ctrl-C or Ctrl-\: meant for the command first.
    Interrupt(Signal),
    /// Windlass should end, and the command with it.
    End(Signal),
    /// The window has a new size.
    Resized,
}

/// All of these signals, caught as long as this exists. A signal that is ignored from the start, because of `nohup` or
/// for a background job, stays ignored.
pub(crate) struct Signals {
    interrupt: Option<Arrivals>,
    quit: Option<Arrivals>,
    terminate: Option<Arrivals>,
    hangup: Option<Arrivals>,
    window: Option<Arrivals>,
}

impl Signals {
    pub(crate) fn catch() -> Result<Self> {
        let ignored = Ignored::read();
        let catch = |kind: SignalKind| match ignored.contains(kind) {
            true => Ok(None),
            false => signal(kind).map(Some).context("cannot catch signals"),
        };
        Ok(Self {
            interrupt: catch(SignalKind::interrupt())?,
            quit: catch(SignalKind::quit())?,
            terminate: catch(SignalKind::terminate())?,
            hangup: catch(SignalKind::hangup())?,
            window: catch(SignalKind::window_change())?,
        })
    }

    /// Waits for any signal that people and systems use to end a program.
    pub(crate) async fn told_to_end(mut self) {
        while self.next().await == OutsideSignal::Resized {}
    }

    /// The next signal. Cancel-safe.
    pub(crate) async fn next(&mut self) -> OutsideSignal {
        tokio::select! {
            biased;
            () = arrival(&mut self.terminate) => OutsideSignal::End(Signal::TERM),
            () = arrival(&mut self.hangup) => OutsideSignal::End(Signal::HUP),
            () = arrival(&mut self.interrupt) => OutsideSignal::Interrupt(Signal::INT),
            () = arrival(&mut self.quit) => OutsideSignal::Interrupt(Signal::QUIT),
            () = arrival(&mut self.window) => OutsideSignal::Resized,
        }
    }
}

/// Waits for one kind of signal; never completes if it is not caught or cannot come any more.
async fn arrival(arrivals: &mut Option<Arrivals>) {
    let arrived = match arrivals {
        Some(arrivals) => arrivals.recv().await,
        None => None,
    };
    if arrived.is_none() {
        std::future::pending::<()>().await;
    }
}

/// The signals this process ignores, one bit each.
#[derive(Clone, Copy, Debug)]
struct Ignored(u64);

impl Ignored {
    fn read() -> Self {
        Self::parse(&std::fs::read_to_string("/proc/self/status").unwrap_or_default())
    }

    fn parse(status: &str) -> Self {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        Self(mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0))
    }

    fn contains(self, kind: SignalKind) -> bool {
        self.0 >> (kind.as_raw_value() - 1) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_kernels_mask() {
        let ignored = Ignored::parse("Name:\twindlass\nSigIgn:\t0000000000001001\nSigCgt:\t0\n");
        assert!(ignored.contains(SignalKind::hangup()) && ignored.contains(SignalKind::pipe()));
        assert!(!ignored.contains(SignalKind::terminate()));
        assert!(!Ignored::parse("").contains(SignalKind::hangup()));
    }
}
