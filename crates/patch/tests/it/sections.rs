//! Files that are added, deleted, updated and moved.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use windlass_patch::{Kind, Patch, render_failure};

use crate::workspace::{Workspace, check, check_refused};

#[test]
fn adding_a_file_creates_its_directories_and_ends_it_with_a_newline() {
    let workspace = Workspace::with(&[]);
    let report = workspace.apply("*** Add File: x/y/z.txt\n+one\n+two").expect("it applies");
    assert_eq!(report.added, ["x/y/z.txt"]);
    assert_eq!(workspace.read("x/y/z.txt"), "one\ntwo\n");
}

#[test]
fn adding_a_file_that_exists_overwrites_it_and_is_reported_as_added() {
    let workspace = Workspace::with(&[("a.txt", "old\n")]);
    let report = workspace.apply("*** Add File: a.txt\n+new").expect("it applies");
    assert_eq!((report.added.as_slice(), report.modified.len()), (["a.txt".to_owned()].as_slice(), 0));
    assert_eq!(workspace.read("a.txt"), "new\n");
}

#[test]
fn an_added_line_without_its_prefix_is_an_error_with_its_number() {
    check_refused(
        &[],
        "*** Add File: a.txt\n+one\ntwo",
        "invalid hunk at line 4, 'two' is not a valid hunk header. Valid hunk headers: '*** Add File: {path}', \
         '*** Delete File: {path}', '*** Update File: {path}'",
    );
}

#[test]
fn adding_a_file_without_lines_creates_an_empty_one() {
    let workspace = Workspace::with(&[]);
    assert_eq!(workspace.apply("*** Add File: a.txt").expect("it applies").added, ["a.txt"]);
    assert_eq!(workspace.read("a.txt"), "");
}

#[test]
fn an_empty_line_between_added_ones_has_only_lost_its_prefix() {
    let workspace = Workspace::with(&[]);
    let sections = "*** Add File: a.txt\n+one\n\n+two\n\n*** Add File: b.txt\n+b";
    assert_eq!(workspace.apply(sections).expect("it applies").added, ["a.txt", "b.txt"]);
    assert_eq!((workspace.read("a.txt"), workspace.read("b.txt")), ("one\n\ntwo\n".into(), "b\n".into()));
}

#[test]
fn a_deleted_file_is_gone_and_reported() {
    let workspace = Workspace::with(&[("a.txt", "one\n")]);
    assert_eq!(workspace.apply("*** Delete File: a.txt").expect("it applies").deleted, ["a.txt"]);
    assert!(!workspace.exists("a.txt"));
}

#[test]
fn deleting_what_is_not_there_fails_and_nothing_else_is_applied() {
    check_refused(
        &[],
        "*** Add File: b.txt\n+b\n*** Delete File: a.txt",
        "Failed to read a.txt: No such file or directory",
    );
}

#[test]
fn deleting_a_directory_is_refused() {
    check_refused(&[("d/a.txt", "one\n")], "*** Delete File: d", "path d is not a file");
}

#[test]
fn updating_what_is_not_there_fails() {
    check_refused(
        &[],
        "*** Update File: a.txt\n@@\n-one\n+two",
        "Failed to read file to update a.txt: No such file or directory",
    );
}

#[test]
fn an_update_without_chunks_is_refused_also_with_a_move() {
    let files = [("a.txt", "one\n")];
    let message = "Update file hunk for path 'a.txt' is empty";
    check_refused(&files, "*** Update File: a.txt", message);
    check_refused(&files, "*** Update File: a.txt\n*** Move to: b.txt", message);
    check_refused(&files, "*** Update File: a.txt\n*** Delete File: a.txt", message);
}

#[test]
fn a_moved_file_has_its_edits_and_is_reported_at_its_target() {
    let workspace = Workspace::with(&[("a.txt", "one\ntwo\n")]);
    let sections = "*** Update File: a.txt\n*** Move to: d/b.txt\n@@\n-one\n+uno\n two";
    let report = workspace.apply(sections).expect("it applies");
    assert_eq!((report.modified, report.added, report.deleted), (vec!["d/b.txt".into()], vec![], vec![]));
    assert_eq!(workspace.read("d/b.txt"), "uno\ntwo\n");
    assert!(!workspace.exists("a.txt"));
}

#[test]
fn a_move_overwrites_what_is_at_its_target() {
    let workspace = Workspace::with(&[("a.txt", "one\n"), ("b.txt", "other\n")]);
    let plan =
        workspace.verify("*** Update File: a.txt\n*** Move to: b.txt\n@@\n-one\n+uno").expect("it fits");
    assert_eq!(plan.changes()[0].overwritten.as_deref(), Some("other\n"));
    plan.apply().expect("it applies");
    assert_eq!(workspace.read("b.txt"), "uno\n");
    assert!(!workspace.exists("a.txt"));
}

