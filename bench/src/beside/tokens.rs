//! The tokens that a model pays to read the output of a terminal. Recordings of real programs, printed to a terminal at
//! full speed, and two programs themselves.
//!
//! Counted is the output part of an answer. The lines around it, the same in windlass and Codex, are some thirty
//! tokens; tmux has none, but needs a tool to be run with.

use super::client::Client;
use super::codex::{self, CodexStep};
use super::contest::{Finding, Who, figure};
use super::tmux::Tmux;
use super::{RowContext, windlass};
use crate::comparison::Bar;
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use windlass_output::Tokenizer;

pub(super) const NAMES: &[&str] = &[
    "mcp-tokens-cargo",
    "mcp-tokens-cargo-raw",
    "mcp-tokens-pip",
    "mcp-tokens-pip-raw",
    "mcp-tokens-ls",
    "mcp-tokens-vim",
];

/// A terminal session made earlier: its bytes, and the lines that were left on the screen.
struct Recording {
    bytes: &'static [u8],
    lines: &'static str,
}

const CARGO: Recording = Recording {
    bytes: include_bytes!("../../recordings/cargo-build.bytes"),
    lines: include_str!("../../recordings/cargo-build.lines"),
};
const PIP: Recording = Recording {
    bytes: include_bytes!("../../recordings/pip-download.bytes"),
    lines: include_str!("../../recordings/pip-download.lines"),
};

