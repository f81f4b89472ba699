//! The replies of the scripted model, and the faults in their delivery.
//!
//! A reply is put together from items ([`say`], [`think`], [`call`], [`custom`], joined by [`Reply::and`]) and from the
//! faults on the way; everything works in both dialects.

use serde_json::{Value, json};

use super::gate::Gate;
use super::request::ToolName;

/// An answer of the model, or a failure.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) matter: Matter,
    pub(super) delivery: Delivery,
}

#[derive(Clone, Debug)]
pub(super) enum Matter {
    Answer(ScriptedReply),
    /// No answer, but a status.
    Refusal {
        status: u16,
        headers: Vec<(String, String)>,
        body: String,
    },
    /// Events as they are written here.
    Verbatim(Vec<String>),
    /// The connection is closed without an answer.
    HangUp,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ScriptedReply {
    pub(super) said: Vec<Said>,
    pub(super) usage: Usage,
    pub(super) ending: ReplyEnd,
}

/// Something that the model says.
#[derive(Clone, Debug)]
pub(super) enum Said {
    Text(String),
    Thought(String),
    Call(Call),
    /// An item of the Responses dialect, as it is; the other one leaves it out.
    Item(Value),
}

/// How an answer ends.
#[derive(Clone, Debug, Default)]
pub(super) enum ReplyEnd {
    #[default]
    Completed,
    Failed {
        code: String,
        message: String,
    },
    Incomplete {
        reason: String,
    },
}

/// The token usage that an answer reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Tokens read.
    pub input: u64,
    /// Of those, from the cache.
    pub cached: u64,
    /// Tokens written.
    pub output: u64,
    /// Of those, thoughts.
    pub reasoning: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self { input: 1, cached: 0, output: 1, reasoning: 0 }
    }
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub(super) tool: ToolName,
    pub(super) input: Input,
    pub(super) id: Option<String>,
}

/// The input of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Input {
    /// The text of arguments by name, as most tools have them.
    Arguments(String),
    /// A text in the tool's own language. In the Chat dialect it is the one argument `input`.
    Text(String),
}

