//! The clients of a round: two that use an MCP server, one with an app-server, and one at the command line. Each
//! carries out random operations, one after the other; each request must be answered while its server lives.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use serde_json::{Value, json};
use windlass_sys::guardian::wait_until_gone;
use windlass_sys::process::{Pid, Process};
use windlass_testkit::{HANG, puppet, survivors};

use super::{Choices, Claim, Round};
use crate::rig::WINDLASS;

/// How many clients a round has.
pub(super) const CLIENTS: u64 = 4;

/// Runs the client, and returns its server if that still runs.
pub(super) fn work(round: &Round, number: u64) -> Option<Server> {
    let mut choices = round.choices(number);
    match number {
        0 => {
            for _ in 0..round.planned {
                use_command_line(round, &mut choices);
                round.did();
            }
            None
        }
        1 => use_servers(round, &mut choices, Server::app_server, Server::execute_command),
        _ => use_servers(round, &mut choices, Server::mcp, Server::use_a_tool),
    }
}

/// Uses one server after the other, and returns the last one if it is alive.
fn use_servers(
    round: &Round,
    choices: &mut Choices,
    start: fn(&Round) -> Option<Server>,
    operate: fn(&mut Server, &Round, &mut Choices),
) -> Option<Server> {
    let mut server = None;
    for _ in 0..round.planned {
        let mut used = server.take().or_else(|| start(round));
        if let Some(used) = &mut used {
            operate(used, round, choices);
        }
        server = used.filter(|server| !server.is_dead).filter(|_| !choices.one_in(20));
        round.did();
    }
    server
}

/// A script that reports its output, and then exits, stays, or leaves a process behind that is hard to end.
fn script(claim: &Claim, choices: &mut Choices) -> String {
    let Claim { token, file } = claim;
    let lines = [1, 20, 400, 6000][usize::try_from(choices.below(4)).unwrap_or(0)];
    let print = format!("{} claim {} {token} {lines}", puppet().display(), file.display());
    match choices.below(6) {
        0 => format!("{print}; sleep 600"),
        1 => format!("trap '' TERM HUP INT; {print}; sleep 600 & wait; sleep 600"),
        2 => format!("(setsid sh -c 'trap \"\" TERM; sleep 600' &); {print}; sleep 600"),
        3 => format!("(env -i {}={token} setsid sleep 600 &); {print}", survivors::TOKEN_VARIABLE),
        4 => format!("{print}; cat"),
        _ => print,
    }
}

/// The variable that identifies every process of a session independently of windlass.
fn token_variable(claim: &Claim) -> Value {
    json!({ survivors::TOKEN_VARIABLE: claim.token })
}

/// A script that ends by itself.
fn short_script(claim: &Claim, choices: &mut Choices) -> String {
    let lines = [1, 100, 3000][usize::try_from(choices.below(3)).unwrap_or(0)];
    let Claim { token, file } = claim;
    format!("{} claim {} {token} {lines}", puppet().display(), file.display())
}

/// The same as an argument of `env`.
fn marked(claim: &Claim) -> String {
    format!("{}={}", survivors::TOKEN_VARIABLE, claim.token)
}

const NAMES: [&str; 3] = ["web", "build", "shell"];

fn use_command_line(round: &Round, choices: &mut Choices) {
    let session = (1001 + choices.below(30)).to_string();
    match choices.below(8) {
        0 | 1 => {
            let claim = round.claim();
            let (script, token) = (short_script(&claim, choices), marked(&claim));
            let terminal: &[&str] = if choices.one_in(2) { &["--tty"] } else { &[] };
            finish(round, &[&["run"], terminal, &["--", "env", &token, "sh", "-c", &script]].concat());
        }
        2 | 3 => {
            let claim = round.claim();
            let (script, token) = (script(&claim, choices), marked(&claim));
            let name = choices.of(&NAMES).copied().unwrap_or_default();
            let name: &[&str] = if choices.one_in(2) { &["--name", name] } else { &[] };
            finish(
                round,
                &[&["run", "--detach"], name, &["--", "env", &token, "sh", "-c", &script]].concat(),
            );
        }
        4 => drop(finish(round, &["ps", "--json"])),
        5 => drop(finish(round, &["log", &session, "--tail", "2"])),
        6 => drop(finish(round, &["log", &session, "--grep", "0000001"])),
        _ => drop(finish(round, &["stop", &session])),
    }
}

/// The output and the exit code of a command.
pub(super) struct Printed {
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
    pub(super) code: Option<i32>,
}

/// Runs windlass to its end, which must come. A fault may kill it; no other signal may.
pub(super) fn finish(round: &Round, words: &[&str]) -> Printed {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = |stream: &str| round.path("printed").join(format!("{number}.{stream}"));
    let (stdout, stderr) = (path("stdout"), path("stderr"));
    let file = |path| File::create(path).expect("a file can be made");
    let mut command = round.windlass(words);
    let mut child = command.stdout(file(&stdout)).stderr(file(&stderr)).spawn().expect("windlass starts");
    let process = Process::open(Pid::new(child.id())).expect("a child is there until it is collected");
    wait_until_gone(std::slice::from_ref(&process), HANG);
    let read = |path| std::fs::read(path).expect("what it printed can be read");
    let said = String::from_utf8_lossy(&read(&stderr)).into_owned();
    assert!(!process.is_alive(), "not answered: windlass {words:?}: {said}");
    let status = child.wait().expect("a child can be collected");
    assert!(!said.contains("panicked"), "windlass {words:?}: {said}");
    assert!(matches!(status.signal(), None | Some(9)), "windlass {words:?}: {status}");
    let printed = Printed { stdout: read(&stdout), stderr: said, code: status.code() };
    let _ = (std::fs::remove_file(&stdout), std::fs::remove_file(&stderr));
    printed
}

