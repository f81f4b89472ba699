//! Skills: directories with a SKILL.md that describes how to do something. The model gets the name, description and
//! path of each and reads the rest itself when it needs it; a `$name` in a prompt includes the whole text at once.
//!
//! Directories nearer to the working directory take precedence: of two skills with the same name, the project's counts
//! before the user's.

mod front_matter;
mod mention;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

pub use front_matter::{FrontMatter, FrontMatterError};

use crate::environment::escape;
use crate::places::Places;
use crate::project::{Project, SKILLS};
use crate::small_file::{self, ReadRules};

/// The file that makes a directory a skill.
const FILE: &str = "SKILL.md";
/// The most skills, and the most directories that are searched for them, over all locations.
const MOST_SKILLS: usize = 300;
const MOST_FOLDERS: usize = 3000;
/// The depth to which directories are searched.
const DEEPEST: usize = 4;
/// The most bytes of a file that are read for its description, and for its whole text.
const LARGEST_FRONT: usize = 64 << 10;
const LARGEST_BODY: usize = 256 << 10;
/// The most bytes of the block with all descriptions.
const LARGEST_BLOCK: usize = 16 << 10;
/// The most bytes of one description in it.
const LONGEST_DESCRIPTION: usize = 400;

/// The skills, and the faults of files that are not valid skills.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skills {
    /// The skills that count, by name.
    pub skills: Vec<Skill>,
    /// The skills that another one of the same name hides.
    pub hidden: Vec<Skill>,
    /// Files named SKILL.md that are not valid skills.
    pub faults: Vec<SkillFault>,
}

/// A skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its SKILL.md.
    pub path: PathBuf,
    /// Its origin.
    pub scope: SkillScope,
    /// The directory in which its file must lie with links resolved: the project's root. `None` for the user's skills,
    /// whose links may lead anywhere.
    within: Option<PathBuf>,
}

/// The origin of a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillScope {
    /// The user's.
    User,
    /// The project's.
    Project,
}

/// A file that is not a valid skill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {message}", path.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct SkillFault {
    /// The file.
    pub path: PathBuf,
    /// The line, counted from one, if it is known.
    pub line: Option<usize>,
    /// The problem.
    pub message: String,
}

/// Finds all skills that count: `skills` in the user's configuration, `~/.agents/skills`, and `.agents/skills` from the
/// project's root down to the working directory, if the project is trusted.
pub fn find(places: &Places, project: &Project) -> Skills {
    find_readable(places, project, &|_| true)
}

/// The same, where some files may not be read. `may_read` judges the file that was opened, by its path without links: a command can
/// make a link to any file.
pub fn find_readable(places: &Places, project: &Project, may_read: &dyn Fn(&Path) -> bool) -> Skills {
    let mut search =
        Search { found: Skills::default(), names: BTreeMap::new(), folders: 0, within: None, may_read };
    if project.is_trusted() {
        for directory in project.existing(SKILLS).iter().rev() {
            search.within = Some(project.root.clone());
            search.place(directory, SkillScope::Project);
        }
    }
    search.within = None;
    for directory in user_places(places) {
        search.place(&directory, SkillScope::User);
    }
    search.found.skills.sort_by(|one, other| one.name.cmp(&other.name));
    search.found
}

/// The user's own directories, in the order of precedence.
pub(crate) fn user_places(places: &Places) -> Vec<PathBuf> {
    let own = places.config.as_ref().map(|config| config.join("skills"));
    let shared = places.home.as_ref().map(|home| home.join(SKILLS));
    own.into_iter().chain(shared).collect()
}

impl Skills {
    /// The developer message that lists all skills; `None` if there are none.
    pub fn render(&self) -> Option<String> {
        if self.skills.is_empty() {
            return None;
        }
        let mut text = String::from(INTRODUCTION);
        for (told, skill) in self.skills.iter().enumerate() {
            let description = shortened(&skill.description);
            let line = format!("- {}: {description} (file: {})\n", skill.name, skill.path.display());
            if text.len() + line.len() > LARGEST_BLOCK {
                let left = self.skills.len() - told;
                // Writing to a string cannot fail.
                let _ = writeln!(text, "- and {left} more, for which there is no room here");
                break;
            }
            text.push_str(&line);
        }
        text.push_str("</skills>");
        Some(text)
    }

