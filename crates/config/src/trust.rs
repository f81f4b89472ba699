//! Saying that a project is trusted, or not: one entry in the user's file, everything else in it kept as it is, comments
//! and order included. The file is replaced as a whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Table, value};

use crate::choices::TrustLevel;
use crate::places::Places;
use crate::reading::LARGEST;
use crate::small_file;

/// Why trust could not be written down.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// There is no place for the user's file.
    #[error("there is no place for your configuration: neither HOME nor XDG_CONFIG_HOME is set")]
    NoPlace,
    /// The project's path cannot stand in a file.
    #[error("the path {} is not UTF-8", path.display())]
    NotText {
        /// The path.
        path: PathBuf,
    },
    /// The user's file is not TOML.
    #[error("{}: {reason}", file.display())]
    NotToml {
        /// The file.
        file: PathBuf,
        /// What the parser said.
        reason: String,
    },
    /// Something else than a table stands where projects are listed.
    #[error("{}: `{key}` is not a table", file.display())]
    NotATable {
        /// The file.
        file: PathBuf,
        /// The key.
        key: String,
    },
    /// The file could not be read or written.
    #[error("cannot write {}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Writes down whether a project is trusted, and answers which file says so now. The path is made real first, so that it
/// holds however one gets there.
pub fn trust(places: &Places, project: &Path, level: TrustLevel) -> Result<PathBuf, TrustError> {
    let file = places.user_file().ok_or(TrustError::NoPlace)?;
    // A link to a file elsewhere, as people with dotfiles have it, stays a link.
    let file = file.canonicalize().unwrap_or(file);
    let io = |source| TrustError::Io { file: file.clone(), source };
    let real = project.canonicalize().unwrap_or_else(|_| project.to_owned());
    let key = real.to_str().ok_or_else(|| TrustError::NotText { path: real.clone() })?;
    let text = small_file::text(&file, LARGEST).map_err(io)?.unwrap_or_default();
    let mut document = text.parse::<DocumentMut>().map_err(|error| TrustError::NotToml {
        file: file.clone(),
        reason: error.message().trim().to_owned(),
    })?;
    let not_a_table = |key: &str| TrustError::NotATable { file: file.clone(), key: key.to_owned() };
    let projects = document.entry("projects").or_insert_with(implicit_table);
    let projects = projects.as_table_like_mut().ok_or_else(|| not_a_table("projects"))?;
    let entry = projects.entry(key).or_insert_with(|| Item::Table(Table::new()));
    let entry = entry.as_table_like_mut().ok_or_else(|| not_a_table(key))?;
    set(entry, level);
    replace(&file, document.to_string().as_bytes()).map_err(io)?;
    Ok(file)
}

/// Changes the word alone, so that what stands behind it on the line stays.
fn set(entry: &mut dyn toml_edit::TableLike, level: TrustLevel) {
    let mut item = value(level.word());
    let before = entry.get("trust_level").and_then(Item::as_value).map(|value| value.decor().clone());
    if let (Some(decor), Some(value)) = (before, item.as_value_mut()) {
        *value.decor_mut() = decor;
    }
    match entry.get_mut("trust_level") {
        Some(written) => *written = item,
        None => drop(entry.insert("trust_level", item)),
    }
}

/// A table that is not written as a line of its own.
fn implicit_table() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

/// Replaces a file as a whole: the text goes beside it first, onto the disk, and then takes its name. Permissions stay.
pub(crate) fn replace(file: &Path, text: &[u8]) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let mut random = [0; 8];
    random_bytes(&mut random)?;
    let beside = folder.join(format!(".windlass-{:016x}", u64::from_le_bytes(random)));
    let outcome = write_then_rename(file, &beside, text);
    if outcome.is_err() {
        // Nothing is left to tell if even this fails.
        let _ = fs::remove_file(&beside);
    }
    outcome
}

fn write_then_rename(file: &Path, beside: &Path, text: &[u8]) -> io::Result<()> {
    let mut written = File::create_new(beside)?;
    if let Ok(before) = file.metadata() {
        written.set_permissions(before.permissions())?;
    }
    written.write_all(text)?;
    written.sync_all()?;
    fs::rename(beside, file)
}

/// Bytes that nobody can guess.
pub(crate) fn random_bytes(bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(())
}
