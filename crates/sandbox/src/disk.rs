//! The real tree of files.

use crate::files::{Files, Kind};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The tree that this process sees.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Files for Disk {
    fn kind(&self, path: &Path) -> Option<Kind> {
        let kind = fs::symlink_metadata(path).ok()?.file_type();
        Some(if kind.is_dir() {
            Kind::Directory
        } else if kind.is_symlink() {
            Kind::Link
        } else {
            Kind::File
        })
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        fs::canonicalize(path).ok()
    }

    fn target(&self, link: &Path) -> Option<PathBuf> {
        fs::read_link(link).ok()
    }

    fn names(&self, directory: &Path) -> Vec<OsString> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name()).collect()
    }

    fn text(&self, file: &Path) -> Option<String> {
        const LONGEST: u64 = 4096;
        let mut text = String::new();
        fs::File::open(file).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
        Some(text)
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
}
