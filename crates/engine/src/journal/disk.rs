//! The three operations of a journal on a disk, as a seam: tests put a failing disk here, programs the real one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Output may hold secrets, so its files belong to their owner alone.
const FILE_MODE: u32 = 0o600;

pub(crate) trait Disk: Send + Sync {
    /// Creates a file that did not exist, open for reading too: readers share the writer's descriptor. It is opened to
    /// append: in a file that another process has truncated, a write at the former end would leave a hole that reads as
    /// zeros.
    fn create(&self, path: &Path) -> io::Result<File>;
    /// Writes some of the bytes at the end, as `write` does.
    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<usize>;
    fn remove(&self, path: &Path) -> io::Result<()>;
}

pub(crate) struct RealDisk;

impl Disk for RealDisk {
    fn create(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).append(true).create_new(true).mode(FILE_MODE).open(path)
    }

    fn append(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        file.write(bytes)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}
