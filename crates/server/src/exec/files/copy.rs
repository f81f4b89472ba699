//! Copies of files, links and whole directories.

use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use windlass_protocol::envelope::{INVALID_REQUEST, Refusal};
use windlass_protocol::exec::{Done, FsCopyParams};

use super::{done, refusal, regular};

pub(super) fn copy(params: &FsCopyParams) -> Result<Done, Refusal> {
    let (from, to) = (params.source_path.path(), params.destination_path.path());
    let found = std::fs::symlink_metadata(from).map_err(|error| refusal(&error))?;
    if found.is_dir() {
        check_folders(params)?;
    }
    done(copy_anything(from, to))
}

fn check_folders(params: &FsCopyParams) -> Result<(), Refusal> {
    let refuse = |message: &str| Err(Refusal::new(INVALID_REQUEST, message));
    if !params.recursive {
        return refuse("fs/copy requires recursive: true when sourcePath is a directory");
    }
    let source = std::fs::canonicalize(params.source_path.path()).map_err(|error| refusal(&error))?;
    // The destination may not exist yet; then its closest existing parent decides.
    let mut above = params.destination_path.path().ancestors();
    let destination = above.find_map(|path| std::fs::canonicalize(path).ok());
    if destination.is_some_and(|destination| destination.starts_with(&source)) {
        return refuse("fs/copy cannot copy a directory to itself or one of its descendants");
    }
    Ok(())
}

/// Copies a link as a link. An existing file is replaced, an existing directory is added to.
fn copy_anything(from: &Path, to: &Path) -> io::Result<()> {
    let kind = std::fs::symlink_metadata(from)?.file_type();
    if kind.is_dir() {
        std::fs::create_dir_all(to)?;
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            // Skip pipes, sockets and devices: a copy of a directory is not expected to contain them.
            let kind = entry.file_type()?;
            if kind.is_dir() || kind.is_symlink() || kind.is_file() {
                copy_anything(&entry.path(), &to.join(entry.file_name()))?;
            }
        }
        Ok(())
    } else if kind.is_symlink() {
        if to.is_symlink() {
            std::fs::remove_file(to)?;
        }
        std::os::unix::fs::symlink(std::fs::read_link(from)?, to)
    } else if kind.is_file() {
        copy_file(from, to)
    } else {
        let message = format!("`{}` is neither a file, a folder nor a link", from.display());
        Err(io::Error::new(io::ErrorKind::InvalidInput, message))
    }
}

/// Copies a file with its permissions.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = regular::to_read(from)?;
    let found = source.metadata()?;
    let is_the_same = |there: std::fs::Metadata| (there.dev(), there.ino()) == (found.dev(), found.ino());
    if std::fs::metadata(to).is_ok_and(is_the_same) {
        // Both are the same file; replacing it would empty it first.
        return Ok(());
    }
    let permissions = found.permissions();
    let mut copy = regular::to_replace(to, Some(permissions.mode()))?;
    copy.set_permissions(permissions)?;
    io::copy(&mut source, &mut copy).map(|_| ())
}