#[test]
fn a_move_with_nothing_but_context_renames_byte_for_byte() {
    let workspace = Workspace::with(&[("a.txt", "one\r\ntwo")]);
    let report = workspace.apply("*** Update File: a.txt\n*** Move to: b.txt\n@@\n one").expect("it applies");
    assert_eq!(report.modified, ["b.txt"]);
    assert_eq!(workspace.read("b.txt"), "one\r\ntwo");
    assert!(!workspace.exists("a.txt"));
}

#[test]
fn a_move_to_itself_is_an_update() {
    let workspace = Workspace::with(&[("a.txt", "one\n")]);
    let sections = "*** Update File: a.txt\n*** Move to: ./a.txt\n@@\n-one\n+uno";
    assert_eq!(workspace.apply(sections).expect("it applies").modified, ["a.txt"]);
    assert_eq!(workspace.read("a.txt"), "uno\n");
}

#[test]
fn absolute_paths_and_dots_are_followed_and_reported_as_written() {
    let workspace = Workspace::with(&[("d/a.txt", "one\n"), ("b.txt", "one\n")]);
    let absolute = workspace.path("b.txt").display().to_string();
    let sections =
        format!("*** Update File: d/../d/a.txt\n@@\n-one\n+uno\n*** Update File: {absolute}\n@@\n-one\n+uno");
    let report = workspace.apply(&sections).expect("it applies");
    assert_eq!(report.modified, ["d/../d/a.txt".to_owned(), absolute]);
    assert_eq!((workspace.read("d/a.txt"), workspace.read("b.txt")), ("uno\n".into(), "uno\n".into()));
}

#[test]
fn a_file_that_is_not_utf_8_is_refused_and_untouched() {
    for sections in [
        "*** Update File: a.bin\n@@\n-a\n+b",
        "*** Delete File: a.bin",
        "*** Add File: a.bin\n+a",
        "*** Update File: b.txt\n*** Move to: a.bin\n@@\n b",
    ] {
        let workspace = Workspace::with(&[("b.txt", "b\n")]);
        workspace.write("a.bin", b"a\n\xff\xfe\n");
        let before = workspace.tree();
        let error = workspace.apply(sections).expect_err("it is refused");
        assert!(error.contains("invalid utf-8 sequence"), "{error}");
        assert_eq!(workspace.tree(), before);
    }
}

#[test]
fn nothing_is_written_when_a_later_file_does_not_match() {
    check_refused(
        &[("a.txt", "one\n"), ("b.txt", "two\n")],
        "*** Add File: c.txt\n+c\n*** Update File: a.txt\n@@\n-one\n+uno\n*** Update File: b.txt\n@@\n-three\n+tres",
        "Failed to find expected lines in b.txt:\nthree",
    );
}

#[test]
fn a_parent_that_is_a_file_is_found_before_anything_is_written() {
    check_refused(
        &[("a.txt", "one\n"), ("f", "file\n")],
        "*** Update File: a.txt\n@@\n-one\n+uno\n*** Add File: f/b.txt\n+b",
        "Failed to write file f/b.txt: Not a directory",
    );
}

#[test]
fn adding_a_file_where_a_directory_is_is_refused() {
    check_refused(&[("d/a.txt", "one\n")], "*** Add File: d\n+x", "Failed to write file d: Is a directory");
    check_refused(
        &[("d/a.txt", "one\n")],
        "*** Update File: d\n@@\n-x",
        "Failed to read file to update d: Is a directory",
    );
}

#[test]
fn a_chunk_without_change_succeeds_and_leaves_the_bytes_alone() {
    check("one\r\ntwo", "@@\n one\n two", "one\r\ntwo");
}

#[test]
fn a_patch_without_sections_is_rejected() {
    check_refused(&[], "", "patch rejected: empty patch");
    assert_eq!(
        Patch::parse("*** Begin Patch\n*** End Patch").expect_err("it is empty").to_string(),
        "patch rejected: empty patch"
    );
}

#[test]
fn what_is_neither_file_nor_directory_is_not_even_opened() {
    // Opening the pipe for reading would wait for ever.
    let workspace = Workspace::with(&[]);
    let made = std::process::Command::new("mkfifo").arg(workspace.path("pipe")).status();
    assert!(made.expect("mkfifo is there").success());
    let error = workspace.apply("*** Update File: pipe\n@@\n-one\n+uno").expect_err("it is refused");
    assert_eq!(error, "Failed to read file to update pipe: not a regular file");
}

