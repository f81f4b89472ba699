//! Rules for documents: they exist, their links lead to files, and they name no path of one machine.

use crate::tidy::finding::Finding;
use crate::tidy::workspace::{File, Workspace};

/// Documents a newcomer looks for.
const REQUIRED: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "GLOSSARY.md",
    "LICENSE",
    "docs/gotchas.md",
];

/// Folders that exist on one machine only, when they stand at the root of a path. `home` is one with a name behind it.
const MACHINE_FOLDERS: &[&str] = &["work", "root", "home"];

/// Names that stand for any user in an example, so a home folder of theirs belongs to no real user.
const ANYBODY: &[&str] = &["me", "you", "user"];

/// Every required document is there.
pub(crate) fn exist(workspace: &Workspace) -> Vec<Finding> {
    let missing = REQUIRED.iter().filter(|path| !workspace.contains(path));
    missing.map(|path| Finding::fault("document", (path, 1), "it is missing: write it")).collect()
}

/// Relative links lead to files and folders that exist.
pub(crate) fn link_to_what_exists(workspace: &Workspace) -> Vec<Finding> {
    let links = workspace.files_named(".md").flat_map(links);
    let broken = links.filter(|link| !workspace.contains(&resolve(link.file.folder(), link.target)));
    broken
        .map(|Link { file, line, target }| {
            let advice = format!("there is no `{target}`, seen from this file");
            Finding::fault("link", (&file.path, line), advice)
        })
        .collect()
}

/// Paths of source files that documents name in code quotes lead to files. The changelog names files that existed once,
/// and designs name planned ones.
pub(crate) fn name_files_that_exist(workspace: &Workspace) -> Vec<Finding> {
    let current = |file: &&File| file.path != "CHANGELOG.md" && !file.path.starts_with("docs/design/");
    let named = workspace.files_named(".md").filter(current).flat_map(source_paths);
    named
        .filter(|(_, _, path)| !workspace.contains(path.trim_end_matches('/')))
        .map(|(file, line, path)| {
            Finding::fault("named-file", (&file.path, line), format!("there is no `{path}`"))
        })
        .collect()
}

/// The paths below `crates/` that stand in code quotes, without patterns.
fn source_paths(file: &File) -> impl Iterator<Item = (&File, usize, &str)> {
    file.text.lines().enumerate().flat_map(move |(index, text)| {
        let quoted = text.split('`').skip(1).step_by(2);
        let paths = quoted.filter(|path| path.starts_with("crates/") && !path.contains([' ', '*', '<', '{']));
        paths.map(move |path| (file, index + 1, path))
    })
}

/// No file mentions a path that exists on one machine only.
pub(crate) fn name_no_machine(workspace: &Workspace) -> Vec<Finding> {
    workspace.files().flat_map(machine_paths).collect()
}

/// A relative link in a document.
struct Link<'a> {
    file: &'a File,
    line: usize,
    target: &'a str,
}

fn links(file: &File) -> Vec<Link<'_>> {
    let mut in_code = false;
    let mut links = Vec::new();
    for (index, text) in file.text.lines().enumerate() {
        if text.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            links.extend(relative_targets(text).map(|target| Link { file, line: index + 1, target }));
        }
    }
    links
}

/// Where the links of a line lead, without the fragment: `[text](target#fragment)` and `[name]: target`.
fn relative_targets(line: &str) -> impl Iterator<Item = &str> {
    let outside_code = line.split('`').step_by(2);
    let inline = outside_code.flat_map(|text| text.split("](").skip(1));
    let inline = inline.filter_map(|after| after.split([')', ' ']).next());
    let targets = inline.chain(definition(line));
    let targets = targets.filter(|target| !target.contains(':') && !target.starts_with('#'));
    targets.filter_map(|target| target.split('#').next()).filter(|target| !target.is_empty())
}

fn definition(line: &str) -> Option<&str> {
    let (_, target) = line.strip_prefix('[')?.split_once("]: ")?;
    target.split(' ').next()
}

