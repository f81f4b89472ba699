//! The methods for files and directories, which run here or, if the client asks for confinement, in a sandbox. They may
//! block, so they run beside the messages.

pub(super) mod confined;
mod copy;
mod handles;
pub(super) mod operation;
mod regular;
mod walk;

use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use windlass_protocol::envelope::{INTERNAL_ERROR, INVALID_REQUEST, Refusal};
use windlass_protocol::exec::{
    Done, FsCanonicalizeParams, FsCanonicalizeResponse, FsCreateDirectoryParams, FsGetMetadataParams,
    FsGetMetadataResponse, FsOpenParams, FsReadDirectoryEntry, FsReadDirectoryParams,
    FsReadDirectoryResponse, FsReadFileParams, FsReadFileResponse, FsRemoveParams, FsWriteFileParams,
    NOT_FOUND, PathUri,
};

pub(super) use self::handles::Handles;
use self::operation::{Operation, Response};
use super::{Shared, permissions};

/// The largest file that is returned in one piece. Clients take no larger messages; `fs/open` reads any file in blocks.
const LARGEST: u64 = 32 * 1024 * 1024;

/// Carries out an operation under the permissions that the client chose.
pub(super) fn perform(server: &Shared, mut operation: Operation) -> Result<Response, Refusal> {
    match permissions::for_files(server, operation.take_sandbox())? {
        None => operation.perform(),
        Some(plan) => confined::perform(server, &plan, &operation),
    }
}

/// Opens a file to read it, likewise.
pub(super) fn open(server: &Shared, params: &FsOpenParams) -> Result<File, Refusal> {
    match permissions::for_files(server, params.sandbox.clone())? {
        None => regular::to_read(params.path.path()).map_err(|error| refusal(&error)),
        Some(plan) => confined::open(server, &plan, &params.path),
    }
}

fn read_file(params: &FsReadFileParams) -> Result<FsReadFileResponse, Refusal> {
    let path = params.path.path();
    let file = regular::to_read(path).map_err(|error| refusal(&error))?;
    let size = file.metadata().map_err(|error| refusal(&error))?.len();
    if size > LARGEST {
        let message = format!(
            "`{}` has {size} bytes and is given in one piece only up to {LARGEST}: read it with fs/open and fs/readBlock",
            path.display()
        );
        return Err(Refusal::new(INVALID_REQUEST, message));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    // It may grow while it is read.
    file.take(LARGEST).read_to_end(&mut bytes).map_err(|error| refusal(&error))?;
    Ok(FsReadFileResponse { data_base64: STANDARD.encode(bytes) })
}

fn write_file(params: &FsWriteFileParams) -> Result<Done, Refusal> {
    let bytes = STANDARD.decode(&params.data_base64).map_err(|error| {
        Refusal::new(INVALID_REQUEST, format!("fs/writeFile requires valid base64 dataBase64: {error}"))
    })?;
    done(regular::to_replace(params.path.path(), None).and_then(|mut file| file.write_all(&bytes)))
}

fn create_directory(params: &FsCreateDirectoryParams) -> Result<Done, Refusal> {
    let path = params.path.path();
    done(match params.recursive {
        Some(false) => std::fs::create_dir(path),
        Some(true) | None => std::fs::create_dir_all(path),
    })
}

fn get_metadata(params: &FsGetMetadataParams) -> Result<FsGetMetadataResponse, Refusal> {
    let path = params.path.path();
    let found = std::fs::metadata(path).map_err(|error| refusal(&error))?;
    Ok(FsGetMetadataResponse {
        is_directory: found.is_dir(),
        is_file: found.is_file(),
        is_symlink: path.is_symlink(),
        size: found.len(),
        created_at_ms: milliseconds(found.created()),
        modified_at_ms: milliseconds(found.modified()),
    })
}

fn canonicalize(params: &FsCanonicalizeParams) -> Result<FsCanonicalizeResponse, Refusal> {
    let path = std::fs::canonicalize(params.path.path()).map_err(|error| refusal(&error))?;
    Ok(FsCanonicalizeResponse { path: PathUri::of(path) })
}

fn read_directory(params: &FsReadDirectoryParams) -> Result<FsReadDirectoryResponse, Refusal> {
    let listing = std::fs::read_dir(params.path.path()).map_err(|error| refusal(&error))?;
    let entry = |entry: io::Result<std::fs::DirEntry>| {
        let entry = entry?;
        // A dangling link is neither a file nor a directory.
        let found = std::fs::metadata(entry.path()).ok();
        Ok(FsReadDirectoryEntry {
            file_name: entry.file_name().to_string_lossy().into_owned(),
            is_directory: found.as_ref().is_some_and(Metadata::is_dir),
            is_file: found.as_ref().is_some_and(Metadata::is_file),
        })
    };
    let entries: io::Result<Vec<_>> = listing.map(entry).collect();
    let mut entries = entries.map_err(|error| refusal(&error))?;
    entries.sort_by(|one, other| one.file_name.cmp(&other.file_name));
    Ok(FsReadDirectoryResponse { entries })
}

fn remove(params: &FsRemoveParams) -> Result<Done, Refusal> {
    let path = params.path.path();
    let removed = std::fs::symlink_metadata(path).and_then(|found| {
        match (found.is_dir(), params.recursive.unwrap_or(true)) {
            (false, _) => std::fs::remove_file(path),
            (true, true) => std::fs::remove_dir_all(path),
            (true, false) => std::fs::remove_dir(path),
        }
    });
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound && params.force.unwrap_or(true) => Ok(Done {}),
        other => done(other),
    }
}

fn done(outcome: io::Result<()>) -> Result<Done, Refusal> {
    outcome.map(|()| Done {}).map_err(|error| refusal(&error))
}

/// The system's error, under the dialect's error code.
fn refusal(error: &io::Error) -> Refusal {
    let code = match error.kind() {
        io::ErrorKind::NotFound => NOT_FOUND,
        io::ErrorKind::InvalidInput | io::ErrorKind::PermissionDenied => INVALID_REQUEST,
        _ => INTERNAL_ERROR,
    };
    Refusal::new(code, error.to_string())
}

fn milliseconds(time: io::Result<SystemTime>) -> i64 {
    let since = time.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
