//! How files begin, how long they are, and where they lie.

use std::collections::BTreeMap;

use crate::tidy::finding::Finding;
use crate::tidy::source::Source;
use crate::tidy::workspace::Workspace;

/// From here on a split is due.
const LONG: usize = 600;
/// From here on it is overdue.
const TOO_LONG: usize = 900;
/// The most lines of a function, its signature included.
const LONGEST_FUNCTION: usize = 70;

/// Every file's first line says what the file is for.
pub(crate) fn begins_with_its_purpose(source: &Source<'_>) -> Vec<Finding> {
    let begins = source.file.text.starts_with("//!");
    let advice = "begin with `//!`: what this file owns, what it must not do, the surprising thing";
    fault_unless(begins, "purpose", source, advice)
}

/// Every crate root outside `sys` forbids unsafe code. Fuzz targets are exempt: their macro expands to some.
pub(crate) fn crate_root_forbids_unsafe(source: &Source<'_>) -> Vec<Finding> {
    let exempt = ["sys", "fuzz"].contains(&source.file.room()) || !is_crate_root(&source.file.path);
    let forbids = source.find("# ! [ forbid ( unsafe_code ) ]").next().is_some();
    fault_unless(exempt || forbids, "forbid-unsafe", source, "add `#![forbid(unsafe_code)]` below the header")
}

/// Files stay short enough to be read in one go.
pub(crate) fn is_short(source: &Source<'_>) -> Vec<Finding> {
    let lines = source.file.text.lines().count();
    let place = (source.file.path.as_str(), lines);
    if lines > TOO_LONG {
        vec![Finding::fault("length", place, format!("{lines} lines, {TOO_LONG} at most: split it by idea"))]
    } else if lines > LONG {
        vec![Finding::warning("length", place, format!("{lines} lines: split it by idea soon"))]
    } else {
        Vec::new()
    }
}

/// A function fits on a screen. Those of tests are exempt: some are one long table.
pub(crate) fn functions_are_short(source: &Source<'_>) -> Vec<Finding> {
    let long =
        source.functions().filter(|&(line, _, lines)| lines > LONGEST_FUNCTION && !source.is_test(line));
    long.map(|(line, name, lines)| {
        let advice =
            format!("`{name}` has {lines} lines, {LONGEST_FUNCTION} at most: make its steps functions");
        Finding::fault("function-length", (&source.file.path, line), advice)
    })
    .collect()
}

/// Each file directly in a `tests` folder is linked as a program of its own, which is slow: one each is enough.
pub(crate) fn one_test_program_per_crate(workspace: &Workspace) -> Vec<Finding> {
    let mut programs: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in workspace.rust_files().filter(|file| is_test_program(&file.path)) {
        programs.entry(file.folder()).or_default().push(&file.path);
    }
    let surplus = programs.values_mut().flat_map(|paths| {
        // `it.rs` is the one that stays, whatever else there is.
        paths.sort_unstable_by_key(|path| (!path.ends_with("/it.rs"), *path));
        paths.iter().skip(1)
    });
    let advice = "make it a module of tests/it.rs: tests/it/<name>.rs";
    surplus.map(|path| Finding::fault("test-program", (path, 1), advice)).collect()
}

/// `lib.rs`, `main.rs`, and every file cargo makes a program of by its place.
fn is_crate_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        [.., "src", "lib.rs" | "main.rs"] | [.., "src", "bin", _] | [.., "src", "bin", _, "main.rs"] => true,
        [.., "examples" | "benches", _] | [.., "build.rs"] => true,
        _ => is_test_program(path),
    }
}

fn is_test_program(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        ["crates", _, "tests", file] | [_, "tests", file] => file.ends_with(".rs"),
        _ => false,
    }
}

fn fault_unless(holds: bool, rule: &'static str, source: &Source<'_>, advice: &str) -> Vec<Finding> {
    if holds { Vec::new() } else { vec![Finding::fault(rule, (&source.file.path, 1), advice)] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::samples::{check_source, check_workspace};

    #[test]
    fn a_file_begins_with_its_purpose() {
        let rule = begins_with_its_purpose;
        check_source(rule, ("bench/src/a.rs", "//! Measures.\n"), &[]);
        check_source(rule, ("bench/src/a.rs", "use std::fs;\n"), &["bench/src/a.rs:1: purpose"]);
        check_source(rule, ("bench/src/a.rs", ""), &["bench/src/a.rs:1: purpose"]);
    }

    #[test]
    fn a_crate_root_forbids_unsafe_code() {
        let rule = crate_root_forbids_unsafe;
        let bare = "//! Runs.\n";
        check_source(
            rule,
            ("crates/engine/src/lib.rs", bare),
            &["crates/engine/src/lib.rs:1: forbid-unsafe"],
        );
        check_source(
            rule,
            ("crates/engine/tests/it.rs", bare),
            &["crates/engine/tests/it.rs:1: forbid-unsafe"],
        );
        check_source(
            rule,
            ("crates/testkit/src/bin/nap.rs", bare),
            &["crates/testkit/src/bin/nap.rs:1: forbid-unsafe"],
        );
        check_source(rule, ("crates/engine/src/lib.rs", "//! Runs.\n#![forbid(unsafe_code)]\n"), &[]);
    }

    #[test]
    fn sys_and_inner_files_need_not_forbid_it() {
        let rule = crate_root_forbids_unsafe;
        check_source(rule, ("crates/sys/src/lib.rs", ""), &[]);
        check_source(rule, ("crates/engine/src/journal/file.rs", ""), &[]);
        check_source(rule, ("crates/engine/tests/it/exit.rs", ""), &[]);
    }

    #[test]
    fn a_long_file_warns_before_it_fails() {
        let findings = |lines: usize| {
            let workspace = Workspace::of(&[("bench/src/a.rs", &"\n".repeat(lines))]);
            is_short(&Source::all(&workspace)[0]).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(findings(600), Vec::<String>::new());
        assert_eq!(findings(601), ["bench/src/a.rs:601: warning: length: 601 lines: split it by idea soon"]);
        assert_eq!(findings(901), ["bench/src/a.rs:901: length: 901 lines, 900 at most: split it by idea"]);
    }

    #[test]
    fn a_function_has_seventy_lines_at_most() {
        let function = |lines: usize| format!("\nfn f() {{\n{}}}\n", "g();\n".repeat(lines - 2));
        let rule = functions_are_short;
        check_source(rule, ("bench/src/a.rs", &function(70)), &[]);
        check_source(rule, ("bench/src/a.rs", &function(71)), &["bench/src/a.rs:2: function-length"]);
        let others = format!("type F = fn(u8);\nfn a();\nstruct S {{\n{}}}\n", "a: u8,\n".repeat(99));
        check_source(rule, ("bench/src/a.rs", &others), &[]);
        check_source(rule, ("bench/tests/it/a.rs", &function(71)), &[]);
    }

    #[test]
    fn a_crate_has_one_test_program() {
        let one = [
            ("crates/sys/tests/it.rs", ""),
            ("crates/sys/tests/it/a.rs", ""),
            ("crates/output/tests/it.rs", ""),
        ];
        check_workspace(one_test_program_per_crate, &one, &[]);
        let two = [("crates/sys/tests/exit.rs", ""), ("crates/sys/tests/it.rs", "")];
        check_workspace(one_test_program_per_crate, &two, &["crates/sys/tests/exit.rs:1: test-program"]);
    }
}
