//! AGENTS.md: instructions that people write for agents. First the user's own, then the project's from its root down to
//! the working directory, one file per directory. An untrusted project contributes none. A limit bounds the project's
//! files: the file that crosses it is cut, and those after it are not read.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::places::Places;
use crate::project::Project;
use crate::settings::Settings;
use crate::small_file::{self, ReadRules};

/// The names that are looked for in every directory; the first file with text wins.
const NAMES: [&str; 2] = ["AGENTS.override.md", "AGENTS.md"];
/// The most bytes of the user's own file, which does not count against the project's limit.
const LARGEST_OF_USER: usize = 32 << 10;

/// The instructions from files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instructions {
    /// The user's own.
    pub home: Option<Document>,
    /// The project's, from the root down.
    pub project: Vec<Document>,
    /// Files that could not be read, with the reason.
    pub unreadable: Vec<(PathBuf, String)>,
}

/// An instructions file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its path.
    pub path: PathBuf,
    /// Its text, without blank lines around it.
    pub text: String,
    /// Whether the limit cut it.
    pub cut: bool,
}

/// Reads a whole file with instructions. `may_read` judges the file that was opened, by its path without links.
pub fn read_whole(path: &Path, may_read: &dyn Fn(&Path) -> bool) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    small_file::check(&file, ReadRules { within: None, may_read })?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// Reads all instructions that count.
pub fn find(places: &Places, project: &Project, settings: &Settings) -> Instructions {
    find_readable(places, project, settings, &|_| true)
}

/// The same, where some files may not be read. `may_read` judges the file that was opened, by its path without links: a command can
/// make a link to any file.
pub fn find_readable(
    places: &Places,
    project: &Project,
    settings: &Settings,
    may_read: &dyn Fn(&Path) -> bool,
) -> Instructions {
    let mut found = Instructions::default();
    if let Some(config) = &places.config {
        let read = |path: &Path| {
            small_file::beginning_under(ReadRules { within: None, may_read }, path, LARGEST_OF_USER)
        };
        found.home = found.first(config, &NAMES.map(str::to_owned), &read);
    }
    if !project.is_trusted() {
        return found;
    }
    let (names, mut room) = (names(settings), settings.project_doc_max_bytes);
    for directory in &project.directories {
        if room == 0 {
            break;
        }
        // A command can make a link to a file that it may not read; the model would be told what is in there.
        let read = |path: &Path| {
            small_file::beginning_under(ReadRules { within: Some(&project.root), may_read }, path, room)
        };
        if let Some(document) = found.first(directory, &names, &read) {
            room = if document.cut { 0 } else { room - document.text.len().min(room) };
            found.project.push(document);
        }
    }
    found
}

impl Instructions {
    /// The text of the message to the model; `None` without instructions.
    pub fn render(&self, cwd: &Path) -> Option<String> {
        let project =
            self.project.iter().map(|document| document.text.as_str()).collect::<Vec<_>>().join("\n\n");
        let home = self.home.as_ref().map(|document| document.text.as_str());
        let text = match (home, project.is_empty()) {
            (None, true) => return None,
            (Some(home), true) => home.to_owned(),
            (None, false) => project,
            (Some(home), false) => format!("{home}\n\n--- project-doc ---\n\n{project}"),
        };
        Some(format!(
            "# AGENTS.md instructions for {}\n\n<INSTRUCTIONS>\n{text}\n</INSTRUCTIONS>",
            cwd.display()
        ))
    }

    /// The first file of a directory with text.
    fn first(&mut self, directory: &Path, names: &[String], read: &Read<'_>) -> Option<Document> {
        names.iter().find_map(|name| self.document(directory.join(name), read))
    }

    fn document(&mut self, path: PathBuf, read: &Read<'_>) -> Option<Document> {
        match read(&path) {
            Ok(Some(beginning)) => {
                let text = until_cut_letter(&beginning.bytes, beginning.cut);
                let text = text.trim().to_owned();
                (!text.is_empty()).then_some(Document { path, text, cut: beginning.cut })
            }
            Ok(None) => None,
            Err(error) => {
                self.unreadable.push((path, error.to_string()));
                None
            }
        }
    }
}

/// The function that reads a file.
type Read<'r> = dyn Fn(&Path) -> std::io::Result<Option<small_file::Beginning>> + 'r;

/// The path of the file that a directory of a project would contribute, without reading the file.
pub(crate) fn in_directory(directory: &Path, settings: &Settings) -> Option<PathBuf> {
    names(settings).iter().map(|name| directory.join(name)).find(|path| path.is_file())
}

fn names(settings: &Settings) -> Vec<String> {
    let fallbacks = settings.project_doc_fallback_filenames.iter().cloned();
    NAMES.map(str::to_owned).into_iter().chain(fallbacks).collect()
}

/// Decodes the bytes. A character that the limit cut in two is dropped; invalid UTF-8 is replaced by a marker.
fn until_cut_letter(bytes: &[u8], cut: bool) -> String {
    let whole = match std::str::from_utf8(bytes) {
        Err(error) if cut && error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    };
    String::from_utf8_lossy(whole).into_owned()
}