#[test]
fn success_is_told_in_the_known_words() {
    let workspace = Workspace::with(&[("m.txt", "one\n"), ("d.txt", "one\n"), ("n.txt", "one\n")]);
    let sections = "*** Delete File: d.txt\n*** Update File: n.txt\n@@\n-one\n+uno\n*** Add File: z.txt\n+z\n\
                    *** Update File: m.txt\n@@\n-one\n+uno\n*** Add File: a.txt\n+a";
    let report = workspace.apply(sections).expect("it applies");
    assert_eq!(
        report.render(Duration::ZERO),
        "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nA z.txt\nA a.txt\n\
         M n.txt\nM m.txt\nD d.txt\n"
    );
    assert!(report.render(Duration::from_millis(1240)).contains("Wall time: 1.2 seconds\n"));
}

#[test]
fn failure_is_told_in_the_same_form() {
    let error = Patch::parse("").expect_err("it is no patch");
    assert_eq!(
        render_failure(&error, Duration::ZERO),
        "Exit code: 1\nWall time: 0 seconds\nOutput:\ninvalid patch: The first line of the patch must be \
         '*** Begin Patch'\n"
    );
}

#[test]
fn a_plan_shows_every_change_with_its_texts() {
    let workspace = Workspace::with(&[("a.txt", "one\n"), ("d.txt", "gone\n")]);
    let sections = "*** Update File: a.txt\n*** Move to: sub/b.txt\n@@\n-one\n+uno\n*** Delete File: ./d.txt\n\
                    *** Add File: c.txt\n+c";
    let plan = workspace.verify(sections).expect("it fits");
    let [moved, deleted, added] = plan.changes() else { panic!("three changes") };
    assert_eq!((moved.kind, moved.path.clone()), (Kind::Update, workspace.path("a.txt")));
    assert_eq!(moved.moved_to, Some(workspace.path("sub/b.txt")));
    assert_eq!((moved.old.as_deref(), moved.new.as_deref()), (Some("one\n"), Some("uno\n")));
    assert_eq!((deleted.kind, deleted.path.clone()), (Kind::Delete, workspace.path("d.txt")));
    assert_eq!((deleted.old.as_deref(), deleted.new.as_deref()), (Some("gone\n"), None));
    assert_eq!((added.kind, added.old.as_deref(), added.new.as_deref()), (Kind::Add, None, Some("c\n")));
}

#[test]
fn a_patch_names_all_paths_it_would_touch() {
    let text = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n x\n*** Delete File: c\n*** Add File: a\n\
                *** End Patch";
    assert_eq!(Patch::parse(text).expect("it is a patch").paths(), ["a", "b", "c"]);
}

#[test]
fn a_link_is_written_through_and_deleted_itself() {
    let workspace = Workspace::with(&[("real.txt", "one\n")]);
    symlink("real.txt", workspace.path("link.txt")).expect("a link can be made");
    workspace.apply("*** Update File: link.txt\n@@\n-one\n+uno").expect("it applies");
    assert_eq!(fs::read_link(workspace.path("link.txt")).expect("still a link").to_str(), Some("real.txt"));
    assert_eq!(workspace.read("real.txt"), "uno\n");
    workspace.apply("*** Add File: link.txt\n+due").expect("it applies");
    assert_eq!(workspace.read("real.txt"), "due\n");
    workspace.apply("*** Delete File: link.txt").expect("it applies");
    assert!(!workspace.exists("link.txt"));
    assert_eq!(workspace.read("real.txt"), "due\n");
}

#[test]
fn a_link_to_nothing_is_written_through_too() {
    let workspace = Workspace::with(&[]);
    symlink("sub/real.txt", workspace.path("link.txt")).expect("a link can be made");
    workspace.apply("*** Add File: link.txt\n+one").expect("it applies");
    assert_eq!(workspace.read("sub/real.txt"), "one\n");
    assert!(workspace.path("link.txt").is_symlink());
}

#[test]
fn links_that_lead_in_a_circle_are_an_error() {
    let workspace = Workspace::with(&[]);
    symlink("b", workspace.path("a")).expect("a link can be made");
    symlink("a", workspace.path("b")).expect("a link can be made");
    let error = workspace.apply("*** Add File: a\n+one").expect_err("it leads nowhere");
    assert!(error.starts_with("Failed to write file a: Too many levels of symbolic links"), "{error}");
}
