//! A server that implements only the tests of the official conformance suite. It shares all code of the transports with
//! the real one, so that the suite tests those.
//!
//! The names and texts here are the suite's; it defines their meaning.
#![expect(deprecated, reason = "the suite also tests what only the older protocols have")]

mod catalogue;
mod jobs;
mod questions;
mod rounds;
mod tools;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult,
    CompletionInfo, ErrorData, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::task_manager::TaskManager;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::broadcast;

use crate::gate::Token;

/// The number of states of unfinished requests that are kept; the oldest are forgotten.
const STATE_LIMIT: usize = 64;

/// How many changes may wait for a slow subscriber.
const CHANGE_LIMIT: usize = 16;

/// The server that the suite tests. All clients share one.
#[derive(Clone, Debug)]
pub struct Fixtures {
    shared: Arc<Shared>,
}

struct Shared {
    /// The states that clients of unfinished requests must send back. They are random, so that a client cannot make one
    /// up.
    states: Mutex<VecDeque<(Token, &'static str)>>,
    changes: broadcast::Sender<Change>,
    tasks: TaskManager,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.tasks.shutdown();
    }
}

/// A list that changed, for subscribers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Tools,
    Prompts,
}

impl Fixtures {
    /// A new server.
    #[must_use]
    pub fn new() -> Self {
        let shared = Shared {
            states: Mutex::default(),
            changes: broadcast::Sender::new(CHANGE_LIMIT),
            tasks: TaskManager::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Creates a state for this stage of a request, which the client sends back.
    fn issue(&self, stage: &'static str) -> Result<String, ErrorData> {
        let secret = Token::random().map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let mut states = self.shared.states.lock().unwrap_or_else(PoisonError::into_inner);
        states.truncate(STATE_LIMIT - 1);
        let shown = secret.reveal().to_owned();
        states.push_front((secret, stage));
        Ok(shown)
    }

    /// The stage of a state.
    fn stage(&self, state: &str) -> Result<&'static str, ErrorData> {
        let states = self.shared.states.lock().unwrap_or_else(PoisonError::into_inner);
        let found = states.iter().find(|(issued, _)| issued.is(state.as_bytes())).map(|(_, stage)| *stage);
        found.ok_or_else(|| ErrorData::invalid_params("the request state is not one of ours", None))
    }

    fn announce(&self, change: Change) {
        // There may be no subscribers.
        let _ = self.shared.changes.send(change);
    }
}

impl Default for Fixtures {
    fn default() -> Self {
        Self::new()
    }
}

/// Converts the suite's JSON into a type of the protocol.
fn from_json<T: DeserializeOwned>(json: Value) -> Result<T, ErrorData> {
    serde_json::from_value(json).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_logging()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_tasks()
            .build();
        let info = Implementation::new("windlass-conformance-fixtures", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(info)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()?))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::all().ok()?.into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let cancelled = context.ct.clone();
        tokio::select! {
            biased;
            answer = tools::call(self, request, context) => answer,
            () = cancelled.cancelled() => Err(ErrorData::internal_error("the request was cancelled", None)),
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.shared.tasks.get_task(&request.task_id)?))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.shared.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.shared.tasks.cancel_task(&request.task_id)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(catalogue::resources()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(catalogue::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        catalogue::read(&request.uri)
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(catalogue::prompts()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        catalogue::prompt(&request)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let words =
            ["paris", "park", "party"].into_iter().filter(|word| word.starts_with(&request.argument.value));
        let words = CompletionInfo::with_all_values(words.map(str::to_owned).collect());
        Ok(CompleteResult::new(words.map_err(|error| ErrorData::internal_error(error, None))?))
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // The newer protocol removed this method.
        let gone = context.protocol_version().is_some_and(|version| !version.has_initialize());
        if gone { Err(ErrorData::method_not_found::<rmcp::model::SetLevelRequestMethod>()) } else { Ok(()) }
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.shared.changes.subscribe();
        loop {
            let change = tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                change = changes.recv() => change,
            };
            // The sink rejects notifications that the client did not subscribe to, which is intended.
            let _ = match change {
                Ok(Change::Tools) => subscription.sink().notify_tool_list_changed().await,
                Ok(Change::Prompts) => subscription.sink().notify_prompt_list_changed().await,
                Err(broadcast::error::RecvError::Lagged(_)) => continue,
                Err(broadcast::error::RecvError::Closed) => return Ok(()),
            };
        }
    }
}
