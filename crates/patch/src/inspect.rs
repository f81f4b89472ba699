//! Reads the files of a patch, within limits, and detects in advance which files could not be written. It opens only
//! regular files: reading a pipe would block until another process writes.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::Access;
use rustix::io::Errno;

use crate::nofollow;

/// The longest file that is patched, in bytes.
pub const MAX_FILE: u64 = 32 << 20;

/// The text of a file, or `None` if it does not exist. A file that is not text is an error. If the path is a link, the
/// text is that of its target.
pub(crate) fn load(path: &Path) -> io::Result<Option<String>> {
    text_of(nofollow::open_file(path))
}

/// The same, but a link is an error.
pub(crate) fn load_resolved(path: &Path) -> io::Result<Option<String>> {
    text_of(nofollow::open_resolved(path))
}

fn text_of(opened: io::Result<File>) -> io::Result<Option<String>> {
    let file = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        file => file?,
    };
    let text = String::from_utf8(read_bounded(file)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))?;
    Ok(Some(text))
}

fn read_bounded(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        let message = format!("it has more than {MAX_FILE} bytes, which are the most");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Whether a file that exists may be written, or one that does not may be created.
pub(crate) fn check_writable(path: &Path, exists: bool) -> io::Result<()> {
    if exists {
        return Ok(rustix::fs::access(path, Access::WRITE_OK)?);
    }
    let parent = path.ancestors().skip(1).find(|parent| parent.symlink_metadata().is_ok());
    parent.map_or(Ok(()), check_entries)
}

/// Whether a file may be removed from its directory.
pub(crate) fn check_removable(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), check_entries)
}

/// Whether a directory's entries may be changed.
fn check_entries(directory: &Path) -> io::Result<()> {
    Ok(rustix::fs::access(directory, Access::WRITE_OK | Access::EXEC_OK)?)
}
