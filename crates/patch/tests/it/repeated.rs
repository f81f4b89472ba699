//! Several sections about the same file.

use crate::workspace::{Workspace, check_refused};

const FILE: [(&str, &str); 1] = [("a.txt", "one\ntwo\nthree\n")];

fn check(sections: &str, after: &[(&str, &str)], told: &str) {
    let workspace = Workspace::with(&FILE);
    let report = workspace.apply(sections).unwrap_or_else(|error| panic!("{sections}\n{error}")).to_string();
    assert_eq!(report, format!("Success. Updated the following files:\n{told}"), "{sections}");
    for (path, text) in after {
        assert_eq!(workspace.read(path), *text, "{sections}");
    }
    assert_eq!(workspace.tree().len(), after.len(), "{sections}");
}

#[test]
fn updates_of_a_file_build_on_each_other_in_any_order() {
    check(
        "*** Update File: a.txt\n@@\n-three\n+tres\n*** Update File: ./a.txt\n@@\n-one\n+uno",
        &[("a.txt", "uno\ntwo\ntres\n")],
        "M a.txt\n",
    );
    check(
        "*** Update File: a.txt\n@@\n-three\n+tres\n*** Update File: a.txt\n@@\n-tres\n+drei",
        &[("a.txt", "one\ntwo\ndrei\n")],
        "M a.txt\n",
    );
}

#[test]
fn an_added_file_may_be_updated() {
    check(
        "*** Add File: b.txt\n+x\n*** Update File: b.txt\n@@\n-x\n+y",
        &[("a.txt", FILE[0].1), ("b.txt", "y\n")],
        "A b.txt\n",
    );
}

#[test]
fn a_deleted_file_may_be_added_anew() {
    check("*** Delete File: a.txt\n*** Add File: a.txt\n+x", &[("a.txt", "x\n")], "A a.txt\n");
}

#[test]
fn a_place_that_was_left_may_be_taken() {
    check(
        "*** Update File: a.txt\n*** Move to: b.txt\n@@\n one\n*** Add File: a.txt\n+x",
        &[("a.txt", "x\n"), ("b.txt", FILE[0].1)],
        "A a.txt\nM b.txt\n",
    );
    check(
        "*** Update File: a.txt\n*** Move to: b.txt\n@@\n one\n*** Update File: b.txt\n@@\n-two\n+due",
        &[("b.txt", "one\ndue\nthree\n")],
        "M b.txt\n",
    );
}

#[test]
fn a_file_that_is_in_the_way_may_be_deleted_first() {
    let workspace = Workspace::with(&[("a.txt", "one\n"), ("b.txt", "other\n")]);
    let sections = "*** Delete File: b.txt\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n one";
    let report = workspace.apply(sections).expect("it applies");
    assert_eq!((report.modified, report.deleted), (vec!["b.txt".to_owned()], vec![]));
    assert_eq!((workspace.read("b.txt"), workspace.exists("a.txt")), ("one\n".to_owned(), false));
}

#[test]
fn sections_that_contradict_each_other_are_refused() {
    let update = "*** Update File: a.txt\n@@\n-one\n+uno\n";
    let add = "*** Add File: a.txt\n+x\n";
    let delete = "*** Delete File: a.txt\n";
    let leave = "*** Update File: a.txt\n*** Move to: b.txt\n@@\n one\n";
    let message = "multiple operations target a.txt";
    for sections in [
        [add, add],
        [delete, delete],
        [delete, update],
        [update, delete],
        [update, add],
        [add, delete],
        [add, leave],
        [leave, delete],
        [leave, update],
    ] {
        check_refused(&FILE, &sections.concat(), message);
    }
    let other = "*** Update File: c.txt\n*** Move to: b.txt\n@@\n c\n";
    check_refused(&[FILE[0], ("c.txt", "c\n")], &[leave, other].concat(), "multiple operations target b.txt");
}

#[test]
fn a_later_section_whose_place_is_not_clear_is_refused() {
    check_refused(
        &[("a.txt", "x\ny\nx\n")],
        "*** Update File: a.txt\n@@\n-y\n+Y\n*** Update File: a.txt\n@@\n-x\n+X",
        "multiple operations target a.txt, and a chunk of a later one fits lines 1, 3;",
    );
}

#[test]
fn names_that_lead_to_one_file_are_one_file() {
    let workspace = Workspace::with(&FILE);
    std::os::unix::fs::symlink("a.txt", workspace.path("link.txt")).expect("a link can be made");
    let sections = "*** Update File: a.txt\n@@\n-one\n+uno\n*** Add File: link.txt\n+x";
    let error = workspace.apply(sections).expect_err("they contradict each other");
    assert_eq!(error, "multiple operations target link.txt");
    let sections = "*** Update File: a.txt\n@@\n-one\n+uno\n*** Update File: link.txt\n@@\n-two\n+due";
    workspace.apply(sections).expect("it applies");
    assert_eq!(workspace.read("a.txt"), "uno\ndue\nthree\n");
}

#[test]
fn a_deleted_link_may_become_a_file() {
    let workspace = Workspace::with(&FILE);
    std::os::unix::fs::symlink("a.txt", workspace.path("link.txt")).expect("a link can be made");
    workspace.apply("*** Delete File: link.txt\n*** Add File: link.txt\n+x").expect("it applies");
    assert!(!workspace.path("link.txt").is_symlink());
    assert_eq!(
        (workspace.read("link.txt"), workspace.read("a.txt")),
        ("x\n".to_owned(), FILE[0].1.to_owned())
    );
}
