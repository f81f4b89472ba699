//! A dialect as a Python module: typed dictionaries alone, nothing that runs.
//!
//! It must load with Python 3.10, which has no `NotRequired`: what may be left out is in a second class, total or not. A
//! field whose name is a word of the language cannot be written in a class body, and stands in a base made by a call.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::shape::{self, Field, Shape};
use super::{Dialect, Sender};

/// Where comments are broken.
const WIDTH: usize = 100;

/// Words that cannot be the name of a field in a class body.
const RESERVED: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// The whole module.
pub(super) fn module(dialect: &Dialect) -> String {
    let mut module = Module { text: header(dialect), names: BTreeSet::new() };
    for (name, schema) in &super::sorted_members(dialect.shapes()) {
        module.define(name, &Shape::of(schema), &shape::about(schema));
    }
    module.tables(dialect);
    let names = module.names.iter().map(|name| format!("    \"{name}\",\n"));
    let names: String = names.collect();
    format!("{}\n__all__ = [\n{names}]\n", module.text)
}

fn header(dialect: &Dialect) -> String {
    format!(
        "# Made by windlass from the shapes of its {} dialect; do not edit.\n{}\
         from __future__ import annotations\n\n\
         from typing import Any, Dict, List, Literal, TypeAlias, TypedDict, Union\n",
        dialect.name,
        docstring(dialect.about, "")
    )
}

struct Module {
    text: String,
    names: BTreeSet<String>,
}

impl Module {
    fn define(&mut self, name: &str, shape: &Shape, about: &str) {
        match shape {
            Shape::Record(fields) => self.record(name, fields, about),
            shape => self.alias(name, shape, about),
        }
        self.names.insert(name.to_owned());
    }

    fn alias(&mut self, name: &str, shape: &Shape, about: &str) {
        let expression = self.expression(shape, name);
        // As text, because what it names may stand further down.
        let _ = write!(self.text, "\n\n{name}: TypeAlias = \"{expression}\"\n");
        let mut about = about.to_owned();
        if let Shape::Choice(variants) = shape {
            for variant in variants.iter().filter(|variant| !variant.about.is_empty()) {
                let value = self.expression(&variant.shape, name);
                let _ = write!(about, "\n\n- `{value}`: {}", variant.about);
            }
        }
        self.text.push_str(&docstring(about.trim_start(), ""));
    }

    /// Up to three classes: what a class body cannot name, what is always there, and what may be left out.
    fn record(&mut self, name: &str, fields: &[Field], about: &str) {
        let (odd, plain): (Vec<&Field>, Vec<&Field>) =
            fields.iter().partition(|field| RESERVED.contains(&field.name.as_str()));
        let (always, sometimes): (Vec<&Field>, Vec<&Field>) = plain.iter().partition(|field| field.required);
        let shapes: Vec<(String, String)> = fields
            .iter()
            .map(|field| (field.name.clone(), self.expression(&field.shape, &part_name(name, &field.name))))
            .collect();
        let shape_of = |field: &Field| {
            let found = shapes.iter().find(|(name, _)| *name == field.name);
            found.map_or_else(String::new, |(_, shape)| shape.clone())
        };
        let mut bases = vec!["TypedDict".to_owned()];
        if !odd.is_empty() {
            bases = self.odd_fields(name, &odd, &shape_of);
        }
        if !always.is_empty() && !sometimes.is_empty() {
            let base = format!("_{name}Required");
            let _ = write!(self.text, "\n\nclass {base}({}):\n", bases.join(", "));
            self.fields(&always, &shape_of);
            bases = vec![base];
        }
        let (body, total) = if sometimes.is_empty() { (always, "") } else { (sometimes, ", total=False") };
        let _ = write!(self.text, "\n\nclass {name}({}{total}):\n", bases.join(", "));
        self.text.push_str(&docstring(about, "    "));
        if body.is_empty() && about.is_empty() {
            self.text.push_str("    pass\n");
        }
        self.fields(&body, &shape_of);
    }

    fn odd_fields(&mut self, name: &str, odd: &[&Field], shape_of: &dyn Fn(&Field) -> String) -> Vec<String> {
        let mut bases = Vec::new();
        for (kind, required, total) in [("Words", true, ""), ("OptionalWords", false, ", total=False")] {
            let fields: Vec<&&Field> = odd.iter().filter(|field| field.required == required).collect();
            if fields.is_empty() {
                continue;
            }
            let base = format!("_{name}{kind}");
            let _ = write!(self.text, "\n\n{base} = TypedDict(\n    \"{base}\",\n    {{\n");
            for field in fields {
                for line in super::wrapped(&field.about, WIDTH - 10) {
                    let _ = writeln!(self.text, "        # {line}");
                }
                let _ = writeln!(self.text, "        \"{}\": \"{}\",", field.name, shape_of(field));
            }
            let _ = writeln!(self.text, "    }}{total},\n)");
            bases.push(base);
        }
        bases
    }

