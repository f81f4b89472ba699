//! Memory of this process, as the kernel reports it.

use anyhow::{Context, Result};
use std::fs;

/// Resident memory in KiB, exactly: the counters in `status` may lag by a few pages per processor.
pub(super) fn resident_kib() -> Result<f64> {
    kib("/proc/self/smaps_rollup", "Rss:")
}

/// The most resident memory there has been, in KiB.
pub(super) fn peak_kib() -> Result<f64> {
    kib("/proc/self/status", "VmHWM:")
}

pub(super) fn threads() -> Result<f64> {
    kib("/proc/self/status", "Threads:")
}

fn kib(file: &str, field: &str) -> Result<f64> {
    let text = fs::read_to_string(file).with_context(|| format!("reading {file}"))?;
    let value =
        text.lines().find_map(|line| line.strip_prefix(field)?.split_whitespace().next()?.parse().ok());
    value.with_context(|| format!("{file} has no {field}"))
}
