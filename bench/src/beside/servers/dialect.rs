//! The two protocols: the messages that start, feed and end a program, and the meaning of the answers.

use crate::beside::contest::Who;
use serde_json::{Value, json};
use std::path::Path;
use windlass_testkit::base64;

/// A server, by its protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerKind {
    App,
    Exec,
}

/// How a program is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Io {
    /// Output through pipes, nothing to read.
    Output,
    /// Pipes in both directions.
    Pipes,
    Terminal,
}

/// The name of a process that a client gave to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Name(pub(super) u64);

/// The meaning of a line from the server, as far as the measurements need it.
#[derive(Debug)]
pub(super) enum ServerLine<'a> {
    /// Output, in base64.
    Output(&'a [u8]),
    /// A process has ended and all of its output has been sent.
    Ended {
        code: Option<i64>,
    },
    Refused(String),
    Other,
}

impl ServerKind {
    /// The verb of the command line.
    pub(super) fn verb(self) -> &'static [&'static str] {
        match self {
            Self::App => &["app-server"],
            Self::Exec => &["exec-server", "--listen", "stdio"],
        }
    }

    /// The peer whose server speaks it too.
    pub(super) fn peer(self) -> Who {
        match self {
            Self::App => Who::Codex,
            Self::Exec => Who::CodexExec,
        }
    }

    pub(super) fn hello(self) -> Value {
        match self {
            Self::App => {
                let who =
                    json!({ "name": "windlass-bench", "title": null, "version": env!("CARGO_PKG_VERSION") });
                json!({ "clientInfo": who, "capabilities": { "experimentalApi": true } })
            }
            Self::Exec => json!({ "clientName": "windlass-bench", "resumeSessionId": null }),
        }
    }

    /// The request that starts a program.
    pub(super) fn start(self, name: Name, argv: &[&str], (io, folder): (Io, &Path)) -> (&'static str, Value) {
        let Name(number) = name;
        let name = number.to_string();
        match self {
            Self::App => {
                let params = json!({
                    "command": argv,
                    "processId": name,
                    "tty": io == Io::Terminal,
                    "streamStdin": io != Io::Output,
                    "streamStdoutStderr": true,
                    "disableOutputCap": true,
                    "disableTimeout": true,
                    "sandboxPolicy": { "type": "dangerFullAccess" },
                });
                ("command/exec", params)
            }
            Self::Exec => {
                let params = json!({
                    "processId": name,
                    "argv": argv,
                    "cwd": format!("file://{}", folder.display()),
                    "env": {},
                    "tty": io == Io::Terminal,
                    "pipeStdin": io == Io::Pipes,
                });
                ("process/start", params)
            }
        }
    }

    /// The request that runs a program to its end, with its output in the answer if the dialect has that.
    pub(super) fn run(self, name: Name, argv: &[&str], folder: &Path) -> (&'static str, Value) {
        match self {
            Self::App => {
                let params = json!({
                    "command": argv,
                    "disableTimeout": true,
                    "sandboxPolicy": { "type": "dangerFullAccess" },
                });
                ("command/exec", params)
            }
            Self::Exec => self.start(name, argv, (Io::Output, folder)),
        }
    }

    /// The request that types into a program.
    pub(super) fn write(self, name: Name, bytes: &[u8], number: u64) -> (&'static str, Value) {
        let (name, chunk) = (name.0.to_string(), base64::encode(bytes));
        match self {
            Self::App => ("command/exec/write", json!({ "processId": name, "deltaBase64": chunk })),
            Self::Exec => {
                ("process/write", json!({ "processId": name, "chunk": chunk, "writeId": number.to_string() }))
            }
        }
    }

    /// The meaning of a line. Output is found without parsing the line: a gigabyte may consist of nothing else.
    pub(super) fn event(self, line: &[u8]) -> ServerLine<'_> {
        let (about, key) = match self {
            Self::App => (&b"command/exec/outputDelta"[..], &b"deltaBase64"[..]),
            Self::Exec => (&b"process/output"[..], &b"chunk"[..]),
        };
        match text_after(line, key) {
            Some(text) if memchr::memmem::find(&line[..line.len().min(64)], about).is_some() => {
                ServerLine::Output(text)
            }
            _ => self.rarer_event(&serde_json::from_slice(line).unwrap_or_default()),
        }
    }

    fn rarer_event(self, message: &Value) -> ServerLine<'static> {
        if let Some(text) = message["error"]["message"].as_str() {
            return ServerLine::Refused(text.to_owned());
        }
        match self {
            Self::App if message["result"]["exitCode"].is_i64() => {
                ServerLine::Ended { code: message["result"]["exitCode"].as_i64() }
            }
            Self::Exec if message["method"] == json!("process/closed") => ServerLine::Ended { code: None },
            _ => ServerLine::Other,
        }
    }
}

/// The process that a line of output belongs to.
pub(super) fn process_of(line: &[u8]) -> Option<Name> {
    text_after(line, b"processId").and_then(|text| std::str::from_utf8(text).ok()?.parse().ok()).map(Name)
}

/// The string that is the value of this member; nothing in it may be escaped.
fn text_after<'a>(line: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let mut quotes = memchr::memchr_iter(b'"', line);
    loop {
        let (open, close) = (quotes.next()?, quotes.next()?);
        if &line[open + 1..close] == key && line.get(close + 1) == Some(&b':') {
            let (open, close) = (quotes.next()?, quotes.next()?);
            return Some(&line[open + 1..close]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_told_from_answers_and_from_ends_in_both_dialects() {
        let delta = br#"{"method":"command/exec/outputDelta","params":{"processId":"7","stream":"stdout","deltaBase64":"eA==","capReached":false}}"#;
        assert!(matches!(ServerKind::App.event(delta), ServerLine::Output(b"eA==")));
        assert_eq!(process_of(delta), Some(Name(7)));
        let end = br#"{"id":1,"result":{"exitCode":3,"stdout":"\"deltaBase64\":\"eA==\"","stderr":""}}"#;
        assert!(matches!(ServerKind::App.event(end), ServerLine::Ended { code: Some(3) }));
        let output = br#"{"method":"process/output","params":{"processId":"7","seq":1,"stream":"pty","chunk":"eA=="}}"#;
        assert!(matches!(ServerKind::Exec.event(output), ServerLine::Output(b"eA==")));
        let closed = br#"{"method":"process/closed","params":{"processId":"7","seq":2}}"#;
        assert!(matches!(ServerKind::Exec.event(closed), ServerLine::Ended { code: None }));
        let refusal = br#"{"error":{"code":-32600,"message":"no"},"id":1}"#;
        assert!(matches!(ServerKind::Exec.event(refusal), ServerLine::Refused(_)));
    }
}