/// A relative path seen from a folder, as a path seen from the root; one that begins with `/` is seen from there
/// already.
fn resolve(folder: &str, target: &str) -> String {
    let from = if target.starts_with('/') { "" } else { folder };
    let mut parts: Vec<&str> = Vec::new();
    for part in from.split('/').chain(target.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn machine_paths(file: &File) -> Vec<Finding> {
    let lines = file.text.lines().enumerate().filter(|(_, text)| names_a_machine(text));
    let advice = "this path exists on one machine only; make it relative, or a placeholder such as `$HOME`";
    lines.map(|(index, _)| Finding::fault("machine-path", (&file.path, index + 1), advice)).collect()
}

fn names_a_machine(line: &str) -> bool {
    MACHINE_FOLDERS.iter().any(|folder| {
        let path = format!("/{folder}/");
        line.match_indices(&path)
            .any(|(at, _)| begins_a_path(&line[..at]) && goes_on(&line[at + path.len()..]))
    })
}

/// Whether a slash after this text is the first of its path.
fn begins_a_path(before: &str) -> bool {
    !before.ends_with(|c: char| c.is_alphanumeric() || "_-.~/}>)*$".contains(c))
}

/// Whether a real name follows, rather than a placeholder or the end of the path.
fn goes_on(after: &str) -> bool {
    let end = after.find(|c: char| !c.is_alphanumeric() && c != '.' && c != '_');
    let name = &after[..end.unwrap_or(after.len())];
    !name.is_empty() && !ANYBODY.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::samples::check_workspace;

    #[test]
    fn a_missing_document_is_asked_for() {
        let all: Vec<(&str, &str)> = REQUIRED.iter().map(|&path| (path, "")).collect();
        check_workspace(exist, &all, &[]);
        check_workspace(exist, &all[1..], &["README.md:1: document"]);
    }

    fn check_links(text: &str, expected: &[&str]) {
        let files = [("docs/a.md", text), ("docs/b.md", ""), ("README.md", ""), ("docs/design/c.md", "")];
        check_workspace(link_to_what_exists, &files, expected);
    }

    #[test]
    fn links_lead_to_files_and_folders() {
        check_links("[b](b.md) [up](../README.md#use) [folder](design/) [root](/README.md)", &[]);
        check_links("text\n[x](missing.md)", &["docs/a.md:2: link"]);
        check_links("![x](shot.png \"title\")", &["docs/a.md:1: link"]);
        check_links("[x]: missing.md", &["docs/a.md:1: link"]);
    }

    #[test]
    fn addresses_fragments_and_code_are_not_relative_links() {
        check_links("[web](https://example.com/x) [mail](mailto:a@b) [here](#below)", &[]);
        check_links("`[x](missing.md)`\n```\n[x](missing.md)\n```\n", &[]);
    }

    #[test]
    fn files_that_a_document_names_are_there() {
        let check = |text: &str, expected: &[&str]| {
            let files = [("docs/a.md", text), ("crates/sys/src/pty.rs", "")];
            check_workspace(name_files_that_exist, &files, expected);
        };
        check("| terminals | `crates/sys/src/pty.rs` in `crates/sys/` |", &[]);
        check("\n`crates/sys/src/tty.rs`", &["docs/a.md:2: named-file"]);
        check("`crates/*/src` and `cargo test -p x`", &[]);
    }

    fn check_paths(text: &str, expected: &[&str]) {
        check_workspace(name_no_machine, &[("docs/a.md", text)], expected);
    }

    #[test]
    fn a_path_of_one_machine_is_found() {
        // Built from parts, so that this file does not name one itself.
        for folder in MACHINE_FOLDERS {
            check_paths(&format!("first\nsee /{folder}/ada"), &["docs/a.md:2: machine-path"]);
            check_paths(&format!("\"/{folder}/.cargo\""), &["docs/a.md:1: machine-path"]);
        }
    }

    #[test]
    fn paths_that_only_look_so_are_fine() {
        for folder in MACHINE_FOLDERS {
            check_paths(&format!("src/{folder}/x and https://a.b/{folder}/x and $DIR/{folder}/x"), &[]);
            check_paths(&format!("/{folder}/ or /{folder}/$USER or /{folder}/<name> or /{folder}/me"), &[]);
        }
    }
}
