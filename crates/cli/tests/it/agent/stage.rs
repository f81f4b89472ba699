//! The fixture of a scenario: a home directory with settings, a scripted model, and the rules that apply to all
//! scenarios.
//!
//! The program always gets three secrets in its environment. None of them may be found anywhere afterwards.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use windlass_sys::process::{Pid, Process};
use windlass_sys::signal::Signal;
use windlass_testkit::model::{Invariants, MODEL, Model, ModelTurn, Reply, Request, RequestDialect, Role};
use windlass_testkit::{Scratch, survivors};

use crate::rig::{WINDLASS, as_ordinary, give_to_ordinary, held, nothing_survives};

/// The variables with secrets: a key whose name does not look like one, a token that no setting mentions, and the value
/// of a header.
pub(crate) const SECRETS: [(&str, &str); 3] = [
    ("SCENARIO_CREDENTIAL", "key-that-nobody-else-sees"),
    ("DEPLOY_TOKEN", "token-that-nobody-else-sees"),
    ("SCENARIO_ROUTE", "header-that-nobody-else-sees"),
];

/// Both dialects of requests to a model.
pub(crate) const BOTH: [RequestDialect; 2] = [RequestDialect::Responses, RequestDialect::Chat];

/// The user that runs the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The user that runs the tests.
    Myself,
    /// An ordinary user, even if root runs the tests.
    Ordinary,
}

/// The fixture of a scenario.
pub(crate) struct Stage {
    owner: Owner,
    scratch: Scratch,
    token: String,
    model: Option<Model>,
    settings: Vec<String>,
    compactions: usize,
    printed: Vec<String>,
}

/// The output and exit code of a finished program.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A running program. It is killed if the test fails.
pub(crate) struct Going {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Stage {
    /// A model that plays these turns, in the Responses dialect.
    pub(crate) fn playing(turns: Vec<ModelTurn>) -> Self {
        Self::over(Model::playing(turns), RequestDialect::Responses)
    }

    /// The same in another dialect.
    pub(crate) fn speaking(dialect: RequestDialect, turns: Vec<ModelTurn>) -> Self {
        Self::over(Model::playing(turns), dialect)
    }

    /// Several agents, each with its own turns.
    pub(crate) fn casting(roles: Vec<Role>) -> Self {
        Self::over(Model::casting(roles), RequestDialect::Responses)
    }

    /// The same in another dialect.
    pub(crate) fn casting_in(dialect: RequestDialect, roles: Vec<Role>) -> Self {
        Self::over(Model::casting(roles), dialect)
    }

    /// A model that answers every request by this function.
    pub(crate) fn answering(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::over(Model::answering(answer), RequestDialect::Responses)
    }

    fn over(model: Model, dialect: RequestDialect) -> Self {
        model.require_key(SECRETS[0].1);
        let wire = match dialect {
            RequestDialect::Responses => "responses",
            RequestDialect::Chat => "chat",
        };
        let provider = |key: &str, value: &str| format!("model_providers.scripted.{key} = {value:?}");
        let settings = vec![
            format!("model = {MODEL:?}"),
            "model_provider = \"scripted\"".to_owned(),
            provider("name", "the script"),
            provider("base_url", &model.base_url()),
            provider("env_key", SECRETS[0].0),
            provider("wire_api", wire),
            provider("env_http_headers.x-route", SECRETS[2].0),
        ];
        let scratch = Scratch::new("scenario");
        let stage = Self {
            owner: Owner::Myself,
            token: survivors::token("scenario"),
            model: Some(model),
            settings,
            compactions: 0,
            printed: Vec::new(),
            scratch,
        };
        fs::create_dir_all(stage.work()).expect("a folder can be made");
        stage
    }

    /// Adds a line to the user's settings.
    pub(crate) fn with(mut self, setting: &str) -> Self {
        self.settings.push(setting.to_owned());
        self
    }

    /// Runs the agent as this user, who owns all files of the scenario from its start on.
    pub(crate) fn owned_by(mut self, owner: Owner) -> Self {
        self.owner = owner;
        self
    }

    /// Takes over the settings as the program has rewritten them.
    pub(crate) fn take_settings(&mut self, text: &str) {
        self.settings = vec![text.to_owned()];
    }

    /// Allows this many compactions of a conversation.
    pub(crate) fn compacting(mut self, times: usize) -> Self {
        self.compactions = times;
        self
    }

    /// The directory in which the agent works.
    pub(crate) fn work(&self) -> PathBuf {
        self.scratch.path().join("work")
    }

    pub(crate) fn home(&self) -> &Path {
        self.scratch.path()
    }

    pub(crate) fn model(&self) -> &Model {
        self.model.as_ref().expect("the scenario is not over")
    }

    /// Writes a file below the home directory.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.home().join(name);
        fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("folders can be made");
        fs::write(&path, bytes).expect("a file can be written");
        path
    }

