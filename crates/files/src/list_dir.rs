//! The tool `list_dir`: the names in a directory and below it, in order, a page at a time. No more of the tree is
//! walked than the page needs, and of a huge directory no more names are kept than the page can hold.

mod walk;

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use self::walk::{Slice, Walk};
use crate::answer::{FileOutput, FileToolError};
use crate::arguments::{Fields, object};
use crate::bounds::Text;
use crate::file_context::FileContext;
use crate::opening;
use crate::words::{Named, count};

/// Its name.
pub const NAME: &str = "list_dir";

/// Its description, for models.
pub const DESCRIPTION: &str = "Lists a directory and what is below it, sorted, one name a line, indented by depth: `name/` \
is a directory, `name@` a link, `name?` something special. Hidden and ignored files are listed too. Example: \
{\"dir_path\":\"src\",\"depth\":3,\"limit\":200}. To find files by what they contain, use grep_files.";

/// The most entries of one output.
const MOST_ENTRIES: u64 = 2000;
/// The deepest level that is walked, whatever the call asks for.
const DEEPEST: u64 = 64;

/// The JSON Schema of its arguments.
pub fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "dir_path": { "type": "string", "description": "Path of the directory, absolute or relative to the working directory. Default: the working directory." },
            "offset": { "type": "integer", "minimum": 1, "description": "Entry to begin at, counted from 1. Default 1." },
            "limit": { "type": "integer", "minimum": 1, "description": "Most entries to return. Default 25, maximum 2000." },
            "depth": { "type": "integer", "minimum": 1, "description": "How many levels to list; 1 for the directory alone. Default 2." }
        },
        "required": [],
        "additionalProperties": false
    })
}

/// The arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// The directory, absolute or relative to the agent's.
    pub dir_path: PathBuf,
    /// The first entry, from 1.
    pub offset: u64,
    /// The most entries.
    pub limit: u64,
    /// The number of levels.
    pub depth: u64,
    /// Notes for the output, about unknown arguments.
    pub remarks: Vec<String>,
}

impl Arguments {
    /// Reads them from a call's arguments.
    pub fn parse(arguments: Map<String, Value>) -> Result<Self, FileToolError> {
        let mut fields = Fields::new(arguments);
        Ok(Self {
            dir_path: fields.path(&["dir_path", "path"])?.unwrap_or_else(|| PathBuf::from(".")),
            offset: fields.positive("offset")?.unwrap_or(1),
            limit: fields.positive("limit")?.unwrap_or(25).min(MOST_ENTRIES),
            depth: fields.positive("depth")?.unwrap_or(2).min(DEEPEST),
            remarks: fields.remarks(),
        })
    }

    /// Reads them from JSON text.
    pub fn from_json(text: &str) -> Result<Self, FileToolError> {
        Self::parse(object(text)?)
    }
}

/// Carries the call out.
pub fn run(arguments: &Arguments, surroundings: &FileContext<'_>) -> Result<FileOutput, FileToolError> {
    let path = surroundings.absolute(&arguments.dir_path);
    let found = opening::find(&path, surroundings)?;
    let directory = found.list("use read_file for files")?;
    let mut text = Text::default();
    let _ = text.push(&format!("Absolute path: {}", Named(&path)));
    let slice = Slice { offset: arguments.offset, limit: arguments.limit, depth: arguments.depth };
    let mut walk = Walk::new(slice, surroundings, &mut text);
    walk.directory(&directory, &found.real).map_err(|source| found.system("list it", source))?;
    let walked = walk.finish();
    surroundings.go_on()?;
    if walked.shown == 0 && arguments.offset > 1 {
        let there = match walked.seen {
            0 => "no entries".to_owned(),
            seen => count(seen, "entry"),
        };
        return Err(FileToolError::BeyondTheEnd { path, there, offset: arguments.offset });
    }
    conclude(&walked, &mut text);
    arguments.remarks.iter().for_each(|remark| text.note(remark));
    Ok(FileOutput::Text(text.finish()))
}

/// Adds notes about entries that are not shown.
fn conclude(walked: &walk::Walked, text: &mut Text) {
    if let Some(next) = walked.next {
        text.note(format!("More than {} found; go on with offset {next}", count(walked.shown, "entry")));
    } else if walked.seen == 0 {
        text.note("the directory is empty");
    }
    if walked.denied > 0 {
        text.note(format!("{} left out, which may not be read here", count(walked.denied, "entry")));
    }
}
