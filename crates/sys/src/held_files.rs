//! Files that another process has open, as `/proc` shows them. A removed file has no name any more, but it exists as
//! long as a process holds it, and can be opened through that process.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use crate::process::Pid;

/// The kernel adds this to the name of a file that was removed.
const REMOVED: &str = " (deleted)";

/// A file that a process has open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldFile {
    /// The name that it has, or had when it was removed.
    pub path: PathBuf,
    /// Whether that name is gone.
    pub is_removed: bool,
    /// Where the process would read or write next.
    pub position: u64,
    /// The descriptor, by its name in `/proc`.
    link: PathBuf,
}

impl HeldFile {
    /// Opens it for reading. The process may have closed it since, and opened another one under the same number.
    pub fn open(&self) -> io::Result<File> {
        let file = File::open(&self.link)?;
        let opened = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        match name_of(&opened) == (self.path.clone(), self.is_removed) {
            true => Ok(file),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// The files in a directory that a process has open. Fails for a process that this one may not inspect.
pub fn held_in(pid: Pid, directory: &Path) -> io::Result<Vec<HeldFile>> {
    // The kernel's links contain no symbolic links. A directory that is gone is not found by any other name.
    let directory = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_path_buf());
    let mut held = Vec::new();
    for entry in fs::read_dir(format!("/proc/{}/fd", pid.get()))? {
        let link = entry?.path();
        // A descriptor that was closed meanwhile does not count.
        let Ok(target) = fs::read_link(&link) else { continue };
        let (path, is_removed) = name_of(&target);
        if path.parent() == Some(&directory)
            && let Some(position) = position(&link)
        {
            held.push(HeldFile { path, is_removed, position, link });
        }
    }
    Ok(held)
}

fn name_of(target: &Path) -> (PathBuf, bool) {
    match target.to_str().and_then(|name| name.strip_suffix(REMOVED)) {
        Some(name) => (name.into(), true),
        None => (target.to_path_buf(), false),
    }
}

fn position(link: &Path) -> Option<u64> {
    let info = link.to_str()?.replace("/fd/", "/fdinfo/");
    let info = fs::read_to_string(info).ok()?;
    info.lines().find_map(|line| line.strip_prefix("pos:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn a_removed_file_is_read_through_the_process_that_holds_it() {
        let directory = std::env::temp_dir().join(format!("windlass-held-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let path = directory.join("output");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"kept").unwrap();
        let own = Pid::of_this_process();
        let look = || held_in(own, &directory).unwrap();
        assert_eq!((look().len(), look()[0].is_removed, look()[0].position), (1, false, 4));
        fs::remove_file(&path).unwrap();
        let held = look();
        assert_eq!((held[0].path.file_name(), held[0].is_removed), (path.file_name(), true));
        let mut text = String::new();
        held[0].open().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "kept");
        drop(file);
        assert!(held[0].open().is_err() && look().is_empty());
        fs::remove_dir(&directory).unwrap();
    }
}
