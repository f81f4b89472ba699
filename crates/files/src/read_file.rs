//! The tool `read_file`: a page of a text file, or the block around one of its lines. The file is read as a stream;
//! only the page is kept and, for blocks, a few facts about each line near the anchor.

mod block;
mod lines;
mod outline;
mod page;

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::lines::Lines;
use self::outline::Outline;
use self::page::Page;
use crate::answer::{FileOutput, FileToolError};
use crate::arguments::{Fields, object};
use crate::bounds::{LONGEST_LINE, Text};
use crate::content;
use crate::file_context::FileContext;
use crate::opening::{self, OpenedFile};
use crate::words::{Named, size};

/// Its name.
pub const NAME: &str = "read_file";

/// Its description, for models.
pub const DESCRIPTION: &str = "Reads a text file and returns its lines as `L12: text`. Long files come in pages: go on \
with the offset that the note at the end names. Mode `indentation` returns the block of code around a line, e.g. \
{\"file_path\":\"src/main.rs\",\"mode\":\"indentation\",\"indentation\":{\"anchor_line\":120}} for the whole function or \
class that line 120 is in. `L12: ` is not part of the file: leave it out of patches.";

/// The default and the largest number of lines of a page.
const PAGE: u64 = 2000;

/// The JSON Schema of its arguments.
pub fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "file_path": { "type": "string", "description": "Path of the file, absolute or relative to the working directory." },
            "offset": { "type": "integer", "minimum": 1, "description": "Line to begin at, counted from 1. Default 1." },
            "limit": { "type": "integer", "minimum": 1, "description": "Most lines to return. Default and maximum 2000." },
            "mode": { "type": "string", "enum": ["slice", "indentation"], "description": "`slice` (default): lines from offset on. `indentation`: the block around anchor_line." },
            "indentation": {
                "type": "object",
                "description": "Only for mode `indentation`.",
                "properties": {
                    "anchor_line": { "type": "integer", "minimum": 1, "description": "The line whose block is wanted. Default: offset." },
                    "max_levels": { "type": "integer", "minimum": 0, "description": "How many enclosing blocks to include; 0 (default) for all of them." },
                    "include_siblings": { "type": "boolean", "description": "Also what stands beside the block, at its indentation. Default false." },
                    "include_header": { "type": "boolean", "description": "Also comments and decorators right above the block. Default true." },
                    "max_lines": { "type": "integer", "minimum": 1, "description": "Most lines to return, around the anchor. Default: limit." }
                },
                "additionalProperties": false
            }
        },
        "required": ["file_path"],
        "additionalProperties": false
    })
}

/// The arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// The file, absolute or relative to the agent's directory.
    pub file_path: std::path::PathBuf,
    /// The first line, from 1.
    pub offset: u64,
    /// The most lines.
    pub limit: u64,
    /// The selection of lines.
    pub mode: Mode,
    /// The block, for [`Mode::Indentation`].
    pub indentation: Indentation,
    /// Notes for the output, about unknown arguments.
    pub remarks: Vec<String>,
}

/// The selection of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The lines from the offset on.
    #[default]
    Slice,
    /// The block around the anchor.
    Indentation,
}

/// The selection of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Indentation {
    /// The line inside the block; the offset, if absent.
    pub anchor_line: Option<u64>,
    /// How many enclosing blocks are included; 0 for all.
    pub max_levels: u64,
    /// Whether siblings of the block are included.
    pub include_siblings: bool,
    /// Whether comments and decorators above are included.
    pub include_header: bool,
    /// The most lines; the limit, if absent.
    pub max_lines: Option<u64>,
}

impl Default for Indentation {
    fn default() -> Self {
        let [include_siblings, include_header] = [false, true];
        Self { anchor_line: None, max_levels: 0, include_siblings, include_header, max_lines: None }
    }
}

impl Arguments {
    /// Reads them from a call's arguments.
    pub fn parse(arguments: Map<String, Value>) -> Result<Self, FileToolError> {
        let mut fields = Fields::new(arguments);
        let path = fields.path(&["file_path", "path"])?;
        let file_path = fields.required("file_path", path)?;
        let offset = fields.positive("offset")?.unwrap_or(1);
        let limit = fields.positive("limit")?.unwrap_or(PAGE).min(PAGE);
        let mode = fields.choice("mode", &["slice", "indentation"])?.unwrap_or_default();
        let group = fields.group("indentation", "indentation.")?;
        let mut remarks = fields.remarks();
        let indentation = group.map(|group| Indentation::parse(group, &mut remarks)).transpose()?;
        Ok(Self { file_path, offset, limit, mode, indentation: indentation.unwrap_or_default(), remarks })
    }

    /// Reads them from JSON text.
    pub fn from_json(text: &str) -> Result<Self, FileToolError> {
        Self::parse(object(text)?)
    }
}

