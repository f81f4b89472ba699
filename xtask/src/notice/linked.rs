//! Which packages are linked into `windlass`, and where their sources lie.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::command;

/// The systems for which the program is built.
const TARGETS: [&str; 3] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "aarch64-apple-darwin"];

/// A package of other people.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    /// As an SPDX expression.
    pub(super) licence: String,
    /// Separated by commas.
    pub(super) authors: String,
    /// Where its sources lie.
    pub(super) folder: PathBuf,
}

/// All packages of other people that are linked, in order of their names.
pub(super) fn packages() -> Result<Vec<Package>> {
    let linked = linked_names()?;
    let metadata = command::stdout_of(command::cargo(["metadata", "--locked", "--format-version", "1"])?)?;
    let metadata: Value = serde_json::from_str(&metadata).context("`cargo metadata` printed no JSON")?;
    let packages = metadata["packages"].as_array().context("`cargo metadata` lists no packages")?;
    let is_linked = |package: &Package| linked.contains(&(package.name.clone(), package.version.clone()));
    let of_others = packages.iter().filter(|package| !package["source"].is_null());
    let mut found: Vec<Package> =
        of_others.map(read).collect::<Result<Vec<_>>>()?.into_iter().filter(is_linked).collect();
    found.sort();
    Ok(found)
}

fn read(package: &Value) -> Result<Package> {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let authors = package["authors"].as_array().map(Vec::as_slice).unwrap_or_default();
    let manifest = text("manifest_path");
    let folder = Path::new(&manifest).parent();
    Ok(Package {
        name: text("name"),
        version: text("version"),
        licence: text("license"),
        authors: authors.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        folder: folder.with_context(|| format!("{} has no manifest", text("name")))?.to_owned(),
    })
}

/// Names and versions: no tests, no build scripts, and no macros, which only the compiler runs.
fn linked_names() -> Result<BTreeSet<(String, String)>> {
    let words = ["tree", "--locked", "--package", "windlass", "--edges", "normal,no-proc-macro"];
    let format = ["--prefix", "none", "--format", "{p}"];
    let targets = TARGETS.iter().flat_map(|target| ["--target", target]);
    let tree = command::stdout_of(command::cargo(words.into_iter().chain(format).chain(targets))?)?;
    Ok(tree.lines().filter_map(name_and_version).collect())
}

/// Reads a line such as `libc v0.2.1`, which may go on with a path or `(*)`.
fn name_and_version(line: &str) -> Option<(String, String)> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    let version = words.next()?.strip_prefix('v')?;
    Some((name.to_owned(), version.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_tree_is_a_name_and_a_version() {
        let expected = Some(("libc".to_owned(), "0.2.1".to_owned()));
        assert_eq!(name_and_version("libc v0.2.1"), expected);
        assert_eq!(name_and_version("libc v0.2.1 (*)"), expected);
        assert_eq!(name_and_version(""), None);
    }
}
