//! Checks the user guide: its examples load, and its table of keys equals the program's own.

use std::fmt::Write;

use windlass_config::{Request, reference};

use crate::world::World;

const GUIDE: &str = include_str!("../../../../docs/settings.md");

#[test]
fn the_configurations_of_the_guide_have_no_fault() {
    let blocks: Vec<&str> =
        GUIDE.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 2, "{blocks:?}");
    for text in blocks {
        World::with_user("guide", text)
            .ask(&Request::default())
            .unwrap_or_else(|faults| panic!("{faults}\n{text}"));
    }
}

#[test]
fn the_table_of_keys_is_the_programs_own() {
    let mut table =
        String::from("\n| key | what stands there | a project may say | what for |\n|---|---|---|---|\n");
    for key in reference() {
        // Writing to a string cannot fail.
        let _ = writeln!(table, "| `{}` | {} | {} | {} |", key.key, key.expected, key.project, key.about);
    }
    let written = GUIDE.split("<!-- keys -->\n").nth(1).unwrap_or_default();
    assert!(written == table, "put this behind the marker in docs/settings.md:\n{table}");
}
