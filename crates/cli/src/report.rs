//! Describes sessions: receipts, processes and excerpts, as text for people and as JSON for programs.

mod json;
mod limits;
mod numbers;

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use windlass_engine::{Cause, Exit, PeakMemory, ProcessLine, Receipt, SessionId, StartRecord};
use windlass_output::{Marker, Tokenizer};
use windlass_sys::signal::Signal;

pub(crate) use self::json::{excerpt_fields, journal_fields, processes as processes_json, receipt_fields};
pub(crate) use self::limits::{limits_json, limits_words};
pub(crate) use self::numbers::{age, bytes, count, seconds, timestamp};

/// The marker for omitted output: it names the command that reads it.
pub(crate) fn marker(tokenizer: Tokenizer, id: &SessionId) -> Marker<'_> {
    match tokenizer {
        // A reader that counts bytes gets the plain marker.
        Tokenizer::Bytes4 => Marker::Count,
        Tokenizer::O200k | Tokenizer::Cl100k => Marker::Command { session: id },
    }
}

/// One line about a session's end and its resource usage.
pub(crate) fn receipt_line(id: SessionId, receipt: &Receipt) -> String {
    let ending = ending(receipt);
    let wall = seconds(receipt.wall);
    let cpu = seconds(receipt.cpu_user + receipt.cpu_system);
    let memory = match receipt.peak_memory {
        PeakMemory::Exactly(peak) => format!("peak memory {}", bytes(peak)),
        PeakMemory::AtMost(peak) => format!("peak memory at most {}", bytes(peak)),
    };
    format!("session {id} {ending} after {wall} (cpu {cpu}, {memory})")
}

/// How the session ended, as the end of a sentence that begins with the session.
pub(crate) fn ending(receipt: &Receipt) -> String {
    let exit = match receipt.exit {
        Exit::Code(code) => format!("exited with code {code}"),
        Exit::Signal(number) => format!("was ended by {}", Signal::from(number)),
        Exit::Unknown => "ended in a way that is not known".into(),
    };
    match (receipt.cause, receipt.exit) {
        (Cause::Itself, Exit::Signal(number)) => exit + reached_limit(number),
        (Cause::Itself, _) => exit,
        (Cause::Timeout(limit), _) => format!("timed out after {} and {exit}", duration(limit)),
        (Cause::Limit(crossed), _) => format!("was killed: {crossed}"),
        (Cause::Stopped, Exit::Signal(number)) => format!("was stopped by {}", Signal::from(number)),
        (Cause::Stopped, Exit::Code(_) | Exit::Unknown) => format!("was stopped and {exit}"),
        (cause, _) => format!("{exit} ({cause})"),
    }
}

/// The limit that a signal stands for. If the session's own limit was crossed, the receipt has another cause, so this
/// limit was inherited.
fn reached_limit(signal: i32) -> &'static str {
    match Signal::from(signal) {
        Signal::XCPU => ": it reached a limit on CPU time (`ulimit -t`)",
        Signal::XFSZ => ": a file reached a limit on its size (`ulimit -f`)",
        _ => "",
    }
}

/// A short list of processes.
pub(crate) fn processes(lines: &[ProcessLine]) -> String {
    const SHOWN: usize = 5;
    let mut words: Vec<String> = lines.iter().take(SHOWN).map(ToString::to_string).collect();
    if let Some(more) = lines.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        words.push(format!("and {more} more"));
    }
    words.join(", ")
}

/// A number with its noun.
pub(crate) fn plural(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ if noun.ends_with('s') => format!("{number} {noun}es"),
        _ => format!("{number} {noun}s"),
    }
}

/// A limit as it would be typed.
pub(crate) fn duration(time: Duration) -> String {
    let millis = time.as_millis();
    if millis.is_multiple_of(1000) { format!("{} s", millis / 1000) } else { format!("{millis} ms") }
}

/// The command that was requested: the script, on one line, or the arguments.
pub(crate) fn asked_for(start: &StartRecord) -> String {
    match &start.script {
        Some(script) => script.split_whitespace().collect::<Vec<_>>().join(" "),
        None => command_line(&start.argv),
    }
}

/// A command quoted for a shell.
pub(crate) fn command_line(argv: &[OsString]) -> String {
    let words: Vec<String> = argv.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy().replace(['\n', '\r', '\t'], " ");
    let plain = |c: char| c.is_alphanumeric() || "_-./+@%:,=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_quoted_as_a_shell_needs_it() {
        let check = |argv: &[&str], expected: &str| {
            let argv: Vec<OsString> = argv.iter().map(OsString::from).collect();
            assert_eq!(command_line(&argv), expected);
        };
        check(&["ls", "-la", "/tmp"], "ls -la /tmp");
        check(&["sh", "-c", "echo 'hi there'"], r"sh -c 'echo '\''hi there'\'''");
        check(&["echo", "", "a\nb"], "echo '' 'a b'");
    }

    #[test]
    fn long_lists_of_processes_are_cut() {
        let lines: Vec<ProcessLine> =
            (1..=7).map(|pid| ProcessLine { pid, command: "x".to_owned() }).collect();
        assert_eq!(processes(&lines), "1 x, 2 x, 3 x, 4 x, 5 x, and 2 more");
        assert_eq!(processes(&lines[..1]), "1 x");
    }

    #[test]
    fn nouns_have_plurals() {
        assert_eq!(plural(1, "process"), "1 process");
        assert_eq!(plural(2, "process"), "2 processes");
        assert_eq!(plural(0, "line"), "0 lines");
    }
}
