//! Finds and reads rules files. A file with a fault is never ignored: its author intended a restriction.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use windlass_exec_policy::{Fault, Rules, RulesFile};

use crate::args::McpServe;
use crate::config::{Config, below_home};

/// The owner of a rules file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The user's file: it applies everywhere.
    User,
    /// A project's file: it can only add restrictions.
    Project,
}

/// A path at which a rules file may exist.
#[derive(Clone, Debug)]
pub(crate) struct RulesLocation {
    pub(crate) owner: Owner,
    pub(crate) path: PathBuf,
}

/// A rules file that cannot be used.
#[derive(Debug)]
pub(crate) struct Faulty {
    name: String,
    faults: Vec<Fault>,
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the rules in {} cannot be used", self.name)?;
        self.lines().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl Faulty {
    /// Each fault with its file and line.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        self.faults.iter().map(|fault| format!("{}:{}: {}", self.name, fault.line, fault.message))
    }
}

impl std::error::Error for Faulty {}

/// The usual paths, the user's first.
pub(crate) fn places(config: &Config) -> Result<Vec<RulesLocation>> {
    let absolute =
        |name| config.variable(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute());
    let user = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    let user =
        user.map(|folder| RulesLocation { owner: Owner::User, path: folder.join("windlass/rules.toml") });
    let project = Config::working_directory()?.join(".windlass/rules.toml");
    Ok(user.into_iter().chain([RulesLocation { owner: Owner::Project, path: project }]).collect())
}

/// The rules of the usual files; `None` if no file exists.
pub(crate) fn usual(config: &Config) -> Result<Option<Rules>> {
    let (user, project) = both(config)?;
    let is_there = user.is_some() || project.is_some();
    Ok(is_there.then(|| Rules::compose(user, project)))
}

/// The rules of the usual files, which ask about all commands that no rule matches.
pub(crate) fn asking(config: &Config) -> Result<Rules> {
    // The denial of a command says where a rule could allow it, so the name begins with the file for such rules.
    let file = places(config)?.into_iter().find(|place| place.owner == Owner::User);
    let file = file.map_or_else(String::new, |place| format!("{} ", place.path.display()));
    let name = format!("{file}(approval_policy = \"untrusted\")");
    let asking = RulesFile::parse("default = \"ask\"\n", &name).map_err(|faults| Faulty { name, faults })?;
    let (user, project) = both(config)?;
    let user = user.map_or(asking.clone(), |user| user.with_default_of(&asking));
    Ok(Rules::compose(Some(user), project))
}

/// The user's file and the project's, as far as they exist.
fn both(config: &Config) -> Result<(Option<RulesFile>, Option<RulesFile>)> {
    let (mut user, mut project) = (None, None);
    for place in places(config)? {
        let file = read(&place, config)?;
        match place.owner {
            Owner::User => user = file,
            Owner::Project => project = file,
        }
    }
    Ok((user, project))
}

/// The rules of one file, which must exist.
pub(crate) fn only(path: &Path, config: &Config) -> Result<RulesFile> {
    let place = RulesLocation { owner: Owner::User, path: path.to_owned() };
    read(&place, config)?.with_context(|| format!("there is no rules file {}", path.display()))
}

/// The rules that a server was started with.
pub(crate) fn for_server(order: &McpServe, config: &Config) -> Result<Option<Rules>> {
    match &order.rules {
        _ if order.no_rules => Ok(None),
        Some(path) => Ok(Some(Rules::of(only(path, config)?))),
        None => usual(config),
    }
}

/// Reads a file; `None` if it does not exist.
pub(crate) fn read(place: &RulesLocation, config: &Config) -> Result<Option<RulesFile>> {
    let text = match std::fs::read_to_string(&place.path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", place.path.display())),
    };
    let name = below_home(&place.path, &config.environment);
    let file = match place.owner {
        Owner::User => RulesFile::parse(&text, &name),
        Owner::Project => RulesFile::parse_project(&text, &name),
    };
    Ok(Some(file.map_err(|faults| Faulty { name, faults })?))
}
