//! The readable places, where Landlock alone must forbid a command to read something: Landlock's rules only allow, so
//! everything beside the denied places and the directories that lead to them is listed. Files that are created beside
//! them later cannot be read.

use super::{Ruling, ruling_at};
use crate::files::{Files, Kind};
use std::path::{Path, PathBuf};

pub(super) fn all_but_denied(rulings: &[Ruling], files: &dyn Files) -> Vec<PathBuf> {
    let mut found = Vec::new();
    add(Path::new("/"), rulings, files, &mut found);
    found
}

fn add(at: &Path, rulings: &[Ruling], files: &dyn Files, found: &mut Vec<PathBuf>) {
    let below = rulings.iter().filter(|ruling| ruling.path != at && ruling.path.starts_with(at));
    let denied = ruling_at(rulings, at).is_some_and(Ruling::hides_content);
    let differs = |ruling: &Ruling| ruling.hides_content() != denied;
    let mixed = below.into_iter().any(differs);
    match (mixed, denied) {
        (false, false) => found.push(at.to_owned()),
        (false, true) => {}
        (true, _) if files.kind(at) == Some(Kind::Directory) => {
            for name in files.names(at) {
                add(&at.join(name), rulings, files, found);
            }
        }
        (true, _) => {}
    }
}
