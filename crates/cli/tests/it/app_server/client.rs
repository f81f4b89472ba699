//! A server with a client, and all processes that they start.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use std::time::Instant;

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_sys::process::Process;
use windlass_testkit::wire::{Message, RequestId, ServerError, Wire};
use windlass_testkit::{base64, hang_deadline, survivors};

use crate::rig::{Home, WAYS, escapees, held, nothing_survives};

/// An initialized connection to a `windlass app-server`: to a server of its own on pipes, or to one that is shared by
/// clients.
pub(super) struct App {
    pub(super) wire: Wire,
    pub(super) home: Rc<Home>,
    /// A token in the environment of the server and of all its descendants.
    token: String,
}

/// A `windlass app-server` on a socket.
pub(super) struct Clients {
    server: Wire,
    home: Rc<Home>,
    token: String,
    /// The address that the server printed.
    url: String,
}

impl Clients {
    /// A server at a path.
    pub(super) fn start(name: &str) -> Self {
        let (home, token) = App::quarters(name);
        let listen = format!("unix://{}", home.path().join("socket").display());
        Self::listening(&listen, home, token)
    }

    /// A server at a path and one on an address, one after the other.
    pub(super) fn on_each_kind(name: &str) -> impl Iterator<Item = Self> {
        let on_an_address = move || {
            let (home, token) = App::quarters(&format!("{name}-address"));
            Self::listening("ws://127.0.0.1:0", home, token)
        };
        std::iter::once_with(move || Self::start(name)).chain(std::iter::once_with(on_an_address))
    }

    fn listening(listen: &str, home: Home, token: String) -> Self {
        let said = home.path().join("said");
        let mut server = App::server(&home, &token, &["--listen", listen, "--insecure-loopback"]);
        server.stderr(File::create(&said).expect("a file"));
        let server = Wire::start(&mut server).expect("windlass starts");
        let deadline = hang_deadline();
        let url = loop {
            let text = fs::read_to_string(&said).expect("it is there");
            if let Some((url, _)) =
                text.split_once("listening on ").and_then(|(_, rest)| rest.split_once('\n'))
            {
                break url.to_owned();
            }
            assert!(Instant::now() < deadline, "nobody listens: {text}");
        };
        Self { server, home: Rc::new(home), token, url }
    }

    /// The path of the socket.
    pub(super) fn socket(&self) -> &Path {
        Path::new(self.url.strip_prefix("unix://").expect("it is at a path"))
    }

    /// Connects one more client.
    pub(super) fn connect(&self) -> App {
        let wire = match self.url.strip_prefix("ws://") {
            Some(address) => Wire::connect_address(address, &[]),
            None => Wire::connect_path(self.socket()),
        };
        let wire = wire.expect("it listens");
        let mut app = App { wire, home: Rc::clone(&self.home), token: self.token.clone() };
        app.greet();
        app
    }

    /// Ends the server by the signal that service managers send; no process may be left.
    pub(super) fn end(mut self) {
        self.server.signal(Signal::TERM).expect("it can be signalled");
        let status = self.server.exit().expect("it comes to an end");
        assert!(status.success(), "{status}");
        nothing_survives(&held(&survivors::bearing(&self.token)), &self.token);
    }

    pub(super) fn kill(mut self) {
        self.server.signal(Signal::KILL).expect("it can be signalled");
        self.server.exit().expect("it comes to an end");
    }
}

/// The result of a finished command.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) result: Value,
    /// The streamed output, stdout and stderr.
    pub(super) streamed: [Vec<u8>; 2],
    /// The numbers of the streamed pieces, in order of arrival.
    pub(super) numbers: Vec<u64>,
}

impl App {
    pub(super) fn start(name: &str) -> Self {
        Self::start_with(name, Wire::start)
    }

    /// The same with sockets instead of pipes.
    pub(super) fn start_on_sockets(name: &str) -> Self {
        Self::start_with(name, Wire::start_on_sockets)
    }

