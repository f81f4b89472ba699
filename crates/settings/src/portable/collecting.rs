//! What is exported: the user's configuration files, instructions, roles and skills, as far as they are plain files. Links
//! are not followed, so that nothing from elsewhere slips in.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::archive::{PackedFile, is_portable};
use super::{ExportError, LARGEST, Omission, Secrets, secrets};
use crate::places::Places;
use crate::small_file;

const DEEPEST: usize = 10;
const MOST_FILES: usize = 5000;

/// What goes along and what does not.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) files: Vec<PackedFile>,
    pub(super) left_out: Vec<Omission>,
    bytes: usize,
    secrets: Secrets,
}

pub(super) fn collect(places: &Places, secrets: Secrets) -> Result<Collected, ExportError> {
    let mut collected = Collected { secrets, ..Collected::default() };
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
            // Not a text, so there are no words to look for.
            Err(error) => return Ok(error.into_bytes()),
        };
        let is_configuration = name.ends_with(".toml") && !name.contains("/skills/");
        let not_toml = |error: toml_edit::TomlError| ExportError::NotToml {
            path: path.to_owned(),
            reason: error.message().trim().to_owned(),
        };
        let mut text = text;
        if is_configuration {
            let (cleaned, left_out) = secrets::without_trust(&text, name).map_err(not_toml)?;
            self.left_out.extend(left_out);
            text = cleaned;
        }
        let (text, left_out) = match (self.secrets, is_configuration) {
            (Secrets::Include, _) => (text, Vec::new()),
            (Secrets::LeaveOut, true) => secrets::clean_configuration(&text, name).map_err(not_toml)?,
            (Secrets::LeaveOut, false) => secrets::clean_text(&text, name),
        };
        self.left_out.extend(left_out);
        Ok(text.into_bytes())
    }

    fn leave_out(&mut self, file: String, reason: &'static str) {
        self.left_out.push(Omission { file, place: None, reason });
    }
}

/// Whether a folder is one of those that are looked into.
fn may_hold_portable(name: &str) -> bool {
    ["config/skills", "config/agents", "agents/skills"]
        .iter()
        .any(|folder| name == *folder || name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
}
