//! `windlass agent config`: shows every setting in force and its source, grouped as in a configuration file. The output
//! is TOML, so that parts of it can be copied into a file; with `--json` it is one JSON object for programs.

use std::fmt::Write;

use anyhow::Result;
use serde_json::{Map, json};
use windlass_config::{Loaded, Stated, Trust, Value};

use super::context;
use crate::args::AgentOptions;
use crate::config::Config;
use crate::failure::Exit;
use crate::printing;

/// The column at which remarks begin, unless the settings are longer.
const WIDEST: usize = 60;

pub(super) fn show(options: &AgentOptions, config: &Config) -> Result<Exit> {
    let configured = context::load(options, config, None)?;
    let loaded = &configured.loaded;
    if options.json {
        printing::print(format!("{}\n", as_json(loaded)))?;
    } else {
        printing::print_text(&format!("{}{}", tables(&loaded.stated()), remarks(loaded)))?;
    }
    Ok(Exit::SUCCESS)
}

/// The settings by their dotted keys, with the same facts as the TOML. A secret has no value.
fn as_json(loaded: &Loaded) -> serde_json::Value {
    let stated = loaded.stated();
    let settings: Map<_, _> = stated.iter().map(|one| (one.key.clone(), setting(one))).collect();
    let project = &loaded.project;
    let left_out: Vec<_> =
        project.left_out.iter().map(|left_out| left_out.path.display().to_string()).collect();
    json!({
        "settings": settings,
        "project": {
            "root": project.root.display().to_string(),
            "trusted": project.trust == Trust::Trusted,
            "not_read": left_out,
            "mcp_servers": loaded.project_servers(),
        },
        "notes": loaded.notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn setting(stated: &Stated) -> serde_json::Value {
    let value = match &stated.value {
        _ if stated.secret => serde_json::Value::Null,
        Value::Text(text) => json!(text),
        Value::Whole(number) => json!(number),
        Value::Number(number) => json!(number),
        Value::Flag(flag) => json!(flag),
        Value::Texts(texts) => json!(texts),
    };
    json!({ "value": value, "secret": stated.secret, "origin": stated.origin.to_string() })
}

/// The settings, those without a table first.
fn tables(stated: &[Stated]) -> String {
    let mut groups: Vec<(&str, Vec<(&str, &Stated)>)> = Vec::new();
    for one in stated {
        let (table, key) = apart(&one.key);
        match groups.iter_mut().find(|(name, _)| *name == table) {
            Some((_, of_table)) => of_table.push((key, one)),
            None => groups.push((table, vec![(key, one)])),
        }
    }
    groups.sort_by_key(|(table, _)| !table.is_empty());
    groups.iter().map(|(name, of_table)| table(name, of_table)).collect()
}

fn table(name: &str, of_table: &[(&str, &Stated)]) -> String {
    let line = |(key, stated): &(&str, &Stated)| {
        let value = if stated.secret { "\"(not shown)\"".to_owned() } else { stated.value.to_string() };
        format!("{key} = {value}")
    };
    let lines: Vec<String> = of_table.iter().map(line).collect();
    let fitting = lines.iter().map(|line| line.chars().count()).filter(|width| *width <= WIDEST);
    let width = fitting.max().unwrap_or(0);
    let mut text = if name.is_empty() { String::new() } else { format!("\n[{name}]\n") };
    for (line, (_, stated)) in lines.iter().zip(of_table) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line:<width$}  # {}", stated.origin);
    }
    text
}

/// Splits a dotted name into table and key. A dot within quotation marks does not separate.
fn apart(dotted: &str) -> (&str, &str) {
    let (mut last, mut quoted, mut escaped) = (None, false, false);
    for (at, character) in dotted.char_indices() {
        match character {
            '"' if !escaped => quoted = !quoted,
            '.' if !quoted => last = Some(at),
            _ => {}
        }
        escaped = character == '\\' && !escaped;
    }
    last.map_or(("", dotted), |at| (&dotted[..at], &dotted[at + 1..]))
}

/// Further facts about the settings, as comments.
fn remarks(loaded: &Loaded) -> String {
    let project = &loaded.project;
    let trust = match project.trust {
        Trust::Trusted => "trusted",
        Trust::Untrusted => "not trusted",
        Trust::Unknown => "not trusted yet",
    };
    let mut lines = vec![format!("The project {} is {trust}.", project.root.display())];
    let left_out = project.left_out.iter().map(|left_out| left_out.path.display());
    lines.extend(left_out.map(|path| format!("Not read, because the project is not trusted: {path}")));
    let servers = loaded.project_servers();
    if !servers.is_empty() {
        lines.push(format!("The project brings these MCP servers along: {}", servers.join(", ")));
    }
    lines.extend(loaded.notes.iter().map(ToString::to_string));
    let lines = lines.iter().flat_map(|line| line.lines()).map(|line| format!("# {line}\n"));
    format!("\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart_at_their_last_dot() {
        for (dotted, expected) in [
            ("model", ("", "model")),
            ("tools.web_search", ("tools", "web_search")),
            ("projects.\"/a.b\".trust_level", ("projects.\"/a.b\"", "trust_level")),
            ("model_prices.\"x\\\".y\"", ("model_prices", "\"x\\\".y\"")),
        ] {
            assert_eq!(apart(dotted), expected);
        }
    }
}
