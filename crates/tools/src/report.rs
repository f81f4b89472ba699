//! How sessions, ends and times are put into words and into JSON.

use std::fmt::Display;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};
use windlass_engine::sandbox::Denial;
use windlass_engine::{
    Amount, Cause, Crossed, Degraded, Exit, Fitted, Missing, PeakMemory, ProcessLine, Receipt, Resource,
    Signal, StartRecord, Why,
};
use windlass_output::Span;

use crate::live_session::{LiveSession, Number};

/// How a session ended, as the end of a sentence that begins with the session.
pub(crate) fn ending(receipt: &Receipt) -> String {
    let exit = match receipt.exit {
        Exit::Unknown => "ended in a way that is not known".to_owned(),
        exit => format!("exited with code {}", exit.code()),
    };
    match killed(receipt) {
        Some(why) => format!("{exit} ({why})"),
        None => exit,
    }
}

/// Why the runtime ended it, if it did.
pub(crate) fn killed(receipt: &Receipt) -> Option<String> {
    match (receipt.cause, receipt.exit) {
        (Cause::Itself, Exit::Signal(number)) => Some(format!("killed by {}", Signal::from(number))),
        (Cause::Itself, _) => None,
        (Cause::Dropped, _) => Some("killed: its lifetime was the call".to_owned()),
        (Cause::Evicted, _) => Some("killed: too many sessions were running".to_owned()),
        (cause, _) => Some(format!("killed: {cause}")),
    }
}

/// Processes that should have been ended and could not be, as a sentence.
pub(crate) fn remaining(receipt: &Receipt) -> Option<String> {
    let remaining = &receipt.remaining;
    (!remaining.is_empty()).then(|| format!("could not be ended: {}", processes(remaining)))
}

/// The longest text about one process.
const LONGEST_PROCESS: usize = 120;

