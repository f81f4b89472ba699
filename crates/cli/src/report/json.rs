//! The JSON of receipts, excerpts and journals. The names are those of the tools that models use.

use super::limits;
use serde_json::{Map, Value, json};
use windlass_engine::{Account, Exit, Missing, PeakMemory, ProcessLine, Receipt, SessionId};
use windlass_output::Span;
use windlass_sys::signal::Signal;
use windlass_tools::denials_json;

use std::path::Path;
use windlass_engine::Fitted;

/// The fields of a receipt; all of them `null` without one.
pub(crate) fn receipt_fields(receipt: Option<&Receipt>, into: &mut Map<String, Value>) {
    let mut put = |name: &str, value: Value| into.insert(name.to_owned(), value);
    put("exit_code", receipt.map_or(Value::Null, |receipt| receipt.exit.code().into()));
    put("signal", receipt.and_then(|receipt| signal(receipt.exit)).into());
    put("cause", receipt.map(|receipt| receipt.cause.to_string()).into());
    put("wall_seconds", receipt.map(|receipt| rounded(receipt.wall.as_secs_f64())).into());
    put("cpu_seconds", receipt.map(cpu).into());
    put("peak_memory", receipt.map_or(Value::Null, |receipt| peak_memory(receipt.peak_memory)));
    put("bytes", receipt.map_or(Value::Null, bytes));
    put("undelivered_input", receipt.map(|receipt| receipt.undelivered_input).into());
    put("denials", receipt.map_or(Value::Null, |receipt| denials_json(&receipt.denials)));
    put("left_running", receipt.map_or(Value::Null, |receipt| processes(&receipt.left_running)));
    put("ended", receipt.map_or(Value::Null, |receipt| processes(&receipt.ended)));
    put("remaining", receipt.map_or(Value::Null, |receipt| processes(&receipt.remaining)));
    put("limit", receipt.map_or(Value::Null, |receipt| limits::crossed(receipt.cause)));
    put("peaks", receipt.map_or(Value::Null, |receipt| limits::peaks(&receipt.peaks)));
    put("enforced", receipt.map_or(Value::Null, |receipt| limits::enforced(&receipt.enforced)));
}

/// The fields of an excerpt, and its source.
pub(crate) fn excerpt_fields(fitted: &Fitted, into: &mut Map<String, Value>) {
    let mut put = |name: &str, value: Value| into.insert(name.to_owned(), value);
    put("output", fitted.text.as_str().into());
    put("original_token_count", fitted.original.get().into());
    put("span", span(fitted.span));
    let omitted = fitted.omitted.map(|(omitted, tokens)| {
        json!({"from": omitted.from().get(), "to": omitted.to().get(), "tokens": tokens.get()})
    });
    put("omitted", omitted.into_iter().collect::<Vec<_>>().into());
}

/// The path of a journal, and whether it is complete.
pub(crate) fn journal_fields(directory: Option<&Path>, id: SessionId, account: &Account) -> Value {
    let path = directory.map(|directory| directory.join(format!("{id}-*.out")).display().to_string());
    let degraded = account.degraded.as_ref().map(|degraded| degraded.reason.as_str());
    json!({
        "path": path,
        "kept_in": if directory.is_some() { "files" } else { "memory" },
        "end": account.end.get(),
        "dropped": account.dropped,
        "degraded": degraded,
        "missing": account.missing.iter().map(missing).collect::<Vec<_>>(),
    })
}

/// Output that was printed and cannot be shown, and the reason.
fn missing(missing: &Missing) -> Value {
    let Missing { span, why } = missing;
    json!({"from": span.from().get(), "to": span.to().get(), "reason": why.to_string()})
}

/// Processes by number and command.
pub(crate) fn processes(lines: &[ProcessLine]) -> Value {
    lines.iter().map(|line| json!({"pid": line.pid, "command": line.command})).collect()
}

fn span(span: Span) -> Value {
    json!({"from": span.from().get(), "to": span.to().get()})
}

fn signal(exit: Exit) -> Option<String> {
    match exit {
        Exit::Code(_) | Exit::Unknown => None,
        Exit::Signal(number) => Some(Signal::from(number).to_string()),
    }
}

fn cpu(receipt: &Receipt) -> f64 {
    rounded((receipt.cpu_user + receipt.cpu_system).as_secs_f64())
}

fn peak_memory(peak: PeakMemory) -> Value {
    match peak {
        PeakMemory::Exactly(bytes) => json!({"bytes": bytes, "exact": true}),
        PeakMemory::AtMost(bytes) => json!({"bytes": bytes, "exact": false}),
    }
}

fn bytes(receipt: &Receipt) -> Value {
    let bytes = receipt.bytes;
    json!({"stdout": bytes.stdout, "stderr": bytes.stderr, "terminal": bytes.terminal})
}

/// Rounded to four decimals: the measurements are not more exact.
fn rounded(seconds: f64) -> f64 {
    (seconds * 10_000.0).round() / 10_000.0
}
