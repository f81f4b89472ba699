//! Collects the files of an export: the user's configuration files, instructions, roles and skills, if they are plain
//! files. Links are not followed, so that no file from elsewhere is included.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::archive::{PackedFile, is_portable};
use super::{ExportError, LARGEST, Omission, Secrets, instructions, secrets};
use crate::places::Places;
use crate::small_file;

const DEEPEST: usize = 10;
const MOST_FILES: usize = 5000;

/// The files to export, and the parts that were left out.
#[derive(Debug)]
pub(super) struct Collected {
    pub(super) files: Vec<PackedFile>,
    pub(super) left_out: Vec<Omission>,
    bytes: usize,
    secrets: Secrets,
    places: Places,
}

pub(super) fn collect(places: &Places, secrets: Secrets) -> Result<Collected, ExportError> {
    let mut collected =
        Collected { files: Vec::new(), left_out: Vec::new(), bytes: 0, secrets, places: places.clone() };
    if let Some(config) = &places.config {
        collected.folder(config, "config", DEEPEST)?;
    }
    if let Some(home) = &places.home {
        collected.folder(&home.join(".agents"), "agents", DEEPEST)?;
    }
    Ok(collected)
}

impl Collected {
    fn folder(&mut self, folder: &Path, name: &str, deeper: usize) -> Result<(), ExportError> {
        let unreadable = |source| ExportError::Unreadable { path: folder.to_owned(), source };
        let entries = match folder.read_dir() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(unreadable)?,
        };
        let mut entries = entries.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let Ok(own_name) = entry.file_name().into_string() else { continue };
            let name = format!("{name}/{own_name}");
            let kind = entry.file_type().map_err(unreadable)?;
            if kind.is_dir() && deeper > 0 && may_hold_portable(&name) {
                self.folder(&entry.path(), &name, deeper - 1)?;
            } else if kind.is_file() && is_portable(&name) {
                self.file(&entry.path(), name)?;
            } else if is_portable(&name) {
                self.leave_out(name, "it is a link or no plain file");
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, name: String) -> Result<(), ExportError> {
        let unreadable = |source| ExportError::Unreadable { path: path.to_owned(), source };
        let mode = path.metadata().map_err(unreadable)?.permissions().mode();
        let Some(read) = small_file::beginning(path, LARGEST).map_err(unreadable)? else { return Ok(()) };
        if read.cut || self.bytes + read.bytes.len() > LARGEST || self.files.len() >= MOST_FILES {
            return Err(ExportError::TooLarge);
        }
        if self.secrets == Secrets::LeaveOut && secrets::is_secret_file(&name, &read.bytes) {
            self.leave_out(name, "the whole file is or may be a secret");
            return Ok(());
        }
        let bytes = self.cleaned(path, &name, read.bytes)?;
        self.bytes += bytes.len();
        self.files.push(PackedFile { name, bytes, executable: mode & 0o100 != 0 });
        Ok(())
    }

    fn cleaned(&mut self, path: &Path, name: &str, bytes: Vec<u8>) -> Result<Vec<u8>, ExportError> {
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            // Not text, so there are no words to check.
            Err(error) => return Ok(error.into_bytes()),
        };
        let is_configuration =
            name.ends_with(".toml") && !name.contains("/skills/") && !name.contains("/instructions/");
        let not_toml = |error: toml_edit::TomlError| ExportError::NotToml {
            path: path.to_owned(),
            reason: error.message().trim().to_owned(),
        };
        let mut text = text;
        if is_configuration {
            let (cleaned, left_out) = secrets::without_trust(&text, name).map_err(not_toml)?;
            self.left_out.extend(left_out);
            text = self.with_instructions(path, name, &cleaned)?;
        }
        let (text, left_out) = match (self.secrets, is_configuration) {
            (Secrets::Include, _) => (text, Vec::new()),
            (Secrets::LeaveOut, true) => secrets::clean_configuration(&text, name).map_err(not_toml)?,
            (Secrets::LeaveOut, false) => secrets::clean_text(&text, name),
        };
        self.left_out.extend(left_out);
        Ok(text.into_bytes())
    }

    /// Rewrites a configuration so that it names its instructions files by their paths after an import. Files from
    /// outside of the configuration's directory are exported under another name. A key whose file cannot be exported is
    /// left out, because the agent refuses to start without the file.
    fn with_instructions(&mut self, path: &Path, name: &str, text: &str) -> Result<String, ExportError> {
        let not_toml = |error: toml_edit::TomlError| ExportError::NotToml {
            path: path.to_owned(),
            reason: error.message().trim().to_owned(),
        };
        let mut document = text.parse::<toml_edit::DocumentMut>().map_err(not_toml)?;
        let mut failure = None;
        let removed = instructions::rename(&mut document, |named| {
            let taken = self.instructions(path, name, named);
            taken.unwrap_or_else(|error| {
                failure = Some(error);
                None
            })
        });
        if let Some(error) = failure {
            return Err(error);
        }
        self.left_out.extend(removed.into_iter().map(|key| Omission {
            file: name.to_owned(),
            place: Some(key),
            reason: "the file that it names is not there, is no plain file, or is or may be a secret",
        }));
        Ok(document.to_string())
    }

    /// The name by which a configuration finds an instructions file after an import, if the file can be exported.
    fn instructions(&mut self, path: &Path, name: &str, named: &str) -> Result<Option<String>, ExportError> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        let file = instructions::meant(named, folder, self.places.home.as_deref());
        if !file.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Ok(None);
        }
        // From the configuration's own directory up to the root of the configuration directory.
        let up = "../".repeat(name.matches('/').count().saturating_sub(1));
        let inside = self.places.config.as_deref().and_then(|config| file.strip_prefix(config).ok());
        if let Some(inside) = inside.and_then(Path::to_str) {
            let own_name = format!("config/{inside}");
            if is_portable(&own_name) && !own_name.contains("/../") {
                return Ok(Some(if Path::new(named).is_absolute() {
                    format!("{up}{inside}")
                } else {
                    named.to_owned()
                }));
            }
        }
        let Some(base) = file.file_name().and_then(|base| base.to_str()) else { return Ok(None) };
        let taken = |this: &Self, name: &str| this.files.iter().any(|file| file.name == name);
        let config = self.places.config.clone();
        // The user's own file with that name will be exported later, so the name is not free.
        let is_theirs = |inside: &str| {
            config.as_ref().is_some_and(|config| config.join(inside).symlink_metadata().is_ok())
        };
        let mut inside = format!("{}/{base}", instructions::FOLDER);
        for number in 2.. {
            if !taken(self, &format!("config/{inside}")) && !is_theirs(&inside) {
                break;
            }
            inside = format!("{}/{number}-{base}", instructions::FOLDER);
        }
        let own_name = format!("config/{inside}");
        if !is_portable(&own_name) {
            return Ok(None);
        }
        self.file(&file, own_name.clone())?;
        Ok(taken(self, &own_name).then(|| format!("{up}{inside}")))
    }

    fn leave_out(&mut self, file: String, reason: &'static str) {
        self.left_out.push(Omission { file, place: None, reason });
    }
}

/// Whether a directory is searched for files to export.
fn may_hold_portable(name: &str) -> bool {
    ["config/skills", "config/agents", "config/instructions", "agents/skills"]
        .iter()
        .any(|folder| name == *folder || name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
}
