//! Plain bytes between two processes of one program. Reading never trusts a length.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use windlass_sys::directory::DirectoryIdentity;
use windlass_sys::mark::Halves;

/// Writes a message.
#[derive(Default)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    pub(crate) fn flag(&mut self, flag: bool) {
        self.byte(u8::from(flag));
    }

    pub(crate) fn number(&mut self, number: u32) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    pub(crate) fn large(&mut self, number: u64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    pub(crate) fn limit(&mut self, limit: Option<Halves>) {
        let Halves { soft, hard } = limit.unwrap_or(Halves { soft: 0, hard: 0 });
        self.flag(limit.is_some());
        self.large(soft);
        self.large(hard);
    }

    pub(crate) fn block(&mut self, block: &[u8]) {
        self.number(u32::try_from(block.len()).unwrap_or(u32::MAX));
        self.bytes.extend_from_slice(block);
    }

    pub(crate) fn path(&mut self, path: &Path) {
        self.block(path.as_os_str().as_bytes());
    }

    pub(crate) fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.number(u32::try_from(items.len()).unwrap_or(u32::MAX));
        for item in items {
            write(self, item);
        }
    }
}

/// Reads a message.
pub(crate) struct Reader<'a> {
    pub(crate) bytes: &'a [u8],
}

impl Reader<'_> {
    fn take(&mut self, length: usize) -> Option<&[u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|taken| taken[0])
    }

    pub(crate) fn flag(&mut self) -> Option<bool> {
        self.byte().map(|byte| byte != 0)
    }

    pub(crate) fn number(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    pub(crate) fn limit(&mut self) -> Option<Option<Halves>> {
        let given = self.flag()?;
        let halves = Halves { soft: self.large()?, hard: self.large()? };
        Some(given.then_some(halves))
    }

    pub(crate) fn maybe(&mut self) -> Option<Option<u64>> {
        let given = self.flag()?;
        Some(Some(self.large()?).filter(|_| given))
    }

    pub(crate) fn identity(&mut self) -> Option<Option<DirectoryIdentity>> {
        let given = self.flag()?;
        let identity = DirectoryIdentity { device: self.large()?, inode: self.large()? };
        Some(Some(identity).filter(|_| given))
    }

    pub(crate) fn large(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    pub(crate) fn block(&mut self) -> Option<&[u8]> {
        let length = self.number()?;
        self.take(usize::try_from(length).ok()?)
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        self.block().map(|block| String::from_utf8_lossy(block).into_owned())
    }

    pub(crate) fn path(&mut self) -> Option<PathBuf> {
        self.block().map(|block| PathBuf::from(OsStr::from_bytes(block)))
    }

    pub(crate) fn c_string(&mut self) -> Option<CString> {
        CString::new(self.block()?).ok()
    }

    pub(crate) fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()?;
        // Reserves no memory for the stated number of items, which may be false: the list grows as items are found.
        (0..count).map(|_| read(self)).collect()
    }
}