/// A server with a client that sends one request at a time.
pub(super) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    replies: Receiver<Value>,
    asked: u64,
    sessions: Vec<u64>,
    pub(super) is_dead: bool,
}

impl Server {
    fn mcp(round: &Round) -> Option<Self> {
        let client = json!({ "name": "chaos", "version": "1" });
        let greeting = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        Self::start(round, &["mcp"], &greeting, "notifications/initialized")
    }

    fn app_server(round: &Round) -> Option<Self> {
        let greeting = json!({ "clientInfo": { "name": "chaos", "version": "1" } });
        Self::start(round, &["app-server", "--sandbox", "danger-full-access"], &greeting, "initialized")
    }

    /// `None`: a fault killed it before it answered.
    fn start(round: &Round, words: &[&str], greeting: &Value, greeted: &str) -> Option<Self> {
        let mut command = round.windlass(words);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let errors = File::options().create(true).append(true).open(round.path("servers")).expect("a file");
        let mut child = command.stderr(errors).spawn().expect("windlass starts");
        let (sender, replies) = channel();
        let output = BufReader::new(child.stdout.take().expect("its output is piped"));
        std::thread::spawn(move || {
            let lines = output.lines().map_while(Result::ok);
            // A line that is cut off by a kill is not a message.
            let messages = lines.filter_map(|line| serde_json::from_str(&line).ok());
            messages.take_while(|message: &Value| sender.send(message.clone()).is_ok()).count()
        });
        let input = child.stdin.take();
        let mut server = Self { child, input, replies, asked: 0, sessions: Vec::new(), is_dead: false };
        server.ask("initialize", greeting)?;
        server.say(&json!({ "jsonrpc": "2.0", "method": greeted }));
        Some(server)
    }

    fn say(&mut self, message: &Value) {
        let written = self.input.as_mut().map(|input| writeln!(input, "{message}"));
        self.is_dead |= !matches!(written, Some(Ok(())));
    }

    /// Sends a request and returns its answer, which must come while the server lives.
    fn ask(&mut self, method: &str, params: &Value) -> Option<Value> {
        self.asked += 1;
        let id = self.asked;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        while !self.is_dead {
            match self.replies.recv_timeout(HANG) {
                Ok(reply) if reply["id"] == id => return Some(reply),
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => self.is_dead = true,
                Err(RecvTimeoutError::Timeout) => panic!("not answered: {method} {params}"),
            }
        }
        None
    }

    /// Calls a tool; `None`: the server died.
    fn call(&mut self, tool: &str, arguments: &Value) -> Option<Value> {
        let reply = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        Some(reply["result"].clone())
    }

    /// Whether it still answers; if not, a fault must have killed it.
    pub(super) fn answers(&mut self) -> bool {
        // Both kinds of server answer an unknown method.
        let answer = self.ask("chaos/unknown", &json!({}));
        answer.is_some() || self.child.wait().is_ok_and(|status| status.signal() == Some(9))
    }

    fn execute_command(&mut self, round: &Round, choices: &mut Choices) {
        let claim = round.claim();
        let script = short_script(&claim, choices);
        let rest = if choices.one_in(2) { "; sleep 600" } else { "" };
        let (command, env) = (["sh", "-c", &format!("{script}{rest}")], token_variable(&claim));
        let timeout = 50 + choices.below(1000);
        self.ask("command/exec", &json!({ "command": command, "env": env, "timeoutMs": timeout }));
    }

    fn use_a_tool(&mut self, round: &Round, choices: &mut Choices) {
        let session = choices.of(&self.sessions).copied();
        let (Some(session), false) = (session, choices.one_in(3)) else {
            return self.start_session(round, choices);
        };
        let wait = choices.below(200);
        let (tool, arguments) = match choices.below(7) {
            0 => {
                ("write_stdin", json!({ "session_id": session, "chars": "a line\n", "yield_time_ms": wait }))
            }
            1 => ("write_stdin", json!({ "session_id": session, "chars": "", "yield_time_ms": wait })),
            2 => ("read_output", json!({ "session_id": session, "grep": "0000003" })),
            3 => ("read_output", json!({ "session_id": session, "tail_lines": 3 })),
            4 => ("wait_sessions", json!({ "session_ids": [session], "timeout_ms": wait })),
            5 => ("stop_session", json!({ "session_id": session })),
            _ => ("list_sessions", json!({})),
        };
        self.call(tool, &arguments);
    }

    fn start_session(&mut self, round: &Round, choices: &mut Choices) {
        let claim = round.claim();
        let script = script(&claim, choices);
        let mut arguments = json!({
            "env": token_variable(&claim), "cmd": script, "login": false, "tty": choices.one_in(2), "yield_time_ms": choices.below(300) });
        if choices.one_in(4) {
            arguments["lifetime"] = "detached".into();
        }
        if choices.one_in(4) {
            arguments["name"] = choices.of(&NAMES).copied().into();
        }
        let result = self.call("exec_command", &arguments);
        let session = result.and_then(|result| result["structuredContent"]["session_id"].as_u64());
        self.sessions.extend(session);
    }
}

/// A server whose client disconnects must exit, and with it all processes whose lifetime ends then.
impl Drop for Server {
    fn drop(&mut self) {
        drop(self.input.take());
        let Ok(process) = Process::open(Pid::new(self.child.id())) else { return };
        wait_until_gone(std::slice::from_ref(&process), HANG);
        let is_hung = process.is_alive();
        let _ = self.child.kill();
        let _ = self.child.wait();
        assert!(
            !is_hung || std::thread::panicking(),
            "{WINDLASS} mcp does not end after its client went away"
        );
    }
}
