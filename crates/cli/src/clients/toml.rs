//! The entry of windlass in Codex's TOML: the table `[mcp_servers.windlass]`. A new table is appended, and an old one
//! is cut out of the text, so that nothing else can change; only an existing entry is edited in place.

use std::ops::Range;

use serde_json::Value as Wanted;
use toml_edit::{Array, Document, Item, Table, TableLike, Value, value};

use super::{Broken, Field, SERVER_NAME, When};

/// The table with all servers.
const SERVERS: &str = "mcp_servers";

/// Inserts the entry. An existing entry keeps the fields that its user may choose.
pub(super) fn insert(text: &str, fields: &[Field]) -> Result<String, Broken> {
    let document = parse(text)?;
    match entry(text, &document)? {
        TomlPosition::NoList | TomlPosition::NoEntry { inline: false } => {
            verified(appended(text, fields), &document)
        }
        TomlPosition::NoEntry { inline: true } | TomlPosition::Entry => Ok(edited(text, fields)?),
    }
}

/// Removes the entry.
pub(super) fn remove(text: &str) -> Result<String, Broken> {
    let document = parse(text)?;
    if !matches!(entry(text, &document)?, TomlPosition::Entry) {
        return Ok(text.to_owned());
    }
    let servers = document.as_table().get(SERVERS);
    match servers.and_then(|servers| servers.get(SERVER_NAME)) {
        Some(Item::Table(table)) if !table.is_dotted() && !table.is_implicit() => {
            verified(without(text, &regions(text, table)), &document)
        }
        _ => cut_out(text),
    }
}

/// Where the document has an entry of windlass.
enum TomlPosition {
    NoList,
    NoEntry { inline: bool },
    Entry,
}

fn parse(text: &str) -> Result<Document<&str>, Broken> {
    Document::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let what = error.message().trim().replace('\n', ", ");
        Broken::at(text, at, what)
    })
}

fn entry(text: &str, document: &Document<&str>) -> Result<TomlPosition, Broken> {
    let Some(item) = document.as_table().get(SERVERS) else { return Ok(TomlPosition::NoList) };
    let broken =
        |item: &Item, what: String| Err(Broken::at(text, item.span().map_or(0, |span| span.start), what));
    let Some(servers) = item.as_table_like() else {
        return broken(item, format!("{SERVERS} is not a table"));
    };
    match servers.get(SERVER_NAME) {
        None => Ok(TomlPosition::NoEntry { inline: item.is_inline_table() }),
        Some(entry) if entry.is_table_like() => Ok(TomlPosition::Entry),
        Some(entry) => broken(entry, format!("{SERVERS}.{SERVER_NAME} is not a table")),
    }
}

/// The text with the table of windlass appended.
fn appended(text: &str, fields: &[Field]) -> String {
    let newline = newline(text);
    let gap = match text {
        "" => String::new(),
        text if text.ends_with('\n') => newline.to_owned(),
        _ => newline.repeat(2),
    };
    let header = format!("[{SERVERS}.{SERVER_NAME}]{newline}");
    let line = |field: &Field| format!("{} = {}{newline}", field.name, toml_value(&field.value));
    text.to_owned() + &gap + &header + &fields.iter().map(line).collect::<String>()
}

/// The text with the fields set in the existing entry, or added to an inline table.
fn edited(text: &str, fields: &[Field]) -> Result<String, Broken> {
    let crlf = newline(text) == "\r\n";
    let mut document = parse(text)?.into_mut();
    let servers = document.get_mut(SERVERS).and_then(Item::as_table_like_mut);
    let entry = servers
        .map(|servers| servers.entry(SERVER_NAME).or_insert_with(|| value(toml_edit::InlineTable::new())));
    let Some(entry) = entry.and_then(Item::as_table_like_mut) else { return Ok(text.to_owned()) };
    // An entry without a command is another kind of server under the same name: none of its fields can stay.
    if entry.get("command").is_none() {
        entry.clear();
    }
    let mut changed = false;
    for field in fields {
        changed |= set(entry, field);
    }
    // The editor writes its own line ends, so an unchanged text must not pass through it.
    match (changed, crlf) {
        (false, _) => Ok(text.to_owned()),
        (true, false) => Ok(document.to_string()),
        (true, true) => Ok(document.to_string().replace("\r\n", "\n").replace('\n', "\r\n")),
    }
}

