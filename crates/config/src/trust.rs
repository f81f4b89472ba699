//! Records whether a project is trusted: changes one entry in the user's file and keeps everything else, comments and
//! order included. The file is replaced as a whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Table, value};

use crate::choices::TrustLevel;
use crate::places::Places;
use crate::reading::LARGEST;
use crate::small_file;

/// Why the trust could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The path of the user's file is unknown.
    #[error("there is no place for your configuration: neither HOME nor XDG_CONFIG_HOME is set")]
    NoPlace,
    /// The project's path cannot be written in TOML.
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
        /// The parser's error.
        reason: String,
    },
    /// The key of the projects is not a table.
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
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

/// Records whether a project is trusted, and returns the path of the changed file. The project's path is canonicalised
/// first, so that the entry applies however the user gets there.
pub fn trust(places: &Places, project: &Path, level: TrustLevel) -> Result<PathBuf, TrustError> {
    let file = places.user_file().ok_or(TrustError::NoPlace)?;
    // If the user's file is a link, as dotfile managers make it, the link stays and its target is replaced.
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

/// Changes the value alone, so that a comment after it on the line stays.
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

/// A table without a header line of its own.
fn implicit_table() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

/// Replaces a file atomically: writes the text to a temporary file beside it, syncs it, and renames it. Permissions
/// stay.
pub(crate) fn replace(file: &Path, text: &[u8]) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let mut random = [0; 8];
    random_bytes(&mut random)?;
    let beside = folder.join(format!(".windlass-{:016x}", u64::from_le_bytes(random)));
    let outcome = write_then_rename(file, &beside, text);
    if outcome.is_err() {
        // The original error is returned; nothing more can be done about this one.
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

/// Fills a buffer with unpredictable bytes.
pub(crate) fn random_bytes(bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(())
}