    /// The same with settings of the user and more arguments, in a directory that is not the state directory.
    pub(super) fn start_in_a_folder(name: &str, settings: &str, words: &[&str]) -> Self {
        let (home, token) = Self::quarters(name);
        let configured = home.path().join(".config/windlass");
        fs::create_dir_all(&configured).expect("folders can be made");
        fs::write(configured.join("config.toml"), settings).expect("a file can be written");
        let folder = home.path().join("work");
        fs::create_dir(&folder).expect("it can be made");
        let mut server = Self::server(&home, &token, words);
        let wire = Wire::start(server.current_dir(&folder)).expect("windlass starts");
        let mut app = Self { wire, home: Rc::new(home), token };
        app.greet();
        app
    }

    fn start_with(name: &str, start: fn(&mut Command) -> std::io::Result<Wire>) -> Self {
        let (home, token) = Self::quarters(name);
        let wire = start(&mut Self::server(&home, &token, &["--sandbox", "danger-full-access"]))
            .expect("windlass starts");
        let mut app = Self { wire, home: Rc::new(home), token };
        app.greet();
        app
    }

    fn quarters(name: &str) -> (Home, String) {
        (Home::new(&format!("app-{name}")), survivors::token(&format!("app-{name}")))
    }

    fn server(home: &Home, token: &str, words: &[&str]) -> Command {
        let mut command = home.windlass(&[&["app-server"], words].concat());
        command.env_remove("XDG_CONFIG_HOME");
        command.env("HOME", home.path()).env(survivors::TOKEN_VARIABLE, token).current_dir(home.path());
        command
    }

    fn greet(&mut self) {
        let who = json!({ "name": "test", "version": "1" });
        let hello = json!({ "clientInfo": who, "capabilities": { "experimentalApi": true } });
        let answer = self.wire.request("initialize", &hello).expect("it answers").expect("it is glad to");
        assert_eq!(answer["platformOs"], "linux", "{answer}");
        self.wire.notify("initialized").expect("it listens");
    }

    /// Sends a request for a command without waiting.
    pub(super) fn exec(&mut self, params: &Value) -> RequestId {
        self.wire.ask("command/exec", params).expect("it listens")
    }