impl Indentation {
    fn parse(mut fields: Fields, remarks: &mut Vec<String>) -> Result<Self, FileToolError> {
        let default = Self::default();
        let indentation = Self {
            anchor_line: fields.positive("anchor_line")?,
            max_levels: fields.whole("max_levels")?.unwrap_or(default.max_levels),
            include_siblings: fields.flag("include_siblings")?.unwrap_or(default.include_siblings),
            include_header: fields.flag("include_header")?.unwrap_or(default.include_header),
            max_lines: fields.positive("max_lines")?,
        };
        remarks.extend(fields.remarks());
        Ok(indentation)
    }
}

/// Carries the call out.
pub fn run(arguments: &Arguments, surroundings: &FileContext<'_>) -> Result<FileOutput, FileToolError> {
    let path = surroundings.absolute(&arguments.file_path);
    let found = opening::find(&path, surroundings)?;
    let file = found.read(advice(&found))?;
    let mut text = Text::default();
    let _ = text.push(&format!("Absolute path: {}", Named(&path)));
    if let Some(kind) = binary_kind(&found, &file)? {
        let _ = text.push(&format!("It is not text but {kind}, {} long.", size(found.metadata.len())));
    } else {
        let reading = Reading { found: &found, file: &file, surroundings };
        match arguments.mode {
            Mode::Slice => reading.slice(arguments, &mut text)?,
            Mode::Indentation => reading.block(arguments, &mut text)?,
        }
    }
    arguments.remarks.iter().for_each(|remark| text.note(remark));
    Ok(FileOutput::Text(text.finish()))
}

/// The advice for a path that is not a regular file.
fn advice(found: &OpenedFile) -> &'static str {
    if found.metadata.is_dir() { "use list_dir" } else { "it would block or never end, so it is not read" }
}

fn binary_kind(found: &OpenedFile, file: &File) -> Result<Option<String>, FileToolError> {
    let mut sample = vec![0; content::SAMPLE];
    let mut length = 0;
    // Reads of kernel files return small pieces, and a file that is still being written may be short.
    while length < sample.len() {
        match file.read_at(&mut sample[length..], length as u64) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(found.system("read it", error)),
        }
    }
    Ok(content::binary_kind(&sample[..length]))
}

/// A text file that is being read.
struct Reading<'a> {
    found: &'a OpenedFile,
    file: &'a File,
    surroundings: &'a FileContext<'a>,
}

impl Reading<'_> {
    fn slice(&self, arguments: &Arguments, text: &mut Text) -> Result<(), FileToolError> {
        let mut lines = self.lines()?;
        lines.skip(arguments.offset - 1)?;
        let page = Page::fill(&mut lines, arguments.limit, text)?;
        if page.shown() == 0 && arguments.offset > 1 {
            return Err(lines.beyond_the_end(arguments.offset));
        }
        if page.shown() == 0 {
            text.note("the file is empty");
        }
        page.remarks(text);
        if let Some(next) = page.next() {
            let all = size(self.found.metadata.len());
            text.note(format!("the file goes on (it is {all} long); read the next lines with offset {next}"));
        }
        Ok(())
    }

    fn block(&self, arguments: &Arguments, text: &mut Text) -> Result<(), FileToolError> {
        let wanted = &arguments.indentation;
        let anchor = wanted.anchor_line.unwrap_or(arguments.offset);
        let outline = Outline::around(anchor, self.lines()?)?;
        let block = block::around(&outline, wanted);
        let most = wanted.max_lines.unwrap_or(arguments.limit).min(arguments.limit);
        let shown = outline.fitting(&block, most);
        let mut lines = self.lines()?;
        lines.skip(outline.number(shown.start) - 1)?;
        let page = Page::fill(&mut lines, shown.len() as u64, text)?;
        page.remarks(text);
        if shown != block {
            let [first, last] = [outline.number(block.start), outline.number(block.end - 1)];
            let next = outline.number(shown.end);
            text.note(format!(
                "the block is lines {first} to {last}, and only the part around line {anchor} is shown; read more of \
                 it in mode slice, e.g. with offset {}",
                if shown.end < block.end { next } else { first }
            ));
        }
        Ok(())
    }

    /// The file's lines, from the first.
    fn lines(&self) -> Result<Lines<'_>, FileToolError> {
        let mut file = self.file;
        file.seek(SeekFrom::Start(0)).map_err(|source| self.found.system("read it", source))?;
        Ok(Lines::of(self.found, file, self.surroundings))
    }
}

/// The note about lines that were cut.
fn about_cut_lines(first: u64) -> String {
    format!(
        "lines were cut after {LONGEST_LINE} characters; a command shows more of one, as in `sed -n {first}p FILE | cut \
         -c{}-`",
        LONGEST_LINE + 1
    )
}
