//! A dialect as data for other programs: one JSON Schema document, and types for TypeScript and Python made from it.
//!
//! The shapes are the single source: their doc comments are the descriptions, and a test refuses a field without one. A
//! dialect is a list of methods and notifications with the shapes that belong to them, in the order people read them.
//! Shapes are described as they are read, which is what both sides may rely on: what may be left out is optional.

mod dialects;
mod python;
mod shape;
mod typescript;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

pub use self::dialects::{app_server, exec_server};

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Everything that two programs say to each other over one kind of connection.
pub struct Dialect {
    name: &'static str,
    about: &'static str,
    generator: SchemaGenerator,
    methods: Vec<Method>,
    notifications: Vec<Notification>,
}

/// A request that a client makes.
struct Method {
    name: &'static str,
    params: Schema,
    result: Schema,
}

/// What one side tells the other without being answered.
struct Notification {
    name: &'static str,
    sender: Sender,
    /// Nothing where the notification carries nothing.
    params: Option<Schema>,
}

/// Who sends a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sender {
    Client,
    Server,
}

impl Dialect {
    fn new(name: &'static str, about: &'static str) -> Self {
        let generator = SchemaSettings::draft2020_12().for_deserialize().into_generator();
        Self { name, about, generator, methods: Vec::new(), notifications: Vec::new() }
    }

    fn method<Params: JsonSchema, Result: JsonSchema>(mut self, name: &'static str) -> Self {
        let params = self.generator.subschema_for::<Params>();
        let result = self.generator.subschema_for::<Result>();
        self.methods.push(Method { name, params, result });
        self
    }

    fn sent_by_client(mut self, name: &'static str) -> Self {
        self.notifications.push(Notification { name, sender: Sender::Client, params: None });
        self
    }

    fn sent_by_server<Params: JsonSchema>(mut self, name: &'static str) -> Self {
        let params = Some(self.generator.subschema_for::<Params>());
        self.notifications.push(Notification { name, sender: Sender::Server, params });
        self
    }

    /// Its name, as in `app-server`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The names of the methods, in the order of the list.
    pub fn methods(&self) -> impl Iterator<Item = &'static str> {
        self.methods.iter().map(|method| method.name)
    }

    /// The JSON Schema document: every shape under `$defs`, and which of them belong to which method under `x-methods`
    /// and `x-notifications`. Any message of either side is valid under the document itself.
    pub fn document(&self) -> Value {
        let mut shapes = self.shapes();
        shapes.insert("ClientRequest".to_owned(), self.client_request());
        shapes.insert("ClientNotification".to_owned(), self.notification_union(Sender::Client));
        shapes.insert("ServerNotification".to_owned(), self.notification_union(Sender::Server));
        shapes.insert("ServerAnswer".to_owned(), server_answer());
        shapes.insert("RequestId".to_owned(), request_id());
        let messages = ["ClientRequest", "ClientNotification", "ServerNotification", "ServerAnswer"];
        sorted(json!({
            "$schema": DRAFT,
            "title": format!("windlass {}", self.name),
            "description": self.about,
            "anyOf": messages.map(reference),
            "$defs": shapes,
            "x-methods": self.method_table(),
            "x-notifications": self.notification_table(),
        }))
    }

    /// The document as the text of a file.
    pub fn json_schema(&self) -> String {
        format!("{:#}\n", self.document())
    }

    /// The same shapes as a TypeScript module.
    pub fn typescript(&self) -> String {
        typescript::module(self)
    }

    /// The same shapes as a Python module.
    pub fn python(&self) -> String {
        python::module(self)
    }

    /// Every named shape but those of the envelope.
    fn shapes(&self) -> Map<String, Value> {
        self.generator.definitions().clone()
    }

    fn method_table(&self) -> Value {
        let rows = self.methods.iter().map(|method| {
            let entry = json!({ "params": method.params, "result": method.result });
            (method.name.to_owned(), entry)
        });
        Value::Object(rows.collect())
    }

    fn notification_table(&self) -> Value {
        let rows = self.notifications.iter().map(|notification| {
            let sender = match notification.sender {
                Sender::Client => "client",
                Sender::Server => "server",
            };
            (notification.name.to_owned(), json!({ "sentBy": sender, "params": notification.params }))
        });
        Value::Object(rows.collect())
    }

    fn client_request(&self) -> Value {
        let variants = self.methods.iter().map(|method| {
            json!({
                "type": "object",
                "properties": {
                    "id": with_description(reference("RequestId"), "What the answer will bear."),
                    "method": { "const": method.name },
                    "params": with_description(method.params.clone().to_value(), "What it is asked with."),
                },
                "required": ["id", "method", "params"],
            })
        });
        let variants: Vec<Value> = variants.collect();
        json!({ "description": "A request, which is answered exactly once.", "oneOf": variants })
    }

    fn notification_union(&self, sender: Sender) -> Value {
        let ours = self.notifications.iter().filter(|notification| notification.sender == sender);
        let variants: Vec<Value> = ours.map(Notification::message).collect();
        json!({ "description": "What is told without being answered.", "oneOf": variants })
    }
}

impl Notification {
    fn message(&self) -> Value {
        let mut properties = json!({ "method": { "const": self.name } });
        let mut required = vec!["method"];
        if let Some(params) = &self.params {
            let params = with_description(params.clone().to_value(), "What it says.");
            properties["params"] = params;
            required.push("params");
        }
        json!({ "type": "object", "properties": properties, "required": required })
    }
}

fn request_id() -> Value {
    json!({
        "description": "What a client calls a request. The answer bears the same, of the same type.",
        "type": ["string", "integer"],
    })
}

fn server_answer() -> Value {
    let id = with_description(reference("RequestId"), "The request's own.");
    json!({
        "description": "What came of a request: a result of the method's shape, or an error.",
        "oneOf": [
            {
                "type": "object",
                "properties": { "id": id, "result": { "description": "As the method says.", "type": "object" } },
                "required": ["id", "result"],
            },
            {
                "type": "object",
                "properties": { "id": id, "error": refusal() },
                "required": ["id", "error"],
            },
        ],
    })
}

fn refusal() -> Value {
    json!({
        "description": "Why the request was not carried out.",
        "type": "object",
        "properties": {
            "code": { "description": "What kind of failure it is, for programs.", "type": "integer" },
            "message": { "description": "What is wrong, for people.", "type": "string" },
        },
        "required": ["code", "message"],
    })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn with_description(mut schema: Value, description: &str) -> Value {
    schema["description"] = json!(description);
    schema
}

/// Sorted by key, so that the text is the same whichever way the JSON library was built.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(sorted_members(members).into_iter().collect()),
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        plain => plain,
    }
}

/// The members of an object by name, for the same reason.
fn sorted_members(members: Map<String, Value>) -> Vec<(String, Value)> {
    let mut members: Vec<(String, Value)> =
        members.into_iter().map(|(key, value)| (key, sorted(value))).collect();
    members.sort_by(|(a, _), (b, _)| a.cmp(b));
    members
}

/// A text in lines of at most so many bytes, broken between words. Its own paragraphs stay; the lines in them do not.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty()) {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && line.len() + 1 + word.len() > width {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests;
