//! Permissions to write.

use std::os::unix::fs::symlink;
use std::path::Path;

use windlass_patch::{Patch, VerifyError, WriteDenied};

use crate::workspace::{Workspace, patch};

const UPDATE: &str = "*** Update File: a.txt\n@@\n-one\n+uno";

/// The paths that are denied when only the workspace's directory `in` may be written.
fn refused(workspace: &Workspace, sections: &str) -> Option<Vec<String>> {
    let root = workspace.path("in");
    let may_write = |path: &Path| path.starts_with(&root);
    let directory = windlass_patch::Directory::at(&root).allowing(&may_write, WriteDenied::OutsideProject);
    let before = workspace.tree();
    let outcome = Patch::parse(&patch(sections)).expect("it is a patch").verify(&directory);
    assert_eq!(workspace.tree(), before, "verifying writes nothing");
    match outcome {
        Ok(_) => None,
        Err(VerifyError::Refused { paths, .. }) => {
            let names = paths.iter().map(|path| path.strip_prefix(workspace.root()).unwrap_or(path));
            Some(names.map(|path| path.display().to_string()).collect())
        }
        Err(other) => panic!("{other}"),
    }
}

fn message(refusal: WriteDenied) -> String {
    let workspace = Workspace::with(&[("a.txt", "one\n")]);
    let directory = workspace.directory().allowing(&|_| false, refusal);
    let error = Patch::parse(&patch(UPDATE)).expect("it is a patch").verify(&directory).expect_err("refused");
    assert_eq!(workspace.read("a.txt"), "one\n");
    let text = error.to_string();
    let (first, second) = text.split_once('\n').expect("two lines");
    assert_eq!(second, format!("not writable: {}", workspace.path("a.txt").display()));
    first.to_owned()
}

#[test]
fn a_refusal_is_told_in_the_known_words() {
    assert_eq!(
        message(WriteDenied::ReadOnly),
        "patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings"
    );
    assert_eq!(
        message(WriteDenied::OutsideProject),
        "patch rejected: writing outside of the project; rejected by user approval settings"
    );
    assert_eq!(message(WriteDenied::Because("no".to_owned())), "patch rejected: no");
}

#[test]
fn every_place_that_would_change_is_asked_about() {
    let workspace = Workspace::with(&[("in/a.txt", "one\n"), ("out/b.txt", "one\n")]);
    assert_eq!(refused(&workspace, UPDATE), None);
    assert_eq!(refused(&workspace, "*** Add File: x/y.txt\n+x"), None);
    let all = "*** Add File: ../c.txt\n+c\n*** Update File: ../out/b.txt\n@@\n-one\n+uno\n*** Delete File: ../out/d";
    assert_eq!(refused(&workspace, all), Some(vec!["c.txt".into(), "out/b.txt".into(), "out/d".into()]));
    let moved = "*** Update File: a.txt\n*** Move to: ../out/c.txt\n@@\n one";
    assert_eq!(refused(&workspace, moved), Some(vec!["out/c.txt".into()]));
    let taken = "*** Update File: ../out/b.txt\n*** Move to: c.txt\n@@\n one";
    assert_eq!(refused(&workspace, taken), Some(vec!["out/b.txt".into()]));
}

#[test]
fn a_link_that_leads_outside_is_outside() {
    let workspace = Workspace::with(&[("in/a.txt", "one\n"), ("out/b.txt", "one\n")]);
    symlink("../out/b.txt", workspace.path("in/file")).expect("a link can be made");
    symlink("../out", workspace.path("in/folder")).expect("a link can be made");
    symlink(workspace.path("out/b.txt"), workspace.path("in/absolute")).expect("a link can be made");
    symlink("../out/missing.txt", workspace.path("in/dangling")).expect("a link can be made");
    let outside = |name: &str| Some(vec![format!("out/{name}")]);
    assert_eq!(refused(&workspace, "*** Update File: file\n@@\n-one\n+uno"), outside("b.txt"));
    assert_eq!(refused(&workspace, "*** Add File: file\n+x"), outside("b.txt"));
    assert_eq!(refused(&workspace, "*** Add File: absolute\n+x"), outside("b.txt"));
    assert_eq!(refused(&workspace, "*** Add File: folder/new.txt\n+x"), outside("new.txt"));
    assert_eq!(refused(&workspace, "*** Add File: folder/x/../new.txt\n+x"), outside("new.txt"));
    assert_eq!(refused(&workspace, "*** Delete File: folder/b.txt"), outside("b.txt"));
    assert_eq!(refused(&workspace, "*** Add File: dangling\n+x"), outside("missing.txt"));
    assert_eq!(refused(&workspace, "*** Delete File: file"), None, "the link itself is inside");
}

#[test]
fn a_directory_that_is_not_absolute_is_refused() {
    let patch = Patch::parse(&patch(UPDATE)).expect("it is a patch");
    let error = patch.verify(&windlass_patch::Directory::at("here")).expect_err("it could be anywhere");
    assert_eq!(error.to_string(), "the directory here is not an absolute path");
}

#[test]
fn a_file_that_may_not_be_written_is_not_even_read() {
    let workspace = Workspace::with(&[("in/a.txt", "one\n"), ("out/b.txt", "secret\n")]);
    let sections = "*** Update File: ../out/b.txt\n@@\n-not there\n+x";
    assert_eq!(refused(&workspace, sections), Some(vec!["out/b.txt".into()]));
}
