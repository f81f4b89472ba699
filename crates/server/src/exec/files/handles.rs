//! Files that a connection has opened to read them in blocks. They are closed with the connection.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use windlass_protocol::envelope::{INVALID_REQUEST, Refusal};
use windlass_protocol::exec::{
    Done, FsCloseParams, FsOpenMode, FsOpenParams, FsOpenResponse, FsReadBlockParams, FsReadBlockResponse,
    NOT_FOUND,
};

use super::refusal;
use crate::exec::Shared;

/// The longest name of an opened file.
const LONGEST_NAME: usize = 32;
/// The most files that one connection may have open.
const MOST: usize = 128;
/// The longest block.
const LONGEST_BLOCK: usize = 1024 * 1024;

/// The opened files of one connection, by the names that the client gave them. Clones share them.
#[derive(Clone, Default)]
pub(in crate::exec) struct Handles {
    open: Arc<Mutex<HashMap<String, Arc<File>>>>,
}

impl Handles {
    pub(in crate::exec) fn open(
        &self,
        server: &Shared,
        params: &FsOpenParams,
    ) -> Result<FsOpenResponse, Refusal> {
        check_name(&params.handle_id)?;
        if params.mode == FsOpenMode::Replace {
            return refuse(
                "files are opened for reading only: write the whole file with fs/writeFile".to_owned(),
            );
        }
        let file = super::open(server, params)?;
        let mut open = self.lock();
        if open.contains_key(&params.handle_id) {
            return refuse(format!("file handle `{}` already exists", params.handle_id));
        }
        if open.len() >= MOST {
            return refuse(format!("{MOST} files are open on this connection: close one with fs/close"));
        }
        open.insert(params.handle_id.clone(), Arc::new(file));
        Ok(FsOpenResponse { handle_id: params.handle_id.clone() })
    }

    pub(in crate::exec) fn read_block(
        &self,
        params: &FsReadBlockParams,
    ) -> Result<FsReadBlockResponse, Refusal> {
        check_name(&params.handle_id)?;
        if !(1..=LONGEST_BLOCK).contains(&params.len) {
            return refuse(format!("file read block length must be between 1 and {LONGEST_BLOCK}"));
        }
        let unknown = || Refusal::new(NOT_FOUND, format!("unknown file handle `{}`", params.handle_id));
        let file = self.lock().get(&params.handle_id).cloned().ok_or_else(unknown)?;
        let mut block = vec![0; params.len];
        let mut filled = 0;
        while filled < block.len() {
            let at = params.offset.saturating_add(filled as u64);
            match file.read_at(&mut block[filled..], at).map_err(|error| refusal(&error))? {
                0 => break,
                count => filled += count,
            }
        }
        block.truncate(filled);
        let size = file.metadata().map_err(|error| refusal(&error))?.len();
        let eof = params.offset.saturating_add(filled as u64) >= size;
        Ok(FsReadBlockResponse { chunk: STANDARD.encode(block), eof })
    }

    pub(in crate::exec) fn close(&self, params: &FsCloseParams) -> Result<Done, Refusal> {
        check_name(&params.handle_id)?;
        self.lock().remove(&params.handle_id);
        Ok(Done {})
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<File>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check_name(name: &str) -> Result<(), Refusal> {
    if name.len() <= LONGEST_NAME {
        return Ok(());
    }
    refuse(format!("file handle ID must not exceed {LONGEST_NAME} bytes"))
}

fn refuse<T>(message: String) -> Result<T, Refusal> {
    Err(Refusal::new(INVALID_REQUEST, message))
}
