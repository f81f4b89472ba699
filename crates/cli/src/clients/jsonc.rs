//! The entry of windlass in JSON, with or without comments and trailing commas. The text is edited at the positions
//! that the scanner reports, so comments, order and layout of everything else stay the same byte for byte.

mod edit;
mod scan;

use serde_json::{Value, json};

use self::edit::Shape;
use self::scan::{Kind, Node};
use super::{Broken, Field, SERVER_NAME, When};

/// The extensions of JSON that a client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonDialect {
    /// No extension.
    Strict,
    /// Comments and trailing commas.
    Commented,
}

/// The dialect, and the name under which the servers are.
type Layout = (JsonDialect, &'static str);

/// Inserts the entry. An existing entry keeps the fields that its user may choose.
pub(super) fn insert(text: &str, (dialect, servers): Layout, fields: &[Field]) -> Result<String, Broken> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let root = scan::scan(text, dialect)?;
    let mut wanted = root.value();
    let Some(list) = servers_of(text, &root, servers)? else {
        wanted[servers] = json!({ SERVER_NAME: object(fields) });
        let shape = Shape::Object(vec![(SERVER_NAME, entry(fields))]);
        return verified(edit::add(text, (&root, &root), servers, &shape), dialect, &wanted);
    };
    match list.member(SERVER_NAME) {
        None => {
            wanted[servers][SERVER_NAME] = object(fields);
            verified(edit::add(text, (&root, list), SERVER_NAME, &entry(fields)), dialect, &wanted)
        }
        // An entry without a command is another kind of server under the same name: none of its fields can stay.
        Some(old) if old.value.member("command").is_none() => {
            wanted[servers][SERVER_NAME] = object(fields);
            verified(edit::replace(text, (&root, &old.value), &entry(fields)), dialect, &wanted)
        }
        Some(_) => {
            let mut text = text.to_owned();
            for field in fields {
                text = set(&text, (dialect, servers), field)?;
            }
            Ok(text)
        }
    }
}

/// Removes the entry, and the list of servers too if nothing else is in it.
pub(super) fn remove(text: &str, (dialect, servers): Layout) -> Result<String, Broken> {
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    let root = scan::scan(text, dialect)?;
    let Some(list) = servers_of(text, &root, servers)? else { return Ok(text.to_owned()) };
    if list.member(SERVER_NAME).is_none() {
        return Ok(text.to_owned());
    }
    let mut wanted = root.value();
    let alone = list.members().len() == 1;
    let (parent, name) = if alone { (&root, servers) } else { (list, SERVER_NAME) };
    let holder = if alone { Some(&mut wanted) } else { wanted.get_mut(servers) };
    if let Some(holder) = holder.and_then(Value::as_object_mut) {
        holder.remove(name);
    }
    verified(edit::remove(text, parent, name), dialect, &wanted)
}

/// The object with the servers, if the file has one.
fn servers_of<'a>(text: &str, root: &'a Node, servers: &str) -> Result<Option<&'a Node>, Broken> {
    if !matches!(root.kind, Kind::Object(_)) {
        return Err(Broken::at(text, root.span.start, "the file does not hold an object"));
    }
    match root.member(servers) {
        None => Ok(None),
        Some(found) if matches!(found.value.kind, Kind::Object(_)) => Ok(Some(&found.value)),
        Some(found) => {
            Err(Broken::at(text, found.value.span.start, format!("\"{servers}\" is not an object")))
        }
    }
}

/// Sets one field of the existing entry.
fn set(text: &str, (dialect, servers): Layout, field: &Field) -> Result<String, Broken> {
    let root = scan::scan(text, dialect)?;
    let list = root.member(servers).map(|servers| &servers.value);
    let Some(entry) = list.and_then(|list| list.member(SERVER_NAME)) else { return Ok(text.to_owned()) };
    let shape = Shape::Value(&field.value);
    let edited = match entry.value.member(field.name) {
        Some(old) if field.when == When::Absent || old.value.value() == field.value => {
            return Ok(text.to_owned());
        }
        Some(old) => edit::replace(text, (&root, &old.value), &shape),
        None => edit::add(text, (&root, &entry.value), field.name, &shape),
    };
    let mut wanted = root.value();
    wanted[servers][SERVER_NAME][field.name] = field.value.clone();
    verified(edited, dialect, &wanted)
}

/// Returns the edited text if it parses to the wanted value. The edits are careful; this check is for cases that they
/// do not foresee.
fn verified(edited: String, dialect: JsonDialect, wanted: &Value) -> Result<String, Broken> {
    let said = scan::scan(&edited, dialect).map(|root| root.value());
    if said.as_ref() == Ok(wanted) {
        return Ok(edited);
    }
    Err(Broken { line: 1, what: "the file is laid out in a way that cannot be edited safely".to_owned() })
}

fn entry(fields: &[Field]) -> Shape<'_> {
    Shape::Object(fields.iter().map(|field| (field.name, Shape::Value(&field.value))).collect())
}

fn object(fields: &[Field]) -> Value {
    Value::Object(fields.iter().map(|field| (field.name.to_owned(), field.value.clone())).collect())
}

#[cfg(test)]
mod tests;
