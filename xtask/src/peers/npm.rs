//! Packages from npm, exactly as their lock file has them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command;

/// Copies the manifest and its lock file into the folder and lets npm do what they say.
///
/// Installation scripts stay off: none of these packages needs its own, and some download what no lock file covers. It
/// is `npm install`, not the stricter `npm ci`, because the latter refuses a lock file that was written where the
/// registry lacks optional packages for other systems; what the lock file names is installed at its version either way.
pub(super) fn install(folder: &Path, wanted: &[PathBuf]) -> Result<()> {
    for file in wanted {
        let name = file.file_name().context("a manifest has a name")?;
        fs::copy(file, folder.join(name)).with_context(|| format!("cannot copy {}", file.display()))?;
    }
    let mut npm = Command::new("npm");
    npm.current_dir(folder).args([
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ]);
    npm.env("NPM_CONFIG_UPDATE_NOTIFIER", "false");
    command::run(npm).context("npm must be installed and must reach its registry; then try again")
}

#[cfg(test)]
mod tests {
    use crate::command::root;

    /// A lock file with addresses would send every user to the registry of its author.
    #[test]
    fn lock_files_name_no_registry() {
        for folder in ["peers", "peers/bench", "peers/clients"] {
            let path = format!("{folder}/package-lock.json");
            let text = std::fs::read_to_string(root().unwrap().join(&path)).unwrap();
            let named = text.lines().find(|line| line.contains("\"resolved\""));
            assert_eq!(named, None, "{path}: write it with `npm install --omit-lockfile-registry-resolved`");
        }
    }
}
