//! A dialect as a TypeScript module: types alone, nothing that runs.

use std::fmt::Write;

use super::shape::{self, Field, Shape, Variant};
use super::{Dialect, Sender};

/// Where comments are broken.
const WIDTH: usize = 110;

/// The whole module.
pub(super) fn module(dialect: &Dialect) -> String {
    let mut text = format!(
        "// Made by `windlass {} generate-ts`; do not edit.\n\n{}",
        dialect.name,
        comment(dialect.about, "")
    );
    text.push_str("export const DIALECT = ");
    let _ = writeln!(text, "\"{}\";", dialect.name);
    for (name, schema) in &super::sorted_members(dialect.shapes()) {
        text.push('\n');
        text.push_str(&comment(&shape::about(schema), ""));
        text.push_str(&declaration(name, &Shape::of(schema)));
    }
    text.push_str(&tables(dialect));
    text
}

/// Which shapes belong to which method.
fn tables(dialect: &Dialect) -> String {
    let mut text = String::from("\n/** What each method takes and gives. */\nexport interface Methods {\n");
    for method in &dialect.methods {
        let [params, result] = [&method.params, &method.result].map(|schema| of_schema(schema, "  "));
        let _ = writeln!(text, "  \"{}\": {{ params: {params}; result: {result} }};", method.name);
    }
    for (sender, title, name) in [
        (Sender::Client, "What a client may tell, and what each carries.", "ClientNotifications"),
        (Sender::Server, "What a server may tell, and what each carries.", "ServerNotifications"),
    ] {
        let _ = write!(text, "}}\n\n/** {title} */\nexport interface {name} {{\n");
        for notification in dialect.notifications.iter().filter(|one| one.sender == sender) {
            let params = notification.params.as_ref();
            let params = params.map_or("undefined".to_owned(), |schema| of_schema(schema, "  "));
            let _ = writeln!(text, "  \"{}\": {params};", notification.name);
        }
    }
    text + "}\n"
}

fn of_schema(schema: &schemars::Schema, indent: &str) -> String {
    expression(&Shape::of(schema.as_value()), indent)
}

fn declaration(name: &str, shape: &Shape) -> String {
    match shape {
        Shape::Record(fields) => format!("export interface {name} {}\n", record(fields, "")),
        Shape::Choice(variants) if variants.iter().any(|variant| !variant.about.is_empty()) => {
            format!("export type {name} ={};\n", listed(variants))
        }
        shape => format!("export type {name} = {};\n", expression(shape, "")),
    }
}

/// The variants below each other, each under its comment.
fn listed(variants: &[Variant]) -> String {
    let lines = variants.iter().map(|variant| {
        let comment = comment(&variant.about, "  ");
        format!("\n{comment}  | {}", expression(&variant.shape, "  "))
    });
    lines.collect()
}

fn expression(shape: &Shape, indent: &str) -> String {
    match shape {
        Shape::Anything => "unknown".to_owned(),
        Shape::Null => "null".to_owned(),
        Shape::Text => "string".to_owned(),
        Shape::Whole | Shape::Number => "number".to_owned(),
        Shape::Flag => "boolean".to_owned(),
        Shape::Literal(value) => value.to_string(),
        Shape::List(item) => format!("{}[]", grouped(item, indent)),
        Shape::Table(values) => format!("{{ [key: string]: {} }}", expression(values, indent)),
        Shape::Record(fields) => record(fields, indent),
        Shape::Choice(variants) => {
            joined(variants.iter().map(|variant| expression(&variant.shape, indent)), " | ")
        }
        Shape::Both(parts) => joined(parts.iter().map(|part| grouped(part, indent)), " & "),
        Shape::Named(name) => name.clone(),
    }
}

/// In parentheses where what follows would otherwise bind to its last part only.
fn grouped(shape: &Shape, indent: &str) -> String {
    let text = expression(shape, indent);
    if matches!(shape, Shape::Choice(_) | Shape::Both(_)) { format!("({text})") } else { text }
}

fn joined(parts: impl Iterator<Item = String>, between: &str) -> String {
    parts.collect::<Vec<_>>().join(between)
}

fn record(fields: &[Field], indent: &str) -> String {
    if fields.is_empty() {
        return "{}".to_owned();
    }
    let inner = format!("{indent}  ");
    let mut text = String::from("{\n");
    for field in fields {
        let mark = if field.required { "" } else { "?" };
        let shape = expression(&field.shape, &inner);
        text.push_str(&comment(&field.about, &inner));
        let _ = writeln!(text, "{inner}{}{mark}: {shape};", key(&field.name));
    }
    text + indent + "}"
}

fn key(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain { name.to_owned() } else { format!("\"{name}\"") }
}

/// A documentation comment, or nothing for no text.
fn comment(text: &str, indent: &str) -> String {
    // What would end the comment early is not in any text of ours; were it, it must not.
    let text = text.replace("*/", "* /");
    let lines = super::wrapped(&text, WIDTH - indent.len() - 3);
    match lines.as_slice() {
        [] => String::new(),
        [line] if line.len() + indent.len() + 7 <= WIDTH => format!("{indent}/** {line} */\n"),
        lines => {
            let lines = lines.iter().map(|line| format!("{indent} * {line}").trim_end().to_owned() + "\n");
            format!("{indent}/**\n{}{indent} */\n", lines.collect::<String>())
        }
    }
}
