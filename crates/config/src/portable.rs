//! Settings, instructions and skills as one encrypted file to take along. The file is in the age format with a passphrase,
//! and inside it is a plain tar: `age -d settings.age | tar t` lists it without Windlass.
//!
//! Secrets stay at home unless they are asked for. What comes in is believed nothing: names are checked, only plain files
//! count, sizes are bounded, nothing is overwritten unasked, and either everything is written or nothing.

mod age;
mod archive;
mod armor;
mod collecting;
mod installing;
mod instructions;
mod passphrase;
mod secrets;
mod trust;

use std::io;
use std::path::PathBuf;

use zeroize::Zeroizing;

pub use age::AgeError;
pub use archive::ArchiveError;
pub use passphrase::Passphrase;
pub(crate) use secrets::{is_secret, is_secret_list};

use crate::places::Places;

/// The largest file that is imported, and the most that may come of it.
pub const LARGEST: usize = 32 << 20;

/// How to export.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// What it takes to read the file.
    pub passphrase: Passphrase,
    /// Whether secrets go along.
    pub secrets: Secrets,
    /// How much work it is to try a passphrase.
    pub work: WorkFactor,
}

/// Whether secrets go along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Secrets {
    /// They stay.
    #[default]
    LeaveOut,
    /// They go along, under the passphrase.
    Include,
}

/// How much work it is to try a passphrase: twice as much for each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkFactor(pub u8);

impl Default for WorkFactor {
    /// What age itself takes: about a second, and 256 MiB of memory.
    fn default() -> Self {
        Self(18)
    }
}

/// What was exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The encrypted file.
    pub bytes: Vec<u8>,
    /// The names of what is in it.
    pub files: Vec<String>,
    /// What was left out.
    pub left_out: Vec<Omission>,
}

/// Something that was left out of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omission {
    /// The name of the file in the archive.
    pub file: String,
    /// The key, or the line, that was left out; nothing if it is the whole file.
    pub place: Option<String>,
    /// Why.
    pub reason: &'static str,
}

/// Why nothing was exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// There is nothing to export.
    #[error("there is nothing to export: no configuration, no AGENTS.md and no skills")]
    Nothing,
    /// A file could not be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A configuration file is no TOML, so nobody can tell its secrets.
    #[error("{} is not TOML, so its secrets cannot be told from the rest: {reason}", path.display())]
    NotToml {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        reason: String,
    },
    /// It is too much.
    #[error("there is more to export than {} MiB", LARGEST >> 20)]
    TooLarge,
    /// The name of a file does not fit into an archive.
    #[error("the archive: {0}")]
    Archive(#[from] ArchiveError),
    /// It could not be encrypted.
    #[error("cannot encrypt: {0}")]
    Age(#[from] AgeError),
}

/// How to import.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// What it takes to read the file.
    pub passphrase: Passphrase,
    /// What becomes of files that are there already and differ.
    pub existing: Existing,
}

/// What becomes of files that are there already and differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// They stay, and nothing at all is imported.
    #[default]
    Refuse,
    /// They are replaced.
    Replace,
}

/// What was imported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Files that were not there before.
    pub added: Vec<PathBuf>,
    /// Files that were replaced.
    pub replaced: Vec<PathBuf>,
    /// Files that were the same already.
    pub unchanged: Vec<PathBuf>,
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file is too large.
    #[error("the file holds more than {} MiB", LARGEST >> 20)]
    TooLarge,
    /// It could not be decrypted.
    #[error("{0}")]
    Age(#[from] AgeError),
    /// What is inside is no archive of ours, or one that wants too much.
    #[error("the archive: {0}")]
    Archive(#[from] ArchiveError),
    /// There is no place for it.
    #[error("there is no place for it: neither HOME nor XDG_CONFIG_HOME is set")]
    NoPlace,
    /// These files are there already, and differ.
    #[error("these files are there already and differ: {}", list(files))]
    Differs {
        /// The files.
        files: Vec<PathBuf>,
    },
    /// A link, or something else that is neither file nor folder, stands in the way.
    #[error("{} is a link or no plain file, and is not written through", path.display())]
    InTheWay {
        /// Where.
        path: PathBuf,
    },
    /// Something could not be written; everything is as it was before.
    #[error("cannot write {}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// The user's configuration, instructions and skills as one encrypted file.
pub fn export(places: &Places, options: &ExportOptions) -> Result<Exported, ExportError> {
    let collected = collecting::collect(places, options.secrets)?;
    if collected.files.is_empty() {
        return Err(ExportError::Nothing);
    }
    let tar = Zeroizing::new(archive::pack(&collected.files)?);
    let bytes = age::encrypt(&tar, &options.passphrase, options.work)?;
    let files = collected.files.into_iter().map(|file| file.name).collect();
    Ok(Exported { bytes, files, left_out: collected.left_out })
}

/// Writes what such a file holds to where it belongs, all of it or nothing.
pub fn import(bytes: &[u8], places: &Places, options: &ImportOptions) -> Result<Imported, ImportError> {
    if bytes.len() > LARGEST {
        return Err(ImportError::TooLarge);
    }
    let tar = age::decrypt(bytes, &options.passphrase)?;
    let mut files = archive::unpack(&tar)?;
    trust::keep(&mut files, places);
    installing::install(&files, places, options.existing)
}

fn list(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
}
