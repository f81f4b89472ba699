//! Writing files: preserved metadata, temporary files, and concurrent changes by other processes.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

use windlass_patch::ApplyError;

use crate::workspace::Workspace;

const UPDATE: &str = "*** Update File: a.txt\n@@\n-one\n+uno";

fn set_mode(workspace: &Workspace, path: &str, mode: u32) {
    fs::set_permissions(workspace.path(path), Permissions::from_mode(mode)).expect("permissions can be set");
}

fn mode(workspace: &Workspace, path: &str) -> u32 {
    fs::metadata(workspace.path(path)).expect("it is there").mode() & 0o7777
}

#[test]
fn permissions_stay_the_executable_bit_among_them() {
    let workspace = Workspace::with(&[("a.txt", "one\n")]);
    for bits in [0o755, 0o600, 0o640, 0o777] {
        workspace.write("a.txt", b"one\n");
        set_mode(&workspace, "a.txt", bits);
        workspace.apply(UPDATE).expect("it applies");
        assert_eq!((workspace.read("a.txt").as_str(), mode(&workspace, "a.txt")), ("uno\n", bits));
    }
    workspace.apply("*** Add File: a.txt\n+new").expect("it applies");
    assert_eq!(mode(&workspace, "a.txt"), 0o777, "also where a file is added over it");
}

#[test]
fn a_moved_file_takes_its_permissions_with_it() {
    let workspace = Workspace::with(&[("a.txt", "one\n"), ("b.txt", "other\n")]);
    set_mode(&workspace, "a.txt", 0o751);
    set_mode(&workspace, "b.txt", 0o600);
    workspace.apply("*** Update File: a.txt\n*** Move to: b.txt\n@@\n-one\n+uno").expect("it applies");
    assert_eq!((workspace.read("b.txt").as_str(), mode(&workspace, "b.txt")), ("uno\n", 0o751));
}

#[test]
fn an_added_file_has_what_files_get_here() {
    let workspace = Workspace::with(&[("ordinary", "")]);
    workspace.apply("*** Add File: a.txt\n+one").expect("it applies");
    assert_eq!(mode(&workspace, "a.txt"), mode(&workspace, "ordinary"));
}

#[test]
fn the_owner_stays_where_that_may_be_decided() {
    let workspace = Workspace::with(&[("a.txt", "one\n")]);
    // Only root may change the owner of a file; for other users the file keeps its owner, and the test checks that.
    let given = chown(workspace.path("a.txt"), Some(12345), Some(54321)).is_ok();
    let owner = |path: &str| fs::metadata(workspace.path(path)).map(|found| (found.uid(), found.gid()));
    let before = owner("a.txt").expect("it is there");
    assert!(!given || before == (12345, 54321));
    workspace.apply(UPDATE).expect("it applies");
    assert_eq!(owner("a.txt").expect("it is there"), before);
    workspace.apply("*** Update File: a.txt\n*** Move to: b.txt\n@@\n uno").expect("it applies");
    assert_eq!(owner("b.txt").expect("it is there"), before);
}

#[test]
fn extended_attributes_stay_where_the_disk_has_them() {
    let workspace = Workspace::with(&[("a.txt", "one\n")]);
    let path = workspace.path("a.txt");
    let flags = rustix::fs::XattrFlags::empty();
    let outcome = rustix::fs::setxattr(&path, "user.windlass", b"kept", flags);
    workspace.apply(UPDATE).expect("it applies");
    let mut value = [0; 16];
    let found = rustix::fs::getxattr(&path, "user.windlass", &mut value[..]);
    assert_eq!(found.is_ok(), outcome.is_ok());
    assert!(outcome.is_err() || value.starts_with(b"kept"));
}

#[test]
fn all_names_of_a_file_see_the_change() {
    let workspace = Workspace::with(&[("a.txt", "one\n")]);
    fs::hard_link(workspace.path("a.txt"), workspace.path("twin.txt")).expect("a second name can be made");
    workspace.apply(UPDATE).expect("it applies");
    assert_eq!((workspace.read("a.txt"), workspace.read("twin.txt")), ("uno\n".into(), "uno\n".into()));
    let number = |path: &str| fs::metadata(workspace.path(path)).expect("it is there").ino();
    assert_eq!(number("a.txt"), number("twin.txt"));
}

#[test]
fn a_file_that_is_moved_over_one_of_several_names_takes_that_name_alone() {
    let workspace = Workspace::with(&[("a.txt", "one\n"), ("b.txt", "other\n")]);
    fs::hard_link(workspace.path("b.txt"), workspace.path("twin.txt")).expect("a second name can be made");
    workspace.apply("*** Update File: a.txt\n*** Move to: b.txt\n@@\n one").expect("it applies");
    assert_eq!((workspace.read("b.txt"), workspace.read("twin.txt")), ("one\n".into(), "other\n".into()));
}

