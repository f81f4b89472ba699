//! The list of all tools.

use serde_json::{Map, Value};

use crate::answer::{FileOutput, FileToolError};
use crate::file_context::FileContext;
use crate::{grep_files, list_dir, read_file, view_image};

/// A tool, with its description for models and its function. No tool changes a file, so calls may run concurrently.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// Its description, for models.
    pub description: &'static str,
    /// The JSON Schema of its arguments.
    pub parameters: fn() -> Value,
    /// Reads the arguments and carries the call out. It blocks.
    pub call: Call,
}

/// The function that carries out a call.
type Call = fn(Map<String, Value>, &FileContext<'_>) -> Result<FileOutput, FileToolError>;

/// All of them. The order never changes: prompts that begin with it stay cached.
pub const TOOLS: [Tool; 4] = [
    Tool {
        name: read_file::NAME,
        description: read_file::DESCRIPTION,
        parameters: read_file::parameters,
        call: |arguments, surroundings| {
            read_file::run(&read_file::Arguments::parse(arguments)?, surroundings)
        },
    },
    Tool {
        name: list_dir::NAME,
        description: list_dir::DESCRIPTION,
        parameters: list_dir::parameters,
        call: |arguments, surroundings| list_dir::run(&list_dir::Arguments::parse(arguments)?, surroundings),
    },
    Tool {
        name: grep_files::NAME,
        description: grep_files::DESCRIPTION,
        parameters: grep_files::parameters,
        call: |arguments, surroundings| {
            grep_files::run(&grep_files::Arguments::parse(arguments)?, surroundings)
        },
    },
    Tool {
        name: view_image::NAME,
        description: view_image::DESCRIPTION,
        parameters: view_image::parameters,
        call: |arguments, surroundings| {
            view_image::run(&view_image::Arguments::parse(arguments)?, surroundings)
        },
    },
];