/// Sets a field if it must be set; the formatting around the old value stays. Returns whether the field changed.
fn set(entry: &mut dyn TableLike, field: &Field) -> bool {
    let mut new = toml_value(&field.value);
    match entry.get_mut(field.name) {
        Some(_) if field.when == When::Absent => return false,
        Some(Item::Value(old)) if says(old, &field.value) => return false,
        Some(Item::Value(old)) => {
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        Some(_) | None => drop(entry.insert(field.name, Item::Value(new))),
    }
    true
}

/// The byte ranges of the table of windlass and of its sub-tables, in whole lines: from the header to the last value.
fn regions(text: &str, table: &Table) -> Vec<Range<usize>> {
    let mut regions = Vec::new();
    if let Some(header) = table.span().filter(|_| !table.is_implicit() && !table.is_dotted()) {
        let ends = table.get_values().into_iter().filter_map(|(_, value)| value.span().map(|span| span.end));
        let end = ends.fold(header.end, usize::max);
        let line_start = text[..header.start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[end..].find('\n').map_or(text.len(), |newline| end + newline + 1);
        regions.push(line_start..line_end);
    }
    for item in table.iter().map(|(_, item)| item) {
        match item {
            Item::Table(table) => regions.extend(self::regions(text, table)),
            Item::ArrayOfTables(tables) => {
                regions.extend(tables.iter().flat_map(|table| self::regions(text, table)));
            }
            Item::None | Item::Value(_) => {}
        }
    }
    regions.sort_by_key(|region| region.start);
    regions
}

/// The text without these lines, and without the blank line before each of them that would then be superfluous.
fn without(text: &str, regions: &[Range<usize>]) -> String {
    let (mut kept, mut at) = (String::with_capacity(text.len()), 0);
    for region in regions {
        kept.push_str(&text[at..region.start]);
        at = region.end;
        let rest = &text[at..];
        let blank_follows = rest.is_empty() || rest.starts_with('\n') || rest.starts_with("\r\n");
        for blank in ["\r\n\r\n", "\n\n"] {
            if blank_follows && kept.ends_with(blank) {
                kept.truncate(kept.len() - blank.len() / 2);
            }
        }
    }
    kept + &text[at..]
}

/// Removes an entry that is not a table of its own: the editor takes it out of the table that contains it.
fn cut_out(text: &str) -> Result<String, Broken> {
    let mut document = parse(text)?.into_mut();
    if let Some(servers) = document.get_mut(SERVERS).and_then(Item::as_table_like_mut) {
        servers.remove(SERVER_NAME);
    }
    let edited = document.to_string();
    Ok(if newline(text) == "\r\n" { edited.replace("\r\n", "\n").replace('\n', "\r\n") } else { edited })
}

/// Returns the edited text if it can be parsed and everything else in it is unchanged.
fn verified(edited: String, before: &Document<&str>) -> Result<String, Broken> {
    match parse(&edited) {
        Ok(after) if others(&after) == others(before) => Ok(edited),
        _ => Err(Broken {
            line: 1,
            what: "the file is laid out in a way that cannot be edited safely".to_owned(),
        }),
    }
}

/// The content of the document without the entry of windlass.
fn others(document: &Document<&str>) -> String {
    let mut table = document.as_table().clone();
    if let Some(servers) = table.get_mut(SERVERS).and_then(Item::as_table_like_mut) {
        servers.remove(SERVER_NAME);
        // An empty list means the same as no list.
        if servers.is_empty() {
            table.remove(SERVERS);
        }
    }
    plain(&Item::Table(table))
}

/// The content of an item, without comments, layout, and the order of names.
fn plain(item: &Item) -> String {
    let bare = |value: &Value| {
        let mut value = value.clone();
        value.decor_mut().clear();
        value.to_string()
    };
    match item {
        Item::None => String::new(),
        Item::Value(value) if !value.is_inline_table() => bare(value),
        Item::ArrayOfTables(tables) => {
            tables.iter().map(|table| plain(&Item::Table(table.clone()))).collect::<Vec<_>>().join(";")
        }
        item => {
            let members =
                item.as_table_like().map(|table| table.iter().collect::<Vec<_>>()).unwrap_or_default();
            let mut members: Vec<_> =
                members.into_iter().map(|(name, item)| format!("{name}={}", plain(item))).collect();
            members.sort();
            format!("{{{}}}", members.join(","))
        }
    }
}

fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn toml_value(wanted: &Wanted) -> Value {
    match wanted {
        Wanted::String(text) => text.as_str().into(),
        Wanted::Number(number) => number.as_i64().unwrap_or_default().into(),
        Wanted::Bool(yes) => (*yes).into(),
        Wanted::Array(items) => Value::Array(items.iter().map(toml_value).collect::<Array>()),
        Wanted::Null | Wanted::Object(_) => Value::InlineTable(toml_edit::InlineTable::new()),
    }
}

fn says(value: &Value, wanted: &Wanted) -> bool {
    match (value, wanted) {
        (Value::Array(items), Wanted::Array(wanted)) => {
            items.len() == wanted.len() && items.iter().zip(wanted).all(|(item, wanted)| says(item, wanted))
        }
        (Value::String(text), Wanted::String(wanted)) => text.value() == wanted,
        (Value::Integer(number), wanted) => wanted.as_i64() == Some(*number.value()),
        (Value::Boolean(yes), wanted) => wanted.as_bool() == Some(*yes.value()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ours(arguments: &[&str]) -> Vec<Field> {
        let field = |name, value, when| Field { name, value, when };
        vec![
            field("command", json!("windlass"), When::Always),
            field("args", json!(arguments), When::Always),
            field("tool_timeout_sec", json!(600), When::Absent),
        ]
    }

    const OURS: &str =
        "[mcp_servers.windlass]\ncommand = \"windlass\"\nargs = [\"mcp\"]\ntool_timeout_sec = 600\n";

    /// Inserts the entry and removes it again, and checks that a second insertion changes nothing.
    fn check(before: &str, after: &str) {
        let inserted = insert(before, &ours(&["mcp"])).expect("it can be edited");
        assert_eq!(inserted, after);
        assert_eq!(insert(&inserted, &ours(&["mcp"])).as_ref(), Ok(&inserted), "the second time");
        assert_eq!(remove(&inserted).as_deref(), Ok(before), "after removing");
    }

    #[test]
    fn a_table_is_appended_and_cut_out_again() {
        check("", OURS);
        let others = "# Mine.\nmodel = \"x\" # the best\n\n[mcp_servers.a] # first\ncommand = 'a'\n\n[tui]\nx=1\n# end\n";
        check(others, &format!("{others}\n{OURS}"));
        let windows = others.replace('\n', "\r\n");
        check(&windows, &format!("{windows}\r\n{}", OURS.replace('\n', "\r\n")));
        check("[[a]]\nb = 1\n[mcp_servers]\n", &format!("[[a]]\nb = 1\n[mcp_servers]\n\n{OURS}"));
        check("mcp_servers.a.command = 'x'\n", &format!("mcp_servers.a.command = 'x'\n\n{OURS}"));
    }

    #[test]
    fn an_entry_in_the_middle_goes_with_its_tables_and_leaves_the_comments_of_others() {
        let before =
            format!("a = 1\n\n{OURS}[mcp_servers.windlass.env]\nA = \"b\"\n\n# about b\n[b]\nc = 1\n");
        assert_eq!(remove(&before).as_deref(), Ok("a = 1\n\n# about b\n[b]\nc = 1\n"));
    }

    #[test]
    fn an_entry_that_is_there_keeps_what_is_its_owners() {
        let before = "[mcp_servers.windlass]\n# mine\nargs = [\"old\"] # why\ntool_timeout_sec = 5\ncommand = \"windlass\"\nenabled = false\n\n[z]\n";
        let after = insert(before, &ours(&["mcp", "--x"])).expect("it can be edited");
        assert_eq!(after, before.replace("[\"old\"]", "[\"mcp\", \"--x\"]"));
        let windows = before.replace('\n', "\r\n");
        let after = insert(&windows, &ours(&["mcp", "--x"])).expect("it can be edited");
        assert_eq!(after, windows.replace("[\"old\"]", "[\"mcp\", \"--x\"]"));
    }

    #[test]
    fn an_entry_of_another_kind_is_replaced() {
        let before = "[mcp_servers.windlass]\nurl = \"http://127.0.0.1:1\"\n";
        assert_eq!(insert(before, &ours(&["mcp"])).as_deref(), Ok(OURS));
    }

    #[test]
    fn an_inline_table_takes_us_in_and_lets_us_go() {
        let before = "mcp_servers = { a = { command = \"x\" } } # all\n[b]\n";
        let after = insert(before, &ours(&["mcp"])).expect("it can be edited");
        assert!(
            after.contains("windlass = { command = \"windlass\"") && after.ends_with("# all\n[b]\n"),
            "{after}"
        );
        assert_eq!(insert(&after, &ours(&["mcp"])).as_ref(), Ok(&after));
        assert_eq!(remove(&after).as_deref(), Ok(before));
    }

    #[test]
    fn a_broken_text_is_refused_with_its_line() {
        for (text, line) in [
            ("a = 1\nb = \n", 2),
            ("a = 1\na = 2\n", 2),
            ("[x\n", 1),
            ("\n\nmcp_servers = 3\n", 3),
            ("[mcp_servers]\nwindlass = 1\n", 2),
        ] {
            let broken = insert(text, &ours(&[])).expect_err(text);
            assert_eq!(broken.line, line, "{text:?} {broken}");
            assert!(remove(text).is_err(), "{text:?}");
        }
    }
}
