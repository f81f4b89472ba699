//! Random patches on a disk that fails at a random moment: everything is applied, or nothing.

use proptest::prelude::*;
use windlass_patch::{ApplyError, Plan};

use crate::failing::FailingDisk;
use crate::workspace::{Workspace, check_nothing_else};

const FILES: [(&str, &str); 3] = [("a", "1\n2\n3\n"), ("b", "1\n2\n"), ("d/c", "2\n3\n")];

/// One section about one of a few files, which may or may not exist.
fn section() -> impl Strategy<Value = String> {
    let path = || prop::sample::select(&["a", "b", "d/c", "new", "n/e/w", "a/x"][..]);
    let chunk = prop::sample::select(
        &["@@\n-2\n+two\n", "@@\n 3\n+four\n", "@@\n 1\n", "@@\n+end\n", "@@\n-1\n"][..],
    );
    prop_oneof![
        path().prop_map(|path| format!("*** Add File: {path}\n+added\n")),
        path().prop_map(|path| format!("*** Delete File: {path}\n")),
        (path(), chunk.clone()).prop_map(|(path, chunk)| format!("*** Update File: {path}\n{chunk}")),
        (path(), path(), chunk).prop_map(|(path, target, chunk)| format!(
            "*** Update File: {path}\n*** Move to: {target}\n{chunk}"
        )),
    ]
}

/// Every change is on the disk.
fn check_applied(workspace: &Workspace, plan: &Plan) {
    for change in plan.changes() {
        let path = change.moved_to.as_ref().unwrap_or(&change.path);
        assert_eq!(std::fs::read_to_string(path).ok(), change.new, "{path:?}");
    }
    check_nothing_else(workspace);
}

proptest! {
    #[test]
    fn a_random_patch_is_applied_whole_or_not_at_all(
        sections in prop::collection::vec(section(), 1..5),
        moment in 1usize..16,
    ) {
        let workspace = Workspace::with(&FILES);
        let before = workspace.tree();
        let plan = workspace.verify(&sections.concat());
        prop_assert_eq!(&workspace.tree(), &before, "verifying writes nothing");
        let Ok(plan) = plan else { return Ok(()) };
        match plan.apply_on(&FailingDisk::when(|count| count == moment)) {
            Ok(report) if report.warnings.len() == plan.warnings().len() => check_applied(&workspace, &plan),
            Ok(_) => {}
            Err(ApplyError::Write { .. }) => prop_assert_eq!(&workspace.tree(), &before),
            Err(other) => prop_assert!(false, "{}", other),
        }
    }
}
