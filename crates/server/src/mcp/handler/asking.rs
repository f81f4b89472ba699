//! Questions for a person: for a secret, such as a password, and for the approval of a command. A secret question goes
//! to the client and the answer to the program that asked; neither is logged.

use std::sync::Arc;

use rmcp::model::{
    BooleanSchema, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, InputRequiredResult, ServerRequest, StringSchema,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, RoleServer};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use windlass_tools::{Approval, Approved, Detail, Emphasis, Person, Question, Shown, UserReplyFuture};

use crate::mcp::handler::calls::RunningCall;

/// The name of the only field in the form for a secret.
const FIELD: &str = "answer";
/// The name of the only field in the form for an approval.
const APPROVE: &str = "approve";
/// The longest excerpts of a command and of its prompt in the question for a secret.
const MOST_COMMAND: usize = 2_000;
const MOST_PROMPT: usize = 500;
/// The answer that stands for an approval.
const YES: &str = "yes";

/// The subject of a question.
#[derive(Clone, Debug)]
pub(super) enum Matter {
    /// A program asks for a secret.
    Secret(Question),
    /// The rules require an approval of a command.
    Approval(Approval),
}

/// A question and the channel for its answer.
pub(super) struct PendingQuestion {
    matter: Matter,
    answer: AnswerTo,
}

/// The channel to the task that waits for the answer.
pub(super) struct AnswerTo(oneshot::Sender<Option<String>>);

/// The next step of a call that waited for an answer.
pub(super) enum Go {
    /// It continues with its answer.
    On(RunningCall),
    /// The client sent no answer, so it gets the question again.
    AskAgain(InputRequiredResult),
}

impl PendingQuestion {
    pub(super) fn matter(&self) -> &Matter {
        &self.matter
    }

    pub(super) fn split(self) -> (Matter, AnswerTo) {
        (self.matter, self.answer)
    }
}

impl AnswerTo {
    /// Passes on the person's answer; `None` if they gave none.
    pub(super) fn give(self, said: Option<String>) {
        // A call that is over has dropped the receiver.
        let _ = self.0.send(said);
    }
}

/// A [`Person`] to ask, and the channel on which the questions arrive.
pub(super) fn person() -> (Arc<dyn Person>, mpsc::Receiver<PendingQuestion>) {
    // A capacity of one: a program asks one question at a time.
    let (questions, asked) = mpsc::channel(1);
    (Arc::new(Client { questions }), asked)
}

/// The person at the client.
struct Client {
    questions: mpsc::Sender<PendingQuestion>,
}

impl Person for Client {
    fn ask(&self, question: Question) -> UserReplyFuture<'_> {
        Box::pin(self.put(Matter::Secret(question)))
    }

    fn approve(&self, approval: Approval) -> Approved<'_> {
        Box::pin(async move { self.put(Matter::Approval(approval)).await.as_deref() == Some(YES) })
    }
}

impl Client {
    async fn put(&self, matter: Matter) -> Option<String> {
        let (answer, said) = oneshot::channel();
        self.questions.send(PendingQuestion { matter, answer: AnswerTo(answer) }).await.ok()?;
        said.await.ok().flatten()
    }
}

/// Asks by a request to the client, as the older protocols do.
pub(super) async fn directly(peer: &Peer<RoleServer>, matter: &Matter) -> Option<String> {
    let request = ServerRequest::ElicitRequest(form(matter));
    let open = peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await.ok()?;
    match OpenForm(Some(open)).answer().await? {
        ClientResult::ElicitResult(result) => said(matter, result),
        _ => None,
    }
}

/// A form that is open at the client. Dropping it withdraws the form, because no call waits for the answer any more.
struct OpenForm(Option<RequestHandle<RoleServer>>);

impl OpenForm {
    async fn answer(mut self) -> Option<ClientResult> {
        let answered = (&mut self.0.as_mut()?.rx).await;
        self.0 = None;
        answered.ok()?.ok()
    }
}

impl Drop for OpenForm {
    fn drop(&mut self) {
        if let (Some(open), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(open.cancel(Some("the call that asked is over".to_owned())));
        }
    }
}

/// The form for a question.
pub(super) fn form(matter: &Matter) -> ElicitRequest {
    match matter {
        Matter::Secret(question) => secret_form(question),
        Matter::Approval(approval) => approval_form(approval),
    }
}

fn approval_form(approval: &Approval) -> ElicitRequest {
    let details = approval.details();
    let mut message = "May this command run?\n".to_owned();
    message.extend(details.iter().map(section));
    if details.iter().any(|detail| !detail.text.is_whole()) {
        message.push_str("\nNot all of it is shown: say yes only if you know the rest.\n");
    }
    let described = |field: BooleanSchema| {
        field
            .title("Let it run")
            .description("Yes lets this one command run; no refuses it")
            .with_default(false)
    };
    let schema = ElicitationSchema::builder().required_bool_property(APPROVE, described).build();
    elicit(message, schema)
}

/// A fact under its label. Four blanks before every line make it a code block in clients that render Markdown, which
/// then neither join its lines nor interpret formatting in it; other clients show it as it is.
fn section(detail: &Detail) -> String {
    let mark = if detail.emphasis == Emphasis::Warning { " (look twice)" } else { "" };
    let lines: String = detail.text.lines().map(|line| format!("    {line}\n")).collect();
    format!("\n{}{mark}:\n\n{lines}", detail.label)
}

fn secret_form(question: &Question) -> ElicitRequest {
    let Question { session, command, prompt } = question;
    let fact = |label, text| Detail { label, text, emphasis: Emphasis::Plain };
    let mut message = format!("A command (session {session}) waits for hidden input.\n");
    message += &section(&fact("command", Shown::within(command, MOST_COMMAND)));
    if !prompt.trim().is_empty() {
        message += &section(&fact("it asks", Shown::within(prompt.trim(), MOST_PROMPT)));
    }
    message += "\nYour answer goes to that command only; the model does not see it.";
    let described =
        |field: StringSchema| field.title("Answer").description("Typed into the command as it is");
    let schema = ElicitationSchema::builder().required_string_property(FIELD, described).build();
    elicit(message, schema)
}

fn elicit<E>(message: String, schema: Result<ElicitationSchema, E>) -> ElicitRequest {
    ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema: schema.unwrap_or_else(|_| unreachable!("a required field is among the fields")),
    })
}

/// Parses a client's answer.
pub(super) fn read(answer: &Value) -> Option<ElicitResult> {
    serde_json::from_value(answer.clone()).ok()
}

/// The person's answer, if there is one. An approval needs an explicit yes: accepting the form is not enough.
pub(super) fn said(matter: &Matter, result: ElicitResult) -> Option<String> {
    let accepted = result.action == ElicitationAction::Accept;
    let content = result.content.filter(|_| accepted)?;
    match matter {
        Matter::Secret(_) => content.get(FIELD)?.as_str().map(str::to_owned),
        Matter::Approval(_) => content.get(APPROVE)?.as_bool()?.then(|| YES.to_owned()),
    }
}
