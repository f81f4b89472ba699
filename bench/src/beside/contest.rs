//! A contest: several programs do the same work in turns, and the figures of each.

use crate::comparison::Bar;
use crate::rounds::{Samples, median};
use anyhow::{Context, Result};
use std::fmt;

/// The contenders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Who {
    /// The Windlass program that the row is about.
    Windlass,
    /// The same work with nothing around it.
    Bare,
    /// The same, and every byte is kept in a file.
    Kept,
    /// `codex app-server`.
    Codex,
    /// `codex exec-server`.
    CodexExec,
    /// Codex's own tools, as its model uses them.
    CodexTools,
    /// `codex exec`.
    CodexAgent,
    Commander,
    Tmux,
    /// The raw output of the program.
    Raw,
    /// `bwrap`, a sandbox to be put before a command.
    Bubblewrap,
    /// Our own server, for a command without a sandbox.
    Unconfined,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Windlass => "windlass",
            Self::Bare => "bare",
            Self::Kept => "bare, into a file",
            Self::Codex => "codex app-server",
            Self::CodexExec => "codex exec-server",
            Self::CodexTools => "codex exec_command",
            Self::CodexAgent => "codex exec",
            Self::Commander => "Desktop Commander",
            Self::Tmux => "tmux",
            Self::Raw => "raw bytes",
            Self::Bubblewrap => "bwrap",
            Self::Unconfined => "without a sandbox",
        })
    }
}

/// A contender: how it does the work once, and how often it has to.
pub(super) struct Contender<'a> {
    pub(super) who: Who,
    pub(super) times: usize,
    pub(super) once: Box<dyn FnMut() -> Result<f64> + 'a>,
}

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) figures: Vec<(Who, Samples)>,
    pub(crate) bar: Bar,
    /// The contender with which the bar compares windlass; none if the bar is absolute.
    pub(crate) against: Option<Who>,
}

impl Finding {
    pub(crate) fn median_of(&self, who: Who) -> Option<f64> {
        self.figures.iter().find(|(of, _)| *of == who).map(|(_, samples)| samples.median)
    }

    pub(crate) fn ratio(&self) -> Option<f64> {
        Some(self.median_of(Who::Windlass)? / self.median_of(self.against?)?)
    }

    pub(crate) fn is_met(&self) -> bool {
        let ours = self.median_of(Who::Windlass).unwrap_or(f64::NAN);
        self.bar.is_met(ours, self.ratio())
    }
}

/// Lets all contenders do the work in turns. The first one changes with every turn.
pub(super) fn hold(mut contenders: Vec<Contender<'_>>) -> Result<Vec<(Who, Samples)>> {
    let most = contenders.iter().map(|contender| contender.times).max().unwrap_or_default();
    let count = contenders.len();
    let mut samples: Vec<Vec<f64>> = vec![Vec::new(); count];
    for turn in 0..most {
        for place in 0..count {
            let at = (place + turn) % count;
            let contender = &mut contenders[at];
            if turn < contender.times {
                let who = contender.who;
                samples[at].push((contender.once)().with_context(|| who.to_string())?);
            }
        }
    }
    Ok(contenders.iter().zip(samples).map(|(contender, samples)| figure(contender.who, samples)).collect())
}

/// The rounds of one contender, as a figure of a row.
pub(super) fn figure(who: Who, rounds: Vec<f64>) -> (Who, Samples) {
    (who, Samples { median: median(&rounds), rounds })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn everybody_has_as_many_turns_as_was_asked_for_and_nobody_is_always_first() {
        let order = RefCell::new(Vec::new());
        let contender = |who, times| Contender {
            who,
            times,
            once: Box::new({
                let order = &order;
                move || {
                    order.borrow_mut().push(who);
                    Ok(1.0)
                }
            }),
        };
        let figures = hold(vec![contender(Who::Windlass, 2), contender(Who::Bare, 3)]).unwrap();
        assert_eq!(*order.borrow(), [Who::Windlass, Who::Bare, Who::Bare, Who::Windlass, Who::Bare], "turns");
        assert_eq!(figures[1].1.rounds.len(), 3);
    }
}
