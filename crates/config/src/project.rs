//! The project around the working directory: its root, whether it is trusted, and its contributions. An untrusted
//! project contributes nothing, and a list of what was left out lets the program inform the user.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::choices::TrustLevel;
use crate::instructions;
use crate::settings::Settings;

/// The path of a project's configuration.
pub(crate) const CONFIG: &str = ".windlass/config.toml";
/// The directory of a project's skills.
pub(crate) const SKILLS: &str = ".agents/skills";

/// The project around the working directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Its root: the nearest directory above with a marker, or the working directory itself if there is none.
    pub root: PathBuf,
    /// From the root down to the working directory.
    pub directories: Vec<PathBuf>,
    /// Whether it may contribute anything.
    pub trust: Trust,
    /// Those of its directories that the user trusts by name. The others are trusted because the project around them
    /// is; but a command that works in the project can create them, so their files may not name programs.
    pub trusted_directories: Vec<PathBuf>,
    /// The files that it would contribute if it were trusted.
    pub left_out: Vec<LeftOut>,
}

/// Whether a project may contribute configuration, instructions and skills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The user trusts it.
    Trusted,
    /// The user does not trust it.
    Untrusted,
    /// The user has not decided, which counts as untrusted.
    Unknown,
}

/// A file or directory that was not read because the project is not trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its path.
    pub path: PathBuf,
    /// Its kind.
    pub kind: LeftOutKind,
}

/// The kinds of contributions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOutKind {
    /// A configuration file.
    Configuration,
    /// A file with instructions.
    Instructions,
    /// A directory of skills.
    Skills,
}

impl Project {
    /// Whether the project may contribute anything.
    pub fn is_trusted(&self) -> bool {
        self.trust == Trust::Trusted
    }

    /// Finds the project around a directory. `given` is the user's decision on the command line.
    pub(crate) fn find(cwd: &Path, settings: &Settings, given: Option<Trust>) -> Self {
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        let root = root(&cwd, &settings.project_root_markers);
        let mut directories: Vec<PathBuf> = cwd.ancestors().map(Path::to_owned).collect();
        directories
            .truncate(directories.iter().position(|directory| *directory == root).map_or(1, |at| at + 1));
        directories.reverse();
        let said = Said::of(&settings.projects);
        let trust = given.unwrap_or_else(|| said.about_all(&directories));
        // A decision on the command line is about the project, which means its root.
        let is_trusted = |directory: &&PathBuf| {
            said.about(directory) == Some(TrustLevel::Trusted)
                || (given == Some(Trust::Trusted) && **directory == root)
        };
        let trusted_directories = directories.iter().filter(is_trusted).cloned().collect();
        let mut project = Self { root, directories, trust, trusted_directories, left_out: Vec::new() };
        if !project.is_trusted() {
            project.left_out = project.contributions(settings);
        }
        project
    }

    /// The configuration files that count, from the root down.
    pub(crate) fn config_files(&self) -> Vec<PathBuf> {
        if self.is_trusted() { self.existing(CONFIG) } else { Vec::new() }
    }

    /// Whether a configuration file of the project may name programs: only if the user trusts its own directory by
    /// name.
    pub(crate) fn may_name_programs(&self, config_file: &Path) -> bool {
        let directory = config_file.parent().and_then(Path::parent);
        directory.is_some_and(|directory| self.trusted_directories.iter().any(|trusted| trusted == directory))
    }

    fn contributions(&self, settings: &Settings) -> Vec<LeftOut> {
        let of = |kind| move |path| LeftOut { path, kind };
        let configurations = self.existing(CONFIG).into_iter().map(of(LeftOutKind::Configuration));
        let documents =
            self.directories.iter().filter_map(|directory| instructions::in_directory(directory, settings));
        let skills = self.existing(SKILLS).into_iter().map(of(LeftOutKind::Skills));
        configurations.chain(documents.map(of(LeftOutKind::Instructions))).chain(skills).collect()
    }

    /// The existing files or directories of this name, from the root down.
    pub(crate) fn existing(&self, name: &str) -> Vec<PathBuf> {
        let paths = self.directories.iter().map(|directory| directory.join(name));
        paths.filter(|path| path.exists()).collect()
    }
}

fn root(cwd: &Path, markers: &[String]) -> PathBuf {
    let marked = |directory: &&Path| markers.iter().any(|marker| directory.join(marker).exists());
    cwd.ancestors().find(marked).unwrap_or(cwd).to_owned()
}

/// The user's decisions about directories, by their real paths.
struct Said(Vec<(PathBuf, TrustLevel)>);

impl Said {
    fn of(projects: &BTreeMap<PathBuf, TrustLevel>) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self(projects.iter().map(|(path, level)| (real(path), *level)).collect())
    }

    fn about(&self, directory: &Path) -> Option<TrustLevel> {
        let levels = self.0.iter().filter(|(path, _)| path == directory).map(|(_, level)| *level);
        // Several entries may name the same directory: the stricter one counts.
        levels.max()
    }

    /// The nearest directory with a decision counts; directories above the project do not.
    fn about_all(&self, directories: &[PathBuf]) -> Trust {
        match directories.iter().rev().find_map(|directory| self.about(directory)) {
            Some(TrustLevel::Trusted) => Trust::Trusted,
            Some(TrustLevel::Untrusted) => Trust::Untrusted,
            None => Trust::Unknown,
        }
    }
}
