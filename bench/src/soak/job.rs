//! One program that a client starts, and the result that it must have.

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use windlass_testkit::base64;
use windlass_testkit::bytes::Noise;
use windlass_testkit::wire::ServerError;

/// A request, the messages that follow it at once, and the judgement.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) params: Value,
    /// Requests for the same process, in order.
    pub(super) controls: Vec<(&'static str, Value)>,
    expected: Expected,
    streamed: Vec<u8>,
}

#[derive(Debug)]
enum Expected {
    /// This output, in the answer.
    Printed(String, i64),
    /// This output, in pieces.
    Streamed(Vec<u8>, i64),
    /// So many bytes, and a remark that output was cut.
    Cut(usize),
    /// An end caused by the client, whatever came before.
    Ended,
    TimedOut,
    /// It prints its process id, the client kills it, and the answer reports that.
    Killed,
    CannotStart,
}

impl Job {
    /// Any of the kinds. The marker is in its command line, and its name is its own in the connection.
    pub(super) fn any(noise: &mut Noise, marker: &str, name: &str) -> Self {
        let below = |noise: &mut Noise, most: u64| noise.word() % most;
        match below(noise, 11) {
            0 => Self::printing(marker, (below(noise, 3000), below(noise, 200) as i64)),
            1 => Self::streaming(marker, name, (below(noise, 60_000), below(noise, 2) == 0)),
            2 | 3 => Self::echoing(noise, name),
            4 => Self::not_reading(marker, name, &["command/exec/terminate"]),
            5 => Self::not_reading(marker, name, &[]),
            6 => Self::leaving(marker, name),
            7 => Self::silent(marker, name, 20 + below(noise, 300)),
            8 => Self::capped(marker, name, 1 + below(noise, 5000) as usize),
            9 => Self::killed(marker, name),
            _ => Self::missing(name),
        }
    }

    fn of(script: &str, marker: &str, expected: Expected) -> Self {
        let params =
            json!({ "command": ["/bin/sh", "-c", format!(": {marker}; {script}")], "disableTimeout": true });
        Self { params, controls: Vec::new(), expected, streamed: Vec::new() }
    }

    fn named(mut self, name: &str) -> Self {
        self.params["processId"] = json!(name);
        self.params["streamStdoutStderr"] = json!(true);
        self
    }

    fn printing(marker: &str, (lines, code): (u64, i64)) -> Self {
        let expected = (1..=lines).map(|number| format!("{number}\n")).collect();
        Self::of(&format!("seq {lines}; exit {code}"), marker, Expected::Printed(expected, code))
    }

    fn streaming(marker: &str, name: &str, (lines, tty): (u64, bool)) -> Self {
        let end = if tty { "\r\n" } else { "\n" };
        let expected: String = (1..=lines).map(|number| format!("{number}{end}")).collect();
        let mut job =
            Self::of(&format!("exec seq {lines}"), marker, Expected::Streamed(expected.into_bytes(), 0))
                .named(name);
        job.params["tty"] = json!(tty);
        job.params["disableOutputCap"] = json!(true);
        job
    }

