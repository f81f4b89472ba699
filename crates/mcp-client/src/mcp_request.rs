//! The requests for tools and resources, each with a single result: all pages of a list are fetched.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::fault::Fault;
use crate::link::{Link, OutgoingRequest};

/// The most pages of a list that are fetched.
const PAGES: usize = 200;

/// The most entries of a list.
const ITEMS: usize = 10_000;

/// A request.
pub(crate) enum McpRequest<'a> {
    /// Calls a tool.
    Call { tool: &'a str, arguments: &'a Map<String, Value>, schema: Option<&'a Map<String, Value>> },
    /// Reads a resource.
    Read { uri: &'a str },
    /// Lists all entries of one kind.
    List(List),
}

/// The kinds of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    Tools,
    Resources,
    Templates,
}

impl List {
    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// The field of the result that holds the entries.
    pub(crate) fn field(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }
}

impl McpRequest<'_> {
    /// A description of the request.
    pub(crate) fn what(&self) -> String {
        match self {
            Self::Call { tool, .. } => format!("the call of `{tool}`"),
            Self::Read { uri } => format!("the reading of {uri}"),
            Self::List(list) => format!("`{}`", list.method()),
        }
    }

    /// Sends the request.
    pub(crate) async fn run(&self, link: &Link) -> Result<Map<String, Value>, Fault> {
        match self {
            Self::Call { tool, arguments, schema } => {
                let name = ("name".to_owned(), Value::from(*tool));
                let arguments = ("arguments".to_owned(), Value::Object((*arguments).clone()));
                let params = Map::from_iter([name, arguments]);
                link.complete(OutgoingRequest { method: "tools/call", params: &params, schema: *schema })
                    .await
            }
            Self::Read { uri } => {
                let params = Map::from_iter([("uri".to_owned(), Value::from(*uri))]);
                link.complete(OutgoingRequest { method: "resources/read", params: &params, schema: None })
                    .await
            }
            Self::List(list) => {
                let items = all(link, *list).await?;
                Ok(Map::from_iter([(list.field().to_owned(), Value::Array(items))]))
            }
        }
    }
}

/// All entries of a list, page by page, within the limits.
pub(crate) async fn all(link: &Link, list: List) -> Result<Vec<Value>, Fault> {
    let (mut items, mut seen, mut params) = (Vec::new(), HashSet::new(), Map::new());
    for _ in 0..PAGES {
        let mut page = link.request(list.method(), params).await?;
        match page.remove(list.field()) {
            Some(Value::Array(found)) => items.extend(found),
            _ => return Err(Fault::Senseless(format!("there are no `{}` in it", list.field()))),
        }
        let cursor = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        let Some(cursor) = cursor.filter(|_| items.len() < ITEMS) else { break };
        if !seen.insert(cursor.clone()) {
            link.handler().notes.add(&format!("the pages of its `{}` go round in a circle", list.method()));
            break;
        }
        params = Map::from_iter([("cursor".to_owned(), json!(cursor))]);
    }
    if items.len() > ITEMS {
        link.handler().notes.add(&format!("of its `{}`, the first {ITEMS} are used", list.method()));
        items.truncate(ITEMS);
    }
    Ok(items)
}