    /// Sends any request and waits for its answer.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> Result<Value, ServerError> {
        self.wire.request(method, params).expect("it answers")
    }

    pub(super) fn terminate(&mut self, process: &str) -> Result<Value, ServerError> {
        self.request("command/exec/terminate", &json!({ "processId": process }))
    }

    /// Writes to a process without waiting.
    pub(super) fn write(&mut self, process: &str, bytes: &[u8]) -> RequestId {
        let params = json!({ "processId": process, "deltaBase64": base64::encode(bytes) });
        self.wire.ask("command/exec/write", &params).expect("it listens")
    }

    /// Runs a command; its output is in the answer.
    pub(super) fn run(&mut self, command: &[&str]) -> Value {
        self.run_with(command, json!({}))
    }

    /// The same with further parameters.
    pub(super) fn run_with(&mut self, command: &[&str], mut more: Value) -> Value {
        more["command"] = json!(command);
        self.request("command/exec", &more).unwrap_or_else(|refusal| panic!("{refusal} for {more}"))
    }

    /// Checks that the server still works.
    pub(super) fn works(&mut self) {
        let result = self.run(&["/bin/echo", "here"]);
        assert_eq!((&result["exitCode"], &result["stdout"]), (&json!(0), &json!("here\n")), "{result}");
    }

    /// The answer to a request.
    pub(super) fn answer(&mut self, asked: RequestId) -> Result<Value, ServerError> {
        self.wire.answer(asked).expect("it answers")
    }

    /// Waits for the end of a streamed command, and joins its output.
    pub(super) fn finished(&mut self, asked: RequestId, process: &str) -> Finished {
        let mut finished =
            Finished { result: Value::Null, streamed: Default::default(), numbers: Vec::new() };
        // The next answer or piece of this process; messages that were set aside come first.
        loop {
            let concerns =
                |message: &Message| message.answers() == Some(asked) || piece(message, process).is_some();
            let message = self.wire.wait_for(concerns).expect("the command comes to an end");
            match message {
                Message::Answer { result, .. } => {
                    finished.result = result.unwrap_or_else(|refusal| panic!("{refusal}"));
                    return finished;
                }
                Message::Notice { params, .. } => finished.take(&params),
            }
        }
    }

    /// Waits until a process has printed this, and returns all output since the last call.
    pub(super) fn printed(&mut self, process: &str, text: &str) -> String {
        self.printed_times(process, text, 1)
    }

    pub(super) fn printed_times(&mut self, process: &str, text: &str, times: usize) -> String {
        let mut seen = Vec::new();
        loop {
            let message = self.wire.wait_for(|message| piece(message, process).is_some());
            let message = message.unwrap_or_else(|error| panic!("{error} after {seen:?}"));
            seen.extend(bytes_of(piece(&message, process).expect("a piece")));
            let so_far = String::from_utf8_lossy(&seen);
            if so_far.matches(text).count() >= times {
                return so_far.into_owned();
            }
        }
    }

    /// Starts a tree that tries all ways to escape, and opens its processes; the request is answered when the root has
    /// exited.
    pub(super) fn start_escapees(
        &mut self,
        more: Value,
        (token, deaf): (&str, &str),
    ) -> (RequestId, Vec<Process>) {
        let mut params = more;
        params["command"] = json!(["/bin/sh", "-c", escapees(token, deaf)]);
        params["processId"] = json!(token);
        params["streamStdoutStderr"] = json!(true);
        let asked = self.exec(&params);
        self.printed_times(token, "is up", WAYS.len());
        let found = survivors::bearing(&format!("{token}-"));
        for way in WAYS {
            assert!(found.iter().any(|line| line.contains(&format!("{token}-{way}"))), "{way}: {found:?}");
        }
        (asked, held(&found))
    }

    /// Disconnects; the server exits by itself and leaves nothing.
    pub(super) fn end(mut self) {
        self.wire.close_input();
        self.ends();
    }

    /// The server exits by itself, successfully, and leaves nothing.
    pub(super) fn ends(mut self) {
        let status = self.wire.exit().expect("it comes to an end");
        assert!(status.success(), "{status}");
        self.leaves_nothing();
    }

    /// The same if the test has closed the server's output: the server may report that it could not write.
    pub(super) fn ends_anyhow(mut self) {
        self.wire.exit().expect("it comes to an end");
        self.leaves_nothing();
    }

    /// The server exits although its output is not read.
    pub(super) fn ends_unread(mut self) {
        self.wire.exit_unread().expect("it comes to an end");
        self.leaves_nothing();
    }

    /// Waits until the server and all its descendants are gone.
    pub(super) fn leaves_nothing(self) {
        nothing_survives(&held(&survivors::bearing(&self.token)), &self.token);
    }
}

impl Finished {
    fn take(&mut self, params: &Value) {
        let stream = usize::from(params["stream"] == "stderr");
        self.streamed[stream].extend(bytes_of(params));
        self.numbers.extend(params["seq"].as_u64());
    }

    pub(super) fn code(&self) -> &Value {
        &self.result["exitCode"]
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.streamed[0]).into_owned()
    }
}

/// The fields of a piece of output of this process.
fn piece<'a>(message: &'a Message, process: &str) -> Option<&'a Value> {
    message.notice("command/exec/outputDelta").filter(|params| params["processId"] == process)
}

fn bytes_of(params: &Value) -> Vec<u8> {
    let text = params["deltaBase64"].as_str().unwrap_or_else(|| panic!("no output in {params}"));
    base64::decode(text.as_bytes()).unwrap_or_else(|| panic!("not base64 in {params}"))
}
