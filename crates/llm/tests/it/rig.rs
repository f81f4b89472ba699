//! A client that talks to a scripted model, and short helpers for its tests.

use serde_json::json;
use windlass_llm::{
    Client, Failure, Item, Provider, Remedy, Request, ResponseEvent, Role, StreamedResponse, ToolSpec,
    WireKind,
};
use windlass_testkit::model::Model;

pub(crate) const BOTH: [WireKind; 2] = [WireKind::Responses, WireKind::Chat];

pub(crate) const LATER: Remedy = Remedy::Retry { after: None };

/// The model as a provider.
pub(crate) fn provider(model: &Model, wire: WireKind) -> Provider {
    Provider::at("it", model.base_url(), wire)
}

pub(crate) fn client(model: &Model, wire: WireKind) -> Client {
    Client::new(provider(model, wire)).expect("it can be asked")
}

/// A request that offers one tool of each kind.
pub(crate) fn question(items: Vec<Item>) -> Request {
    let function = ToolSpec::Function {
        name: "f".to_owned(),
        description: "does it".to_owned(),
        parameters: json!({ "type": "object" }),
    };
    let custom = ToolSpec::Custom {
        name: "apply_patch".to_owned(),
        description: "patches".to_owned(),
        grammar: None,
        as_function: "patches, at length".to_owned(),
    };
    Request {
        model: "scripted".to_owned(),
        items,
        tools: [function, custom].into(),
        parallel_calls: true,
        effort: None,
        summary: None,
        verbosity: None,
        output_schema: None,
        most_output: None,
        cache_key: "root".to_owned(),
        thread: "thread".to_owned(),
    }
}

pub(crate) fn hello() -> Request {
    question(vec![Item::user("hello")])
}

/// All pieces of a response.
pub(crate) async fn read(answer: &mut StreamedResponse) -> Result<Vec<ResponseEvent>, Failure> {
    let mut events = Vec::new();
    while let Some(event) = answer.next().await? {
        events.push(event);
    }
    assert!(matches!(events.last(), Some(ResponseEvent::Completed(_))), "{events:?}");
    Ok(events)
}

pub(crate) async fn ask(client: &Client, request: &Request) -> Result<Vec<ResponseEvent>, Failure> {
    read(&mut client.send(request).await?).await
}

/// The text of the model's complete response.
pub(crate) async fn words(client: &Client, request: &Request) -> Result<String, Failure> {
    let events = ask(client, request).await?;
    Ok(items(&events).iter().filter_map(|item| item.words_of(Role::Assistant)).collect())
}

pub(crate) fn items(events: &[ResponseEvent]) -> Vec<Item> {
    let item = |event: &ResponseEvent| match event {
        ResponseEvent::Item(item) => Some(item.clone()),
        _ => None,
    };
    events.iter().filter_map(item).collect()
}

/// The failure of a request.
pub(crate) async fn failure(client: &Client) -> Failure {
    ask(client, &hello()).await.expect_err("it fails")
}
