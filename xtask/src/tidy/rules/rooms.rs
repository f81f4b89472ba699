//! The table of crates in ARCHITECTURE.md agrees with the one that `dependencies.rs` enforces.

use std::collections::BTreeSet;

use super::dependencies::MAY_USE;
use crate::tidy::finding::Finding;
use crate::tidy::workspace::Workspace;

const MAP: &str = "ARCHITECTURE.md";

/// The words of the table for a crate that uses no other.
const NONE: &str = "nothing";
/// The words for one that uses all.
const ALL: &str = "all";

/// Finds rows that name other crates than a crate may use, crates without a row, and rows without a crate.
pub(crate) fn are_listed_as_they_are(workspace: &Workspace) -> Vec<Finding> {
    let Some(map) = workspace.files().find(|file| file.path == MAP) else { return Vec::new() };
    let lines = map.text.lines().enumerate();
    let rows: Vec<(usize, &str, &str)> = lines.filter_map(|(index, text)| row(index + 1, text)).collect();
    let listed: BTreeSet<&str> = rows.iter().map(|&(_, room, _)| room).collect();
    let wrong = rows.iter().filter_map(|&(line, room, uses)| {
        let advice = match MAY_USE.iter().find(|(name, _)| *name == room) {
            None => format!("there is no crate `{room}`"),
            Some((_, expected)) if !says(uses, expected) => format!("`{room}` may use: {}", words(expected)),
            Some(_) => return None,
        };
        Some(Finding::fault("crate-table", (MAP, line), advice))
    });
    let members = MAY_USE.iter().filter(|(room, _)| workspace.contains(&format!("crates/{room}/Cargo.toml")));
    let missing = members.filter(|(room, _)| !listed.contains(room)).map(|(room, _)| {
        Finding::fault("crate-table", (MAP, 1), format!("the table of crates lacks `crates/{room}`"))
    });
    wrong.chain(missing).collect()
}

/// A row of the table: its line, the crate, and the crates that it may use.
fn row(line: usize, text: &str) -> Option<(usize, &str, &str)> {
    let (room, rest) = text.strip_prefix("| `crates/")?.split_once("` | ")?;
    let uses = rest.strip_suffix(" |")?.rsplit_once(" | ")?.1;
    Some((line, room, uses))
}

fn says(uses: &str, expected: &[&str]) -> bool {
    uses == words(expected) || (uses == ALL && expected.len() > MAY_USE.len() / 2)
}

fn words(expected: &[&str]) -> String {
    if expected.is_empty() { NONE.to_owned() } else { expected.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::samples::check_workspace;

    fn check(rows: &str, expected: &[&str]) {
        let files = [("ARCHITECTURE.md", rows), ("crates/llm/Cargo.toml", ""), ("crates/tls/Cargo.toml", "")];
        check_workspace(are_listed_as_they_are, &files, expected);
    }

    #[test]
    fn the_table_says_what_is_enforced() {
        check("| `crates/llm` | models | tls |\n| `crates/tls` | trust | nothing |\n", &[]);
        check(
            "| `crates/llm` | models | nothing |\n| `crates/tls` | trust | nothing |\n",
            &["ARCHITECTURE.md:1: crate-table"],
        );
    }

    #[test]
    fn each_crate_has_a_row_and_each_row_a_crate() {
        check("| `crates/llm` | models | tls |\n", &["ARCHITECTURE.md:1: crate-table"]);
        let more = "| `crates/llm` | models | tls |\n| `crates/tls` | trust | nothing |\n| `crates/gone` | old | nothing |\n";
        check(more, &["ARCHITECTURE.md:3: crate-table"]);
    }
}
