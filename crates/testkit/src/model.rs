//! A scripted model: an endpoint on loopback for real agents, and for our own, which gives the replies that a test
//! wrote down.
//!
//! It speaks the two dialects that agents speak: OpenAI's Responses and Chat Completions, always as streams. A script is
//! a list of turns, one for each request ([`Model::playing`]), or such a list for each of several agents
//! ([`Model::casting`]); a turn sees the request, so that it can use what an earlier call returned. A script is played
//! strictly: [`Model::finish`] fails when a turn was left over, when more was asked than was written, or when a turn
//! panicked. Where the order is not known, one function answers everything ([`Model::answering`]).
//!
//! ```
//! use serde_json::json;
//! use windlass_testkit::model::{Invariants, Model, always, call, say, think, turn};
//!
//! let model = Model::playing(vec![
//!     always(think("let me see").and(call("exec_command", json!({ "cmd": "ls" })))),
//!     turn(|request| say(&format!("there is {}", request.last_result()))),
//! ]);
//! let address = model.base_url(); // for the agent
//! # let requests = model.requests();
//! # assert!(address.ends_with("/v1"));
//! Invariants::strict().check(&requests);
//! ```

mod chat;
mod gate;
mod http;
mod invariants;
mod reply;
mod request;
mod responses;
mod script;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use serde_json::json;

use self::http::{ReceivedRequest, Reply as HttpReply, ScriptedEvent, Server, Stream, StreamEnd};
use self::reply::{After, Garbage, Matter};
use self::script::Script;

pub use self::gate::Gate;
pub use self::invariants::Invariants;
pub use self::reply::{Call, Reply, Usage, call, call_verbatim, custom, say, think};
pub use self::request::{Request, RequestDialect, ToolName};
pub use self::script::{ModelTurn, Role, always, role, turn};

/// The name of the endpoint's only model.
pub const MODEL: &str = "scripted";

/// The endpoint. It ends, with all its threads, when it is dropped.
pub struct Model {
    server: Server,
    stage: Arc<EndpointShared>,
}

/// The state that the endpoint's threads share.
struct EndpointShared {
    play: Mutex<Play>,
    changed: Condvar,
}

/// How far the script has got.
struct Play {
    script: Script,
    requests: Vec<Request>,
    /// The numbers of the requests whose agent left before it had received the whole answer.
    departures: Vec<usize>,
    faults: Vec<String>,
    key: Option<String>,
}

impl Model {
    /// Starts an endpoint that plays these turns, in the order in which it is asked.
    pub fn playing(turns: Vec<ModelTurn>) -> Self {
        Self::with(Script::turns(turns))
    }

    /// Starts an endpoint that plays several roles, each with its own turns: a request belongs to the first role that
    /// knows it. For agents that have agents of their own.
    pub fn casting(roles: Vec<Role>) -> Self {
        Self::with(Script::Roles(roles))
    }

    /// Starts an endpoint on which this function answers every request, several at once if need be.
    pub fn answering(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::with(Script::Function(Arc::new(answer)))
    }

    fn with(script: Script) -> Self {
        let play =
            Play { script, requests: Vec::new(), departures: Vec::new(), faults: Vec::new(), key: None };
        let stage = Arc::new(EndpointShared { play: Mutex::new(play), changed: Condvar::new() });
        let own = Arc::clone(&stage);
        let server = Server::start(move |asked| answer(asked, &own));
        Self { server, stage }
    }

    /// Requires this key from now on: requests without it are rejected with 401, whatever they ask for.
    pub fn require_key(&self, key: &str) {
        self.stage.locked().key = Some(key.to_owned());
    }

    /// The base address to configure in an agent; it ends in `/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.server.address())
    }

    /// Where it listens.
    pub fn address(&self) -> std::net::SocketAddr {
        self.server.address()
    }

    /// How many connections were made to it so far.
    pub fn connections(&self) -> usize {
        self.server.connections()
    }

    /// The requests of the conversation so far, in the order in which they came.
    pub fn requests(&self) -> Vec<Request> {
        self.stage.locked().requests.clone()
    }

    /// Waits until so many requests have come, and returns all there are.
    ///
    /// # Panics
    /// When they do not come.
    pub fn wait_for_requests(&self, count: usize) -> Vec<Request> {
        self.stage.wait(|play| (play.requests.len() >= count).then(|| play.requests.clone()))
    }

    /// The numbers, from 1, of the requests whose agent left while its answer was stalled or written.
    pub fn departures(&self) -> Vec<usize> {
        self.stage.locked().departures.clone()
    }

    /// Waits until so many agents have left before they had received the whole answer.
    ///
    /// # Panics
    /// When they stay.
    pub fn wait_for_departures(&self, count: usize) -> Vec<usize> {
        self.stage.wait(|play| (play.departures.len() >= count).then(|| play.departures.clone()))
    }

    /// Ends the endpoint and returns the requests of the conversation.
    ///
    /// # Panics
    /// When the script was not played exactly as written.
    pub fn finish(self) -> Vec<Request> {
        drop(self.server);
        let mut play = self.stage.locked();
        let left = play.script.left();
        assert!(play.faults.is_empty(), "the script did not fit: {}", play.faults.join("; "));
        let asked = play.requests.len();
        assert!(left.is_empty(), "turns of the script that nobody asked for, after {asked} requests: {left}");
        std::mem::take(&mut play.requests)
    }
}