    /// A program that echoes its input, and ends with it.
    fn echoing(noise: &mut Noise, name: &str) -> Self {
        let (mut controls, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..noise.word() % 8 {
            let mut part = vec![0; (noise.word() % 100_000) as usize];
            noise.fill(&mut part);
            controls.push(write(name, &part));
            expected.extend(part);
        }
        controls.push(("command/exec/write", json!({ "processId": name, "closeStdin": true })));
        let params = json!({
            "command": ["/bin/cat"], "processId": name, "streamStdin": true, "streamStdoutStderr": true,
            "disableTimeout": true, "disableOutputCap": true,
        });
        Self { params, controls, expected: Expected::Streamed(expected, 0), streamed: Vec::new() }
    }

    /// A program that gets a megabyte which it does not read, and is stopped or runs out of time.
    fn not_reading(marker: &str, name: &str, ends: &[&'static str]) -> Self {
        let expected = if ends.is_empty() { Expected::TimedOut } else { Expected::Ended };
        let mut job = Self::of("sleep 1000", marker, expected).named(name);
        job.params["streamStdin"] = json!(true);
        job.params["tty"] = json!(ends.is_empty());
        if ends.is_empty() {
            job.params["disableTimeout"] = json!(false);
            job.params["timeoutMs"] = json!(300);
        }
        let part = vec![b'\n'; 64 * 1024];
        job.controls = (0..16).map(|_| write(name, &part)).collect();
        job.controls.extend(ends.iter().map(|end| (*end, json!({ "processId": name }))));
        job
    }

    /// A program that leaves processes in other sessions, and is stopped.
    fn leaving(marker: &str, name: &str) -> Self {
        let stray = format!("setsid sh -c ': {marker}; sleep 1000' &");
        let mut job =
            Self::of(&format!("{stray} ({stray}) ; sleep 1000"), marker, Expected::Ended).named(name);
        job.controls = vec![("command/exec/terminate", json!({ "processId": name }))];
        job
    }

    fn silent(marker: &str, name: &str, milliseconds: u64) -> Self {
        let mut job = Self::of("exec sleep 1000", marker, Expected::TimedOut).named(name);
        job.params["disableTimeout"] = json!(false);
        job.params["timeoutMs"] = json!(milliseconds);
        job
    }

    fn capped(marker: &str, name: &str, cap: usize) -> Self {
        let mut job = Self::of("head -c 100000 /dev/zero", marker, Expected::Cut(cap)).named(name);
        job.params["outputBytesCap"] = json!(cap);
        job
    }

    fn killed(marker: &str, name: &str) -> Self {
        Self::of("echo $$; exec sleep 1000", marker, Expected::Killed).named(name)
    }

    fn missing(name: &str) -> Self {
        let params = json!({ "command": ["/nowhere/to/be/found"], "processId": name, "tty": true });
        Self { params, controls: Vec::new(), expected: Expected::CannotStart, streamed: Vec::new() }
    }

    /// Takes a piece of output.
    pub(super) fn take(&mut self, params: &Value) -> Result<()> {
        let text = params["deltaBase64"].as_str().context("a piece without output")?;
        self.streamed.extend(base64::decode(text.as_bytes()).context("a piece that is not base64")?);
        if let (Expected::Killed, Some(number)) = (&self.expected, self.streamed.strip_suffix(b"\n")) {
            let number = std::str::from_utf8(number)?.parse().context("not the number of a process")?;
            // It may be gone already where its connection is.
            let _ = kill_process(Pid::from_raw(number).context("a process")?, Signal::KILL);
        }
        Ok(())
    }

    pub(super) fn streamed(&self) -> usize {
        self.streamed.len()
    }

    /// Whether the answer is the expected one.
    pub(super) fn judge(&self, answer: &Result<Value, ServerError>) -> Result<()> {
        let result = match (answer, &self.expected) {
            (Err(refusal), Expected::CannotStart) => {
                ensure!(refusal.code == -32603, "{refusal}");
                return Ok(());
            }
            (Err(refusal), _) => bail!("refused: {refusal} for {}", self.params),
            (Ok(result), _) => result,
        };
        let code = result["exitCode"].as_i64();
        let right = match &self.expected {
            Expected::Printed(text, expected) => code == Some(*expected) && result["stdout"] == json!(text),
            Expected::Streamed(bytes, expected) => code == Some(*expected) && self.streamed == *bytes,
            Expected::Cut(cap) => self.streamed.len() == *cap && result["stdoutTruncated"] == json!(true),
            Expected::Ended => code == Some(143) || code == Some(137),
            Expected::TimedOut => code == Some(124) && result["timedOut"] == json!(true),
            Expected::Killed => code == Some(137) && result["signal"] == json!(9),
            Expected::CannotStart => false,
        };
        ensure!(right, "{} streamed and {result} for {}", self.streamed.len(), self.params);
        Ok(())
    }
}

fn write(name: &str, part: &[u8]) -> (&'static str, Value) {
    ("command/exec/write", json!({ "processId": name, "deltaBase64": base64::encode(part) }))
}