    /// Reads a file below the home directory.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.home().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A command for the program, not yet started.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        self.write("config/windlass/config.toml", self.settings.join("\n"));
        let mut command = Command::new(WINDLASS);
        command.arg("agent").args(words).current_dir(self.work()).stdin(Stdio::null());
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("SHELL", "/bin/sh");
        command.env("HOME", self.home()).env("XDG_CONFIG_HOME", self.home().join("config"));
        command.env("WINDLASS_STATE_DIR", self.home().join("state")).envs(SECRETS);
        command.env("WINDLASS_TEST_QUARTERS", &self.token);
        command
    }

    /// Runs `windlass agent` with these arguments to its end.
    pub(crate) fn run(&mut self, words: &[&str]) -> Ran {
        self.start(words).end(self)
    }

    /// Runs it with this standard input.
    pub(crate) fn run_reading(&mut self, words: &[&str], input: &str) -> Ran {
        let path = self.write("input", input);
        let mut command = self.command(words);
        command.stdin(File::open(path).expect("a file can be opened"));
        self.start_command(&mut command).end(self)
    }

    /// Starts it without waiting.
    pub(crate) fn start(&self, words: &[&str]) -> Going {
        self.start_command(&mut self.command(words))
    }

    pub(crate) fn start_command(&self, command: &mut Command) -> Going {
        let at = |name: &str| self.home().join(format!("{name}-{}", self.printed.len()));
        let (stdout, stderr) = (at("stdout"), at("stderr"));
        let file = |path: &Path| File::create(path).expect("a file can be made");
        let mut other;
        let command = match self.owner {
            Owner::Myself => command,
            Owner::Ordinary => {
                give_to_ordinary(self.home());
                let given: Vec<_> =
                    command.get_envs().filter_map(|(name, value)| Some((name, value?))).collect();
                other = as_ordinary(command);
                other.env_clear().envs(given)
            }
        };
        let child = command.stdout(file(&stdout)).stderr(file(&stderr)).spawn().expect("windlass starts");
        Going { child, stdout, stderr }
    }

    /// The thread files, oldest first.
    pub(crate) fn threads(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = files_below(&self.home().join("state/agent"))
            .into_iter()
            .filter(|path| is_thread(path))
            .collect();
        files.sort();
        files
    }

    /// Ends the scenario and checks the rules: the script was used up, conversations only grew, every call has one
    /// answer and was carried out once, nothing is left running, thread files are complete, and no secret is in
    /// anything that was sent, printed or written.
    pub(crate) fn finish(mut self) -> Vec<Request> {
        let left = held(&survivors::bearing(&self.token));
        nothing_survives(&left, &self.token);
        let requests = self.model.take().expect("a scenario ends once").finish();
        let told = || self.printed.join("\n");
        let faults = Invariants::with_compactions(self.compactions).faults(&requests);
        assert!(faults.is_empty(), "{}\n{}", faults.join("\n"), told());
        for path in self.threads() {
            let text = fs::read_to_string(&path).expect("a thread file is text");
            for line in text.lines() {
                let read = serde_json::from_str::<Value>(line);
                assert!(read.is_ok(), "{} holds {line:?}", path.display());
            }
        }
        self.check_secrets(&requests);
        requests
    }

    fn check_secrets(&self, requests: &[Request]) {
        for (name, secret) in SECRETS {
            for request in requests {
                assert!(!request.text().contains(secret), "{name} was sent to the model");
            }
            for path in files_below(self.home()) {
                let bytes = fs::read(&path).unwrap_or_default();
                let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
                assert!(!found, "{name} is in {}", path.display());
            }
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // A scenario must check the rules.
        assert!(self.model.is_none() || std::thread::panicking(), "a scenario ends with finish");
    }
}

impl Going {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let process = Process::open(Pid::new(self.child.id())).expect("windlass is there");
        process.signal(signal).expect("windlass can be signalled");
    }

    /// Waits for its end. The stage stores its output, for the rules.
    pub(crate) fn end(mut self, stage: &mut Stage) -> Ran {
        let status = self.child.wait().expect("windlass can be waited for");
        let text = |path: &Path| fs::read_to_string(path).expect("windlass prints text");
        let ran = Ran { code: status.code(), stdout: text(&self.stdout), stderr: text(&self.stderr) };
        stage.printed.push(format!("{ran:?}"));
        ran
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        // An error means that the process has exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ran {
    /// Checks that the task succeeded.
    pub(crate) fn well(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// Checks that it failed with this code, and with this text in its messages.
    pub(crate) fn badly(self, code: i32, told: &str) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.stderr.contains(told) || self.stdout.contains(told), "{told:?} is not in {self:?}");
        self
    }

    /// The lines of `--json`.
    pub(crate) fn events(&self) -> Vec<Value> {
        let lines = self.stdout.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line:?}")))
            .collect()
    }

    /// Events of this type.
    pub(crate) fn events_of(&self, kind: &str) -> Vec<Value> {
        self.events().into_iter().filter(|event| event["type"] == kind).collect()
    }

    /// The completed items of this type.
    pub(crate) fn items(&self, kind: &str) -> Vec<Value> {
        let completed = self.events_of("item.completed").into_iter();
        completed.map(|event| event["item"].clone()).filter(|item| item["type"] == kind).collect()
    }

    /// The thread that the events begin with.
    pub(crate) fn thread(&self) -> String {
        let first = self.events().swap_remove(0);
        assert_eq!(first["type"], "thread.started", "{first}");
        first["thread_id"].as_str().expect("a thread has a name").to_owned()
    }
}

/// The number of the session in an answer.
pub(crate) fn session_in(answer: &str) -> u64 {
    let after = answer.split("Process running with session ID ").nth(1);
    let digits = after.and_then(|after| after.split(|c: char| !c.is_ascii_digit()).next());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or_else(|| panic!("no session in {answer:?}"))
}

/// A text member of a JSON answer.
pub(crate) fn field(answer: &str, name: &str) -> String {
    let value: Value = serde_json::from_str(answer).unwrap_or_else(|error| panic!("{error} in {answer:?}"));
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {answer:?}")).to_owned()
}

/// Creates a named pipe. An open blocks until the other side is opened too, so a test can wait for a command.
pub(crate) fn fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().expect("mkfifo starts");
    assert!(made.success(), "{} cannot be made", path.display());
}

fn is_thread(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// All regular files below a directory.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files = Vec::new();
    for entry in entries {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files.extend(files_below(&entry.path())),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    files
}

/// A call that runs a script.
pub(crate) fn exec(script: &str) -> Reply {
    windlass_testkit::model::call("exec_command", serde_json::json!({ "cmd": script }))
}