impl EndpointShared {
    /// The data behind the lock is consistent after every step, so a panic elsewhere does not spoil it.
    fn locked(&self) -> MutexGuard<'_, Play> {
        self.play.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<T>(&self, mut looked_for: impl FnMut(&Play) -> Option<T>) -> T {
        let deadline = crate::hang_deadline();
        let mut play = self.locked();
        loop {
            if let Some(found) = looked_for(&play) {
                return found;
            }
            let left = deadline.saturating_duration_since(std::time::Instant::now());
            assert!(!left.is_zero(), "the agent does not do what is waited for");
            let woken = self.changed.wait_timeout(play, left).unwrap_or_else(PoisonError::into_inner);
            play = woken.0;
        }
    }

    fn change(&self, change: impl FnOnce(&mut Play)) {
        change(&mut self.locked());
        self.changed.notify_all();
    }

    /// Plays the next turn for this request; also returns the number of the request, from 1. The turn runs without the
    /// lock: it may take its time, and other requests are answered meanwhile.
    fn play(&self, request: &Request) -> (usize, Reply) {
        let mut number = 0;
        let mut turn = None;
        self.change(|play| {
            play.requests.push(request.clone());
            number = play.requests.len();
            turn = play.script.next(request);
        });
        let reply = match turn {
            Some(turn) => {
                script::played(turn, request).map_err(|said| format!("turn {number} panicked: {said}"))
            }
            None => Err(format!("request {number} has no turn")),
        };
        let reply = reply.unwrap_or_else(|fault| {
            self.change(|play| play.faults.push(fault.clone()));
            Reply::refusal(400, &fault)
        });
        (number, reply)
    }
}

fn answer(asked: &ReceivedRequest, stage: &Arc<EndpointShared>) -> HttpReply {
    let key = stage.locked().key.as_ref().map(|key| format!("Bearer {key}"));
    if key.is_some() && asked.header("authorization") != key.as_deref() {
        return HttpReply::failure(401, "this is not the key");
    }
    match (asked.method.as_str(), asked.path.as_str()) {
        ("GET", _) if asked.header("upgrade").is_some() => {
            HttpReply::failure(426, "no WebSocket here; ask with POST")
        }
        ("GET", "/v1/models") => HttpReply::json(&json!({
            "object": "list",
            "data": [{ "id": MODEL, "object": "model", "created": 0, "owned_by": "tests" }],
        })),
        ("POST", "/v1/responses") => converse(asked, RequestDialect::Responses, stage),
        ("POST", "/v1/chat/completions") => converse(asked, RequestDialect::Chat, stage),
        (method, path) => HttpReply::failure(404, &format!("nothing answers {method} {path}")),
    }
}

fn converse(asked: &ReceivedRequest, dialect: RequestDialect, stage: &Arc<EndpointShared>) -> HttpReply {
    let request = match Request::read(dialect, asked) {
        Ok(request) => request,
        Err(error) => return HttpReply::failure(400, &format!("the request is not JSON: {error}")),
    };
    if request.body()["stream"] != json!(true) {
        return HttpReply::failure(400, "only streams are answered: set `stream` to true");
    }
    let (number, reply) = stage.play(&request);
    let events = match &reply.matter {
        Matter::HangUp => return HttpReply::HangUp,
        Matter::Refusal { status, headers, body } => {
            let kind = reply.delivery.content_type.as_deref().unwrap_or("application/json");
            let headers = [("content-type".to_owned(), kind.to_owned())].into_iter().chain(headers.clone());
            return HttpReply::Whole { status: *status, headers: headers.collect(), body: body.clone() };
        }
        Matter::Verbatim(events) => {
            events.iter().map(|data| ScriptedEvent { kind: None, data: data.clone() }).collect()
        }
        Matter::Answer(answer) if dialect == RequestDialect::Responses => responses::events(answer, number),
        Matter::Answer(answer) => chat::events(answer, number),
    };
    let stage = Arc::clone(stage);
    let departed = move || stage.change(|play| play.departures.push(number));
    HttpReply::Events(delivered(&reply, &events, Box::new(departed)))
}

/// The events, with the scripted faults of their delivery.
fn delivered(reply: &Reply, events: &[ScriptedEvent], departed: Box<dyn FnOnce() + Send>) -> Stream {
    let delivery = &reply.delivery;
    let mut pieces: Vec<Vec<u8>> = events.iter().map(|event| piece(event, delivery.garbage)).collect();
    match delivery.cut {
        Some(After::Events(count)) => pieces.truncate(count),
        Some(After::Bytes(count)) => {
            let bytes = pieces.concat();
            pieces = vec![bytes[..count.min(bytes.len())].to_vec()];
        }
        None => {}
    }
    Stream {
        content_type: delivery.content_type.clone().unwrap_or_else(|| "text/event-stream".to_owned()),
        pieces,
        pace: delivery.pace,
        stall: delivery.stall.clone(),
        ending: if delivery.cut.is_some() { StreamEnd::Broken } else { StreamEnd::Proper },
        departed,
    }
}

/// Lines that an agent need not understand, but must tolerate.
const GARBAGE: &str = ": ping\n\nevent: response.something_else\ndata: {\"type\":\"response.something_else\",\"x\":[1]}\n\n\
    data: this is no JSON {\n\nid: 7\nretry: 10\n\ndata: {\"type\":7}\n\ndata: null\n\n";

fn piece(event: &ScriptedEvent, garbage: Garbage) -> Vec<u8> {
    let before = if garbage == Garbage::Between { GARBAGE } else { "" };
    format!("{before}{}", event.lines()).into_bytes()
}

/// The two halves of a text: streams come in pieces, which the agent has to join.
fn halves(text: &str) -> [&str; 2] {
    let middle = text.floor_char_boundary(text.len() / 2);
    [&text[..middle], &text[middle..]]
}

#[cfg(test)]
mod tests;