/// Processes, one after the other.
pub(crate) fn processes(lines: &[ProcessLine]) -> String {
    let shown = |line: &ProcessLine| shortened(&line.to_string(), LONGEST_PROCESS);
    lines.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// The processes that a session's root left running, and, where other commands cannot signal them, the call that ends
/// them.
pub(crate) fn left_running(lines: &[ProcessLine], held: &LiveSession) -> String {
    let (count, number) = (lines.len(), held.number);
    let names = left_processes(lines);
    match held.session.facts().sandbox {
        None => format!("{count} processes: {names} (session {number})"),
        Some(_) => format!(
            "{count} processes: {names} (session {number}; other commands cannot signal them, stop_session \
             session_id={number} ends them)"
        ),
    }
}

/// The same as a part of a session's line in a list.
pub(crate) fn left_in_list(lines: &[ProcessLine], held: &LiveSession) -> String {
    let names = left_processes(lines);
    match held.session.facts().sandbox {
        None => names,
        Some(_) => format!("{names} (other commands cannot signal them, stop_session ends them)"),
    }
}

/// A command that prints `$!` prints the number inside of its sandbox.
fn left_processes(lines: &[ProcessLine]) -> String {
    let shown = |line: &ProcessLine| {
        let text = shortened(&line.to_string(), LONGEST_PROCESS);
        match line.pid_in_sandbox() {
            Some(inside) => format!("{text} [{inside} in its sandbox]"),
            None => text,
        }
    };
    lines.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// The same for programs.
pub(crate) fn left_running_json(lines: &[ProcessLine]) -> Value {
    let json = |line: &ProcessLine| {
        let mut object = json!({ "pid": line.pid, "command": line.command });
        if let Some(inside) = line.pid_in_sandbox() {
            object["pid_in_sandbox"] = inside.into();
        }
        object
    };
    lines.iter().map(json).collect()
}

/// A session that has no live handle here, in one line of a list.
pub(crate) fn session_line(number: &dyn Display, state: &str, command: &str, start: &StartRecord) -> String {
    let name = start.name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
    format!(
        "{number}{name}: {state} | {} | in {} | started {}{}\n",
        shortened(command, 100),
        start.cwd.display(),
        moment(start.started),
        withheld(&start.withheld),
    )
}

/// The names of variables that a command did not get, as a part of a session's line in a list.
pub(crate) fn withheld(names: &[String]) -> String {
    withheld_names(names).map(|names| format!(" | withheld variables: {names}")).unwrap_or_default()
}

/// The same as a remark, which a client gets once: a program that misses such a variable blames something else.
pub(crate) fn withheld_remark(names: &[String]) -> Option<String> {
    withheld_names(names).map(|names| format!("commands do not get these variables: {names}"))
}

fn withheld_names(names: &[String]) -> Option<String> {
    const MOST: usize = 10;
    let shown = shortened(&names[..names.len().min(MOST)].join(", "), 300);
    match names.len().checked_sub(MOST).filter(|more| *more > 0) {
        _ if names.is_empty() => None,
        Some(more) => Some(format!("{shown} and {more} more")),
        None => Some(shown),
    }
}

/// The beginning of a text on one line.
pub(crate) fn shortened(text: &str, longest: usize) -> String {
    // The cut part need not be put into one line first; spaces may make the result a little shorter.
    let near = beginning(text, longest.saturating_mul(8));
    beginning(&near.split_whitespace().collect::<Vec<_>>().join(" "), longest)
}

/// The beginning of a text, as it is.
pub(crate) fn beginning(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

/// Seconds with one decimal.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// A receipt for programs.
pub(crate) fn receipt(receipt: &Receipt) -> Value {
    let (peak, measured) = match receipt.peak_memory {
        PeakMemory::Exactly(bytes) => (bytes, true),
        PeakMemory::AtMost(bytes) => (bytes, false),
    };
    let mut object = json!({
        "cause": receipt.cause.to_string(),
        "signal": signal(receipt.exit),
        "wall_seconds": rounded(receipt.wall),
        "cpu_seconds": rounded(receipt.cpu_user + receipt.cpu_system),
        "peak_memory_bytes": peak,
        "peak_memory_is_exact": measured,
        "undelivered_input": receipt.undelivered_input,
    });
    if let Cause::Limit(crossed) = receipt.cause {
        object["limit"] = limit(&crossed);
    }
    object
}

/// A limit that was crossed, for programs. CPU time is in seconds, everything else in its own unit.
fn limit(crossed: &Crossed) -> Value {
    let amount = |Amount(raw): Amount| match crossed.resource {
        Resource::CpuTime => json!(rounded(Duration::from_nanos(raw))),
        _ => json!(raw),
    };
    json!({
        "resource": crossed.resource.name(),
        "scope": crossed.scope.name(),
        "limit": amount(crossed.limit),
        "peak": amount(crossed.peak),
        "means": crossed.means.name(),
    })
}

/// The name of the signal that ended a process.
pub(crate) fn signal(exit: Exit) -> Option<String> {
    match exit {
        Exit::Signal(number) => Some(Signal::from(number).to_string()),
        Exit::Code(_) | Exit::Unknown => None,
    }
}

/// Processes for programs.
pub(crate) fn processes_json(lines: &[ProcessLine]) -> Value {
    lines.iter().map(|line| json!({ "pid": line.pid, "command": line.command })).collect()
}

/// Denials of a sandbox, for programs.
pub fn denials_json(denials: &[Denial]) -> Value {
    let json = |denial: &Denial| {
        json!({
            "operation": denial.operation.name(),
            "target": denial.target,
            "rule": denial.rule,
            "times": denial.times,
        })
    };
    denials.iter().map(json).collect()
}

/// Output that a reply does not show, as a note.
pub(crate) fn missing(missing: &Missing, session: Option<Number>) -> String {
    let Missing { span, why } = missing;
    let of = session.map(|number| format!(" of session {number}")).unwrap_or_default();
    let count = span.len();
    match why {
        Why::Dropped => format!("bytes {span}{of} were more than is kept and are gone ({count} bytes)"),
        Why::Unsaved(_) | Why::Unreadable(_) => {
            format!("bytes {span}{of} are missing ({count} bytes): {why}")
        }
    }
}

/// The same for programs.
pub(crate) fn missing_json(missing: &[Missing]) -> Value {
    let json = |missing: &Missing| {
        let Missing { span, why } = missing;
        json!({ "from": span.from().get(), "to": span.to().get(), "reason": why.to_string() })
    };
    missing.iter().map(json).collect()
}

/// A note that later readers will not find all of the output.
pub(crate) fn degraded(degraded: &Degraded) -> String {
    format!("not all of the output from byte {} on is on disk: {}", degraded.at, degraded.reason)
}

/// A span for programs.
pub(crate) fn span(span: Span) -> Value {
    json!({ "from": span.from().get(), "to": span.to().get() })
}

/// An excerpt for programs.
pub(crate) fn put_excerpt(fitted: &Fitted, into: &mut Map<String, Value>) {
    let omitted = fitted.omitted.map(
        |(span, tokens)| json!({ "from": span.from().get(), "to": span.to().get(), "tokens": tokens.get() }),
    );
    into.insert("original_token_count".into(), fitted.original.get().into());
    into.insert("output".into(), fitted.text.as_str().into());
    into.insert("span".into(), span(fitted.span));
    into.insert("omitted".into(), omitted.into_iter().collect::<Vec<_>>().into());
}

/// Seconds to a tenth of a millisecond.
pub(crate) fn rounded(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e4).round() / 1e4
}

/// A moment as RFC 3339 writes it, in UTC, to the second.
pub(crate) fn moment(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, second) = (since / 86_400, since % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The civil date of a day since 1970-01-01. Years are counted from March, so that a leap day is a year's last.
fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_TO_1970: u64 = 719_468;
    const DAYS_IN_400_YEARS: u64 = 146_097;
    let days = days + DAYS_TO_1970;
    let (era, day_of_era) = (days / DAYS_IN_400_YEARS, days % DAYS_IN_400_YEARS);
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_in_utc() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(moment(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn a_long_text_is_shortened_to_one_line() {
        assert_eq!(shortened("a\n  b\tc", 10), "a b c");
        assert_eq!(shortened("ééééé", 3), "ééé…");
    }
}
