//! The tools of one engine for clients of the Model Context Protocol. This module translates; `windlass-tools`
//! implements the tools.

mod asking;
mod calls;
mod delivery;
mod following;
mod parked;
mod reply_style;
mod resources;
mod tasks;

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CustomRequest, CustomResult, ErrorCode,
    ErrorData, GetTaskParams, GetTaskResult, Implementation, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool,
    ToolAnnotations, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use rmcp::task_manager::TaskManager;
use windlass_tools::Toolbox;

use self::delivery::UnclaimedReplies;
use self::following::Follower;
use self::parked::ParkedCalls;
use self::reply_style::ReplyStyle;
use crate::panics::survived;

/// The instructions for the model about the tools as a whole.
const INSTRUCTIONS: &str = "\
Windlass runs commands and keeps every byte they print. A command is a session with an id: it goes on running when a \
call returns, and later calls read what is new, wait for a pattern, an exit or silence, type into it, or stop it with \
everything it started. Use it for builds and tests that take long, servers, REPLs, debuggers and anything that asks \
questions. Replies are cut to a budget and say how to read what was left out. A command that fails is a result, not an \
error.";

/// How long a client may cache the list of tools, which never changes while the server runs.
const TOOLS_LAST_MS: u64 = 60 * 60 * 1000;

/// The time after which a call becomes a task. Most calls are faster, and polling for the result of a fast one would
/// only slow it down.
const TASK_AFTER: Duration = Duration::from_secs(5);

/// The server for one client. Clients over HTTP get one each, over the same toolbox.
#[derive(Debug)]
pub struct Windlass {
    desk: Arc<HandlerShared>,
    follower: Follower,
    task_after: Duration,
}

/// The state that all clients of a toolbox share.
struct HandlerShared {
    toolbox: Toolbox,
    tools: Vec<Tool>,
    tasks: TaskManager,
    parked: ParkedCalls,
    unclaimed: UnclaimedReplies,
}

impl Windlass {
    /// Serves this toolbox.
    #[must_use]
    pub fn new(toolbox: Toolbox) -> Self {
        let tools = toolbox.tools().iter().map(described).collect();
        let desk = HandlerShared {
            toolbox,
            tools,
            tasks: TaskManager::new(),
            parked: ParkedCalls::default(),
            unclaimed: UnclaimedReplies::default(),
        };
        Self { desk: Arc::new(desk), follower: Follower::default(), task_after: TASK_AFTER }
    }

    /// Sets the time after which a call becomes a task, for clients that support tasks.
    #[must_use]
    pub fn with_tasks_after(self, task_after: Duration) -> Self {
        Self { task_after, ..self }
    }

    /// Sets the client for which the toolbox starts and shows sessions. Every request may be a client's first: newer
    /// revisions have no handshake.
    fn meet(&self, context: &RequestContext<RoleServer>) {
        let client = context.client_info();
        self.desk.toolbox.set_client(client.as_ref().map(|it| it.name.as_str()).unwrap_or_default());
    }

    /// A server for another client: it has its own subscriptions and shares the rest.
    #[must_use]
    pub fn for_another_client(&self) -> Self {
        Self { desk: Arc::clone(&self.desk), follower: Follower::default(), task_after: self.task_after }
    }
}

impl std::fmt::Debug for HandlerShared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("tools", &self.tools.len()).finish_non_exhaustive()
    }
}

impl Drop for HandlerShared {
    fn drop(&mut self) {
        self.tasks.shutdown();
    }
}

/// The value that the transport has attached to a request: to the message on pipes, to the HTTP request otherwise.
fn extension<T: Clone + Send + Sync + 'static>(context: &RequestContext<RoleServer>) -> Option<&T> {
    let over_http = || context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<T>());
    context.extensions.get::<T>().or_else(over_http)
}

/// Converts a tool into the protocol's type.
fn described(tool: &windlass_tools::Tool) -> Tool {
    let hints = &tool.hints;
    let annotations = ToolAnnotations::with_title(tool.title)
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(hints.open_world);
    Tool::new(tool.name, tool.description, tool.input_schema())
        .with_title(tool.title)
        .with_raw_output_schema(Arc::new(tool.output_schema()))
        .with_annotations(annotations)
}

impl ServerHandler for Windlass {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_tasks()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new("windlass", env!("CARGO_PKG_VERSION")).with_title("Windlass"),
            )
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut tools = self.desk.tools.clone();
        if !ReplyStyle::of(&context).structure {
            // A client that does not get structured results would reject every result of a tool that declares a schema.
            tools.iter_mut().for_each(|tool| tool.output_schema = None);
        }
        Ok(ListToolsResult::with_all_items(tools).with_ttl_ms(TOOLS_LAST_MS))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.desk.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.meet(&context);
        if context.ct.is_cancelled() {
            return Err(ErrorData::internal_error("the request was cancelled", None));
        }
        tokio::select! {
            biased;
            answer = survived(self.desk.call(request, &context, self.task_after)) => {
                answer.unwrap_or_else(|panicked| Err(panicked.into()))
            }
            // The client does not wait for this reply; the session goes on.
            () = context.ct.cancelled() => Err(ErrorData::internal_error("the request was cancelled", None)),
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let task = self.desk.tasks.get_task(&request.task_id)?;
        self.desk.unclaimed.shown(&task, &delivery::of_response(&context));
        Ok(GetTaskResult::new(task))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.desk.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.desk.tasks.cancel_task(&request.task_id)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::all(&self.desk.toolbox)))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.meet(&context);
        resources::read(&self.desk.toolbox, &request.uri).map(Into::into)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.follower.start(&self.desk.toolbox, context.peer);
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.meet(&context);
        resources::known(&self.desk.toolbox, &request.uri)?;
        self.follower.follow(request.uri)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.follower.unfollow(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(following::acceptable(requested))
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        following::listen(&self.desk.toolbox, &subscription).await
    }

    /// Requests that rmcp could not parse: unknown methods, and known ones with parameters of the wrong shape.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        Err(if WITH_PARAMETERS.contains(&method.as_str()) {
            ErrorData::invalid_params(
                format!("the parameters of {method} do not have the shape it needs"),
                None,
            )
        } else {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
        })
    }
}

/// The supported methods that have parameters, in either era.
const WITH_PARAMETERS: &[&str] = &[
    "tools/call",
    "tools/list",
    "resources/read",
    "resources/list",
    "resources/templates/list",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
];