/// A scene: one output that is read.
struct Scene {
    name: &'static str,
    what: &'static str,
    script: String,
    /// The text that is typed into it, and the text that its screen shows before.
    typed: Option<(&'static str, &'static str)>,
    recording: Option<(Recording, &'static str)>,
}

/// The last line of a pane when its program is over.
const OVER: &str = "it-is-over";

pub(super) fn measure(around: &RowContext) -> Result<Vec<Finding>> {
    let folder = around.folder()?;
    let scenes = scenes(&folder)?;
    let mut server = windlass::warm(around)?;
    let mut codex = codex_tokens(around, &scenes)?.into_iter();
    let mut findings = Vec::new();
    for scene in scenes {
        let mut figures = vec![(Who::Windlass, windlass_tokens(&mut server, &scene)?)];
        if around.with_peers() {
            figures.push((Who::CodexTools, codex.next().context("Codex's tokens")?));
            figures.push((Who::Tmux, tmux_tokens(around, &scene)?));
        }
        findings.extend(findings_of(&scene, &figures));
    }
    server.end()?;
    Ok(findings)
}

fn scenes(folder: &Path) -> Result<Vec<Scene>> {
    let replay = |name: &str, recording: &Recording| -> Result<String> {
        let path = folder.join(name);
        fs::write(&path, recording.bytes)?;
        Ok(format!("cat '{}'", path.display()))
    };
    let cargo = "a cargo build on a terminal";
    let pip = "a pip download with its bar";
    let vim = format!("vim -u NONE -i NONE '{}'", text_file(folder)?.display());
    Ok(vec![
        Scene {
            name: NAMES[0],
            what: cargo,
            script: replay("cargo", &CARGO)?,
            typed: None,
            recording: Some((CARGO, NAMES[1])),
        },
        Scene {
            name: NAMES[2],
            what: pip,
            script: replay("pip", &PIP)?,
            typed: None,
            recording: Some((PIP, NAMES[3])),
        },
        Scene {
            name: NAMES[4],
            what: "ls --color",
            script: format!("ls --color=auto '{}'", listed_folder(folder)?.display()),
            typed: None,
            recording: None,
        },
        Scene {
            name: NAMES[5],
            what: "vim opened and closed",
            script: vim,
            typed: Some((":q", "line 20")),
            recording: None,
        },
    ])
}

fn text_file(folder: &Path) -> Result<PathBuf> {
    let path = folder.join("notes.txt");
    let lines: Vec<String> =
        (1..=20).map(|number| format!("This is line {number} of the notes, line {number}\n")).collect();
    fs::write(&path, lines.concat())?;
    Ok(path)
}

/// Forty names of the kinds that have colours.
fn listed_folder(folder: &Path) -> Result<PathBuf> {
    let listed = folder.join("listed");
    fs::create_dir(&listed)?;
    for number in 0..10 {
        fs::create_dir(listed.join(format!("folder-{number}")))?;
        fs::write(listed.join(format!("source-{number}.rs")), "")?;
        symlink("source-0.rs", listed.join(format!("link-{number}")))?;
        let program = listed.join(format!("program-{number}"));
        fs::write(&program, "")?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    }
    Ok(listed)
}

fn count(text: &str) -> f64 {
    Tokenizer::O200k.count(text.trim_end()).get() as f64
}

fn windlass_tokens(server: &mut Client, scene: &Scene) -> Result<f64> {
    let result = server.call("exec_command", &json!({ "cmd": scene.script, "tty": true }))?;
    let mut output = windlass::output(&result)?.to_owned();
    if let Some((typed, _)) = scene.typed {
        let session = windlass::session(&result)?;
        let order = json!({ "session_id": session, "chars": format!("{typed}\r") });
        let closed = server.call("write_stdin", &order)?;
        windlass::ensure_success(&closed)?;
        output.push_str(windlass::output(&closed)?);
    }
    if let Some((recording, _)) = &scene.recording {
        let missing = recording.lines.lines().find(|line| !output.contains(line.trim()));
        ensure!(missing.is_none(), "{}: {missing:?} is missing in {output}", scene.what);
    }
    Ok(count(&output))
}

/// All scenes in one conversation.
fn codex_tokens(around: &RowContext, scenes: &[Scene]) -> Result<Vec<f64>> {
    if !around.with_peers() {
        return Ok(Vec::new());
    }
    let steps = |scene: &Scene| {
        let exec = CodexStep::Exec(scene.script.clone());
        std::iter::once(exec)
            .chain(scene.typed.map(|(typed, _)| CodexStep::Write(format!("{typed}\r"))))
            .collect::<Vec<_>>()
    };
    let results = codex::converse(around, scenes.iter().flat_map(steps).collect())?;
    let mut results = results.iter();
    let tokens = |scene: &Scene| {
        let many = 1 + usize::from(scene.typed.is_some());
        let outputs: String = results.by_ref().take(many).map(|result| codex::output(result)).collect();
        count(&outputs)
    };
    Ok(scenes.iter().map(tokens).collect())
}

fn tmux_tokens(around: &RowContext, scene: &Scene) -> Result<f64> {
    let tmux = Tmux::start(around, &format!("{}; echo {OVER}; cat", scene.script))?;
    let Some((typed, shown)) = scene.typed else {
        tmux.look_for(OVER, 1)?;
        return Ok(count(&tmux.captured()?.replace(OVER, "")));
    };
    let opened = tmux.look_for(shown, 1)?;
    tmux.type_line(typed)?;
    let closed = tmux.look_for(OVER, 1)?;
    Ok(count(&opened) + count(&closed.replace(OVER, "")))
}

fn findings_of(scene: &Scene, figures: &[(Who, f64)]) -> Vec<Finding> {
    let samples =
        |figures: &[(Who, f64)]| figures.iter().map(|(who, tokens)| figure(*who, vec![*tokens])).collect();
    let best = figures.iter().filter(|(who, _)| *who != Who::Windlass).min_by(|a, b| a.1.total_cmp(&b.1));
    let bar = Bar::MostTimes(1.0);
    let (what, against) = (scene.what, best.map(|(who, _)| *who));
    let mut findings =
        vec![Finding { name: scene.name, what, unit: "tokens", figures: samples(figures), bar, against }];
    if let Some((recording, name)) = &scene.recording {
        let raw = (Who::Raw, count(&String::from_utf8_lossy(recording.bytes)));
        let figures = samples(&[figures[0], raw]);
        let (bar, what) = (Bar::MostTimes(0.2), "the same, against the bytes as printed");
        findings.push(Finding { name, what, unit: "tokens", figures, bar, against: Some(Who::Raw) });
    }
    findings
}
