//! The memory, descriptors and threads of the server at one moment.

use crate::beside::process;
use anyhow::{Context, Result};
use std::fmt;

#[derive(Clone, Copy, Debug)]
pub(super) struct Weight {
    pub(super) memory_mib: f64,
    pub(super) descriptors: usize,
    threads: usize,
}

impl Weight {
    pub(super) fn of(pid: u32) -> Result<Self> {
        let count = |folder: &str| {
            let path = format!("/proc/{pid}/{folder}");
            std::fs::read_dir(&path).map(Iterator::count).with_context(|| format!("reading {path}"))
        };
        let memory_mib = process::memory_kib(pid, "VmRSS")? / 1024.0;
        Ok(Self { memory_mib, descriptors: count("fd")?, threads: count("task")? })
    }
}

/// The most memory in each half of the time.
pub(super) fn halves(weights: &[Weight]) -> (f64, f64) {
    let most = |weights: &[Weight]| weights.iter().map(|weight| weight.memory_mib).fold(0.0, f64::max);
    let (early, late) = weights.split_at(weights.len().div_ceil(2));
    (most(early), most(late))
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { memory_mib, descriptors, threads } = self;
        write!(f, "{memory_mib:.1} MiB, {descriptors} descriptors, {threads} threads")
    }
}
