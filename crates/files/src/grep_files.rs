//! The tool `grep_files`: the files that contain a pattern, newest first, or the matching lines. It searches with
//! ripgrep's own crates and ignores the same files: hidden and binary ones, and those that `.gitignore`, `.ignore` and
//! `.rgignore` name.

mod include;
mod lines;
mod newest;
mod pattern;
mod search;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::include::Include;
use self::lines::{InTime, LineSelection};
use self::newest::Hit;
use self::pattern::Pattern;
use self::search::{Search, Searched};
use crate::answer::{FileOutput, FileToolError};
use crate::arguments::{Fields, object};
use crate::bounds::Text;
use crate::file_context::FileContext;
use crate::opening;
use crate::words::{Named, count};

/// Its name.
pub const NAME: &str = "grep_files";

/// Its description, for models.
pub const DESCRIPTION: &str = "Finds files whose content matches a regular expression (ripgrep's syntax, within one line, \
case-sensitive unless it begins with `(?i)`) and returns their paths, newest first; with `output` = `lines` the matching \
lines as `path:line: text`. Respects .gitignore and skips hidden and binary files. Escape what is meant literally: \
{\"pattern\":\"fn main\\\\(\",\"include\":\"*.{rs,toml}\",\"output\":\"lines\"}.";

/// The time limit of one search.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// The default number of results.
const USUAL_RESULTS: u64 = 100;
/// The most results of one output.
const MOST_RESULTS: u64 = 2000;

/// The JSON Schema of its arguments.
pub fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "pattern": { "type": "string", "description": "Regular expression to search for, within single lines." },
            "include": { "type": "string", "description": "Glob that limits which files are searched, e.g. `*.rs`, `*.{ts,tsx}`, `src/**/*.py` or `!*.min.js`. Default: all." },
            "path": { "type": "string", "description": "File or directory to search, absolute or relative to the working directory. Default: the working directory." },
            "limit": { "type": "integer", "minimum": 1, "description": "Most files, or lines with output `lines`, to return. Default 100, maximum 2000." },
            "output": { "type": "string", "enum": ["files", "lines"], "description": "`files` (default): paths. `lines`: matching lines with their numbers." }
        },
        "required": ["pattern"],
        "additionalProperties": false
    })
}

/// The arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// The regular expression.
    pub pattern: String,
    /// Globs for the files that are searched; none for all.
    pub include: Vec<String>,
    /// The file or directory to search, absolute or relative to the agent's directory.
    pub path: PathBuf,
    /// The most results.
    pub limit: u64,
    /// The kind of results.
    pub output: Output,
    /// Notes for the output, about unknown arguments.
    pub remarks: Vec<String>,
}

/// The kind of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Output {
    /// The path of a file that matches.
    #[default]
    Files,
    /// A line that matches.
    Lines,
}

impl Arguments {
    /// Reads them from a call's arguments.
    pub fn parse(arguments: Map<String, Value>) -> Result<Self, FileToolError> {
        let mut fields = Fields::new(arguments);
        let pattern = fields.text("pattern")?;
        Ok(Self {
            pattern: fields.required("pattern", pattern)?,
            include: fields.texts("include")?,
            path: fields.path(&["path", "dir_path", "file_path"])?.unwrap_or_else(|| PathBuf::from(".")),
            limit: fields.positive("limit")?.unwrap_or(USUAL_RESULTS).min(MOST_RESULTS),
            output: fields.choice("output", &["files", "lines"])?.unwrap_or_default(),
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
    run_within(TIME_LIMIT, arguments, surroundings)
}

fn run_within(
    time: Duration,
    arguments: &Arguments,
    surroundings: &FileContext<'_>,
) -> Result<FileOutput, FileToolError> {
    let pattern = Pattern::parse(&arguments.pattern)?;
    let path = surroundings.absolute(&arguments.path);
    let found = opening::find(&path, surroundings)?;
    if !found.metadata.is_dir() && !found.metadata.is_file() {
        let kind = opening::kind(found.metadata.file_type());
        return Err(found.unfit(kind, "only files and directories are searched"));
    }
    let include = Include::parse(&arguments.include, &found.real)?;
    let search = Search::new(&pattern, &include, surroundings, time);
    let place = SearchRoot { real: &found.real, shown: &path };
    let mut searched = search.files(&found.real, arguments.limit);
    let mut text = Text::default();
    match arguments.output {
        Output::Files => show_files(&searched, &place, &mut text),
        Output::Lines => {
            let wanted = LineSelection { place: &place, most: arguments.limit };
            searched.out_of_time |= lines::show(&search, &searched, &wanted, &mut text) == InTime::No;
        }
    }
    surroundings.go_on()?;
    conclude(&searched, &mut text);
    arguments.remarks.iter().for_each(|remark| text.note(remark));
    Ok(FileOutput::Text(text.finish()))
}

/// The root of the search: its real path, and the path that was asked for, which outputs use.
struct SearchRoot<'a> {
    real: &'a Path,
    shown: &'a Path,
}

impl SearchRoot<'_> {
    fn shown(&self, hit: &Hit) -> PathBuf {
        match hit.path.strip_prefix(self.real) {
            Ok(below) if !below.as_os_str().is_empty() => self.shown.join(below),
            _ => self.shown.to_owned(),
        }
    }
}

fn show_files(searched: &Searched, place: &SearchRoot<'_>, text: &mut Text) {
    let fits = |hit: &&Hit| text.push(&Named(&place.shown(hit)).to_string());
    let shown = searched.newest.iter().take_while(fits).count() as u64;
    if shown < searched.matching {
        let all = count(searched.matching, "file");
        text.note(format!(
            "{all} match, and these are the newest {shown}; a narrower pattern, path or include finds fewer"
        ));
    }
}

/// Adds notes about a search without matches, and about files that were not searched.
fn conclude(searched: &Searched, text: &mut Text) {
    if searched.matching == 0 {
        let _ = text.push("No matches found.");
    }
    if searched.out_of_time {
        text.note(format!(
            "the search was ended after {} seconds, when {} had been searched; the answer holds what was found until \
             then. Give a narrower path or include",
            TIME_LIMIT.as_secs(),
            count(searched.files, "file")
        ));
    } else if searched.files == 0 && searched.denied == 0 {
        text.note("there was no file to search: none fits include, or all are hidden or ignored");
    }
    if searched.single_binary {
        text.note("the file is binary, so it was not searched to its end");
    }
    if searched.denied > 0 {
        text.note(format!("{} left out, which may not be read here", count(searched.denied, "entry")));
    }
    if searched.unreadable > 0 {
        text.note(format!("{} could not be read, or not to the end", count(searched.unreadable, "entry")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_takes_too_long_says_how_far_it_got() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
        let arguments = Arguments::from_json(r#"{"pattern":"fn"}"#).expect("arguments");
        let answer =
            run_within(Duration::ZERO, &arguments, &FileContext::open(directory)).expect("an answer");
        let FileOutput::Text(text) = answer else { panic!("no text") };
        assert!(text.starts_with("No matches found.\nNote: the search was ended after"), "{text}");
        assert!(text.contains("0 files had been searched"), "{text}");
    }
}
