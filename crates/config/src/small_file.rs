//! Reads files that people write: bounded, and only regular files, so that a pipe or a disk image under a familiar name
//! cannot block the program.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::path::Path;

/// The beginning of a file.
#[derive(Debug)]
pub(crate) struct Beginning {
    pub(crate) bytes: Vec<u8>,
    /// Whether the file is longer.
    pub(crate) cut: bool,
}

/// Which files may be opened, whatever path leads to them.
#[derive(Clone, Copy)]
pub(crate) struct ReadRules<'a> {
    /// The directory that the file must lie in.
    pub(crate) within: Option<&'a Path>,
    /// Whether a file may be read; its path is without links.
    pub(crate) may_read: &'a dyn Fn(&Path) -> bool,
}

/// Up to `most` bytes of a regular file that these rules allow; `None` if there is no such file. The file that was opened is
/// judged, so a link that changes meanwhile changes nothing.
pub(crate) fn beginning_under(
    rules: ReadRules<'_>,
    path: &Path,
    most: usize,
) -> io::Result<Option<Beginning>> {
    let Some(file) = opened(path)? else { return Ok(None) };
    check(&file, rules)?;
    read(file, most).map(Some)
}

/// Refuses an open file that the rules do not allow.
pub(crate) fn check(file: &File, rules: ReadRules<'_>) -> io::Result<()> {
    let refused = |reason: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    let real = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    if rules.within.is_some_and(|root| !real.starts_with(root)) {
        return refused("it is a link out of the project".to_owned());
    }
    if !(rules.may_read)(&real) {
        return refused(format!("it leads to {}, which may not be read", real.display()));
    }
    Ok(())
}

/// Up to `most` bytes of a regular file; `None` if there is no such file.
pub(crate) fn beginning(path: &Path, most: usize) -> io::Result<Option<Beginning>> {
    opened(path)?.map(|file| read(file, most)).transpose()
}

fn opened(path: &Path) -> io::Result<Option<File>> {
    match path.metadata() {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is not a regular file")),
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error),
    }
    File::open(path).map(Some)
}

fn read(file: File, most: usize) -> io::Result<Beginning> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    file.take(limit).read_to_end(&mut bytes)?;
    let cut = bytes.len() > most;
    bytes.truncate(most);
    Ok(Beginning { bytes, cut })
}

/// Reads a whole text of at most `most` bytes; `None` if there is no such file.
pub(crate) fn text(path: &Path, most: usize) -> io::Result<Option<String>> {
    beginning(path, most)?.map(|beginning| whole(beginning, most)).transpose()
}

/// The same of a file that these rules allow.
pub(crate) fn text_under(rules: ReadRules<'_>, path: &Path, most: usize) -> io::Result<Option<String>> {
    beginning_under(rules, path, most)?.map(|beginning| whole(beginning, most)).transpose()
}

fn whole(beginning: Beginning, most: usize) -> io::Result<String> {
    let refused = |reason: String| io::Error::new(io::ErrorKind::InvalidData, reason);
    if beginning.cut {
        return Err(refused(format!("it has more than {most} bytes")));
    }
    String::from_utf8(beginning.bytes).map_err(|_| refused("it is not UTF-8".to_owned()))
}

/// Whether the error means that the file, or a directory on its path, does not exist.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
