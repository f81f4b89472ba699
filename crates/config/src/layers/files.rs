//! The files of the layers: finds and reads each, and collects their faults.

use std::path::{Path, PathBuf};

use super::{Note, Request, consistency};
use crate::codex;
use crate::fault::{Fault, Faults, Problem};
use crate::guard::{self, Bounds, ConfigAuthor};
use crate::keys::{PROFILE, ROOT, Shape, Table};
use crate::places::Places;
use crate::project::Project;
use crate::reading::{LARGEST, Source, is_address, read};
use crate::small_file;
use crate::tree::{Layer, Node, Tree, TreeValue, Value, ValueOrigin};

/// The state of a load: everything that was read and is not in a tree yet.
pub(super) struct Files<'p> {
    places: &'p Places,
    profiles: Vec<Profiles>,
    pub(super) faults: Vec<Fault>,
    pub(super) notes: Vec<Note>,
}

/// The profiles of one file: its own tables, and the files beside it.
pub(super) struct Profiles {
    folder: PathBuf,
    tables: Tree,
    /// Whether the files are Codex's, whose unknown keys are not faults.
    of_codex: bool,
}

impl<'p> Files<'p> {
    pub(super) fn new(places: &'p Places) -> Self {
        Self { places, profiles: Vec::new(), faults: Vec::new(), notes: Vec::new() }
    }

    /// The notes, or all faults. The merged values are checked for consistency only if each of them is valid: a value
    /// that a fault left out would be reported a second time as missing.
    pub(super) fn finish(mut self, tree: &Tree) -> Result<Vec<Note>, Faults> {
        if self.faults.is_empty() {
            self.faults = consistency::check(tree);
        }
        if self.faults.is_empty() { Ok(self.notes) } else { Err(Faults(self.faults)) }
    }

    /// The layer of `OPENAI_BASE_URL`.
    pub(super) fn variable(&mut self, base_url: Option<&str>) -> Tree {
        const NAME: &str = "OPENAI_BASE_URL";
        let mut tree = Tree::default();
        let Some(url) = base_url.filter(|url| !url.is_empty()) else { return tree };
        if !is_address(url) {
            let problem =
                Problem::WrongType { expected: Shape::Address.expected(), found: format!("{url:?}") };
            let file = Some("the environment".into());
            self.faults.push(Fault { file, line: None, key: NAME.to_owned(), problem });
            return tree;
        }
        let origin = ValueOrigin { layer: Layer::Variable(NAME), file: None, line: None };
        let path = ["model_providers", "openai", "base_url"].map(str::to_owned);
        tree.put(&path, TreeValue { value: Value::Text(url.to_owned()), origin });
        tree
    }

    /// The layers below the profile: the administrator's file, Codex's, the user's own.
    pub(super) fn users(&mut self, request: &Request) -> Tree {
        let mut tree = self.file(&self.places.system.join("config.toml"), &Layer::System);
        if request.import_codex {
            tree.overlay(self.codex());
        }
        if let (Some(file), false) = (self.places.user_file(), request.ignore_user_config) {
            tree.overlay(self.file(&file, &Layer::User));
        }
        tree
    }

    /// Merges the profile that the command line or a file names over the layers so far.
    pub(super) fn profile(&mut self, request: &Request, overrides: &Tree, tree: &mut Tree) {
        let named = |tree: &Tree| match tree.leaf("profile") {
            Some(TreeValue { value: Value::Text(name), origin }) => Some((name.clone(), origin.clone())),
            _ => None,
        };
        let line = ValueOrigin { layer: Layer::CommandLine, file: None, line: None };
        let asked = request.profile.clone().map(|name| (name, line));
        let Some((name, origin)) = asked.or_else(|| named(overrides)).or_else(|| named(tree)) else { return };
        let layer = Layer::Profile(name.clone());
        let mut found = false;
        for profiles in std::mem::take(&mut self.profiles) {
            if let Some(mut table) = profiles.tables.table(&name).cloned() {
                table.relabel(&layer);
                tree.overlay(table);
                found = true;
            }
            let file = Profiles::file_name(&name).map(|file| profiles.folder.join(file));
            if let Some(file) = file.filter(|file| file.exists()) {
                tree.overlay(self.profile_file(&file, &layer, profiles.of_codex));
                found = true;
            }
            self.profiles.push(profiles);
        }
        let leaf = TreeValue { value: Value::Text(name.clone()), origin: origin.clone() };
        tree.put(&["profile".to_owned()], leaf);
        if !found {
            let problem = Problem::NoSuch { what: "profile", name, known: self.known_profiles() };
            self.faults.push(Fault {
                file: origin.file,
                line: origin.line,
                key: "profile".to_owned(),
                problem,
            });
        }
    }