#[test]
fn a_file_is_replaced_and_not_written_into() {
    let workspace = Workspace::with(&[("a.txt", "one\n")]);
    let open = fs::File::open(workspace.path("a.txt")).expect("it can be opened");
    workspace.apply(UPDATE).expect("it applies");
    assert_eq!(
        std::io::read_to_string(open).expect("it can be read"),
        "one\n",
        "who reads it, reads it whole"
    );
}

#[test]
fn nothing_lies_about_afterwards() {
    let workspace = Workspace::with(&[("a.txt", "one\n"), ("b.txt", "b\n"), ("c.txt", "c\n")]);
    let sections = format!(
        "{UPDATE}\n*** Delete File: b.txt\n*** Update File: c.txt\n*** Move to: d/c.txt\n@@\n c\n*** Add File: e.txt\n+e"
    );
    let report = workspace.apply(&sections).expect("it applies");
    assert_eq!(report.warnings, []);
    let names: Vec<String> = workspace.tree().keys().map(|path| name(&workspace, path)).collect();
    assert_eq!(names, ["a.txt", "d", "d/c.txt", "e.txt"]);
}

fn name(workspace: &Workspace, path: &std::path::Path) -> String {
    path.strip_prefix(workspace.root()).expect("it is in the workspace").display().to_string()
}

#[test]
fn a_file_that_would_not_change_is_not_written() {
    let workspace = Workspace::with(&[("a.txt", "one\n")]);
    let number = |path: &str| fs::metadata(workspace.path(path)).expect("it is there").ino();
    let before = number("a.txt");
    workspace.apply("*** Update File: a.txt\n@@\n-one\n+one").expect("it applies");
    assert_eq!(number("a.txt"), before);
}

/// Runs `happening` between verifying and applying.
fn check_changed(sections: &str, happening: impl Fn(&Workspace)) {
    let workspace = Workspace::with(&[("a.txt", "one\n"), ("b.txt", "b\n"), ("d/x.txt", "x\n")]);
    let plan = workspace.verify(sections).expect("it fits");
    happening(&workspace);
    let before = workspace.tree();
    let error = plan.apply().expect_err("something changed");
    assert!(matches!(error, ApplyError::Changed { .. }), "{error}");
    assert!(error.to_string().contains("changed on disk since the patch was verified; nothing was written"));
    assert_eq!(workspace.tree(), before);
}

#[test]
fn what_changed_after_verifying_is_an_error_before_anything_is_written() {
    let both = format!("*** Update File: b.txt\n@@\n-b\n+B\n{UPDATE}");
    check_changed(&both, |workspace| workspace.write("a.txt", b"one\nmore\n"));
    check_changed(&both, |workspace| fs::remove_file(workspace.path("a.txt")).expect("it can be removed"));
    check_changed(&both, |workspace| workspace.write("a.txt", b"\xff"));
    let add = "*** Update File: b.txt\n@@\n-b\n+B\n*** Add File: c.txt\n+c";
    check_changed(add, |workspace| workspace.write("c.txt", b"somebody's\n"));
    let delete = "*** Update File: b.txt\n@@\n-b\n+B\n*** Delete File: a.txt";
    check_changed(delete, |workspace| workspace.write("a.txt", b"precious\n"));
}

#[test]
fn a_path_that_leads_elsewhere_after_verifying_is_an_error() {
    check_changed("*** Add File: d/new.txt\n+x", |workspace| {
        fs::rename(workspace.path("d"), workspace.path("e")).expect("it can be moved");
        symlink("/tmp", workspace.path("d")).expect("a link can be made");
    });
    check_changed(UPDATE, |workspace| {
        workspace.write("c.txt", b"one\n");
        fs::remove_file(workspace.path("a.txt")).expect("it can be removed");
        symlink("c.txt", workspace.path("a.txt")).expect("a link can be made");
    });
}

#[test]
fn patches_at_the_same_time_do_not_disturb_each_other() {
    let workspace = Workspace::with(&[("d/gone.txt", "x\n")]);
    let files: Vec<String> = (0..8).map(|number| format!("d/sub/{number}.txt")).collect();
    let workspace = &workspace;
    std::thread::scope(|scope| {
        for file in &files {
            scope.spawn(move || {
                for _ in 0..20 {
                    workspace.apply(&format!("*** Add File: {file}\n+one")).expect("it is added");
                    let update = format!("*** Update File: {file}\n@@\n-one\n+uno");
                    workspace.apply(&update).expect("it is updated");
                }
            });
        }
    });
    assert!(files.iter().all(|file| workspace.read(file) == "uno\n"));
    assert_eq!(workspace.tree().len(), 3 + files.len(), "nothing lies about");
}

#[test]
fn verifying_writes_nothing() {
    let workspace = Workspace::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
    let before = workspace.tree();
    let sections = format!("{UPDATE}\n*** Delete File: b.txt\n*** Add File: x/y.txt\n+y");
    workspace.verify(&sections).expect("it fits");
    assert_eq!(workspace.tree(), before);
}
