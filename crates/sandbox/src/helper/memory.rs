//! Reads the caller's memory, to which its pointers lead. Everything is read only once: the bytes that were judged are
//! the bytes that are used.

use rustix::io::Errno;
use windlass_sys::lockdown::notice::{Notice, read_memory};

/// The reason why a caller's memory or a path cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// The kernel would return this error.
    Fails(Errno),
    /// The object may exist, but the supervisor cannot find it.
    Hidden,
}

impl From<Errno> for Missing {
    fn from(errno: Errno) -> Self {
        Self::Fails(errno)
    }
}

/// The kernel takes no longer path, its end included.
const LONGEST_PATH: usize = 4096;
const PAGE: u64 = 4096;

/// A path, without the zero at its end.
pub(super) fn path_at(notice: &Notice, address: u64) -> Result<Vec<u8>, Missing> {
    text_at(notice, address, LONGEST_PATH, Errno::NAMETOOLONG)
}

/// A text that ends with a zero before it is that long. Reads page by page: the memory after the end may not be
/// readable.
pub(super) fn text_at(
    notice: &Notice,
    address: u64,
    longest: usize,
    too_long: Errno,
) -> Result<Vec<u8>, Missing> {
    let mut text = Vec::new();
    let mut at = address;
    while text.len() < longest {
        let length = (PAGE - at % PAGE) as usize;
        let start = text.len();
        text.resize(start + length, 0);
        let read = read(notice, at, &mut text[start..])?;
        text.truncate(start + read);
        if let Some(end) = text[start..].iter().position(|byte| *byte == 0) {
            text.truncate(start + end);
            return if text.len() < longest { Ok(text) } else { Err(too_long.into()) };
        }
        at += read as u64;
    }
    Err(too_long.into())
}

/// Reads exactly this many bytes.
pub(super) fn bytes_at(notice: &Notice, address: u64, length: usize) -> Result<Vec<u8>, Missing> {
    let mut bytes = vec![0; length];
    let mut done = 0;
    while done < length {
        done += read(notice, address + done as u64, &mut bytes[done..])?;
    }
    Ok(bytes)
}

/// At least one byte.
fn read(notice: &Notice, address: u64, into: &mut [u8]) -> Result<usize, Missing> {
    match read_memory(notice.pid, address, into) {
        Ok(0) | Err(Errno::FAULT) => Err(Missing::Fails(Errno::FAULT)),
        Ok(read) => Ok(read),
        Err(_) => Err(Missing::Hidden),
    }
}
