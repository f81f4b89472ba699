//! Tools of MCP servers, offered as an agent's own.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use windlass_llm::{Call, ContentPart, ToolSpec};
use windlass_mcp_client::{
    CallOutcome, ForeignTool, RenderLimits, ResourceContent, ResourceText, ResultPart as Shown, Servers,
    Which, render,
};

use super::ToolContext;
use crate::event::{EventKind, Reporter};
use crate::tool::{Output, Pace, Tool, ToolFuture, arguments};

/// The tools of all servers that are up.
pub(super) fn tools(around: &ToolContext) -> Vec<Arc<dyn Tool>> {
    let Some(servers) = &around.deps.foreign else { return Vec::new() };
    let limits =
        RenderLimits { text: around.deps.config.output_limit as usize * 4, ..RenderLimits::default() };
    let made = |tool: ForeignTool| {
        let (servers, report) = (servers.clone(), around.report.clone());
        Arc::new(Borrowed { tool, servers, report, limits }) as Arc<dyn Tool>
    };
    let mut tools: Vec<Arc<dyn Tool>> = servers.tools().into_iter().map(made).collect();
    if !servers.states().is_empty() {
        tools.extend(
            Library::ALL
                .map(|verb| Arc::new(Resources { verb, servers: servers.clone(), limits }) as Arc<dyn Tool>),
        );
    }
    tools
}

struct Borrowed {
    tool: ForeignTool,
    servers: Servers,
    report: Reporter,
    limits: RenderLimits,
}

impl Tool for Borrowed {
    fn name(&self) -> &str {
        let ForeignTool { full_name, .. } = &self.tool;
        full_name
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: self.tool.full_name.clone(),
            description: self.tool.description.clone(),
            parameters: Value::Object(self.tool.parameters.clone()),
        }
    }

    fn pace(&self, _call: &Call) -> Pace {
        if self.tool.parallel { Pace::Together } else { Pace::Alone }
    }

    fn call(&self, call: Call) -> ToolFuture {
        let (tool, servers) = (self.tool.clone(), self.servers.clone());
        let (report, limits) = (self.report.clone(), self.limits);
        Box::pin(async move {
            let arguments = match arguments(&call) {
                Ok(arguments) => arguments,
                Err(refusal) => return refusal,
            };
            let told = |outcome| EventKind::Foreign {
                call: call.id.0.clone(),
                server: tool.server.clone(),
                tool: tool.name.clone(),
                arguments: Value::Object(arguments.clone()),
                outcome,
            };
            report.tell(told(None)).await;
            let outcome = servers.call(Which::Full(&tool.full_name), arguments.clone()).await;
            let summary = outcome.as_ref().map(summary).map_err(ToString::to_string);
            report.tell(told(Some(summary))).await;
            match outcome {
                Ok(outcome) => {
                    let parts = render(&outcome, limits).into_iter().map(part).collect();
                    Output::new(parts, !outcome.is_error)
                }
                Err(error) => Output::refused(error.to_string()),
            }
        })
    }
}

fn part(shown: Shown) -> ContentPart {
    match shown {
        Shown::Text(text) => ContentPart::Text(text),
        Shown::Image { mime, data } => ContentPart::Image(format!("data:{mime};base64,{data}")),
    }
}

/// The outcome as JSON, for programs that read the events.
fn summary(outcome: &CallOutcome) -> Value {
    let content = |part: &windlass_mcp_client::Content| match part {
        windlass_mcp_client::Content::Text(text) => json!({ "type": "text", "text": text }),
        windlass_mcp_client::Content::Image { mime, .. } => json!({ "type": "image", "mimeType": mime }),
        windlass_mcp_client::Content::Described(text) => json!({ "type": "text", "text": text }),
    };
    let content: Vec<Value> = outcome.content.iter().map(content).collect();
    json!({ "content": content, "structured_content": outcome.structured })
}

/// The tools for resources.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Library {
    List,
    Templates,
    Read,
}

impl Library {
    const ALL: [Self; 3] = [Self::List, Self::Templates, Self::Read];
}

struct Resources {
    verb: Library,
    servers: Servers,
    limits: RenderLimits,
}

impl Tool for Resources {
    fn name(&self) -> &str {
        match self.verb {
            Library::List => "list_mcp_resources",
            Library::Templates => "list_mcp_resource_templates",
            Library::Read => "read_mcp_resource",
        }
    }

    fn spec(&self) -> ToolSpec {
        let server = json!({ "type": "string", "description": "a configured MCP server; all, if left out" });
        let (description, properties, required) = match self.verb {
            Library::List => {
                ("Lists what MCP servers offer to read.", json!({ "server": server }), json!([]))
            }
            Library::Templates => {
                ("Lists families of resources of MCP servers.", json!({ "server": server }), json!([]))
            }
            Library::Read => (
                "Reads a resource of an MCP server.",
                json!({ "server": { "type": "string" }, "uri": { "type": "string" } }),
                json!(["server", "uri"]),
            ),
        };
        ToolSpec::Function {
            name: self.name().into(),
            description: description.into(),
            parameters: json!({
                "type": "object", "properties": properties, "required": required, "additionalProperties": false
            }),
        }
    }

    fn call(&self, call: Call) -> ToolFuture {
        let (verb, servers, most) = (self.verb, self.servers.clone(), self.limits.text);
        Box::pin(async move {
            let answer = match arguments(&call) {
                Ok(arguments) => read(verb, &servers, &arguments).await,
                Err(refusal) => return refusal,
            };
            match answer {
                Ok(text) => Output::text(crate::compact::middle_cut(&text, most)),
                Err(words) => Output::refused(words),
            }
        })
    }
}

async fn read(verb: Library, servers: &Servers, arguments: &Map<String, Value>) -> Result<String, String> {
    let text = |field: &str| arguments.get(field).and_then(Value::as_str);
    let failed = |error: windlass_mcp_client::CallError| error.to_string();
    match verb {
        Library::List => {
            let found = servers.list_resources(text("server")).await.map_err(failed)?;
            Ok(lines(found.iter().map(|it| format!("{} {} ({})", it.server, it.uri, it.name))))
        }
        Library::Templates => {
            let found = servers.list_templates(text("server")).await.map_err(failed)?;
            Ok(lines(found.iter().map(|it| format!("{} {} ({})", it.server, it.uri_template, it.name))))
        }
        Library::Read => {
            let missing = |field: &str| format!("`{field}` is missing");
            let server = text("server").ok_or_else(|| missing("server"))?;
            let uri = text("uri").ok_or_else(|| missing("uri"))?;
            let found = servers.read_resource(server, uri).await.map_err(failed)?;
            Ok(lines(found.iter().map(content)))
        }
    }
}

fn content(found: &ResourceContent) -> String {
    match &found.text {
        ResourceText::Text(text) => text.clone(),
        ResourceText::Blob(data) => {
            let kind = found.mime.as_deref().unwrap_or("bytes");
            format!("[{}: {kind}, {} bytes of base64, not shown]", found.uri, data.len())
        }
    }
}

fn lines(entries: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = entries.collect();
    if lines.is_empty() { "nothing".into() } else { lines.join("\n") }
}
