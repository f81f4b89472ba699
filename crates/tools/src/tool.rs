//! The tools, one file each with arguments, description and call. Their shared parts are here.

mod classic;
mod exec_command;
mod list_sessions;
mod read_output;
mod stop_session;
mod wait_sessions;
mod write_stdin;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_engine::StartError;
use windlass_output::Tokens;

use crate::arguments::{Arguments, BadArgument};
use crate::call::{Call, Reply};
use crate::catalogue::{Profile, Tool};
use crate::live_session::{Showing, ViewKind};
use crate::report;
use crate::toolbox::Toolbox;
use crate::until::Conditions;

/// The tools of a profile. The order never changes.
pub(crate) fn catalogue(profile: Profile) -> Vec<Tool> {
    let mut tools = vec![
        exec_command::TOOL,
        write_stdin::TOOL,
        read_output::TOOL,
        wait_sessions::TOOL,
        stop_session::TOOL,
        list_sessions::TOOL,
    ];
    if profile == Profile::Classic {
        tools.extend([classic::SHELL, classic::SHELL_COMMAND]);
    }
    tools
}

pub(crate) use self::write_stdin::{NOTHING_WRITTEN, holds};

/// One call on its way through a tool.
pub(crate) struct CallContext<'a> {
    pub(crate) toolbox: &'a Toolbox,
    pub(crate) call: &'a Call,
    pub(crate) arguments: Arguments,
    pub(crate) began: Instant,
}

/// Carries a call out. `None`: no tool has that name.
pub(crate) async fn call(tool: &Tool, visit: CallContext<'_>) -> Reply {
    let (toolbox, delivery) = (visit.toolbox, visit.call.delivery.clone());
    let reply = match tool.name {
        "exec_command" => exec_command::call(visit).await,
        "write_stdin" => write_stdin::call(visit).await,
        "read_output" => read_output::call(visit).await,
        "wait_sessions" => wait_sessions::call(visit).await,
        "stop_session" => stop_session::call(visit).await,
        "list_sessions" => list_sessions::call(visit).await,
        "shell" => classic::call_shell(visit).await,
        _ => classic::call_shell_command(visit).await,
    };
    reply.unwrap_or_else(|refusal| refusal.reply(&toolbox.announcements(None, &delivery)))
}

/// Why a call was not carried out, for its caller to read.
#[derive(Debug)]
pub(crate) struct ToolError(pub(crate) String);

impl ToolError {
    /// The error as a reply, which carries due announcements like any other. It is shortened: the arguments that it
    /// quotes may be long.
    pub(crate) fn reply(self, notes: &[String]) -> Reply {
        const LONGEST: usize = 4000;
        let complaint = report::beginning(&self.0, LONGEST);
        let mut reply = Reply::error(&complaint);
        if !notes.is_empty() {
            reply.text = format!("{complaint}\n{}", note_lines(notes));
            reply.structured["notes"] = notes.into();
        }
        reply
    }
}

impl From<BadArgument> for ToolError {
    fn from(bad: BadArgument) -> Self {
        Self(bad.to_string())
    }
}

impl From<StartError> for ToolError {
    fn from(error: StartError) -> Self {
        Self(error.to_string())
    }
}

/// How long a call waits before it replies, in milliseconds.
#[derive(Clone, Copy)]
struct Yield {
    default: u64,
    least: u64,
    most: u64,
}

impl Yield {
    fn of(self, asked: Option<Duration>) -> Duration {
        let [default, least, most] = [self.default, self.least, self.most].map(Duration::from_millis);
        asked.unwrap_or(default).clamp(least, most)
    }
}

/// The output budget without an argument.
const DEFAULT_BUDGET: u64 = 10_000;
/// The most that one reply shows, whatever is asked for: no host takes more.
const MOST_BUDGET: u64 = 1_000_000;

impl CallContext<'_> {
    /// `view` and `max_output_tokens`.
    fn showing(&mut self) -> Result<Showing, BadArgument> {
        let view = self.arguments.choice("view", &ViewKind::NAMES)?.unwrap_or_default();
        let budget = self.arguments.whole("max_output_tokens")?.unwrap_or(DEFAULT_BUDGET).min(MOST_BUDGET);
        Ok(Showing { view, budget: Tokens::new(budget), tokenizer: self.toolbox.tokenizer() })
    }

    fn milliseconds(&mut self, field: &str) -> Result<Option<Duration>, BadArgument> {
        Ok(self.arguments.whole(field)?.map(Duration::from_millis))
    }

    /// When a call ends that waits for these conditions, or for so long without any.
    fn deadline(&self, until: Option<&Conditions>, yield_time: Duration) -> Instant {
        let wait = if until.is_some() { self.call.ceiling } else { yield_time.min(self.call.ceiling) };
        self.began + wait
    }

    /// Notes about the request, and about arguments that the tool does not know.
    fn remarks(&self) -> Vec<String> {
        const MOST: usize = 10;
        let remark = |(name, meant): (String, Option<&str>)| {
            let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
            format!("argument `{}` is not known and was ignored{meant}", report::shortened(&name, 80))
        };
        let unknown = self.arguments.unknown().into_iter().take(MOST).map(remark);
        self.call.remarks.iter().cloned().chain(unknown).collect()
    }
}

/// Notes of replies that have no other place for them.
pub(crate) fn note_lines(notes: &[String]) -> String {
    notes.iter().map(|note| format!("Note: {note}\n")).collect()
}

/// A schema of an object of which only the names and types matter.
fn shape(properties: &Value) -> Value {
    json!({ "type": "object", "properties": properties })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yield_times_have_defaults_and_are_clamped() {
        for (yields, asked, expected) in [
            (exec_command::YIELD, None, 10_000),
            (exec_command::YIELD, Some(0), 250),
            (exec_command::YIELD, Some(1234), 1234),
            (exec_command::YIELD, Some(u64::MAX), 30_000),
            (write_stdin::WRITING_YIELD, None, 250),
            (write_stdin::WRITING_YIELD, Some(1), 250),
            (write_stdin::WRITING_YIELD, Some(60_000), 30_000),
            (write_stdin::POLLING_YIELD, None, 5_000),
            (write_stdin::POLLING_YIELD, Some(250), 5_000),
            (write_stdin::POLLING_YIELD, Some(1_000_000), 300_000),
        ] {
            assert_eq!(yields.of(asked.map(Duration::from_millis)), Duration::from_millis(expected));
        }
    }
}
