//! Opening files, and nothing else: a pipe that nobody has at its other end would keep whoever opens it, and a device might
//! never end.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// What a file is created with where nothing is said, before the server's mask.
const MODE: u32 = 0o666;

/// Opens a file to read it.
pub(super) fn to_read(path: &Path) -> io::Result<File> {
    // Looked at before, so that nobody at the other end of a pipe notices us, and after, as it may have been replaced.
    if !std::fs::metadata(path)?.is_file() {
        return Err(no_file(path));
    }
    let file = OpenOptions::new().read(true).custom_flags(at_once()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(no_file(path)) }
}

/// Opens a file to write it anew, and creates it, with this mode, if need be.
pub(super) fn to_replace(path: &Path, mode: Option<u32>) -> io::Result<File> {
    // As in `to_read`. Of a folder the system itself says best what is wrong.
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

/// Opening never waits for somebody else.
fn at_once() -> i32 {
    OFlags::NONBLOCK.bits().cast_signed()
}

fn no_file(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("path `{}` is not a file", path.display()))
}
