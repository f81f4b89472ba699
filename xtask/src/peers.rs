//! `cargo xtask peers`: brings the programs of other people that Windlass is tested and measured with.
//!
//! The files in `peers/` at the root list them, with exact versions; they are installed in `target/peers/`, except
//! Debian's packages, which belong to the machine. Peers that are there already are left alone, so that every test run
//! can begin with this at no cost. Nothing of it is shipped.

mod debian;
mod npm;
mod python;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::command;

/// Installs the peers that the tests need.
pub(crate) fn for_tests() -> Result<()> {
    let root = command::root()?;
    debian::install_missing(&root.join("peers/debian.txt"))?;
    install_missing(&root, FOR_TESTS)
}

/// Installs the peers beside which Windlass is measured.
pub(crate) fn for_bench() -> Result<()> {
    install_missing(&command::root()?, FOR_BENCH)
}

const NPM: Kit =
    Kit { name: "npm", wanted: &["peers/package.json", "peers/package-lock.json"], install: npm::install };

const FOR_TESTS: &[Kit] = &[
    NPM,
    Kit { name: "mcp1", wanted: &["peers/requirements-mcp1.txt"], install: python::install },
    Kit { name: "mcp2", wanted: &["peers/requirements-mcp2.txt"], install: python::install },
    Kit { name: "clients", wanted: &["peers/requirements-clients.txt"], install: python::install },
    Kit { name: "corpus", wanted: &["peers/requirements-corpus.txt"], install: python::install },
    Kit {
        name: "clients-npm",
        wanted: &["peers/clients/package.json", "peers/clients/package-lock.json"],
        install: npm::install,
    },
];

/// Codex, and the Node that runs the others, are with those for the tests.
const FOR_BENCH: &[Kit] = &[
    NPM,
    Kit {
        name: "bench",
        wanted: &["peers/bench/package.json", "peers/bench/package-lock.json"],
        install: npm::install,
    },
];

/// A folder in `target/peers/` that is installed as a whole.
struct Kit {
    name: &'static str,
    /// The files that say what is wanted, relative to the root.
    wanted: &'static [&'static str],
    /// Fills the empty folder, its first argument, with what the files say.
    install: fn(&Path, &[PathBuf]) -> Result<()>,
}

fn install_missing(root: &Path, kits: &[Kit]) -> Result<()> {
    let peers = root.join("target/peers");
    fs::create_dir_all(&peers).with_context(|| format!("cannot make {}", peers.display()))?;
    // Two runs in one tree take turns; the second finds everything there.
    let turn = File::create(peers.join("lock")).context("cannot make target/peers/lock")?;
    turn.lock().context("cannot lock target/peers/lock")?;
    for kit in kits {
        kit.install_if_missing(root, &peers)
            .with_context(|| format!("target/peers/{} could not be installed", kit.name))?;
    }
    Ok(())
}

impl Kit {
    /// The stamp is a copy of the lists. It is written last, so an interrupted installation is done again.
    fn install_if_missing(&self, root: &Path, peers: &Path) -> Result<()> {
        let wanted: Vec<PathBuf> = self.wanted.iter().map(|path| root.join(path)).collect();
        let text = all_text(&wanted)?;
        let stamp = peers.join(format!("{}.stamp", self.name));
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == text) {
            return Ok(());
        }
        eprintln!("peers: installing {} into target/peers/{}", self.wanted.join(" and "), self.name);
        let folder = peers.join(self.name);
        remove(&stamp, fs::remove_file)?;
        remove(&folder, fs::remove_dir_all)?;
        fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        (self.install)(&folder, &wanted)?;
        fs::write(&stamp, text).with_context(|| format!("cannot write {}", stamp.display()))
    }
}

fn all_text(files: &[PathBuf]) -> Result<String> {
    let texts = files
        .iter()
        .map(|file| fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display())));
    texts.collect()
}

fn remove(path: &Path, how: fn(PathBuf) -> std::io::Result<()>) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    how(path.to_path_buf()).with_context(|| format!("cannot remove {}", path.display()))
}

#[cfg(test)]
mod tests {
    use windlass_testkit::Scratch;

    use super::*;

    const WANTED: &str = "wanted.txt";

    /// Installs by adding a line to a file beside the folder, or fails on request.
    fn note(folder: &Path, wanted: &[PathBuf]) -> Result<()> {
        let wish = all_text(wanted)?;
        anyhow::ensure!(wish != "broken", "it is broken");
        fs::write(folder.join("installed"), wish)?;
        let log = folder.with_file_name("log");
        let so_far = fs::read_to_string(&log).unwrap_or_default();
        Ok(fs::write(log, format!("{so_far}installed\n"))?)
    }

    struct Tree(Scratch);

    impl Tree {
        fn wanting(wish: &str) -> Self {
            let tree = Self(Scratch::new("peers"));
            tree.want(wish);
            tree
        }

        fn want(&self, wish: &str) {
            fs::write(self.0.path().join(WANTED), wish).unwrap();
        }

        fn install(&self) -> Result<()> {
            install_missing(self.0.path(), &[Kit { name: "kit", wanted: &[WANTED], install: note }])
        }

        fn installs(&self) -> usize {
            let log = fs::read_to_string(self.0.path().join("target/peers/log")).unwrap_or_default();
            log.lines().count()
        }
    }

    #[test]
    fn a_kit_is_installed_once_and_again_when_another_is_wanted() {
        let tree = Tree::wanting("one");
        tree.install().unwrap();
        tree.install().unwrap();
        assert_eq!(tree.installs(), 1);
        tree.want("two");
        tree.install().unwrap();
        assert_eq!(tree.installs(), 2);
        let installed = tree.0.path().join("target/peers/kit/installed");
        assert_eq!(fs::read_to_string(installed).unwrap(), "two");
    }

    #[test]
    fn a_failed_installation_is_named_and_tried_again() {
        let tree = Tree::wanting("one");
        tree.install().unwrap();
        tree.want("broken");
        let error = format!("{:#}", tree.install().unwrap_err());
        assert_eq!(error, "target/peers/kit could not be installed: it is broken");
        tree.want("one");
        tree.install().unwrap();
        assert_eq!(tree.installs(), 2);
    }
}
