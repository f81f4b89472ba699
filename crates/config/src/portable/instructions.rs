//! Files that a configuration names with `model_instructions_file`. Without them the agent would not start after an
//! import.

use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, TableLike, value};

/// The key that names such a file, in a configuration, a profile or a role.
const KEY: &str = "model_instructions_file";

/// The directory in an archive for files from outside of the configuration's directory.
pub(super) const FOLDER: &str = "instructions";

/// Replaces the path of each file that a configuration names; removes the key if there is no new path. Returns the
/// removed keys.
pub(super) fn rename(
    document: &mut DocumentMut,
    mut new_name: impl FnMut(&str) -> Option<String>,
) -> Vec<String> {
    let mut removed = Vec::new();
    rename_in(document.as_table_mut(), "", &mut new_name, &mut removed);
    removed
}

fn rename_in(
    table: &mut dyn TableLike,
    above: &str,
    new_name: &mut dyn FnMut(&str) -> Option<String>,
    removed: &mut Vec<String>,
) {
    if let Some(named) = table.get(KEY).and_then(Item::as_str).map(str::to_owned) {
        match new_name(&named) {
            Some(name) if name == named => {}
            Some(name) => drop(table.insert(KEY, value(name))),
            None => {
                table.remove(KEY);
                removed.push(format!("{above}{KEY}"));
            }
        }
    }
    for (name, item) in table.iter_mut() {
        if let Some(inner) = item.as_table_like_mut() {
            rename_in(inner, &format!("{above}{}.", name.get()), new_name, removed);
        }
    }
}

/// The path of the file that a value names in a configuration of this directory.
pub(super) fn meant(named: &str, folder: &Path, home: Option<&Path>) -> PathBuf {
    match (named.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => folder.join(named),
    }
}
