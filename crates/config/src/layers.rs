//! Loading: reads the layers from the lowest to the highest, checks each, and merges them. Later ones win value by
//! value:
//!
//! 1. built in, 2. `OPENAI_BASE_URL`, 3. `/etc/windlass/config.toml`, 4. Codex's file, if asked for, 5. the user's
//!    `config.toml`, 6. the profile, 7. the project's files from its root down to the working directory, 8. `-c`.
//!
//! The project is the seventh layer, but all other layers take part in finding it: `-c project_root_markers=...` has an
//! effect.

mod consistency;
mod files;

use std::path::{Path, PathBuf};

use files::Files;

use crate::fault::{Fault, Faults, Problem};
use crate::guard::{self, Bounds, ConfigAuthor};
use crate::keys::ROOT;
use crate::override_words;
use crate::places::Places;
use crate::project::{Project, Trust};
use crate::reading::{Source, read};
use crate::settings::{Settings, build};
use crate::tree::{Layer, Tree, TreeValue, Value, ValueOrigin, dotted};

/// The options of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// `-p`: the profile.
    pub profile: Option<String>,
    /// `-c`: each `key=value`.
    pub overrides: Vec<String>,
    /// `--import-codex`: whether Codex's configuration counts, below the user's own.
    pub import_codex: bool,
    /// `--ignore-user-config`: whether the user's file is not read.
    pub ignore_user_config: bool,
    /// The value of `OPENAI_BASE_URL`.
    pub openai_base_url: Option<String>,
    /// The user's decision about the project for this run, which replaces the one in the file.
    pub trust: Option<Trust>,
}

/// The result of loading.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The settings in force.
    pub settings: Settings,
    /// The project, whether it is trusted, and the files that were therefore left out.
    pub project: Project,
    /// The values that did not count, with the reasons, for the user.
    pub notes: Vec<Note>,
    tree: Tree,
    places: Places,
}

/// The settings of a sub-agent.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleSettings {
    /// The settings in force.
    pub settings: Settings,
    /// The values of its configuration file that did not count.
    pub notes: Vec<Note>,
}

/// A value that did not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The file in which it was set.
    pub file: Option<PathBuf>,
    /// The line, counted from one.
    pub line: Option<usize>,
    /// The key.
    pub key: String,
    /// The reason why it does not count.
    pub reason: String,
}

/// A value in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Stated {
    /// The key with the names of its tables.
    pub key: String,
    /// The value.
    pub value: Value,
    /// The origin of the value.
    pub origin: ValueOrigin,
    /// Whether it must not be shown, because it is or may be a secret.
    pub secret: bool,
}

/// Loads all layers. Fails with all faults of all files.
pub fn load(places: &Places, request: &Request) -> Result<Loaded, Faults> {
    let mut files = Files::new(places);
    let mut below = built_in();
    below.overlay(files.variable(request.openai_base_url.as_deref()));
    below.overlay(files.users(request));
    let mut overrides = override_words::layer(&request.overrides, &places.cwd, places.home.as_deref());
    files.faults.append(&mut overrides.faults);
    files.keep_override_profiles(&mut overrides.tree);
    files.profile(request, &overrides.tree, &mut below);
    let mut without_project = below.clone();
    without_project.overlay(overrides.tree.clone());
    let project = Project::find(&places.cwd, &build(&without_project), request.trust);
    let mut tree = files.with_project(&project, below, &overrides.tree);
    tree.overlay(overrides.tree);
    let notes = files.finish(&tree)?;
    Ok(Loaded { settings: build(&tree), project, notes, tree, places: places.clone() })
}

/// The lowest layer.
pub(crate) fn built_in() -> Tree {
    let source = Source { layer: Layer::BuiltIn, file: None, folder: Path::new("/"), home: None };
    read(include_str!("settings/built_in.toml"), &source, &ROOT).tree
}

impl Loaded {
    /// Every value in force with its origin, in the order of the keys.
    pub fn stated(&self) -> Vec<Stated> {
        let leaves = self.tree.leaves().into_iter();
        leaves
            .map(|(path, leaf)| Stated { secret: is_secret(&path, &leaf.value), ..stated(&path, leaf) })
            .collect()
    }

