//! The end of a process, as the dialect reports it.

use windlass_engine::{self as engine, Cause, Exit, PeakMemory, SessionId};
use windlass_protocol::app::{Denial, EndCause, ProcessLine, Receipt, SessionExit};

use super::limits;
use super::process::Process;

/// The exit code that a client gets after a timeout.
const TIMED_OUT: i32 = 124;
/// The exit code that a client gets when the runtime does not know the real one.
const UNKNOWN: i32 = -1;

/// How a process ended.
pub(super) fn exit_of(process: &Process, receipt: &engine::Receipt) -> SessionExit {
    let timed_out = matches!(receipt.cause, Cause::Timeout(_));
    let (exit_code, signal) = match receipt.exit {
        Exit::Code(code) => (code, None),
        Exit::Signal(signal) => (receipt.exit.code(), Some(signal)),
        Exit::Unknown => (UNKNOWN, None),
    };
    SessionExit {
        exit_code: if timed_out { TIMED_OUT } else { exit_code },
        signal,
        timed_out,
        drain_timed_out: receipt.cut_off,
        receipt: receipt_of(process.session.id(), process, receipt),
    }
}

fn receipt_of(id: SessionId, process: &Process, receipt: &engine::Receipt) -> Receipt {
    let (peak_memory_bytes, peak_memory_is_bound) = match receipt.peak_memory {
        PeakMemory::Exactly(bytes) => (bytes, false),
        PeakMemory::AtMost(bytes) => (bytes, true),
    };
    let discarded = process.input.as_ref().map_or(0, super::input::Input::discarded);
    Receipt {
        session_id: id.get(),
        pid: process.session.facts().root.get(),
        cause: cause_of(receipt.cause),
        wall_us: microseconds(receipt.wall),
        cpu_user_us: microseconds(receipt.cpu_user),
        cpu_system_us: microseconds(receipt.cpu_system),
        peak_memory_bytes,
        peak_memory_is_bound,
        stdout_bytes: receipt.bytes.stdout,
        stderr_bytes: receipt.bytes.stderr,
        terminal_bytes: receipt.bytes.terminal,
        undelivered_input: receipt.undelivered_input + discarded,
        denials: denials(&receipt.denials),
        notes: process.notes.clone(),
        left_running: lines(&receipt.left_running),
        ended: lines(&receipt.ended),
        remaining: lines(&receipt.remaining),
        limit: limits::crossed(receipt.cause),
        peaks: limits::peaks(&receipt.peaks),
        enforced: limits::enforced(&receipt.enforced),
    }
}

fn cause_of(cause: Cause) -> EndCause {
    match cause {
        Cause::Itself => EndCause::Itself,
        Cause::Timeout(_) => EndCause::Timeout,
        Cause::Stopped => EndCause::Stopped,
        Cause::Limit(_) => EndCause::Limit,
        Cause::Shutdown => EndCause::Shutdown,
        Cause::Evicted => EndCause::Evicted,
        Cause::Dropped => EndCause::Dropped,
    }
}

fn denials(denials: &[engine::sandbox::Denial]) -> Vec<Denial> {
    let shape = |denial: &engine::sandbox::Denial| Denial {
        operation: denial.operation.name().to_owned(),
        target: denial.target.clone(),
        rule: denial.rule.clone(),
        times: denial.times,
    };
    denials.iter().map(shape).collect()
}

fn lines(processes: &[engine::ProcessLine]) -> Vec<ProcessLine> {
    let line =
        |process: &engine::ProcessLine| ProcessLine { pid: process.pid, command: process.command.clone() };
    processes.iter().map(line).collect()
}

fn microseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
