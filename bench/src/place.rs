//! Where the bench keeps what it makes: in the build directory, which is on a real disk and belongs to nobody else.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The bench's folder, and this program itself.
#[derive(Debug)]
pub(crate) struct Place {
    /// This program, for the rounds that are ours.
    pub(crate) program: PathBuf,
    folder: PathBuf,
}

impl Place {
    /// Cargo puts programs into `<build directory>/<profile>/`.
    pub(crate) fn beside_this_program() -> Result<Self> {
        let program = std::env::current_exe().context("finding this program")?;
        let build = program.parent().and_then(Path::parent).context("finding the build directory")?;
        let folder = build.join("bench");
        std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        Ok(Self { program, folder })
    }

    pub(crate) fn latest_json(&self) -> PathBuf {
        self.folder.join("latest.json")
    }

    /// A name in the folder that no other bench running now uses.
    pub(crate) fn own(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}-{}", std::process::id()))
    }

    /// A fresh state directory for one round, removed when the round is over.
    pub(crate) fn state_directory(&self) -> Result<StateDirectory> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let path = self.own(&format!("state-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir_all(&path).with_context(|| format!("making {}", path.display()))?;
        Ok(StateDirectory(path))
    }
}

/// A directory that goes when this value does.
#[derive(Debug)]
pub(crate) struct StateDirectory(PathBuf);

impl StateDirectory {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for StateDirectory {
    fn drop(&mut self) {
        // What cannot be removed lies in the build directory, where it is nobody's loss.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
