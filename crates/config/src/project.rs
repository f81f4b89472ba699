//! The project around the working directory: where it begins, whether it is trusted, and what it would contribute. A
//! project that is not trusted contributes nothing, and what was left out is listed so that its user can be told.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::choices::TrustLevel;
use crate::instructions;
use crate::settings::Settings;

/// Where a project keeps its configuration.
pub(crate) const CONFIG: &str = ".windlass/config.toml";
/// Where it keeps its skills.
pub(crate) const SKILLS: &str = ".agents/skills";

/// The project around the working directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Its topmost directory: the nearest one above with a marker; without any, the working directory itself.
    pub root: PathBuf,
    /// From the topmost directory to the working directory.
    pub directories: Vec<PathBuf>,
    /// Whether it may contribute anything.
    pub trust: Trust,
    /// Those of its directories that the user trusts by name. The others are trusted because the project around them is; a
    /// command that works in the project can make them, so what lies there names no programs.
    pub trusted_directories: Vec<PathBuf>,
    /// What it would contribute, were it trusted.
    pub left_out: Vec<LeftOut>,
}

/// Whether a project may contribute configuration, instructions and skills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The user trusts it.
    Trusted,
    /// The user does not.
    Untrusted,
    /// The user has not said, which counts as no.
    Unknown,
}

/// Something that was not read because the project is not trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Where it is.
    pub path: PathBuf,
    /// What it would have been.
    pub kind: LeftOutKind,
}

/// What was left out.
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

    /// Looks for the project around a directory. `given` is what the user says about it on the command line.
    pub(crate) fn find(cwd: &Path, settings: &Settings, given: Option<Trust>) -> Self {
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        let root = root(&cwd, &settings.project_root_markers);
        let mut directories: Vec<PathBuf> = cwd.ancestors().map(Path::to_owned).collect();
        directories
            .truncate(directories.iter().position(|directory| *directory == root).map_or(1, |at| at + 1));
        directories.reverse();
        let said = Said::of(&settings.projects);
        let trust = given.unwrap_or_else(|| said.about_all(&directories));
        // A word on the command line is about the project, which is its topmost directory.
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

    /// The configuration files that count, the topmost first.
    pub(crate) fn config_files(&self) -> Vec<PathBuf> {
        if self.is_trusted() { self.existing(CONFIG) } else { Vec::new() }
    }

    /// Whether a configuration file of the project may name programs: the user trusts the very directory it belongs to.
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

    /// What exists of this name, in the topmost directory first.
    pub(crate) fn existing(&self, name: &str) -> Vec<PathBuf> {
        let paths = self.directories.iter().map(|directory| directory.join(name));
        paths.filter(|path| path.exists()).collect()
    }
}

fn root(cwd: &Path, markers: &[String]) -> PathBuf {
    let marked = |directory: &&Path| markers.iter().any(|marker| directory.join(marker).exists());
    cwd.ancestors().find(marked).unwrap_or(cwd).to_owned()
}

/// Which directories the user trusts and which not, by their real paths.
struct Said(Vec<(PathBuf, TrustLevel)>);

impl Said {
    fn of(projects: &BTreeMap<PathBuf, TrustLevel>) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self(projects.iter().map(|(path, level)| (real(path), *level)).collect())
    }

    fn about(&self, directory: &Path) -> Option<TrustLevel> {
        let levels = self.0.iter().filter(|(path, _)| path == directory).map(|(_, level)| *level);
        // Two ways to write one path: the stricter word holds.
        levels.max()
    }

    /// The nearest directory that the user said something about decides; directories above the project do not count.
    fn about_all(&self, directories: &[PathBuf]) -> Trust {
        match directories.iter().rev().find_map(|directory| self.about(directory)) {
            Some(TrustLevel::Trusted) => Trust::Trusted,
            Some(TrustLevel::Untrusted) => Trust::Untrusted,
            None => Trust::Unknown,
        }
    }
}