    /// A skill by name.
    pub fn get(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// The skills that a prompt names with `$name`, each once, in the order in which the text names them.
    pub fn mentioned(&self, prompt: &str) -> Vec<&Skill> {
        let mut found: Vec<&Skill> = Vec::new();
        for name in mention::names(prompt) {
            // Punctuation at the end of a name may not belong to it.
            let candidates = [name, name.trim_end_matches(['.', ':', '-', '_'])];
            if let Some(skill) = candidates.iter().find_map(|name| self.get(name))
                && !found.contains(&skill)
            {
                found.push(skill);
            }
        }
        found
    }
}

impl Skill {
    /// The message that includes the whole skill in the conversation.
    pub fn inject(&self) -> Result<String, SkillFault> {
        self.inject_readable(&|_| true)
    }

    /// The same, where some files may not be read.
    pub fn inject_readable(&self, may_read: &dyn Fn(&Path) -> bool) -> Result<String, SkillFault> {
        let fault = |message: String| SkillFault { path: self.path.clone(), line: None, message };
        let rules = ReadRules { within: self.within.as_deref(), may_read };
        let text = small_file::text_under(rules, &self.path, LARGEST_BODY);
        let text = text.map_err(|error| fault(error.to_string()))?;
        let text = text.ok_or_else(|| fault("the file is gone".to_owned()))?;
        let body = front_matter::body(&text).trim();
        let (name, path) = (escape(&self.name), escape(&self.path.to_string_lossy()));
        Ok(format!("<skill>\n<name>{name}</name>\n<path>{path}</path>\n{body}\n</skill>"))
    }
}

const INTRODUCTION: &str = "<skills>\nBelow are skills: instructions for particular kinds of work, each in a file of its \
    own. When the task is of such a kind, or the user names a skill as $name, read its file first and then do as it says; \
    paths in it are relative to the folder it lies in. Read only what you need of the files it points to. Do not bring up a \
    skill that does not fit.\n\n";

/// One line of bounded length.
fn shortened(description: &str) -> String {
    let line = description.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_DESCRIPTION) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

struct Search<'a> {
    found: Skills,
    names: BTreeMap<String, PathBuf>,
    folders: usize,
    /// The directory in which the files of the present location must lie.
    within: Option<PathBuf>,
    may_read: &'a dyn Fn(&Path) -> bool,
}

impl Search<'_> {
    fn place(&mut self, directory: &Path, scope: SkillScope) {
        self.folder(directory, scope, DEEPEST);
    }

    /// Adds a directory that is a skill, or searches it for such directories. Depth and number are bounded, so that
    /// cycles of links end.
    fn folder(&mut self, folder: &Path, scope: SkillScope, deeper: usize) {
        self.folders += 1;
        if self.folders > MOST_FOLDERS || self.found.skills.len() + self.found.hidden.len() >= MOST_SKILLS {
            return;
        }
        let file = folder.join(FILE);
        if file.is_file() {
            self.skill(file, scope);
            return;
        }
        if deeper == 0 {
            return;
        }
        let entries = folder.read_dir().into_iter().flatten().flatten().take(MOST_FOLDERS);
        let visible = entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
        let mut below: Vec<PathBuf> =
            visible.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        below.sort();
        for folder in below {
            self.folder(&folder, scope, deeper - 1);
        }
    }

    fn skill(&mut self, path: PathBuf, scope: SkillScope) {
        match front(&path, ReadRules { within: self.within.as_deref(), may_read: self.may_read }) {
            Err(fault) => self.found.faults.push(fault),
            Ok(FrontMatter { name, description }) => {
                let skill = Skill {
                    name: name.clone(),
                    description,
                    path: path.clone(),
                    scope,
                    within: self.within.clone(),
                };
                match self.names.insert(name.clone(), path) {
                    None => self.found.skills.push(skill),
                    Some(first) => {
                        self.names.insert(name, first);
                        self.found.hidden.push(skill);
                    }
                }
            }
        }
    }
}

fn front(path: &Path, rules: ReadRules<'_>) -> Result<FrontMatter, SkillFault> {
    let fault = |line, message| SkillFault { path: path.to_owned(), line, message };
    let beginning = small_file::beginning_under(rules, path, LARGEST_FRONT);
    let beginning = beginning.map_err(|error| fault(None, error.to_string()))?;
    let bytes = beginning.map(|beginning| beginning.bytes).unwrap_or_default();
    // The limit may have cut the body in the middle of a character; the front matter before it is complete.
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    };
    FrontMatter::parse(text).map_err(|error| fault(Some(error.line), error.problem))
}
