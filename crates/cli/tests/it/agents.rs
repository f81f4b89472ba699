//! Real agents work with `windlass mcp` as they do for their users: only the model behind them is a script.
//!
//! Each agent has a directory of its own, runs with all of its telemetry and look-ups switched off, and can reach only
//! the loopback device.

mod codex;
mod environment;
mod qwen;

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;
use windlass_testkit::codex::cut_off;
use windlass_testkit::model::{Model, ModelTurn, Reply, Request, always, turn};
use windlass_testkit::{HANG, Scratch, peers, survivors};

use crate::rig::{held, nothing_survives};

/// The line that the model types into the terminal.
const TYPED: &str = "is anybody there?";
/// The last message of the model.
const CONCLUSION: &str = "somebody is there";

/// The directory of an agent, and the token that identifies its processes.
struct Quarters {
    scratch: Scratch,
    token: String,
}

impl Quarters {
    fn of(agent: &str) -> Self {
        Self { scratch: Scratch::new(agent), token: survivors::token(agent) }
    }

    fn path(&self) -> &Path {
        self.scratch.path()
    }

    fn write(&self, name: &str, text: &str) {
        let file = self.path().join(name);
        std::fs::create_dir_all(file.parent().expect("a file lies in a folder")).expect("it can be made");
        std::fs::write(file, text).expect("a file can be written");
    }

    /// The variables that the agent's configuration sets for windlass: agents pass on little of their own environment.
    fn variables(&self) -> [(&'static str, String); 2] {
        let state = self.path().join("state").display().to_string();
        [("WINDLASS_STATE_DIR", state), ("WINDLASS_TEST_QUARTERS", self.token.clone())]
    }

    /// A command for an agent from npm, with only this directory around it, not yet started.
    fn agent(&self, program: &str) -> Command {
        let node = peers::node22();
        let folder = node.parent().expect("a program lies in a folder");
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", folder.display());
        let work = self.path().join("work");
        std::fs::create_dir_all(&work).expect("a folder can be made");
        let mut command = Command::new(&node);
        command.arg(peers::npm_bin(program)).current_dir(work).env_clear().env("PATH", path);
        command.env("HOME", self.path()).env("TMPDIR", self.path());
        cut_off(&mut command);
        command
    }
}

/// The model starts a program on a terminal, types a line, and ends with a message.
fn conversation() -> Vec<ModelTurn> {
    vec![
        turn(|request| call(request, "exec_command", json!({ "cmd": "cat", "tty": true }))),
        turn(|request| {
            let session = session_in(&request.last_result());
            call(request, "write_stdin", json!({ "session_id": session, "chars": format!("{TYPED}\n") }))
        }),
        always(Reply::text(CONCLUSION)),
    ]
}

fn call(request: &Request, tool: &str, arguments: serde_json::Value) -> Reply {
    Reply::call(request.tool_of("windlass", tool), arguments)
}

/// The number of the session, from the line for the model, or from the JSON that some agents show it instead.
fn session_in(result: &str) -> u64 {
    let starts = ["Process running with session ID ", "\"session_id\":"];
    let after = starts.iter().find_map(|start| result.split(start).nth(1));
    let digits = after.and_then(|after| after.split(|c: char| !c.is_ascii_digit()).next());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or_else(|| panic!("no session in {result:?}"))
}

/// Runs an agent through the conversation, and checks what its model saw and which processes are left.
fn check(mut agent: Command, quarters: &Quarters, model: Model) {
    let seen = Agent::start(&mut agent).run_out();
    let requests = model.finish();
    assert!(seen.contains(CONCLUSION), "{seen}");
    assert_eq!(requests.len(), 3, "{seen}");
    check_shown(&requests[1].last_result(), &requests[2].last_result());
    // The agent has exited; processes that it left have only the grace period of a stop.
    let left = held(&survivors::bearing(&quarters.token));
    nothing_survives(&left, &quarters.token);
}

/// Checks that the model sees the text that was written for it, and sees it once.
fn check_shown(started: &str, typed: &str) {
    assert!(started.contains("Process running with session ID"), "{started}");
    assert!(started.contains("State: waiting for input"), "{started}");
    // Once from the terminal's echo, once from the program.
    assert_eq!(typed.matches(TYPED).count(), 2, "{typed}");
}

/// A running agent, in a process group of its own, which is killed as a whole.
struct Agent {
    child: Child,
    /// All of its output, available after its end.
    printed: mpsc::Receiver<String>,
}

impl Agent {
    fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).process_group(0);
        let mut child = command.spawn().expect("the agent starts");
        let mut output = child.stdout.take().expect("its output is piped");
        let (sender, printed) = mpsc::channel();
        thread::spawn(move || {
            let mut text = String::new();
            let _ = output.read_to_string(&mut text);
            let _ = sender.send(text);
        });
        Self { child, printed }
    }

    /// All of its output, if it ends successfully.
    fn run_out(mut self) -> String {
        // Agents take seconds to start on few processors, hence the double time.
        let printed = self.printed.recv_timeout(2 * HANG).expect("the agent comes to an end");
        let status = self.child.wait().expect("the agent can be waited for");
        assert!(status.success(), "{status}: {printed}");
        printed
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // An error means that the group has ended.
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        let _ = self.child.wait();
    }
}
