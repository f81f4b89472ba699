//! Opens regular files, and nothing else: opening a pipe without a writer would block, and reading a device might never
//! end.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// The mode of new files, before the server's umask.
const MODE: u32 = 0o666;

/// Opens a file to read it.
pub(super) fn to_read(path: &Path) -> io::Result<File> {
    // Check before opening, so that the other end of a pipe notices nothing, and after it, because the file may have
    // been replaced.
    if !std::fs::metadata(path)?.is_file() {
        return Err(no_file(path));
    }
    let file = OpenOptions::new().read(true).custom_flags(at_once()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(no_file(path)) }
}

/// Opens a file to write it anew, or creates it with this mode.
pub(super) fn to_replace(path: &Path, mode: Option<u32>) -> io::Result<File> {
    // As in `to_read`. For a directory the system's own error is the best explanation.
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Err(no_file(path));
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(mode.unwrap_or(MODE)).custom_flags(at_once());
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(no_file(path));
    }
    file.set_len(0)?;
    Ok(file)
}

/// The flag that keeps opening from blocking.
fn at_once() -> i32 {
    OFlags::NONBLOCK.bits().cast_signed()
}

fn no_file(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("path `{}` is not a file", path.display()))
}
