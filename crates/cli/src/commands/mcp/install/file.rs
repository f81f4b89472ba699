//! Changes a file of another program: reads it, makes a backup beside it, and replaces it atomically, so that every
//! reader sees the old or the new content and never a part of one.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The most links in a row, as in the kernel.
const LINKS: usize = 40;
/// With more backups of one file in a directory than this, a person has to look.
const BACKUPS: u32 = 10_000;

/// The result of writing.
#[derive(Debug)]
pub(super) struct Written {
    /// The backup, if the file existed before.
    pub(super) backup: Option<PathBuf>,
}

/// The text of a file; `None` if it does not exist.
pub(super) fn read(path: &Path) -> Result<Option<String>> {
    match std::fs::read(path) {
        Ok(bytes) => {
            let text = String::from_utf8(bytes);
            let text =
                text.with_context(|| format!("{} is not UTF-8; nothing was written", path.display()))?;
            Ok(Some(text))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Writes a text in place of the one that was read. If another program has changed the file since, it is not
/// overwritten.
pub(super) fn replace(path: &Path, before: Option<&str>, after: &str) -> Result<Written> {
    let real = followed(path)?;
    let directory = real.parent().filter(|directory| !directory.as_os_str().is_empty());
    if let Some(directory) = directory {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("cannot make the directory {}", directory.display()))?;
    }
    let staged = Staged::write(&real, after)?;
    let backup = before.map(|before| back_up(path, &real, before)).transpose()?;
    if read(path)?.as_deref() != before {
        bail!(
            "{} was changed by somebody else meanwhile; nothing was written, run this again",
            path.display()
        );
    }
    staged.publish(&real)?;
    Ok(Written { backup })
}

/// The file to which a path leads, so that a link stays a link.
fn followed(path: &Path) -> Result<PathBuf> {
    let mut real = path.to_owned();
    for _ in 0..LINKS {
        match std::fs::read_link(&real) {
            Ok(target) => real = real.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(real),
        }
    }
    bail!("{} is a link that leads to itself", path.display())
}

/// Saves the old text under the first free number.
fn back_up(path: &Path, real: &Path, text: &str) -> Result<PathBuf> {
    let permissions = permissions(real);
    for number in 1..BACKUPS {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".windlass-backup-{number}"));
        let backup = PathBuf::from(name);
        match create(&backup, PRIVATE) {
            Ok(file) => {
                fill(&file, text, permissions)
                    .with_context(|| format!("cannot write {}", backup.display()))?;
                return Ok(backup);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| format!("cannot make {}", backup.display())),
        }
    }
    bail!("there are {BACKUPS} backups of {}; remove some", path.display())
}

/// A temporary file with the new text; removed on drop unless it was published.
struct Staged(Option<PathBuf>);

impl Staged {
    fn write(real: &Path, text: &str) -> Result<Self> {
        let name = real.file_name().unwrap_or_default().to_string_lossy();
        let path = real.with_file_name(format!(".{name}.windlass-{}", std::process::id()));
        let permissions = permissions(real);
        let mode = if permissions.is_some() { PRIVATE } else { FRESH };
        // A leftover of an earlier process with the same pid.
        let _ = std::fs::remove_file(&path);
        let file = create(&path, mode)
            .with_context(|| format!("cannot write {}: no file can be made beside it", real.display()))?;
        let staged = Self(Some(path));
        let written = fill(&file, text, permissions).and_then(|()| keep_owner(&file, real));
        written.with_context(|| format!("cannot write beside {}", real.display()))?;
        Ok(staged)
    }

    fn publish(mut self, real: &Path) -> Result<()> {
        if let Some(path) = &self.0 {
            std::fs::rename(path, real).with_context(|| format!("cannot write {}", real.display()))?;
            self.0 = None;
        }
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // A leftover is named after its file and does no harm.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The mode of a file that did not exist before; the user's umask applies.
const FRESH: u32 = 0o666;
/// The mode until that of the old file is set: these files contain keys.
const PRIVATE: u32 = 0o600;

/// Creates a file; fails if it exists.
fn create(path: &Path, mode: u32) -> std::io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}

fn fill(mut file: &File, text: &str, permissions: Option<Permissions>) -> std::io::Result<()> {
    file.write_all(text.as_bytes())?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.sync_all()
}

fn permissions(real: &Path) -> Option<Permissions> {
    std::fs::metadata(real).ok().map(|metadata| metadata.permissions())
}

/// Keeps the file's owner, also under `sudo`.
fn keep_owner(file: &File, real: &Path) -> std::io::Result<()> {
    let Ok(old) = std::fs::metadata(real) else { return Ok(()) };
    let new = file.metadata()?;
    if (old.uid(), old.gid()) == (new.uid(), new.gid()) {
        return Ok(());
    }
    std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()))
}
