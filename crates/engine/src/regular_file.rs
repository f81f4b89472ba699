//! Opens files of the state directory. Another process can put anything under their names: opening a FIFO waits for its other end,
//! and a symbolic link leads to a file that is not ours. Only a regular file is opened.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// Opens a regular file for reading.
pub(crate) fn read(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().read(true), path)
}

/// Opens a regular file with these options, and never waits. Anything else is an error of the kind `InvalidData` that says what is
/// there.
pub(crate) fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let opened = options.custom_flags(flags.bits().cast_signed()).open(path);
    let file = opened.map_err(|error| match Errno::from_io_error(&error) {
        // A FIFO without a reader, or a socket, or a link.
        Some(Errno::NXIO | Errno::LOOP | Errno::ISDIR) => irregular(path).unwrap_or(error),
        _ => error,
    })?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(irregular(path).unwrap_or_else(|| odd("it is not a regular file"))),
    }
}

/// The error for a path at which there is something else than a regular file. `None` for a regular file, and for nothing.
pub(crate) fn irregular(path: &Path) -> Option<io::Error> {
    let kind = fs::symlink_metadata(path).ok()?.file_type();
    if kind.is_file() {
        return None;
    }
    if kind.is_symlink() {
        let target = fs::read_link(path).unwrap_or_default();
        return Some(odd(&format!("it is not a regular file, but a symbolic link to {}", target.display())));
    }
    let is = match kind {
        kind if kind.is_fifo() => ", but a FIFO",
        kind if kind.is_dir() => ", but a directory",
        kind if kind.is_socket() => ", but a socket",
        _ => "",
    };
    Some(odd(&format!("it is not a regular file{is}")))
}

fn odd(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use windlass_testkit::Scratch;

    #[test]
    fn only_a_regular_file_is_opened_and_the_error_says_what_is_there() {
        let scratch = Scratch::new("regular");
        let path = |name: &str| scratch.path().join(name);
        fs::write(path("file"), "text").unwrap();
        mknodat(CWD, path("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        fs::create_dir(path("directory")).unwrap();
        std::os::unix::fs::symlink("/nonexistent/x", path("dangling")).unwrap();
        std::os::unix::fs::symlink(path("file"), path("link")).unwrap();
        assert!(read(&path("file")).is_ok());
        assert_eq!(read(&path("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        for (name, word) in [
            ("fifo", "a FIFO"),
            ("directory", "a directory"),
            ("dangling", "/nonexistent/x"),
            ("link", "link"),
        ] {
            for options in [OpenOptions::new().read(true), OpenOptions::new().write(true).create(true)] {
                let error = open(options, &path(name)).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{name}: {error}");
                assert!(error.to_string().contains(word), "{name}: {error}");
            }
        }
    }
}
