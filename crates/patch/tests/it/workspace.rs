//! A directory with files to patch, and the checks that most tests use.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use windlass_patch::{Directory, Patch, Plan, Report};
use windlass_testkit::Scratch;

/// A test's own directory with files in it.
pub(crate) struct Workspace {
    scratch: Scratch,
}

/// Everything in a workspace: files with their bytes and permissions, links with their targets, directories.
pub(crate) type Tree = BTreeMap<PathBuf, Entry>;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    File { bytes: Vec<u8>, mode: u32 },
    Link(PathBuf),
    Directory,
}

impl Workspace {
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let workspace = Self { scratch: Scratch::new("patch") };
        for (path, text) in files {
            workspace.write(path, text.as_bytes());
        }
        workspace
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub(crate) fn root(&self) -> &Path {
        self.scratch.path()
    }

    pub(crate) fn directory(&self) -> Directory<'static> {
        Directory::at(self.root())
    }

    pub(crate) fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a file is in a directory"))
            .expect("directories can be made");
        fs::write(path, bytes).expect("a file can be written");
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    /// Verifies a patch with these sections.
    pub(crate) fn verify(&self, sections: &str) -> Result<Plan, String> {
        let patch = Patch::parse(&patch(sections)).map_err(|error| error.to_string())?;
        patch.verify(&self.directory()).map_err(|error| error.to_string())
    }

    /// Verifies and applies a patch with these sections.
    pub(crate) fn apply(&self, sections: &str) -> Result<Report, String> {
        self.verify(sections)?.apply().map_err(|error| error.to_string())
    }

    pub(crate) fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        collect(self.root(), &mut tree);
        tree
    }
}

fn collect(directory: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(directory).expect("a directory can be listed").flatten() {
        let path = entry.path();
        let found = path.symlink_metadata().expect("what is listed is there");
        let entry = if found.is_symlink() {
            Entry::Link(path.read_link().expect("a link can be read"))
        } else if found.is_dir() {
            collect(&path, tree);
            Entry::Directory
        } else if found.is_file() {
            Entry::File { bytes: fs::read(&path).expect("a file can be read"), mode: found.mode() }
        } else {
            continue;
        };
        tree.insert(path, entry);
    }
}

/// Sections between the markers.
pub(crate) fn patch(sections: &str) -> String {
    format!("*** Begin Patch\n{}\n*** End Patch\n", sections.trim_end_matches('\n'))
}

/// Expects that the chunks change the file `a.txt` from `before` to `after`.
pub(crate) fn check(before: &str, chunks: &str, after: &str) {
    let workspace = Workspace::with(&[("a.txt", before)]);
    let report = workspace.apply(&format!("*** Update File: a.txt\n{chunks}"));
    assert_eq!(report.map(|report| report.modified), Ok(vec!["a.txt".to_owned()]), "{chunks}");
    assert_eq!(workspace.read("a.txt"), after, "{chunks}");
}

/// The same, without any warning.
pub(crate) fn check_clear(before: &str, chunks: &str, after: &str) {
    check(before, chunks, after);
    let workspace = Workspace::with(&[("a.txt", before)]);
    let plan = workspace.verify(&format!("*** Update File: a.txt\n{chunks}")).expect("it fits");
    assert_eq!(plan.warnings(), [], "{chunks}");
}

/// Expects this message about chunks that do not fit the file `a.txt`, which stays as it is.
pub(crate) fn check_misfit(before: &str, chunks: &str, message: &str) {
    check_refused(&[("a.txt", before)], &format!("*** Update File: a.txt\n{chunks}"), message);
}

/// Expects this message about sections that are rejected. Nothing on the disk changes.
pub(crate) fn check_refused(files: &[(&str, &str)], sections: &str, message: &str) {
    let workspace = Workspace::with(files);
    let before = workspace.tree();
    let error = workspace.apply(sections).expect_err("it is refused");
    assert!(error.contains(message), "{error:?} should have {message:?}");
    assert_eq!(workspace.tree(), before, "{sections}");
}

/// Expects these warnings about chunks for the file `a.txt`.
pub(crate) fn check_warnings(before: &str, chunks: &str, expected: &[&str]) {
    let workspace = Workspace::with(&[("a.txt", before)]);
    let plan = workspace.verify(&format!("*** Update File: a.txt\n{chunks}")).expect("it fits");
    let warnings: Vec<String> = plan.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(warnings, expected, "{chunks}");
}

/// No temporary file is left.
pub(crate) fn check_nothing_else(workspace: &Workspace) {
    let left: Vec<PathBuf> = workspace
        .tree()
        .into_keys()
        .filter(|path| path.to_string_lossy().contains(".windlass-patch"))
        .collect();
    assert_eq!(left, Vec::<PathBuf>::new());
}
