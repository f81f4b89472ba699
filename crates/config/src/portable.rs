//! Settings, instructions and skills as one encrypted portable file, in the age format with a passphrase. Inside it is
//! a plain tar: `age -d settings.age | tar t` lists it without Windlass.
//!
//! Secrets are exported only on request. An import trusts nothing: names are checked, only plain files are accepted,
//! sizes are bounded, no file is overwritten unless the user asks for it, and either everything is written or nothing.

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

/// The largest file that is imported, and the most bytes into which it may unpack.
pub const LARGEST: usize = 32 << 20;

/// The options of an export.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// The passphrase for the file.
    pub passphrase: Passphrase,
    /// Whether secrets are included.
    pub secrets: Secrets,
    /// The cost of trying a passphrase.
    pub work: WorkFactor,
}

/// Whether secrets are included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Secrets {
    /// They are left out.
    #[default]
    LeaveOut,
    /// They are included, protected by the passphrase.
    Include,
}

/// The cost of trying a passphrase, as a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkFactor(pub u8);

impl Default for WorkFactor {
    /// The default of age itself: about a second, and 256 MiB of memory.
    fn default() -> Self {
        Self(18)
    }
}

/// The result of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The encrypted file.
    pub bytes: Vec<u8>,
    /// The names of the files in it.
    pub files: Vec<String>,
    /// The parts that were left out.
    pub left_out: Vec<Omission>,
}

/// A part that was left out of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omission {
    /// The name of the file in the archive.
    pub file: String,
    /// The key, or the line, that was left out; `None` for the whole file.
    pub place: Option<String>,
    /// The reason.
    pub reason: &'static str,
}

/// Why the export failed.
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
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// A configuration file is not TOML, so its secrets cannot be recognised.
    #[error("{} is not TOML, so its secrets cannot be told from the rest: {reason}", path.display())]
    NotToml {
        /// The file.
        path: PathBuf,
        /// The parser's error.
        reason: String,
    },
    /// The files are too large or too many.
    #[error("there is more to export than {} MiB", LARGEST >> 20)]
    TooLarge,
    /// The name of a file does not fit into an archive.
    #[error("the archive: {0}")]
    Archive(#[from] ArchiveError),
    /// It could not be encrypted.
    #[error("cannot encrypt: {0}")]
    Age(#[from] AgeError),
}

/// The options of an import.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// The passphrase of the file.
    pub passphrase: Passphrase,
    /// The treatment of existing files that differ.
    pub existing: Existing,
}

/// The treatment of existing files that differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// They stay, and nothing is imported.
    #[default]
    Refuse,
    /// They are replaced.
    Replace,
}

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Files that did not exist before.
    pub added: Vec<PathBuf>,
    /// Files that were replaced.
    pub replaced: Vec<PathBuf>,
    /// Files that were identical already.
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
    /// The content is not a valid archive of Windlass, or exceeds a limit.
    #[error("the archive: {0}")]
    Archive(#[from] ArchiveError),
    /// The user's directories are unknown.
    #[error("there is no place for it: neither HOME nor XDG_CONFIG_HOME is set")]
    NoPlace,
    /// These files exist already, and differ.
    #[error("these files are there already and differ: {}", list(files))]
    Differs {
        /// The files.
        files: Vec<PathBuf>,
    },
    /// A link, or something else that is neither a file nor a directory, is in the way.
    #[error("{} is a link or no plain file, and is not written through", path.display())]
    InTheWay {
        /// Its path.
        path: PathBuf,
    },
    /// A file could not be written; everything was restored.
    #[error("cannot write {}", path.display())]
    Io {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

/// Exports the user's configuration, instructions and skills as one encrypted file.
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

/// Imports such a file: writes all of its files to their places, or none.
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
