//! Parts of a home directory that a rule makes writable, and the files in them that programs of the user obey.

use super::tests::Tree;
use super::*;
use crate::obeyed_names::{OBEYED_BELOW, OBEYED_IN_HOME};
use crate::pattern::Pattern;

/// Whether a command can make or change a name in the home when a rule makes a part of the home writable.
fn can_change(name: &str, writable: &str, tree: &[&str]) -> bool {
    let context = PolicyContext {
        workspace: "/w".into(),
        home: Some("/h".into()),
        own_files: OwnFiles { startup: vec!["/h".into()], ..OwnFiles::default() },
        ..PolicyContext::default()
    };
    let machine =
        Machine { namespaces: Ok(()), landlock: 7, filter: true, supervisor: true, confined: false };
    let confined = Confined::new(Base::WorkspaceWrite).with(Pattern::new(writable), Access::Write);
    let plan = plan(&confined, &context, &machine, &Tree::of(tree)).unwrap();
    let path = Path::new("/h").join(name);
    let is_writable = plan.ruling_at(&path).is_some_and(|ruling| ruling.access == Access::Write);
    let is_sealed = plan.must_not_exist.iter().any(|it| path.starts_with(&it.path))
        || protect::sealed_by_name(&plan.rulings, &path).is_some();
    is_writable && !is_sealed
}

#[test]
fn every_obeyed_name_in_a_writable_part_of_the_home_is_protected_whether_it_is_there_or_not() {
    for name in OBEYED_IN_HOME.into_iter().chain(OBEYED_BELOW).chain(OwnFiles::STARTUP_BELOW) {
        let parts = Path::new(name).ancestors().skip(1).filter(|part| !part.as_os_str().is_empty());
        let parts: Vec<String> = parts.map(|part| part.display().to_string()).collect();
        let whole = format!("/h/{name}");
        for writable in parts.iter().map(|part| format!("~/{part}")).chain(["~".to_owned()]) {
            let mut trees = vec![vec!["/w/".to_owned(), "/h/".to_owned(), whole.clone()]];
            // The part alone, and no directory below it.
            trees.push(vec!["/w/".to_owned(), format!("{}/", writable.replace('~', "/h"))]);
            for tree in trees {
                let tree: Vec<&str> = tree.iter().map(String::as_str).collect();
                assert!(!can_change(name, &writable, &tree), "{name} with {writable} and {tree:?}");
            }
        }
    }
}

#[test]
fn other_names_in_a_writable_part_of_the_home_can_be_changed() {
    for (name, writable) in
        [(".config/other/file", "~/.config"), (".cache/x", "~"), (".config/mise", "~/.config/mise")]
    {
        assert!(can_change(name, writable, &["/w/", "/h/.cache/", "/h/.config/mise/"]), "{name}");
    }
}
