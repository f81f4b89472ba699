//! The real tree of files.

use crate::files::{Files, Kind};
use rustix::fs::{Access, OFlags, access};
use rustix::io::Errno;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The tree that this process sees. What cannot be looked at counts as not being there, and is remembered if it is ours: whoever
/// may change it could let us, or a command, look at it a moment later.
#[derive(Debug, Default)]
pub struct Disk {
    barred: RefCell<BTreeSet<PathBuf>>,
}

impl Disk {
    /// The directories of ours that could not be looked into.
    pub fn barred(self) -> BTreeSet<PathBuf> {
        self.barred.into_inner()
    }

    fn note<T>(&self, path: &Path, outcome: io::Result<T>) -> Option<T> {
        if let Err(error) = &outcome
            && error.kind() == io::ErrorKind::PermissionDenied
        {
            let mut above: Vec<&Path> = path.ancestors().collect();
            above.reverse();
            let refuses = |at: &Path, what: Access| access(at, what) == Err(Errno::ACCESS);
            let is_barred = |directory: &&Path| {
                refuses(directory, Access::EXEC_OK) || *directory == path && refuses(path, Access::READ_OK)
            };
            let barred = above.into_iter().find(is_barred).filter(|directory| is_own(directory));
            self.barred.borrow_mut().extend(barred.map(Path::to_owned));
        }
        outcome.ok()
    }
}

fn is_own(directory: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(directory).is_ok_and(|about| about.is_dir() && about.uid() == own)
}

impl Files for Disk {
    fn kind(&self, path: &Path) -> Option<Kind> {
        let kind = self.note(path, fs::symlink_metadata(path))?.file_type();
        Some(if kind.is_dir() {
            Kind::Directory
        } else if kind.is_symlink() {
            Kind::Link
        } else {
            Kind::File
        })
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        self.note(path, fs::canonicalize(path))
    }

    fn target(&self, link: &Path) -> Option<PathBuf> {
        fs::read_link(link).ok()
    }

    fn names(&self, directory: &Path) -> Vec<OsString> {
        let entries = self.note(directory, fs::read_dir(directory)).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name()).collect()
    }

    fn text(&self, file: &Path) -> Option<String> {
        const LONGEST: u64 = 1 << 20;
        // A pipe would keep us until somebody comes to its other end.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(file).ok()?;
        let mut text = Vec::new();
        file.metadata().ok().filter(fs::Metadata::is_file)?;
        file.take(LONGEST).read_to_end(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    fn sockets(&self) -> Vec<PathBuf> {
        let table = fs::read("/proc/net/unix").unwrap_or_default();
        let mut found: Vec<PathBuf> = table.split(|byte| *byte == b'\n').filter_map(socket).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// `Num: RefCount Protocol Flags Type St Inode Path`, where the path is the rest of the line.
fn socket(line: &[u8]) -> Option<PathBuf> {
    let start = line.windows(2).position(|pair| pair == b" /")? + 1;
    Some(PathBuf::from(OsStr::from_bytes(&line[start..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_table_of_sockets_names_its_path() {
        let line = b"0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/a socket\xff";
        assert_eq!(socket(line), Some(PathBuf::from(OsStr::from_bytes(b"/run/a socket\xff"))));
        let abstract_one = b"0000000000000000: 00000002 00000000 00010000 0001 01 12345 @name";
        assert_eq!(socket(abstract_one), None);
        assert_eq!(socket(b"Num       RefCount Protocol Flags    Type St Inode Path"), None);
    }

    #[test]
    fn a_pipe_that_nobody_writes_to_has_no_text() {
        let pipe = std::env::temp_dir().join(format!("windlass-pipe-{}", std::process::id()));
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        let text = Disk::default().text(&pipe);
        fs::remove_file(&pipe).unwrap();
        assert_eq!(text, None);
    }
}
