//! The files of the workspace, read once; rules look at them and never at the disk, so samples can stand in for them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result};

/// Every text file, and the path of every file and folder, relative to the root with `/` between the parts.
pub(crate) struct Workspace {
    files: Vec<File>,
    paths: BTreeSet<String>,
}

/// A text file.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Folders that are built, fetched or found, not written: what `.gitignore` lists, and git's own.
const NOT_OURS: &[&str] =
    &[".git", "target", "fuzz/artifacts", "fuzz/corpus", "fuzz/coverage", "node_modules"];

impl Workspace {
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut workspace = Self { files: Vec::new(), paths: BTreeSet::new() };
        workspace.read_folder(root, "").with_context(|| format!("cannot read {}", root.display()))?;
        Ok(workspace)
    }

    /// A made-up workspace of these paths and texts.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let paths = files.iter().flat_map(|(path, _)| with_parents(path)).collect();
        let files = files.iter().map(|&(path, text)| File { path: path.to_owned(), text: text.to_owned() });
        Self { files: files.collect(), paths }
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    pub(crate) fn rust_files(&self) -> impl Iterator<Item = &File> {
        self.files_named(".rs")
    }

    pub(crate) fn files_named(&self, ending: &str) -> impl Iterator<Item = &File> {
        self.files.iter().filter(move |file| file.path.ends_with(ending))
    }

    /// Whether there is such a file, of text or not, or such a folder.
    pub(crate) fn contains(&self, path: &str) -> bool {
        path.is_empty() || self.paths.contains(path)
    }

    fn read_folder(&mut self, folder: &Path, relative: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = join(relative, &entry.file_name().to_string_lossy());
            let kind = entry.file_type()?;
            // Also as a file: in a linked work tree `.git` is one.
            if !is_ours(&path) {
                continue;
            }
            if kind.is_dir() {
                self.read_folder(&entry.path(), &path)?;
            } else if kind.is_file() {
                self.read_file(&entry.path(), &path)?;
            }
            self.paths.insert(path);
        }
        Ok(())
    }

    fn read_file(&mut self, file: &Path, relative: &str) -> io::Result<()> {
        match fs::read(file) {
            Ok(bytes) => {
                let text = String::from_utf8(bytes).ok();
                self.files.extend(text.map(|text| File { path: relative.to_owned(), text }));
                Ok(())
            }
            // An editor's passing file may be gone again.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl File {
    /// The crate this file belongs to: its folder's name, or nothing for files of the workspace itself.
    pub(crate) fn room(&self) -> &str {
        match self.path.split('/').collect::<Vec<_>>()[..] {
            ["crates", room, _, ..] => room,
            [room @ ("bench" | "xtask" | "fuzz"), _, ..] => room,
            _ => "",
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The folder of the modules it declares.
    pub(crate) fn module_folder(&self) -> &str {
        match self.name() {
            "lib.rs" | "main.rs" | "mod.rs" => self.folder(),
            _ => self.path.trim_end_matches(".rs"),
        }
    }

    /// Whether it is the module at this path, given without the `.rs`, or one inside it.
    pub(crate) fn is_module(&self, path: &str) -> bool {
        self.path.strip_prefix(path).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    }

    /// Its folder, or nothing for the root.
    pub(crate) fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
}

fn is_ours(path: &str) -> bool {
    !NOT_OURS.iter().any(|&other| path == other || path.ends_with(&format!("/{other}")))
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

#[cfg(test)]
fn with_parents(path: &str) -> Vec<String> {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    ends.map(|end| path[..end].to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_room(path: &str, room: &str) {
        let file = File { path: path.to_owned(), text: String::new() };
        assert_eq!(file.room(), room, "{path}");
    }

    #[test]
    fn a_file_belongs_to_the_crate_whose_folder_it_is_in() {
        check_room("crates/sys/src/pty.rs", "sys");
        check_room("bench/src/main.rs", "bench");
        check_room("xtask/Cargo.toml", "xtask");
        check_room("Cargo.toml", "");
        check_room("docs/gotchas.md", "");
    }

    #[test]
    fn what_is_built_is_not_ours_at_any_depth() {
        assert!(!is_ours("target"));
        assert!(!is_ours("fuzz/target"));
        assert!(!is_ours("fuzz/corpus"));
        assert!(is_ours("crates/sys/src/target_size"));
    }

    #[test]
    fn folders_are_contained_too() {
        let workspace = Workspace::of(&[("docs/design/a.md", "")]);
        assert!(workspace.contains("docs/design"));
        assert!(workspace.contains(""));
        assert!(!workspace.contains("docs/des"));
    }
}
