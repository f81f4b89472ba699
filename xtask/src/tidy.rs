//! `cargo xtask tidy`: the style rules a machine can check, so that no reviewer has to.
//!
//! A rule is a small pure function from the workspace to findings. To add one, write it in the file of `rules/` that
//! fits and list it here. It is also a test, so `cargo nextest run` finds an untidy tree too.

mod finding;
mod manifest;
mod rules;
mod source;
mod workspace;

use anyhow::{Result, bail};

use self::finding::Finding;
use self::rules::{
    attributes, banned, comments, dependencies, documents, glossary, layout, names, rooms, timers,
};
use self::source::Source;
use self::workspace::Workspace;
use crate::command;

/// Rules that look at one Rust file at a time.
const SOURCE_RULES: &[fn(&Source<'_>) -> Vec<Finding>] = &[
    layout::begins_with_its_purpose,
    layout::crate_root_forbids_unsafe,
    layout::is_short,
    layout::functions_are_short,
    names::say_something,
    banned::words,
    comments::name_the_actor,
    timers::are_explained,
    attributes::give_reasons,
];

/// Rules that look at everything at once.
const WORKSPACE_RULES: &[fn(&Workspace) -> Vec<Finding>] = &[
    dependencies::point_downwards,
    dependencies::stay_in_their_rooms,
    dependencies::are_decided_once,
    layout::one_test_program_per_crate,
    documents::exist,
    documents::name_files_that_exist,
    glossary::terms_are_defined_once,
    rooms::are_listed_as_they_are,
    documents::link_to_what_exists,
    documents::name_no_machine,
];

/// Prints every finding as `path:line: rule: what to do`; faults fail, warnings do not.
pub(crate) fn run() -> Result<()> {
    let findings = inspect(&Workspace::read(&command::root()?)?);
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.iter().filter(|finding| finding.is_fault()).count() {
        0 => Ok(()),
        1 => bail!("one untidy place"),
        faults => bail!("{faults} untidy places"),
    }
}

fn inspect(workspace: &Workspace) -> Vec<Finding> {
    let sources = Source::all(workspace);
    let from_sources = SOURCE_RULES.iter().flat_map(|rule| sources.iter().flat_map(rule));
    let from_workspace = WORKSPACE_RULES.iter().flat_map(|rule| rule(workspace));
    let mut findings: Vec<Finding> = from_sources.chain(from_workspace).collect();
    findings.sort();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_tidy() {
        let workspace = Workspace::read(&command::root().unwrap()).unwrap();
        let faults = inspect(&workspace).into_iter().filter(Finding::is_fault);
        let lines: Vec<String> = faults.map(|fault| fault.to_string()).collect();
        assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
    }

    #[test]
    fn findings_come_in_the_order_of_their_places() {
        let workspace = Workspace::of(&[
            ("crates/output/src/b.rs", "//! Second.\nfn f() { todo!() }\nfn g() { dbg!(1); }\n"),
            ("crates/output/src/a.rs", "fn f() {}\n"),
        ]);
        let places: Vec<String> = inspect(&workspace).iter().map(Finding::place).collect();
        let in_sources: Vec<&String> = places.iter().filter(|place| place.contains(".rs:")).collect();
        assert_eq!(
            in_sources,
            [
                "crates/output/src/a.rs:1: purpose",
                "crates/output/src/b.rs:2: unfinished",
                "crates/output/src/b.rs:3: unfinished",
            ]
        );
    }
}
