//! Bytes that wait on disk because there is no room for them in memory: in a file without a name, of which nothing is left
//! whatever becomes of us.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{Mode, OFlags};

/// The most that lies on disk for one connection at a time.
const MOST: u64 = 4 << 30;

/// Where bytes are put that cannot be held.
#[derive(Clone, Debug)]
pub(crate) struct Spill {
    directory: Arc<PathBuf>,
    most: u64,
    open: Arc<Mutex<Open>>,
}

#[derive(Debug, Default)]
struct Open {
    file: Option<Arc<File>>,
    /// Where the next bytes go.
    end: u64,
    /// How many are still to be read back. When there are none the file is empty again.
    waiting: usize,
}

/// Bytes that were put there.
#[derive(Debug)]
pub(crate) struct Spilled {
    file: Arc<File>,
    at: u64,
    length: usize,
    open: Arc<Mutex<Open>>,
}

/// Bytes that wait, wherever they are.
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

    /// Those that are in memory: all of them, or none.
    pub(crate) fn here(&self) -> &[u8] {
        match self {
            Self::Here(bytes) => bytes,
            Self::OnDisk(_) => &[],
        }
    }

    /// Some of them, wherever they are: so many at the most, from there on.
    pub(crate) async fn piece(&self, from: usize, most: usize) -> io::Result<Cow<'_, [u8]>> {
        let to = self.len().min(from + most);
        match self {
            Self::Here(bytes) => Ok(Cow::Borrowed(&bytes[from..to])),
            Self::OnDisk(spilled) => spilled.read(from, to - from).await.map(Cow::Owned),
        }
    }

    /// Has them in memory, because their turn has come. Says how many were not.
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
    /// Files are made in this directory, with the first bytes.
    pub(crate) fn below(directory: PathBuf) -> Self {
        Self { directory: Arc::new(directory), most: MOST, open: Arc::default() }
    }

    /// Puts bytes there. They come back where that is not possible.
    pub(crate) async fn put(&self, bytes: Vec<u8>) -> Result<Spilled, Vec<u8>> {
        let spill = self.clone();
        let put = tokio::task::spawn_blocking(move || spill.put_at_once(&bytes).map_err(|_| bytes));
        // It fails only with the runtime, and then nobody waits for the bytes.
        put.await.unwrap_or_else(|_| Err(Vec::new()))
    }

    /// The same for whoever cannot wait: into the system's cache, as the journal's writes.
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
    /// Reads so many of them back.
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
            // What cannot be made shorter is written over.
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
