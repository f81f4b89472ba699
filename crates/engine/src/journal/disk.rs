//! The three things a journal does to a disk, as a seam: tests put a failing disk here, everyone else the real one.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Output may hold secrets, so its files belong to their owner alone.
const FILE_MODE: u32 = 0o600;

pub(crate) trait Disk: Send + Sync {
    /// Creates a file that did not exist, open for reading too: readers share the writer's descriptor.
    fn create(&self, path: &Path) -> io::Result<File>;
    /// Writes some of the bytes, as `pwrite` does.
    fn write_at(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<usize>;
    fn remove(&self, path: &Path) -> io::Result<()>;
}

pub(crate) struct RealDisk;

impl Disk for RealDisk {
    fn create(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).mode(FILE_MODE).open(path)
    }

    fn write_at(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
        file.write_at(bytes, at)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}
