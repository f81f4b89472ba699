//! The words that the verbs share which serve a dialect of JSON-RPC: `app-server` and `exec-server`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What can be had of a dialect beside its server.
#[derive(Debug, Subcommand)]
#[expect(clippy::enum_variant_names, reason = "they are what people type")]
pub(crate) enum DialectCommand {
    /// Print every message of the protocol as JSON Schema
    GenerateSchema(Destination),
    /// Print every message of the protocol as TypeScript
    GenerateTs(Destination),
    /// Print every message of the protocol as Python
    #[command(hide = true)]
    GeneratePython(Destination),
}

/// Where to write.
#[derive(Debug, Args)]
pub(crate) struct Destination {
    /// Write a file into this folder, which is made if it is missing, instead of printing
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
}
