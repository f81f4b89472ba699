//! One call, from the request to its reply: its progress goes to the client, a call that takes too long becomes a task,
//! and questions that only a person can answer are asked.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock, ErrorData,
    ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::Map;
use tokio::sync::{mpsc, watch};
use windlass_tools::{Call, CallTicket, Delivery, Progress, Reply, Toolbox, UnknownTool};

use crate::mcp::arrivals::Arrival;
use crate::mcp::handler::HandlerShared;
use crate::mcp::handler::asking::{self, Go, PendingQuestion};
use crate::mcp::handler::delivery::{self, Link};
use crate::mcp::handler::extension;
use crate::mcp::handler::reply_style::ReplyStyle;
use crate::mcp::repair::Repaired;

/// A call under way, with its progress.
pub(super) struct RunningCall {
    reply: Pin<Box<dyn Future<Output = Result<Reply, UnknownTool>> + Send>>,
    progress: watch::Receiver<Option<Progress>>,
    questions: mpsc::Receiver<PendingQuestion>,
    style: ReplyStyle,
    /// Settled with the response that carries the reply.
    pub(super) delivery: Delivery,
}

/// The next event of a call.
pub(super) enum CallEvent {
    Answered(Result<CallToolResult, ErrorData>),
    Progressed(Progress),
    Asked(PendingQuestion),
}

/// The capabilities of a request's client.
struct RequestCapabilities {
    progress: Option<ProgressToken>,
    tasks: bool,
    task_after: Duration,
    person: bool,
    /// The client supports rounds: it gets a question as the reply to its request, not as a request from the server.
    rounds: bool,
    style: ReplyStyle,
    repaired: Option<Repaired>,
}

impl RequestCapabilities {
    fn of(context: &RequestContext<RoleServer>, task_after: Duration) -> Self {
        let capabilities = context.client_capabilities().unwrap_or_default();
        let version = context.protocol_version();
        Self {
            progress: context.meta.get_progress_token(),
            tasks: capabilities.supports_tasks(),
            task_after,
            person: fills_in_forms(&capabilities),
            rounds: version.is_some_and(|version| !version.has_initialize()),
            style: ReplyStyle::of(context),
            repaired: extension(context).copied(),
        }
    }

    fn ceiling(&self) -> Duration {
        if self.progress.is_some() || self.tasks { self.style.patience } else { Call::QUIET_CEILING }
    }
}

/// Whether the client can show forms. One that declares no mode of elicitation can: the modes are newer than forms.
fn fills_in_forms(capabilities: &ClientCapabilities) -> bool {
    capabilities.elicitation.as_ref().is_some_and(|can| can.form.is_some() || can.url.is_none())
}

impl HandlerShared {
    /// Answers a request to call a tool.
    pub(super) async fn call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
        task_after: Duration,
    ) -> Result<CallToolResponse, ErrorData> {
        let means = RequestCapabilities::of(context, task_after);
        let running = match &request.request_state {
            Some(state) => match self.parked.resume(state, request.input_responses.as_ref())? {
                Go::On(running) => running,
                Go::AskAgain(question) => return Ok(question.into()),
            },
            None => {
                let ticket = self.ticket(&request, context).await;
                if let Some(ticket) = &ticket {
                    ticket.sent_with(&delivery::of_response(context));
                }
                RunningCall::start(&self.toolbox, (request, ticket), &means)
            }
        };
        let link = Link::new(&delivery::of_response(context), &running.delivery);
        self.attend((running, link), context, &means).await
    }

    /// The position of a call among those for the same session.
    async fn ticket(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Option<CallTicket> {
        let none = Map::new();
        let arguments = request.arguments.as_ref().unwrap_or(&none);
        let take = || self.toolbox.ticket(&request.name, arguments);
        match extension::<Arrival>(context) {
            Some(arrival) => arrival.in_order(take).await,
            None => take(),
        }
    }

    async fn attend(
        &self,
        (mut running, link): (RunningCall, Link),
        context: &RequestContext<RoleServer>,
        means: &RequestCapabilities,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut reporter = Reporter { peer: &context.peer, token: means.progress.clone(), last: 0.0 };
        // timer: a client that supports tasks prefers one to a request that takes minutes.
        let mut patience = std::pin::pin!(tokio::time::sleep(means.task_after));
        loop {
            let turn = tokio::select! {
                biased;
                turn = running.turn() => turn,
                () = &mut patience, if means.tasks && self.has_room_for_a_task() => {
                    link.cut();
                    return Ok(self.hand_over(running).into());
                }
            };
            match turn {
                CallEvent::Answered(answer) => return answer.map(Into::into),
                CallEvent::Progressed(progress) => reporter.tell(&progress).await,
                CallEvent::Asked(asked) if means.rounds => {
                    link.cut();
                    return Ok(self.parked.park(running, asked)?.into());
                }
                CallEvent::Asked(asked) => {
                    let (matter, answer) = asked.split();
                    if let Some(done) = running.beside(asking::directly(&context.peer, &matter), answer).await
                    {
                        return done.map(Into::into);
                    }
                }
            }
        }
    }
}