/// How the answer gets to the agent.
#[derive(Clone, Debug, Default)]
pub(super) struct Delivery {
    pub(super) content_type: Option<String>,
    pub(super) pace: Pace,
    pub(super) garbage: Garbage,
    pub(super) cut: Option<After>,
    pub(super) stall: Option<(usize, Gate)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Pace {
    #[default]
    ByEvent,
    ByByte,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Garbage {
    #[default]
    None,
    Between,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum After {
    Events(usize),
    Bytes(usize),
}

/// A message of the model.
pub fn say(text: &str) -> Reply {
    Reply::of(Said::Text(text.to_owned()))
}

/// A reasoning item.
pub fn think(text: &str) -> Reply {
    Reply::of(Said::Thought(text.to_owned()))
}

/// A call of a tool with these arguments.
pub fn call(tool: impl Into<ToolName>, arguments: Value) -> Reply {
    Reply::of(Said::Call(Call::new(tool, arguments)))
}

/// A call of a tool with arguments exactly as written here, which need not be JSON.
pub fn call_verbatim(tool: impl Into<ToolName>, arguments: &str) -> Reply {
    let input = Input::Arguments(arguments.to_owned());
    Reply::of(Said::Call(Call { tool: tool.into(), input, id: None }))
}

/// A call of a tool that takes a text in a language of its own, such as a patch.
pub fn custom(tool: impl Into<ToolName>, text: &str) -> Reply {
    let input = Input::Text(text.to_owned());
    Reply::of(Said::Call(Call { tool: tool.into(), input, id: None }))
}

impl Reply {
    /// A reply with one message.
    pub fn text(text: &str) -> Self {
        say(text)
    }

    /// One call of a tool.
    pub fn call(tool: impl Into<ToolName>, arguments: Value) -> Self {
        call(tool, arguments)
    }

    /// One call of a tool that takes a text in a language of its own, such as a patch.
    pub fn call_with_text(tool: impl Into<ToolName>, text: &str) -> Self {
        custom(tool, text)
    }

    /// A complete reply without any item.
    pub fn silence() -> Self {
        Self::from(Matter::Answer(ScriptedReply::default()))
    }

    /// An item of the Responses dialect, as it is.
    pub fn item(item: Value) -> Self {
        Self::of(Said::Item(item))
    }

    /// No answer at all, but this HTTP status and message.
    pub fn refusal(status: u16, message: &str) -> Self {
        let body = json!({ "error": { "message": message, "type": "scripted", "code": null } });
        Self::refusal_with_body(status, &body.to_string())
    }

    /// No answer at all, but this HTTP status and body.
    pub fn refusal_with_body(status: u16, body: &str) -> Self {
        Self::from(Matter::Refusal { status, headers: Vec::new(), body: body.to_owned() })
    }

    /// These events, each the text of its data, and nothing else.
    pub fn verbatim(events: &[&str]) -> Self {
        Self::from(Matter::Verbatim(events.iter().map(|data| (*data).to_owned()).collect()))
    }

    /// Closes the connection without an answer.
    pub fn hang_up() -> Self {
        Self::from(Matter::HangUp)
    }

    /// An answer that fails in the middle: `response.failed`, or an error inside the stream.
    pub fn failed(code: &str, message: &str) -> Self {
        Self::silence().failing(code, message)
    }

    /// This, and then that; the end, the usage and the faults are this one's.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        if let (Matter::Answer(answer), Matter::Answer(more)) = (&mut self.matter, other.matter) {
            answer.said.extend(more.said);
        }
        self
    }

    /// Gives the last call this id. Without, each call of a model has its own.
    #[must_use]
    pub fn with_id(mut self, id: &str) -> Self {
        if let Matter::Answer(answer) = &mut self.matter
            && let Some(Said::Call(call)) = answer.said.last_mut()
        {
            call.id = Some(id.to_owned());
        }
        self
    }

    /// Sets the reported token usage.
    #[must_use]
    pub fn costing(self, usage: Usage) -> Self {
        self.answer(|answer| answer.usage = usage)
    }

    /// Sends the items, and then the answer fails.
    #[must_use]
    pub fn failing(self, code: &str, message: &str) -> Self {
        let ending = ReplyEnd::Failed { code: code.to_owned(), message: message.to_owned() };
        self.answer(|answer| answer.ending = ending)
    }

    /// Sends the items, but marks the answer as cut short: `response.incomplete`, or another reason to finish.
    #[must_use]
    pub fn incomplete(self, reason: &str) -> Self {
        let ending = ReplyEnd::Incomplete { reason: reason.to_owned() };
        self.answer(|answer| answer.ending = ending)
    }

    /// Adds a header to a refusal.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        if let Matter::Refusal { headers, .. } = &mut self.matter {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// Drops the connection after so many events.
    #[must_use]
    pub fn cut_after_events(mut self, events: usize) -> Self {
        self.delivery.cut = Some(After::Events(events));
        self
    }

    /// Drops the connection after so many bytes of the stream.
    #[must_use]
    pub fn cut_after_bytes(mut self, bytes: usize) -> Self {
        self.delivery.cut = Some(After::Bytes(bytes));
        self
    }

    /// After so many events nothing comes until the gate is opened or the agent leaves; see
    /// [`super::Model::departures`].
    #[must_use]
    pub fn stalled_after_events(mut self, events: usize, gate: &Gate) -> Self {
        self.delivery.stall = Some((events, gate.clone()));
        self
    }

    /// Every byte is sent alone.
    #[must_use]
    pub fn dribbled(mut self) -> Self {
        self.delivery.pace = Pace::ByByte;
        self
    }

    /// Puts comments, events of unknown kinds and data that is not JSON between the events.
    #[must_use]
    pub fn with_garbage(mut self) -> Self {
        self.delivery.garbage = Garbage::Between;
        self
    }

    /// Sends the stream, or the refusal, with this content type.
    #[must_use]
    pub fn of_type(mut self, content_type: &str) -> Self {
        self.delivery.content_type = Some(content_type.to_owned());
        self
    }

    fn of(said: Said) -> Self {
        Self::from(Matter::Answer(ScriptedReply { said: vec![said], ..ScriptedReply::default() }))
    }

    fn answer(mut self, change: impl FnOnce(&mut ScriptedReply)) -> Self {
        if let Matter::Answer(answer) = &mut self.matter {
            change(answer);
        }
        self
    }
}

impl From<Matter> for Reply {
    fn from(matter: Matter) -> Self {
        Self { matter, delivery: Delivery::default() }
    }
}

impl Call {
    /// Calls this tool with these arguments.
    #[expect(clippy::needless_pass_by_value, reason = "a test writes its arguments in place")]
    pub fn new(tool: impl Into<ToolName>, arguments: Value) -> Self {
        Self { tool: tool.into(), input: Input::Arguments(arguments.to_string()), id: None }
    }

    /// Its id, in the answer to the request of this number.
    pub(super) fn id(&self, (number, index): (usize, usize)) -> String {
        self.id.clone().unwrap_or_else(|| format!("call_{number}_{index}"))
    }
}
