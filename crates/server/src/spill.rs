//! Input that waits on disk because there is no room for it in memory: in an unnamed file, which the kernel frees even
//! if the server crashes.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{Mode, OFlags};

/// The limit on disk for one connection.
const MOST: u64 = 4 << 30;

/// The file for bytes that do not fit in memory.
#[derive(Clone, Debug)]
pub(crate) struct Spill {
    directory: Arc<PathBuf>,
    most: u64,
    open: Arc<Mutex<Open>>,
}

#[derive(Debug, Default)]
struct Open {
    file: Option<Arc<File>>,
    /// The offset for the next bytes.
    end: u64,
    /// The number of spilled pieces still to be read back. At zero the file is truncated.
    waiting: usize,
}

/// Bytes that were spilled.
#[derive(Debug)]
pub(crate) struct Spilled {
    file: Arc<File>,
    at: u64,
    length: usize,
    open: Arc<Mutex<Open>>,
}

/// Waiting bytes, in memory or on disk.
#[derive(Debug)]
pub(crate) enum Stock {
    Here(Vec<u8>),
    OnDisk(Spilled),
}

impl Stock {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Here(bytes) => bytes.len(),
            Self::OnDisk(spilled) => spilled.length,
        }
    }

    /// The bytes in memory: all of them, or none.
    pub(crate) fn here(&self) -> &[u8] {
        match self {
            Self::Here(bytes) => bytes,
            Self::OnDisk(_) => &[],
        }
    }

    /// At most so many of them from an offset on, wherever they are.
    pub(crate) async fn piece(&self, from: usize, most: usize) -> io::Result<Cow<'_, [u8]>> {
        let to = self.len().min(from + most);
        match self {
            Self::Here(bytes) => Ok(Cow::Borrowed(&bytes[from..to])),
            Self::OnDisk(spilled) => spilled.read(from, to - from).await.map(Cow::Owned),
        }
    }

    /// Loads them into memory, because their turn has come. Returns how many were on disk.
    pub(crate) async fn fetch(&mut self) -> io::Result<usize> {
        let Self::OnDisk(_) = self else { return Ok(0) };
        let Self::OnDisk(spilled) = std::mem::replace(self, Self::Here(Vec::new())) else { return Ok(0) };
        let bytes = spilled.read(0, spilled.length).await?;
        let count = bytes.len();
        *self = Self::Here(bytes);
        Ok(count)
    }
}

impl Spill {
    /// A spill whose file is created in this directory with the first bytes.
    pub(crate) fn below(directory: PathBuf) -> Self {
        Self { directory: Arc::new(directory), most: MOST, open: Arc::default() }
    }

    /// Spills bytes. Gives them back if that fails.
    pub(crate) async fn put(&self, bytes: Vec<u8>) -> Result<Spilled, Vec<u8>> {
        let spill = self.clone();
        let put = tokio::task::spawn_blocking(move || spill.put_at_once(&bytes).map_err(|_| bytes));
        // The task fails only when the runtime shuts down, and then no task waits for the bytes.
        put.await.unwrap_or_else(|_| Err(Vec::new()))
    }

    /// The blocking form, for a caller that cannot wait: it writes into the page cache, like the journal.
    pub(crate) fn put_at_once(&self, bytes: &[u8]) -> io::Result<Spilled> {
        let mut open = lock(&self.open);
        if open.waiting == 0 {
            open.end = 0;
        }
        let end = open.end + bytes.len() as u64;
        if end > self.most {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let file = match &open.file {
            Some(file) => Arc::clone(file),
            None => Arc::new(self.create()?),
        };
        open.file = Some(Arc::clone(&file));
        let at = open.end;
        file.write_all_at(bytes, at)?;
        open.end = end;
        open.waiting += 1;
        Ok(Spilled { file, at, length: bytes.len(), open: Arc::clone(&self.open) })
    }

    fn create(&self) -> io::Result<File> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(File::from(rustix::fs::open(self.directory.as_path(), flags, mode)?))
    }
}

impl Spilled {
    /// Reads a part of them back.
    async fn read(&self, from: usize, count: usize) -> io::Result<Vec<u8>> {
        let (file, at) = (Arc::clone(&self.file), self.at + from as u64);
        let read = move || {
            let mut bytes = vec![0; count];
            file.read_exact_at(&mut bytes, at).map(|()| bytes)
        };
        tokio::task::spawn_blocking(read).await.unwrap_or_else(|_| Err(io::ErrorKind::Interrupted.into()))
    }
}

impl Drop for Spilled {
    fn drop(&mut self) {
        let mut open = lock(&self.open);
        open.waiting -= 1;
        if open.waiting == 0 {
            open.end = 0;
            // If the file cannot be truncated, later bytes overwrite it.
            let _ = self.file.set_len(0);
        }
    }
}

fn lock(open: &Mutex<Open>) -> MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use windlass_testkit::Scratch;

    use super::*;

    #[tokio::test]
    async fn what_is_put_there_comes_back_and_takes_no_room_afterwards() {
        let scratch = Scratch::new("spill");
        let spill = Spill { most: 10, ..Spill::below(scratch.path().into()) };
        for _ in 0..3 {
            let (first, second) = (spill.put(b"abcd".to_vec()).await, spill.put(b"efgh".to_vec()).await);
            assert_eq!(spill.put(b"ijk".to_vec()).await.expect_err("there is no room"), b"ijk");
            for (put, bytes) in [(second, b"efgh"), (first, b"abcd")] {
                let mut stock = Stock::OnDisk(put.expect("room"));
                assert_eq!((stock.len(), stock.here()), (4, &[][..]));
                assert_eq!(*stock.piece(1, 2).await.expect("it is there"), bytes[1..3]);
                assert_eq!(stock.fetch().await.expect("it is there"), 4);
                assert_eq!((stock.len(), stock.here()), (4, &bytes[..]));
                assert_eq!(stock.fetch().await.expect("it is here"), 0);
                assert_eq!(*stock.piece(3, 9).await.expect("it is here"), bytes[3..]);
            }
        }
        let file = lock(&spill.open).file.clone().expect("there was one");
        assert_eq!(file.metadata().expect("it is open").len(), 0);
        assert_eq!(std::fs::read_dir(scratch.path()).expect("a directory").count(), 0, "it has no name");
    }

    #[tokio::test]
    async fn where_there_is_no_directory_the_bytes_come_back() {
        let spill = Spill::below("/nowhere/at/all".into());
        assert_eq!(spill.put(b"abc".to_vec()).await.expect_err("nowhere to put it"), b"abc");
    }
}