impl RunningCall {
    fn start(
        toolbox: &Toolbox,
        (request, ticket): (CallToolRequestParams, Option<CallTicket>),
        means: &RequestCapabilities,
    ) -> Self {
        let (told, progress) = watch::channel(None);
        let (person, questions) = asking::person();
        let call = Call {
            ceiling: means.ceiling(),
            progress: (means.progress.is_some() || means.tasks)
                .then(|| Arc::new(move |progress| drop(told.send_replace(Some(progress)))) as _),
            person: means.person.then_some(person),
            remarks: means.repaired.map(Repaired::remark).into_iter().collect(),
            ticket,
            ..Call::new(request.name, request.arguments.unwrap_or_default())
        };
        let (toolbox, delivery) = (toolbox.clone(), call.delivery.clone());
        let reply = Box::pin(async move { toolbox.call(call).await });
        Self { reply, progress, questions, style: means.style, delivery }
    }

    /// Waits for the next event.
    pub(super) async fn turn(&mut self) -> CallEvent {
        tokio::select! {
            biased;
            reply = &mut self.reply => CallEvent::Answered(answer(reply, self.style)),
            Some(asked) = self.questions.recv() => CallEvent::Asked(asked),
            Ok(()) = self.progress.changed() => {
                let latest = self.progress.borrow_and_update().clone();
                // The watch changes only to `Some`.
                latest.map_or_else(|| unreachable!("progress without progress"), CallEvent::Progressed)
            }
        }
    }

    /// Runs the call on while a person is asked. It may end before they answer: the program may have given up.
    pub(super) async fn beside(
        &mut self,
        asking: impl Future<Output = Option<String>>,
        answer_to: asking::AnswerTo,
    ) -> Option<Result<CallToolResult, ErrorData>> {
        tokio::select! {
            biased;
            reply = &mut self.reply => Some(answer(reply, self.style)),
            said = asking => {
                answer_to.give(said);
                None
            }
        }
    }
}

/// Converts a reply. A tool that does not exist is an error of the protocol; all other errors are replies.
fn answer(reply: Result<Reply, UnknownTool>, style: ReplyStyle) -> Result<CallToolResult, ErrorData> {
    let reply = reply.map_err(|unknown| ErrorData::invalid_params(unknown.to_string(), None))?;
    let content = vec![ContentBlock::text(reply.text)];
    let mut result =
        if reply.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = Some(reply.structured).filter(|_| style.structure);
    Ok(result)
}

/// Sends progress notifications to the client, if it asked for them.
struct Reporter<'a> {
    peer: &'a Peer<RoleServer>,
    token: Option<ProgressToken>,
    last: f64,
}

impl Reporter<'_> {
    async fn tell(&mut self, progress: &Progress) {
        let seconds = progress.elapsed.as_secs_f64();
        // The protocol requires every value to be larger than the one before.
        if let Some(token) = self.token.clone()
            && seconds > self.last
        {
            self.last = seconds;
            let note = ProgressNotificationParam::new(token, seconds).with_message(in_words(progress));
            // If the client is gone, the whole call is dropped with it.
            let _ = self.peer.notify_progress(note).await;
        }
    }
}

/// The progress of a call, for people.
pub(super) fn in_words(progress: &Progress) -> String {
    let so_far = format!("{} s, {} bytes", progress.elapsed.as_secs(), progress.bytes);
    match progress.last_line() {
        "" => so_far,
        line => format!("{so_far}: {line}"),
    }
}
