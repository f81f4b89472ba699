//! What a schema says, reduced to what a programming language can say too.
//!
//! Only what our own shapes produce is understood; anything else reads as [`Shape::Anything`], which is true of it.

use serde_json::{Map, Value};

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// No statement is made.
    Anything,
    Null,
    Text,
    Whole,
    Number,
    Flag,
    /// Exactly this value.
    Literal(Value),
    List(Box<Shape>),
    /// Any keys, all values of one shape.
    Table(Box<Shape>),
    Record(Vec<Field>),
    /// One of several.
    Choice(Vec<Variant>),
    /// All of several at once.
    Both(Vec<Shape>),
    /// One that has a name.
    Named(String),
}

/// A member of a record.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) shape: Shape,
    pub(super) required: bool,
    pub(super) about: String,
}

/// One of several shapes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Variant {
    pub(super) shape: Shape,
    pub(super) about: String,
}

impl Shape {
    /// Reads a schema.
    pub(super) fn of(schema: &Value) -> Self {
        let Some(members) = schema.as_object() else { return Self::Anything };
        let mut parts: Vec<Self> = Vec::new();
        parts.extend(own(members));
        for key in ["oneOf", "anyOf"] {
            parts.extend(members.get(key).and_then(Value::as_array).map(|variants| choice(variants)));
        }
        if let Some(all) = members.get("allOf").and_then(Value::as_array) {
            parts.extend(all.iter().map(Self::of));
        }
        match parts.len() {
            0 => Self::Anything,
            1 => parts.remove(0),
            _ => Self::Both(parts),
        }
    }
}

/// What the schema says of itself, beside the schemas it is made of.
fn own(members: &Map<String, Value>) -> Option<Shape> {
    if let Some(name) = members.get("$ref").and_then(Value::as_str) {
        let name = name.rsplit('/').next().unwrap_or(name);
        return Some(Shape::Named(name.to_owned()));
    }
    if let Some(literal) = members.get("const") {
        return Some(Shape::Literal(literal.clone()));
    }
    if let Some(literals) = members.get("enum").and_then(Value::as_array) {
        return Some(union(literals.iter().map(|literal| Shape::Literal(literal.clone()))));
    }
    match members.get("type")? {
        Value::String(kind) => Some(of_kind(kind, members)),
        Value::Array(kinds) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            Some(union(kinds.map(|kind| of_kind(kind, members))))
        }
        _ => None,
    }
}

fn of_kind(kind: &str, members: &Map<String, Value>) -> Shape {
    match kind {
        "null" => Shape::Null,
        "string" => Shape::Text,
        "integer" => Shape::Whole,
        "number" => Shape::Number,
        "boolean" => Shape::Flag,
        "array" => Shape::List(Box::new(members.get("items").map_or(Shape::Anything, Shape::of))),
        "object" => object(members),
        _ => Shape::Anything,
    }
}

fn object(members: &Map<String, Value>) -> Shape {
    let values = members.get("additionalProperties").filter(|values| **values != Value::Bool(false));
    match (members.get("properties").and_then(Value::as_object), values) {
        (None, Some(values)) => Shape::Table(Box::new(Shape::of(values))),
        (properties, _) => Shape::Record(fields(properties, members.get("required"))),
    }
}

/// Those that are always there first, each part by name.
fn fields(properties: Option<&Map<String, Value>>, required: Option<&Value>) -> Vec<Field> {
    let required = required.and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
    let fields = properties.into_iter().flatten().map(|(name, schema)| Field {
        name: name.clone(),
        shape: Shape::of(schema),
        required: is_required(name),
        about: about(schema),
    });
    let mut fields: Vec<Field> = fields.collect();
    fields.sort_by(|a, b| (!a.required, &a.name).cmp(&(!b.required, &b.name)));
    fields
}

fn choice(variants: &[Value]) -> Shape {
    let variants = variants.iter();
    Shape::Choice(variants.map(|schema| Variant { shape: Shape::of(schema), about: about(schema) }).collect())
}

fn union(shapes: impl Iterator<Item = Shape>) -> Shape {
    let mut variants: Vec<Variant> = shapes.map(|shape| Variant { shape, about: String::new() }).collect();
    if variants.len() == 1 { variants.remove(0).shape } else { Shape::Choice(variants) }
}

/// What a schema says of itself, for people; with the value that counts where it is left out.
pub(super) fn about(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    match schema.get("default").filter(|value| !value.is_null()) {
        Some(default) => format!("{text} Default: `{default}`.").trim_start().to_owned(),
        None => text.to_owned(),
    }
}