    fn fields(&mut self, fields: &[&Field], shape_of: &dyn Fn(&Field) -> String) {
        for field in fields {
            let _ = writeln!(self.text, "    {}: {}", field.name, shape_of(field));
            self.text.push_str(&docstring(&field.about, "    "));
        }
    }

    /// A shape in a place that is called `place`; a record without a name is defined under that one.
    fn expression(&mut self, shape: &Shape, place: &str) -> String {
        match shape {
            Shape::Anything => "Any".to_owned(),
            Shape::Null => "None".to_owned(),
            Shape::Text => "str".to_owned(),
            Shape::Whole => "int".to_owned(),
            Shape::Number => "float".to_owned(),
            Shape::Flag => "bool".to_owned(),
            Shape::Literal(value) => format!("Literal[{}]", literal(value)),
            Shape::List(item) => format!("List[{}]", self.expression(item, &part_name(place, "item"))),
            Shape::Table(values) => {
                format!("Dict[str, {}]", self.expression(values, &part_name(place, "value")))
            }
            Shape::Record(fields) if fields.is_empty() => "Dict[str, Any]".to_owned(),
            Shape::Record(fields) => self.nested(fields, place),
            Shape::Choice(variants) => {
                let shapes = variants.iter().map(|variant| self.expression(&variant.shape, place));
                union(shapes.collect())
            }
            // Python cannot say both; whoever reads it learns that it is a table.
            Shape::Both(_) => "Dict[str, Any]".to_owned(),
            Shape::Named(name) => name.clone(),
        }
    }

    /// A record without a name of its own: it has a tag, or it is called after its place.
    fn nested(&mut self, fields: &[Field], place: &str) -> String {
        let tag = fields.iter().find_map(|field| match &field.shape {
            Shape::Literal(serde_json::Value::String(tag)) => Some(tag.as_str()),
            _ => None,
        });
        let name = tag.map_or_else(|| place.to_owned(), |tag| part_name(place, tag));
        if self.names.insert(name.clone()) {
            self.record(&name, fields, "");
        }
        name
    }

    fn tables(&mut self, dialect: &Dialect) {
        let methods = dialect.methods.iter().map(|method| method.name);
        self.text_choice("Method", "Every method.", &methods.collect::<Vec<_>>());
        let notifications = |sender: Sender| {
            let ours = dialect.notifications.iter().filter(move |one| one.sender == sender);
            ours.map(|one| one.name).collect::<Vec<_>>()
        };
        let (client, server) = (notifications(Sender::Client), notifications(Sender::Server));
        self.text_choice("ClientNotification", "Every notification of a client.", &client);
        self.text_choice("ServerNotification", "Every notification of a server.", &server);
    }

    fn text_choice(&mut self, name: &str, about: &str, texts: &[&str]) {
        let lines: String = texts.iter().map(|text| format!("    \"{text}\",\n")).collect();
        let _ = write!(self.text, "\n\n{name}: TypeAlias = Literal[\n{lines}]\n{}", docstring(about, ""));
        self.names.insert(name.to_owned());
    }
}

fn union(mut shapes: Vec<String>) -> String {
    shapes.dedup();
    let all: Option<Vec<&str>> =
        shapes.iter().map(|shape| shape.strip_prefix("Literal[")?.strip_suffix(']')).collect();
    match (shapes.len(), all) {
        (1, _) => shapes.remove(0),
        (_, Some(literals)) => format!("Literal[{}]", literals.join(", ")),
        _ => format!("Union[{}]", shapes.join(", ")),
    }
}

fn literal(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => format!("'{}'", text.replace('\'', "\\'")),
        serde_json::Value::Bool(true) => "True".to_owned(),
        serde_json::Value::Bool(false) => "False".to_owned(),
        serde_json::Value::Null => "None".to_owned(),
        other => other.to_string(),
    }
}

/// `Reply` and `nextOne` make `ReplyNextOne`.
fn part_name(place: &str, part: &str) -> String {
    let mut letters = part.chars();
    let first: String = letters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    format!("{place}{first}{}", letters.as_str())
}

fn docstring(text: &str, indent: &str) -> String {
    let text = text.replace('\\', "\\\\").replace("\"\"\"", "'''");
    let lines = super::wrapped(&text, WIDTH - indent.len() - 6);
    match lines.as_slice() {
        [] => String::new(),
        [line] => format!("{indent}\"\"\"{line}\"\"\"\n"),
        lines => {
            let lines = lines.join(&format!("\n{indent}")).replace(&format!("\n{indent}\n"), "\n\n");
            format!("{indent}\"\"\"{lines}\n{indent}\"\"\"\n")
        }
    }
}
