//! Requests to stop one session of another process.
//!
//! `windlass stop` ends the processes of a session itself, by their mark. The request exists before the first signal,
//! so the runtime that collects the root knows why it died: it ends the remaining processes, and its receipt says
//! `stopped`. A signal to the runtime could not name one of its sessions, and would end the runtimes of earlier
//! versions.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use super::files::OwnFile;
use super::{FILE_MODE, Store};
use crate::{SessionId, regular_file};

/// A request, until it is dropped.
#[derive(Debug)]
pub struct StopRequest {
    path: PathBuf,
}

impl StopRequest {
    /// Leaves the request in place, for a runtime that cannot look at it yet. The file goes with the session's other
    /// files.
    pub fn leave(mut self) {
        self.path.clear();
    }
}

impl Drop for StopRequest {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            // A request that cannot be removed goes with the session's other files.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Store {
    /// Announces that a session of another process is about to be ended on purpose.
    pub fn request_stop(&self, id: SessionId) -> io::Result<StopRequest> {
        let path = self.root.join(OwnFile::StopRequest(id).to_string());
        regular_file::open(
            OpenOptions::new().write(true).create(true).truncate(false).mode(FILE_MODE),
            &path,
        )?;
        Ok(StopRequest { path })
    }

    /// Whether another process is ending this session.
    pub(crate) fn is_stop_requested(&self, id: SessionId) -> bool {
        let path = self.root.join(OwnFile::StopRequest(id).to_string());
        rustix::fs::access(path, rustix::fs::Access::EXISTS).is_ok()
    }
}
