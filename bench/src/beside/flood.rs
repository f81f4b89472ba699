//! A hundred megabytes of log: how much longer it takes than with a reader that only reads, what it weighs meanwhile,
//! and whether the answer has the right beginning, end and count.

use super::client::Client;
use super::contest::{Contender, Finding, Who, figure, hold};
use super::{RowContext, codex, windlass};
use crate::comparison::{Bar, Scale};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use windlass_output::Tokenizer;

pub(super) const NAMES: &[&str] = &[
    "mcp-flood-awk",
    "mcp-flood-awk-memory",
    "mcp-flood-cat",
    "mcp-flood-cat-memory",
    "mcp-flood-python",
    "mcp-flood-python-memory",
    "mcp-flood-yes",
    "mcp-flood-yes-memory",
    "mcp-flood-seq",
    "mcp-flood-seq-memory",
];

/// About 78 bytes each.
const LINES: u64 = 1_500_000;

pub(super) fn measure(around: &RowContext) -> Result<Vec<Finding>> {
    let lines = match around.scale {
        Scale::Full => LINES,
        Scale::Tiny => 20_000,
    };
    let folder = around.folder()?;
    let awk = awk(lines);
    let log = Log::write(&awk, folder.join("log"))?;
    let cat = format!("cat '{}'", log.path.display());
    let mut findings = flood(around, &log, (&awk, row("awk"), "116 MB of log lines, printed by awk"))?;
    findings.extend(flood(around, &log, (&cat, row("cat"), "the same, printed by cat"))?);
    for (script, name, what) in [
        (python(lines), "python", "97 MB of log lines, printed by python3"),
        (yes(lines), "yes", "116 MB of one line, printed by yes"),
        (seq(lines), "seq", "107 MB of numbers, printed by seq"),
    ] {
        let log = Log::write(&script, folder.join("log"))?;
        findings.extend(flood(around, &log, (&script, row(name), what))?);
    }
    Ok(findings)
}

/// The names of the two rows of a program.
fn row(program: &str) -> [&'static str; 2] {
    let first = NAMES.iter().position(|name| name.ends_with(program)).unwrap_or_default();
    [NAMES[first], NAMES[first + 1]]
}

fn awk(lines: u64) -> String {
    format!(
        "awk 'BEGIN {{ for (i = 0; i < {lines}; i++) printf \"2026-01-01T00:00:%02d INFO worker request %d served \
         in %d us by 10.0.0.%d\\n\", i % 60, i, i % 977, i % 251 }}'"
    )
}

fn python(lines: u64) -> String {
    format!(
        "python3 -c 'import sys; sys.stdout.writelines(\"[%05d] worker-%d: job %d took %d ms, %d retries, \
         status=ok\\n\" % (i % 86400, i % 16, i, i % 977, i % 13) for i in range({lines}))'"
    )
}

fn yes(lines: u64) -> String {
    let line = "12:00:00.000 DEBUG pool: connection reused by worker seven (idle for 250 ms)";
    format!("yes '{line}' | head -c {}", lines * (line.len() as u64 + 1))
}

fn seq(lines: u64) -> String {
    // Nine bytes each, most of them.
    format!("seq {}", lines * 78 / 9 + lines / 12)
}

/// The printed output as a file, and the facts that a correct answer must report about it.
struct Log {
    path: PathBuf,
    bytes: u64,
    first: String,
    last: String,
    tokens: u64,
}

impl Log {
    fn write(script: &str, path: PathBuf) -> Result<Self> {
        let status = Command::new("bash").args(["-c", script]).stdout(File::create(&path)?).status()?;
        ensure!(status.success(), "the log cannot be written");
        let mut lines = BufReader::new(File::open(&path)?).lines();
        let first = lines.next().context("the log is empty")??;
        let last = lines.last().context("the log has one line")??;
        let (bytes, tokens) = counted(&path)?;
        Ok(Self { path, bytes, first, last, tokens })
    }

