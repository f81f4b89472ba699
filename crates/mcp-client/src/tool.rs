//! A tool of a server, in the server's list and as it is offered to a model.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::notes::Notes;
use crate::spec::ToolFilter;

/// The most bytes of a description that are passed on.
const DESCRIPTION: usize = 16 * 1024;

/// A tool of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignTool {
    /// The server's name, as configured.
    pub server: String,
    /// The tool's name at the server.
    pub name: String,
    /// The name that models use: `mcp__SERVER__TOOL`, within the limits of providers, and unique.
    pub full_name: String,
    /// The server's description of it.
    pub description: String,
    /// The JSON Schema of its arguments: always an object.
    pub parameters: Map<String, Value>,
    /// Whether the server declares it read-only. A hint, which is not checked.
    pub read_only: bool,
    /// Whether it may be called while other tools of its server run.
    pub parallel: bool,
}

/// A tool in its server's list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) parameters: Map<String, Value>,
    pub(crate) read_only: bool,
}

/// The tools of a list that are offered, ordered by name. Invalid entries are noted.
pub(crate) fn offered(items: Vec<Value>, filter: &ToolFilter, notes: &Notes) -> Vec<Listed> {
    let (mut tools, mut seen) = (Vec::new(), HashSet::new());
    for item in items {
        match Listed::read(item) {
            Some(tool) if !seen.insert(tool.name.clone()) => {
                notes.add(&format!("it lists the tool `{}` twice", tool.name));
            }
            Some(tool) if filter.admits(&tool.name) => tools.push(tool),
            Some(_) => {}
            None => notes.add("it lists a tool without a name"),
        }
    }
    let missing = filter.enabled.iter().flatten().filter(|name| !seen.contains(*name));
    missing.for_each(|name| notes.add(&format!("it has no tool `{name}`, which is enabled")));
    // Some servers change the order each time, which would invalidate the provider's prompt cache.
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    tools
}

impl Listed {
    fn read(item: Value) -> Option<Self> {
        let Value::Object(mut item) = item else { return None };
        let name = item.get("name").and_then(Value::as_str).filter(|name| !name.is_empty())?.to_owned();
        let annotations = item.get("annotations");
        let annotated = |key: &str| annotations.and_then(|annotations| annotations.get(key));
        let read_only = annotated("readOnlyHint") == Some(&Value::Bool(true));
        let words = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let title = words(item.get("title")).or_else(|| words(annotated("title")));
        let mut description = words(item.get("description")).or(title).unwrap_or_default();
        description.truncate(description.floor_char_boundary(DESCRIPTION));
        let parameters = match item.remove("inputSchema") {
            Some(Value::Object(schema)) => schema,
            _ => Map::new(),
        };
        Some(Self { name, description, parameters: as_object(parameters), read_only })
    }
}

/// Makes a schema acceptable to models: of type object, with properties, even if there are none.
fn as_object(mut schema: Map<String, Value>) -> Map<String, Value> {
    schema.entry("type").or_insert_with(|| json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_read_leniently_and_come_by_name() {
        let items = vec![
            json!({ "name": "b", "title": "Bee", "inputSchema": { "type": "object", "properties": { "x": {} } } }),
            json!({ "name": "a", "description": "does a", "annotations": { "readOnlyHint": true } }),
            json!({ "name": "a", "description": "again" }),
            json!({ "name": "", "description": "nameless" }),
            json!("what"),
            json!({ "name": "off" }),
        ];
        let filter = ToolFilter { enabled: None, disabled: vec!["off".into()] };
        let notes = Notes::default();
        let tools = offered(items, &filter, &notes);
        let seen: Vec<_> = tools
            .iter()
            .map(|tool| {
                (tool.name.as_str(), tool.description.as_str(), tool.read_only, tool.parameters.len())
            })
            .collect();
        assert_eq!(seen, [("a", "does a", true, 2), ("b", "Bee", false, 2)]);
        assert_eq!(notes.all(), ["it lists the tool `a` twice", "it lists a tool without a name"]);
    }

    #[test]
    fn an_enabled_tool_that_is_not_there_is_noted() {
        let filter = ToolFilter { enabled: Some(vec!["gone".into()]), disabled: Vec::new() };
        let notes = Notes::default();
        assert_eq!(offered(vec![json!({ "name": "a" })], &filter, &notes), []);
        assert_eq!(notes.all(), ["it has no tool `gone`, which is enabled"]);
    }
}