    fn profile_file(&mut self, file: &Path, layer: &Layer, of_codex: bool) -> Tree {
        let Some(text) = self.text(file) else { return Tree::default() };
        let reading = read(&text, &self.source(file, layer), &PROFILE);
        if of_codex {
            self.notes.extend(reading.faults.iter().map(codex::note));
        } else {
            self.faults.extend(reading.faults);
        }
        reading.tree
    }

    fn known_profiles(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.profiles.iter().flat_map(|profiles| profiles.tables.nodes.keys().cloned()).collect();
        names.extend(self.profiles.iter().flat_map(Profiles::files));
        names.sort();
        names.dedup();
        names
    }

    /// Merges the part of a trusted project's files that a project may set. The restrictions are relative to all of the
    /// user's values, the command line included: a server that was named there is the user's too.
    pub(super) fn with_project(&mut self, project: &Project, mut tree: Tree, overrides: &Tree) -> Tree {
        for file in project.config_files() {
            let layer = self.file(&file, &Layer::Project);
            let mut base = tree.clone();
            base.overlay(overrides.clone());
            let bounds = Bounds { base: &base, root: &project.root };
            let speaker =
                if project.may_name_programs(&file) { ConfigAuthor::Project } else { ConfigAuthor::Folder };
            let (kept, notes) = guard::confine(&layer, speaker, bounds);
            self.notes.extend(notes);
            tree.overlay(kept);
        }
        tree
    }

    /// Reads a file that must exist.
    pub(super) fn required(&mut self, file: &Path, layer: &Layer, what: &str) -> Tree {
        if !file.exists() {
            self.unreadable(file, format!("{what} does not exist"));
            return Tree::default();
        }
        self.checked(file, layer, &PROFILE)
    }

    /// Reads a file with profiles, which may be absent.
    fn file(&mut self, file: &Path, layer: &Layer) -> Tree {
        let mut tree = self.checked(file, layer, &ROOT);
        if *layer != Layer::Project {
            self.keep_profiles(file, &mut tree, false);
        }
        tree
    }

    fn checked(&mut self, file: &Path, layer: &Layer, table: &Table) -> Tree {
        let Some(text) = self.text(file) else { return Tree::default() };
        let reading = read(&text, &self.source(file, layer), table);
        self.faults.extend(reading.faults);
        reading.tree
    }

    fn codex(&mut self) -> Tree {
        let Some(folder) = &self.places.codex else { return Tree::default() };
        let file = folder.join("config.toml");
        if !file.exists() {
            self.unreadable(&file, "there is nothing to import from Codex".to_owned());
            return Tree::default();
        }
        let Some(text) = self.text(&file) else { return Tree::default() };
        let imported = codex::import(&text, &self.source(&file, &Layer::Codex), folder);
        self.faults.extend(imported.faults);
        self.notes.extend(imported.notes);
        let mut tree = imported.tree;
        self.keep_profiles(&file, &mut tree, true);
        tree
    }

    /// Profiles on the command line: `-c profiles.NAME.key=value`.
    pub(super) fn keep_override_profiles(&mut self, overrides: &mut Tree) {
        let file = self.places.cwd.join("-c");
        self.keep_profiles(&file, overrides, false);
    }

    fn keep_profiles(&mut self, file: &Path, tree: &mut Tree, of_codex: bool) {
        let folder = file.parent().unwrap_or(Path::new("/")).to_owned();
        self.profiles.push(Profiles { folder, tables: tree.take("profiles"), of_codex });
    }

    fn text(&mut self, file: &Path) -> Option<String> {
        match small_file::text(file, LARGEST) {
            Ok(text) => text,
            Err(error) => {
                self.unreadable(file, error.to_string());
                None
            }
        }
    }

    fn unreadable(&mut self, file: &Path, reason: String) {
        let problem = Problem::Unreadable { reason };
        self.faults.push(Fault { file: Some(file.to_owned()), line: None, key: String::new(), problem });
    }

    fn source<'s>(&self, file: &'s Path, layer: &Layer) -> Source<'s>
    where
        'p: 's,
    {
        let folder = file.parent().unwrap_or(Path::new("/"));
        Source { layer: layer.clone(), file: Some(file), folder, home: self.places.home.as_deref() }
    }
}

impl Profiles {
    const ENDING: &'static str = ".config.toml";

    /// The file name of a profile, if the profile's name is a valid file name.
    pub(super) fn file_name(name: &str) -> Option<String> {
        let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']);
        plain.then(|| format!("{name}{}", Self::ENDING))
    }

    fn files(&self) -> Vec<String> {
        let entries = self.folder.read_dir().into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| name.strip_suffix(Self::ENDING).map(str::to_owned)).collect()
    }
}

impl std::fmt::Debug for Profiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.tables.nodes.iter().filter(|(_, node)| matches!(node, Node::Table(_)));
        f.debug_list().entries(names.map(|(name, _)| name)).finish()
    }
}