    /// Fails unless the answer has the beginning and the end, and reports the exact size of the output.
    fn ensure_told(&self, result: &Value) -> Result<()> {
        windlass::ensure_success(result)?;
        let (output, told) = (windlass::output(result)?, &result["structuredContent"]);
        ensure!(output.starts_with(&self.first), "the beginning is missing: {output:.200}");
        ensure!(output.trim_end().ends_with(&self.last), "the end is missing");
        ensure!(
            told["span"] == json!({ "from": 0, "to": self.bytes }),
            "not {} bytes: {}",
            self.bytes,
            told["span"]
        );
        let tokens = told["original_token_count"].as_u64();
        ensure!(tokens == Some(self.tokens), "{tokens:?} tokens told, {} counted", self.tokens);
        Ok(())
    }
}

/// Line by line: every line begins with a digit, and no token reaches from a line's end to a digit.
fn counted(path: &Path) -> Result<(u64, u64)> {
    let mut lines = BufReader::new(File::open(path)?);
    let (mut bytes, mut tokens) = (0, 0);
    let mut line = String::new();
    while lines.read_line(&mut line)? > 0 {
        bytes += line.len() as u64;
        tokens += Tokenizer::O200k.count(&line).get();
        line.clear();
    }
    Ok((bytes, tokens))
}

fn flood(
    around: &RowContext,
    log: &Log,
    row: (&str, [&'static str; 2], &'static str),
) -> Result<Vec<Finding>> {
    let (script, [name, memory], what) = row;
    let times = around.times(1).min(5);
    let mut server = windlass::warm(around)?;
    let gained = RefCell::new(Vec::new());
    let once = Box::new(|| {
        let (took, more) = through_windlass(&mut server, script, log)?;
        gained.borrow_mut().push(more);
        Ok(took)
    });
    let mut contenders = vec![Contender { who: Who::Windlass, times, once }];
    let bare = || through_a_reader(script, log, |_| Ok(()));
    contenders.push(Contender { who: Who::Bare, times, once: Box::new(bare) });
    let kept = || through_a_shim(script, log);
    contenders.push(Contender { who: Who::Kept, times, once: Box::new(kept) });
    if around.with_peers() {
        let mut codex = codex::connected(&mut codex::app_server(around)?)?;
        let once = Box::new(move || {
            let begun = Instant::now();
            codex::run(&mut codex, script)?;
            Ok(begun.elapsed().as_secs_f64() * 1e3)
        });
        contenders.push(Contender { who: Who::Codex, times, once });
    }
    let figures = hold(contenders)?;
    server.end()?;
    let gained = vec![figure(Who::Windlass, gained.into_inner())];
    let weight = "resident memory gained by that, at most";
    Ok(vec![
        Finding { name, what, unit: "ms", figures, bar: Bar::MostTimes(1.3), against: Some(Who::Bare) },
        Finding {
            name: memory,
            what: weight,
            unit: "MiB",
            figures: gained,
            bar: Bar::Most(32.0),
            against: None,
        },
    ])
}

/// Milliseconds, and the MiB by which its memory ever grew.
fn through_windlass(server: &mut Client, script: &str, log: &Log) -> Result<(f64, f64)> {
    let before = server.memory_kib("VmRSS")?;
    let begun = Instant::now();
    let result = server.call("exec_command", &json!({ "cmd": script, "yield_time_ms": 30_000 }))?;
    let took = begun.elapsed();
    log.ensure_told(&result)?;
    let gained = server.memory_kib("VmHWM")? - before;
    Ok((took.as_secs_f64() * 1e3, gained.max(0.0) / 1024.0))
}

/// The time to get the same bytes into a file with a reader that does nothing else.
fn through_a_shim(script: &str, log: &Log) -> Result<f64> {
    let path = log.path.with_extension("kept");
    let mut file = File::create(&path)?;
    let took = through_a_reader(script, log, |bytes| file.write_all(bytes));
    std::fs::remove_file(&path)?;
    took
}

fn through_a_reader(
    script: &str,
    log: &Log,
    mut take: impl FnMut(&[u8]) -> std::io::Result<()>,
) -> Result<f64> {
    let begun = Instant::now();
    let mut command = Command::new("bash");
    let mut child = command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut output = child.stdout.take().context("reading from the script")?;
    let (mut bytes, mut chunk) = (0, vec![0; 64 * 1024]);
    loop {
        match output.read(&mut chunk)? {
            0 => break,
            count => {
                bytes += count as u64;
                take(&chunk[..count])?;
            }
        }
    }
    ensure!(child.wait()?.success() && bytes == log.bytes, "{bytes} of {} bytes", log.bytes);
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}
