//! Writes the files of an archive, all or none: first each is written under a temporary name beside its target; only
//! then are they renamed, and if a rename fails, the targets before it get their old contents back. Links are never
//! written through.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::archive::PackedFile;
use super::{Existing, ImportError, Imported};
use crate::places::Places;
use crate::small_file;
use crate::trust::random_bytes;

pub(super) fn install(
    files: &[PackedFile],
    places: &Places,
    existing: Existing,
) -> Result<Imported, ImportError> {
    let targets = files.iter().map(|file| target(file, places)).collect::<Result<Vec<_>, _>>()?;
    let imported = compare(&targets)?;
    if existing == Existing::Refuse && !imported.replaced.is_empty() {
        return Err(ImportError::Differs { files: imported.replaced });
    }
    let mut work = Work::default();
    let changed = targets.iter().filter(|target| !imported.unchanged.contains(&target.path));
    let changed: Vec<&Target<'_>> = changed.collect();
    let outcome = changed.iter().try_for_each(|target| work.stage(target));
    let outcome = outcome.and_then(|()| work.exchange());
    match outcome {
        Ok(()) => work.forget(),
        Err(_) => work.undo(),
    }
    outcome.map(|()| imported)
}

struct Target<'f> {
    file: &'f PackedFile,
    /// The directory below which we may write.
    root: PathBuf,
    path: PathBuf,
}

fn target<'f>(file: &'f PackedFile, places: &Places) -> Result<Target<'f>, ImportError> {
    let (root, rest) = match file.name.split_once('/') {
        Some(("config", rest)) => (places.config.clone(), rest),
        Some((_, rest)) => (places.home.as_ref().map(|home| home.join(".agents")), rest),
        None => (None, ""),
    };
    let root = root.ok_or(ImportError::NoPlace)?;
    Ok(Target { file, path: root.join(rest), root })
}

/// Sorts the files into new, different and identical ones.
fn compare(targets: &[Target<'_>]) -> Result<Imported, ImportError> {
    let mut imported = Imported::default();
    for target in targets {
        target.check_way()?;
        let io = |source| ImportError::Io { path: target.path.clone(), source };
        let list = match small_file::beginning(&target.path, target.file.bytes.len()).map_err(io)? {
            None => &mut imported.added,
            Some(there) if !there.cut && there.bytes == target.file.bytes => &mut imported.unchanged,
            Some(_) => &mut imported.replaced,
        };
        list.push(target.path.clone());
    }
    Ok(imported)
}

impl Target<'_> {
    /// Checks that each component below the root is a directory or absent, and the target a plain file or absent.
    fn check_way(&self) -> Result<(), ImportError> {
        let in_the_way = |path: &Path| ImportError::InTheWay { path: path.to_owned() };
        for path in self.path.ancestors().take_while(|path| *path != self.root) {
            let Ok(metadata) = path.symlink_metadata() else { continue };
            let fits = if path == self.path { metadata.is_file() } else { metadata.is_dir() };
            if !fits {
                return Err(in_the_way(path));
            }
        }
        Ok(())
    }
}

/// The steps that were taken so far, to be completed or undone.
#[derive(Default)]
struct Work {
    staged: Vec<Staged>,
    /// The directories that were created, the outermost first.
    made: Vec<PathBuf>,
}

struct Staged {
    path: PathBuf,
    beside: PathBuf,
    /// The path to which the target's old file was moved.
    backup: Option<PathBuf>,
    is_placed: bool,
}

impl Work {
    fn stage(&mut self, target: &Target<'_>) -> Result<(), ImportError> {
        let io = |source| ImportError::Io { path: target.path.clone(), source };
        let folder = target.path.parent().unwrap_or(&target.root);
        self.make_folder(folder).map_err(io)?;
        let beside = folder.join(temporary_name().map_err(io)?);
        let (path, backup) = (target.path.clone(), None);
        self.staged.push(Staged { path, beside: beside.clone(), backup, is_placed: false });
        write(&beside, target).map_err(io)
    }

    fn make_folder(&mut self, folder: &Path) -> io::Result<()> {
        let mut missing: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
        missing.reverse();
        for folder in missing {
            fs::create_dir(folder)?;
            self.made.push(folder.to_owned());
        }
        Ok(())
    }

    fn exchange(&mut self) -> Result<(), ImportError> {
        for staged in &mut self.staged {
            staged.exchange().map_err(|source| ImportError::Io { path: staged.path.clone(), source })?;
        }
        Ok(())
    }

    /// Removes the old files once everything is in place.
    fn forget(&self) {
        for backup in self.staged.iter().filter_map(|staged| staged.backup.as_ref()) {
            // A file that stays behind is untidy but no failure: the import is complete.
            let _ = fs::remove_file(backup);
        }
    }

    /// Restores the old state. Errors are ignored, because there is nothing left to try.
    fn undo(&self) {
        for staged in self.staged.iter().rev() {
            let _ = fs::remove_file(if staged.is_placed { &staged.path } else { &staged.beside });
            if let Some(backup) = &staged.backup {
                let _ = fs::rename(backup, &staged.path);
            }
        }
        for folder in self.made.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

impl Staged {
    fn exchange(&mut self) -> io::Result<()> {
        if self.path.symlink_metadata().is_ok() {
            let backup = self.beside.with_extension("before");
            fs::rename(&self.path, &backup)?;
            self.backup = Some(backup);
        }
        fs::rename(&self.beside, &self.path)?;
        self.is_placed = true;
        Ok(())
    }
}

fn write(beside: &Path, target: &Target<'_>) -> io::Result<()> {
    let mut file = File::create_new(beside)?;
    let mode = match target.path.metadata() {
        Ok(before) => before.permissions().mode() & 0o777,
        // A configuration may contain secrets.
        Err(_) if target.path.extension().is_some_and(|extension| extension == "toml") => 0o600,
        Err(_) if target.file.executable => 0o755,
        Err(_) => 0o644,
    };
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    file.write_all(&target.file.bytes)?;
    file.sync_all()
}

fn temporary_name() -> io::Result<String> {
    let mut random = [0; 8];
    random_bytes(&mut random)?;
    Ok(format!(".windlass-{:016x}", u64::from_le_bytes(random)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_testkit::Scratch;

    #[test]
    fn files_get_their_old_contents_back_when_a_later_one_cannot_take_its_name() {
        let scratch = Scratch::new("settings-undo");
        let root = scratch.path().to_owned();
        fs::write(root.join("a"), "before").unwrap();
        let packed = PackedFile { name: String::new(), bytes: b"after".to_vec(), executable: false };
        let target = |name: &str| Target { file: &packed, root: root.clone(), path: root.join(name) };
        let mut work = Work::default();
        for name in ["a", "deep/er/b", "c"] {
            work.stage(&target(name)).unwrap();
        }
        fs::remove_file(&work.staged[2].beside).unwrap();
        assert!(matches!(work.exchange(), Err(ImportError::Io { path, .. }) if path.ends_with("c")));
        assert_eq!(fs::read_to_string(root.join("a")).unwrap(), "after");
        work.undo();
        assert_eq!(fs::read_to_string(root.join("a")).unwrap(), "before");
        assert_eq!(scratch.names(), ["a"]);
    }
}
