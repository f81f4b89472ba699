//! A script that ends while it is waited for: from its last act, which is to write the time into a file, to the answer.

use super::client::Client;
use super::contest::{Contender, Finding, Who, hold};
use super::{RowContext, codex, commander, windlass};
use crate::comparison::Bar;
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

pub(super) const NAMES: &[&str] = &["mcp-exit"];

pub(super) fn measure(around: &RowContext) -> Result<Vec<Finding>> {
    let note = around.folder()?.join("note");
    // Bash's own clock: nothing is started between the time and the end.
    let script = format!("sleep 0.3; echo line; sleep 0.01; echo $EPOCHREALTIME > '{}'", note.display());
    let mut server = windlass::warm(around)?;
    let times = around.times(2);
    let once = Box::new(|| {
        let order = json!({ "cmd": script, "shell": "bash", "yield_time_ms": 10_000 });
        let result = server.call("exec_command", &order)?;
        let late = since(&note)?;
        ensure!(windlass::output(&result)? == "line\n", "not all that was printed: {result}");
        Ok(late)
    });
    let mut contenders = vec![Contender { who: Who::Windlass, times, once }];
    if around.with_peers() {
        let mut codex = codex::connected(&mut codex::app_server(around)?)?;
        let (script, note) = (&script, &note);
        let to_codex = move || codex::run(&mut codex, script).and_then(|_| since(note));
        let mut commander = Client::mcp(&mut commander::command(around)?)?;
        let to_commander = move || commander::run(&mut commander, script).and_then(|_| since(note));
        contenders.push(Contender { who: Who::Codex, times, once: Box::new(to_codex) });
        contenders.push(Contender {
            who: Who::Commander,
            times: around.times(1),
            once: Box::new(to_commander),
        });
    }
    findings(contenders)
}

fn findings(contenders: Vec<Contender<'_>>) -> Result<Vec<Finding>> {
    Ok(vec![Finding {
        name: NAMES[0],
        what: "from a script's last act to the answer",
        unit: "ms",
        figures: hold(contenders)?,
        bar: Bar::Most(5.0),
        against: None,
    }])
}

/// Milliseconds since the time in the file.
fn since(note: &Path) -> Result<f64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64();
    let text = std::fs::read_to_string(note).context("the script noted no time")?;
    let noted: f64 = text.trim().parse().context("the script noted no time")?;
    std::fs::remove_file(note)?;
    Ok((now - noted) * 1e3)
}