    /// The origin of a value, by its dotted key.
    pub fn origin(&self, key: &str) -> Option<ValueOrigin> {
        let leaves = self.tree.leaves().into_iter();
        leaves.filter(|(path, _)| dotted(path) == key).map(|(_, leaf)| leaf.origin.clone()).next()
    }

    /// The servers that the project configures: programs or addresses of its choice, about which the user should know.
    pub fn project_servers(&self) -> Vec<&str> {
        let of_project = |name: &&String| {
            let origin =
                |key: &str| self.origin(&dotted(&["mcp_servers".into(), (*name).clone(), key.into()]));
            let origin = origin("command").or_else(|| origin("url"));
            origin.is_some_and(|origin| origin.layer == Layer::Project)
        };
        self.settings.mcp_servers.keys().filter(of_project).map(String::as_str).collect()
    }

    /// The settings of a sub-agent of this role: its configuration file, if it has one, over everything else, then the
    /// role's own model and instructions. A file that the project named may set only what a project may set, and no
    /// file can confine a sub-agent less than its parent.
    pub fn for_role(&self, name: &str) -> Result<RoleSettings, Faults> {
        let Some(role) = self.settings.agents.roles.get(name) else {
            let known = self.settings.agents.roles.keys().cloned().collect();
            let problem = Problem::NoSuch { what: "role", name: name.to_owned(), known };
            return Err(Faults(vec![Fault { file: None, line: None, key: "agents".to_owned(), problem }]));
        };
        let (tree, notes) = self.with_role_file(name, role.config_file.as_deref())?;
        let mut settings = build(&tree);
        settings.model = role.model.clone().or(settings.model);
        settings.reasoning_effort = role.reasoning_effort.or(settings.reasoning_effort);
        settings.developer_instructions = role.instructions.clone().or(settings.developer_instructions);
        Ok(RoleSettings { settings, notes })
    }

    fn with_role_file(&self, name: &str, file: Option<&Path>) -> Result<(Tree, Vec<Note>), Faults> {
        let mut tree = self.tree.clone();
        let Some(file) = file else { return Ok((tree, Vec::new())) };
        let mut files = Files::new(&self.places);
        let layer = files.required(file, &Layer::Role(name.to_owned()), "this role's configuration file");
        let origin = self.origin(&dotted(&["agents".into(), name.into(), "config_file".into()]));
        let speaker = match origin {
            Some(ValueOrigin { layer: Layer::Project, file: Some(file), .. })
                if self.project.may_name_programs(&file) =>
            {
                ConfigAuthor::Project
            }
            Some(ValueOrigin { layer: Layer::Project, .. }) => ConfigAuthor::Folder,
            _ => ConfigAuthor::Role,
        };
        let (layer, notes) =
            guard::confine(&layer, speaker, Bounds { base: &self.tree, root: &self.project.root });
        files.notes.extend(notes);
        tree.overlay(layer);
        let notes = files.finish(&tree)?;
        Ok((tree, notes))
    }
}

fn stated(path: &[String], leaf: &TreeValue) -> Stated {
    Stated { key: dotted(path), value: leaf.value.clone(), origin: leaf.origin.clone(), secret: false }
}

fn is_secret(path: &[String], value: &Value) -> bool {
    match value {
        Value::Text(text) => crate::portable::is_secret(path, text),
        Value::Texts(texts) => crate::portable::is_secret_list(path, texts.iter().map(String::as_str)),
        _ => false,
    }
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{}:{line}: ", file.display())?,
            (Some(file), None) => write!(f, "{}: ", file.display())?,
            (None, _) => {}
        }
        if !self.key.is_empty() {
            write!(f, "`{}` does not count: ", self.key)?;
        }
        f.write_str(&self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_layer_has_no_fault() {
        let source = Source { layer: Layer::BuiltIn, file: None, folder: Path::new("/"), home: None };
        assert_eq!(read(include_str!("settings/built_in.toml"), &source, &ROOT).faults, []);
        assert_eq!(consistency::check(&built_in()), []);
    }

    #[test]
    fn a_profile_has_a_file_unless_its_name_leads_elsewhere() {
        assert_eq!(files::Profiles::file_name("fast").as_deref(), Some("fast.config.toml"));
        assert_eq!(files::Profiles::file_name("../fast"), None);
    }
}
