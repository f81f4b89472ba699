//! Memory and processor time of a server, from its files in `/proc`.

use anyhow::{Context, Result};

/// Memory in KiB; the field is one of `/proc/PID/status`.
pub(crate) fn memory_kib(pid: u32, field: &str) -> Result<f64> {
    let file = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&file).with_context(|| format!("reading {file}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let value = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    value.with_context(|| format!("{file} has no {field}"))
}

/// Seconds of processor time that all its threads have used, in and out of the kernel.
pub(super) fn cpu_seconds(pid: u32) -> Result<f64> {
    let file = format!("/proc/{pid}/stat");
    let text = std::fs::read_to_string(&file).with_context(|| format!("reading {file}"))?;
    // The name before the last parenthesis may have spaces of its own.
    let fields = text.rsplit_once(')').map(|(_, fields)| fields).unwrap_or_default();
    let ticks: Vec<f64> =
        fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    anyhow::ensure!(ticks.len() == 2, "{file} has no times");
    Ok(ticks.iter().sum::<f64>() / rustix::param::clock_ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_used_memory_and_time() {
        let me = std::process::id();
        assert!(memory_kib(me, "VmRSS").unwrap() > 0.0);
        let before = cpu_seconds(me).unwrap();
        while cpu_seconds(me).unwrap() <= before {}
    }
}
