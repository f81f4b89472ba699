//! The folder of the bench: in the build directory, which is on a real disk and which other programs leave alone.

use anyhow::{Context, Result};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The bench's folder, and this program itself.
#[derive(Debug)]
pub(crate) struct BenchFolder {
    /// This program, for the rounds that are ours.
    pub(crate) program: PathBuf,
    folder: PathBuf,
    rounds: Temporary,
}

impl BenchFolder {
    /// Cargo puts programs into `<build directory>/<profile>/`.
    pub(crate) fn beside_this_program() -> Result<Self> {
        let program = std::env::current_exe().context("finding this program")?;
        let build = program.parent().and_then(Path::parent).context("finding the build directory")?;
        let folder = build.join("bench");
        std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        let rounds = Temporary(folder.join(format!("rounds-{}", std::process::id())));
        Ok(Self { program, folder, rounds })
    }

    pub(crate) fn latest_json(&self) -> PathBuf {
        self.file("latest.json")
    }

    /// A result, by name.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Where the bare program goes: a name that no other bench running now uses.
    pub(crate) fn bare_program(&self) -> PathBuf {
        self.folder.join(format!("bare-{}", std::process::id()))
    }

    /// A fresh state directory for one round. It stays until the end: ext4 keeps clear of inodes that were deleted
    /// within the last half minute, so a round would pay for every file that the one before it left behind and lost.
    pub(crate) fn state_directory(&self) -> Result<PathBuf> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let path = self.rounds.0.join(COUNT.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::create_dir_all(&path).with_context(|| format!("making {}", path.display()))?;
        Ok(path)
    }
}

/// Gives back the space that a round's journals took; the files themselves stay.
pub(crate) fn empty_large_files(directory: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if metadata.is_dir() {
            empty_large_files(&entry.path())?;
        } else if metadata.len() >= LARGE {
            File::options().write(true).open(entry.path())?.set_len(0)?;
        }
    }
    Ok(())
}

const LARGE: u64 = 1 << 20;

/// A directory that goes when this value does.
#[derive(Debug)]
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // A folder that cannot be removed stays in the build directory, where it does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
