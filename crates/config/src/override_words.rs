//! `-c key=value`: a dotted key, and a TOML value or, if that is invalid, the bare text.

use std::path::Path;

use toml_edit::{DocumentMut, Item, Key as WrittenKey, Table as WrittenTable, value};

use crate::fault::{Fault, Problem};
use crate::keys::ROOT;
use crate::reading::{ParsedConfig, Source, read};
use crate::tree::{Layer, Tree};

/// The layer of all overrides; a later one wins.
pub(crate) fn layer(overrides: &[String], cwd: &Path, home: Option<&Path>) -> ParsedConfig {
    let source = Source { layer: Layer::CommandLine, file: None, folder: cwd, home };
    let mut all = ParsedConfig::default();
    for written in overrides {
        match one(written, &source) {
            Ok(tree) => all.tree.overlay(tree),
            Err(faults) => all.faults.extend(faults),
        }
    }
    all
}

fn one(written: &str, source: &Source<'_>) -> Result<Tree, Vec<Fault>> {
    let fault = |key: &str, problem| vec![Fault { file: None, line: None, key: key.to_owned(), problem }];
    let Some((key, text)) = written.split_once('=') else {
        return Err(fault(written, Problem::Missing { what: "a value: `-c key=value`".to_owned() }));
    };
    let (key, text) = (key.trim(), text.trim());
    let path = WrittenKey::parse(key)
        .map_err(|error| fault(key, Problem::NotToml { reason: error.message().trim().to_owned() }))?;
    let as_toml = format!("v = {text}").parse::<DocumentMut>().ok();
    // Only a single value is accepted: `1\nb = 2` would smuggle in a second key.
    let as_toml =
        as_toml.filter(|document| document.len() == 1).and_then(|mut document| document.remove("v"));
    let bare = || read(&document(&path, value(text)), source, &ROOT);
    let Some(item) = as_toml else { return outcome(bare()) };
    let reading = read(&document(&path, item), source, &ROOT);
    if reading.faults.is_empty() {
        return Ok(reading.tree);
    }
    // `-c model=4` means the text. If both readings fail, the faults of the TOML value are the more useful ones.
    let bare = bare();
    if bare.faults.is_empty() { Ok(bare.tree) } else { outcome(reading) }
}

fn outcome(reading: ParsedConfig) -> Result<Tree, Vec<Fault>> {
    if reading.faults.is_empty() { Ok(reading.tree) } else { Err(reading.faults) }
}

/// A file that contains only this key.
fn document(path: &[WrittenKey], item: Item) -> String {
    let mut document = DocumentMut::new();
    if let Some((last, tables)) = path.split_last() {
        let mut table: &mut WrittenTable = document.as_table_mut();
        for name in tables {
            let below = table.entry(name.get()).or_insert_with(|| Item::Table(WrittenTable::new()));
            match below.as_table_mut() {
                Some(below) => table = below,
                None => return String::new(),
            }
        }
        table.insert(last.get(), item);
    }
    document.to_string()
}
