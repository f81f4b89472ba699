//! `THIRD-PARTY.txt`: the licence texts of all crates that are linked into `windlass`, to be passed on with the
//! program.
//!
//! The list comes from `cargo tree`, the texts from the packages as the registry has them. Most texts differ in nothing
//! but the line about the copyright, so each stands once, under the packages it is for and their own lines.

mod linked;
mod text;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use self::linked::Package;
use self::text::LicenceText;
use crate::command;

/// How deep inside a package a licence may lie: C sources that a crate brings along have their own.
const DEEPEST: usize = 3;

const HEAD: &str = "\
Licences of the crates that are linked into windlass
====================================================

Written by `cargo xtask generate`; not to be edited. NOTICE.md lists what else the program holds.
Where a crate offers the MIT licence among others, it is used under that one.
";

/// The whole file.
pub(crate) fn text() -> Result<String> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for package in linked::packages()? {
        for text in texts(&package).with_context(|| format!("no licence of {} is found", package.name))? {
            let group = groups.entry(text.comparable()).or_insert_with(|| Group::new(&text));
            group.add(&package, text.copyrights);
        }
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    // The one that most are under first, then by name: the order must depend on nothing else.
    groups.sort_by(|one, other| {
        let size = other.packages.len().cmp(&one.packages.len());
        size.then_with(|| one.packages.cmp(&other.packages)).then_with(|| one.body.cmp(&other.body))
    });
    let sections: Vec<String> = groups.iter().map(Group::section).collect();
    Ok(format!("{HEAD}{}", sections.concat()))
}

/// A text, and the packages under it with their lines about the copyright.
struct Group {
    body: String,
    packages: BTreeMap<String, Vec<String>>,
}

impl Group {
    fn new(text: &LicenceText) -> Self {
        Self { body: text.body.clone(), packages: BTreeMap::new() }
    }

    fn add(&mut self, package: &Package, copyrights: Vec<String>) {
        let label = format!("{} {} ({})", package.name, package.version, package.licence);
        let lines = self.packages.entry(label).or_default();
        lines.extend(copyrights.into_iter().filter(|line| !line.is_empty()));
        lines.dedup();
    }

    fn section(&self) -> String {
        let mut section = format!("\n{}\n\n", "-".repeat(80));
        for (label, copyrights) in &self.packages {
            section += &format!("{label}\n");
            for line in copyrights {
                section += &format!("    {line}\n");
            }
        }
        section + &format!("\n{}\n", self.body)
    }
}

/// The licence texts of a package.
fn texts(package: &Package) -> Result<Vec<LicenceText>> {
    let mut files = Vec::new();
    find_licences(&package.folder, DEEPEST, &mut files)?;
    files.sort();
    let chosen = chosen(&package.licence, &package.folder, files);
    if !chosen.is_empty() {
        return chosen.iter().map(|file| read(file)).collect();
    }
    // The package holds no text: the terms are known all the same, and so are its authors.
    let root = command::root()?;
    let terms = match alternatives(&package.licence) {
        all if all.contains(&"MIT") => read(&root.join("LICENSE-MIT"))?,
        all if all.contains(&"Apache-2.0") => read(&root.join("LICENSE-APACHE"))?,
        _ => bail!("it has no licence file, and {} is not MIT or Apache-2.0", package.licence),
    };
    let authors = match package.authors.as_str() {
        "" => format!("the authors of {}", package.name),
        named => named.to_owned(),
    };
    Ok(vec![LicenceText { copyrights: vec![format!("Copyright (c) {authors}")], ..terms }])
}

fn read(file: &Path) -> Result<LicenceText> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(LicenceText::parse(&String::from_utf8_lossy(&bytes)))
}

fn find_licences(folder: &Path, deeper: usize, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot look into {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_ascii_lowercase();
        let kind = entry.file_type()?;
        if kind.is_dir() && deeper > 1 && !is_aside(&name) {
            find_licences(&entry.path(), deeper - 1, found)?;
        } else if kind.is_file() && is_licence(&name) {
            found.push(entry.path());
        }
    }
    Ok(())
}

/// Whether a folder holds nothing that is linked.
fn is_aside(name: &str) -> bool {
    matches!(name, "tests" | "test" | "benches" | "examples" | "fuzz" | "docs" | "target")
}

fn is_licence(name: &str) -> bool {
    const BEGINNINGS: [&str; 6] = ["license", "licence", "copying", "copyright", "notice", "unlicense"];
    let ending = Path::new(name).extension().map(|ending| ending.to_string_lossy().into_owned());
    let is_text =
        ending.is_none_or(|ending| !matches!(ending.as_str(), "rs" | "c" | "h" | "html" | "toml" | "py"));
    is_text && BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

/// Of a package that offers several licences, the files of the one that is used.
fn chosen(licence: &str, folder: &Path, files: Vec<PathBuf>) -> Vec<PathBuf> {
    let is_own = |file: &Path| file.parent() == Some(folder);
    let name = |file: &Path| file.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let is_mit = |file: &PathBuf| is_own(file) && name(file).contains("mit");
    if !alternatives(licence).contains(&"MIT") || !files.iter().any(is_mit) {
        return files;
    }
    let is_needed = |file: &PathBuf| {
        let names_an_alternative = ["license", "licence", "copying", "unlicense"];
        is_mit(file) || !is_own(file) || !names_an_alternative.iter().any(|word| name(file).starts_with(word))
    };
    files.into_iter().filter(is_needed).collect()
}

/// The licences among which one may choose; one or none where the expression is not a plain choice.
fn alternatives(licence: &str) -> Vec<&str> {
    if licence.contains(" AND ") || licence.contains('(') {
        return Vec::new();
    }
    licence.split(" OR ").flat_map(|part| part.split('/')).map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_chosen(licence: &str, files: &[&str], expected: &[&str]) {
        let folder = Path::new("/package");
        let paths = |names: &[&str]| names.iter().map(|name| folder.join(name)).collect::<Vec<_>>();
        assert_eq!(chosen(licence, folder, paths(files)), paths(expected), "{licence}");
    }

    #[test]
    fn one_of_several_licences_is_used_and_what_lies_deeper_is_kept() {
        let both = ["LICENSE-APACHE", "LICENSE-MIT"];
        check_chosen("MIT OR Apache-2.0", &both, &["LICENSE-MIT"]);
        check_chosen("Apache-2.0/MIT", &both, &["LICENSE-MIT"]);
        check_chosen("Unlicense OR MIT", &["COPYING", "LICENSE-MIT", "UNLICENSE"], &["LICENSE-MIT"]);
        check_chosen(
            "MIT OR Apache-2.0",
            &["LICENSE-MIT", "NOTICE", "c/LICENSE"],
            &["LICENSE-MIT", "NOTICE", "c/LICENSE"],
        );
        check_chosen("(MIT OR Apache-2.0) AND Unicode-3.0", &both, &both);
        check_chosen(
            "Apache-2.0 AND ISC",
            &["LICENSE", "LICENSE-other-bits"],
            &["LICENSE", "LICENSE-other-bits"],
        );
        check_chosen("MIT OR Apache-2.0", &["LICENSE"], &["LICENSE"]);
    }

    #[test]
    fn licences_are_known_by_their_names() {
        for name in [
            "license",
            "license-mit",
            "licence.md",
            "copying",
            "unlicense",
            "license-apache-2.0",
            "notice.txt",
        ] {
            assert!(is_licence(name), "{name}");
        }
        for name in ["license.rs", "src", "readme.md", "cargo.toml", "licenses.html"] {
            assert!(!is_licence(name), "{name}");
        }
    }
}
