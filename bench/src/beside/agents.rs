//! `windlass agent` beside `codex exec`: the same scripted model on loopback gives both the same replies, in turns.
//!
//! Both have an empty home, keep their conversation on disk and print their events as JSON to nowhere. The model reads
//! the clock when the last byte of a request is there and before the first byte of its answer leaves, so the time it
//! takes to understand a request is charged to neither.

mod agent;
mod crowd;
mod errand;
mod solo;

use super::BenchRow;

pub(super) const EVENTS: &[BenchRow] = &[
    BenchRow { names: &solo::FREE, measure: solo::free },
    BenchRow { names: &solo::SCRIPT, measure: solo::script },
    BenchRow { names: &solo::CONFINED, measure: solo::confined },
    BenchRow { names: &crowd::NAMES, measure: crowd::measure },
];
