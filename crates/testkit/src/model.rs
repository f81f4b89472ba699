//! A model that says what a test wrote down: an endpoint on loopback for real agents, and for our own, to talk to.
//!
//! It speaks the two dialects that agents speak: OpenAI's Responses and Chat Completions, always as streams. A script is
//! a list of turns, one for each request; a turn sees the request, so that it can use what an earlier call returned. The
//! script is played strictly: [`Model::finish`] fails when a turn was left over, when more was asked than was written,
//! or when a turn panicked.

mod chat;
mod http;
mod request;
mod responses;

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use self::http::{Asked, Reply as HttpReply, Server};

pub use self::request::{Dialect, Request, ToolName};

/// What the endpoint calls its only model.
pub const MODEL: &str = "scripted";

/// The endpoint. It ends, with all its threads, when it is dropped.
pub struct Model {
    server: Server,
    play: Arc<Mutex<Play>>,
}

/// What the model says to one request.
pub type Turn = Box<dyn FnOnce(&Request) -> Reply + Send>;

/// An answer of the model: words, calls of tools, or a failure.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Words; the turn of the agent is over.
    Text(String),
    /// Calls of tools, all at once.
    Calls(Vec<Call>),
    /// No answer at all, but this HTTP status and message.
    Failure(u16, String),
    /// Words that break off: the connection ends before the answer does.
    Broken(String),
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    tool: ToolName,
    input: Input,
}

/// What a tool is called with.
#[derive(Clone, Debug, PartialEq)]
enum Input {
    /// Arguments by name, as most tools have them.
    Arguments(Value),
    /// A text in the tool's own language. Only the Responses dialect has such tools.
    Text(String),
}

/// How far the script has got.
#[derive(Default)]
struct Play {
    turns: std::vec::IntoIter<Turn>,
    requests: Vec<Request>,
    faults: Vec<String>,
}

impl Model {
    /// Starts an endpoint that plays these turns.
    pub fn playing(turns: Vec<Turn>) -> Self {
        let play = Arc::new(Mutex::new(Play { turns: turns.into_iter(), ..Play::default() }));
        let stage = Arc::clone(&play);
        let server = Server::start(move |asked| answer(asked, &stage));
        Self { server, play }
    }

    /// What an agent is given as its base address; it ends in `/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.server.address())
    }

    /// The requests of the conversation so far.
    pub fn requests(&self) -> Vec<Request> {
        locked(&self.play).requests.clone()
    }

    /// Ends the endpoint and returns the requests of the conversation.
    ///
    /// # Panics
    /// When the script was not played exactly as written.
    pub fn finish(self) -> Vec<Request> {
        drop(self.server);
        let mut play = locked(&self.play);
        let left = play.turns.len();
        assert!(play.faults.is_empty(), "the script did not fit: {}", play.faults.join("; "));
        assert_eq!(
            left,
            0,
            "turns of the script that nobody asked for, after {} requests",
            play.requests.len()
        );
        std::mem::take(&mut play.requests)
    }
}

impl Reply {
    /// Words.
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// One call of a tool.
    pub fn call(tool: ToolName, arguments: Value) -> Self {
        Self::Calls(vec![Call::new(tool, arguments)])
    }

    /// One call of a tool that takes a text in a language of its own, such as a patch.
    pub fn call_with_text(tool: ToolName, text: &str) -> Self {
        Self::Calls(vec![Call { tool, input: Input::Text(text.to_owned()) }])
    }
}

impl Call {
    /// Calls this tool with these arguments.
    pub fn new(tool: ToolName, arguments: Value) -> Self {
        Self { tool, input: Input::Arguments(arguments) }
    }
}

/// A turn that does not look at the request.
pub fn always(reply: Reply) -> Turn {
    Box::new(move |_| reply)
}

/// A turn that does.
pub fn turn(reply: impl FnOnce(&Request) -> Reply + Send + 'static) -> Turn {
    Box::new(reply)
}

fn answer(asked: &Asked, play: &Mutex<Play>) -> HttpReply {
    match (asked.method.as_str(), asked.path.as_str()) {
        ("GET", _) if asked.header("upgrade").is_some() => {
            HttpReply::failure(426, "no WebSocket here; ask with POST")
        }
        ("GET", "/v1/models") => HttpReply::json(&json!({
            "object": "list",
            "data": [{ "id": MODEL, "object": "model", "created": 0, "owned_by": "tests" }],
        })),
        ("POST", "/v1/responses") => converse(asked, Dialect::Responses, play),
        ("POST", "/v1/chat/completions") => converse(asked, Dialect::Chat, play),
        (method, path) => HttpReply::failure(404, &format!("nothing answers {method} {path}")),
    }
}

fn converse(asked: &Asked, dialect: Dialect, play: &Mutex<Play>) -> HttpReply {
    let body: Value = match serde_json::from_slice(&asked.body) {
        Ok(body) => body,
        Err(error) => return HttpReply::failure(400, &format!("the request is not JSON: {error}")),
    };
    if body["stream"] != json!(true) {
        return HttpReply::failure(400, "only streams are answered: set `stream` to true");
    }
    let (number, reply) = locked(play).next(Request::new(dialect, body));
    let events = |reply: &Reply| match dialect {
        Dialect::Responses => responses::events(reply, number),
        Dialect::Chat => chat::events(reply, number),
    };
    match &reply {
        Reply::Failure(status, message) => HttpReply::failure(*status, message),
        Reply::Broken(_) => HttpReply::broken_events(events(&reply)),
        Reply::Text(_) | Reply::Calls(_) => HttpReply::events(events(&reply)),
    }
}

impl Play {
    /// Plays the next turn; also says which number it has, from 1.
    fn next(&mut self, request: Request) -> (usize, Reply) {
        let turn = self.turns.next();
        let reply = match turn {
            // A failed assertion in a turn is the test's to see, not this thread's to die of.
            Some(turn) => panic::catch_unwind(AssertUnwindSafe(|| turn(&request))).map_err(|panic| {
                let number = self.requests.len() + 1;
                format!("turn {number} panicked: {}", said(panic.as_ref()))
            }),
            None => Err(format!("request {} has no turn", self.requests.len() + 1)),
        };
        self.requests.push(request);
        let number = self.requests.len();
        let reply = reply.unwrap_or_else(|fault| {
            self.faults.push(fault.clone());
            Reply::Failure(400, fault)
        });
        (number, reply)
    }
}

fn said(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

/// The two halves of a text: streams come in pieces, and whoever reads them has to join them.
fn halves(text: &str) -> [&str; 2] {
    let middle = text.floor_char_boundary(text.len() / 2);
    [&text[..middle], &text[middle..]]
}

/// What is behind the lock is whole after every step, so a panic elsewhere does not spoil it.
fn locked(play: &Mutex<Play>) -> MutexGuard<'_, Play> {
    play.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Input {
    /// As it stands in a call.
    fn text(&self) -> String {
        match self {
            Self::Arguments(arguments) => arguments.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
