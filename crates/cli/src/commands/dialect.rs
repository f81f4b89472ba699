//! `windlass app-server generate-schema` and its siblings: a protocol's schema for other languages than Rust.

use std::fs;

use anyhow::{Context, Result};
use windlass_protocol::schema::Dialect;

use crate::args::{Destination, DialectCommand};
use crate::failure::Exit;
use crate::printing::{print, print_text};

/// Prints or writes the requested schema.
pub(crate) fn run(order: &DialectCommand, dialect: &Dialect) -> Result<Exit> {
    let (text, ending, destination) = match order {
        DialectCommand::GenerateSchema(destination) => (dialect.json_schema(), "schema.json", destination),
        DialectCommand::GenerateTs(destination) => (dialect.typescript(), "ts", destination),
        DialectCommand::GeneratePython(destination) => (dialect.python(), "py", destination),
    };
    deliver(text, &format!("{}.{ending}", dialect.name()), destination)
}

fn deliver(text: String, name: &str, destination: &Destination) -> Result<Exit> {
    let Some(folder) = &destination.out else {
        print(text)?;
        return Ok(Exit::SUCCESS);
    };
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let file = folder.join(name);
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    print_text(&format!("{}\n", file.display()))?;
    Ok(Exit::SUCCESS)
}
