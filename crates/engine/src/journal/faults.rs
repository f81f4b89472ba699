//! Tests of journals on a disk that fails on purpose, at every byte: nothing may be lost, and the account must be
//! exact.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use windlass_output::{Offset, Span};

use super::disk::{Disk, RealDisk};
use super::segments::SegmentPaths;
use super::{Journal, JournalPiece, Retention, Stream};
use crate::SessionId;

const ID: SessionId = SessionId::new(7);
const NO_SPACE: i32 = 28;
const TEXT: [&[u8]; 6] = [b"one ", b"two ", b"three ", b"four ", b"five ", b"six"];

/// Takes a number of bytes, the last of them as a short write, and then refuses.
struct FullDisk {
    left: AtomicU64,
}

impl Disk for FullDisk {
    fn create(&self, path: &Path) -> io::Result<File> {
        RealDisk.create(path)
    }

    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        let left = self.left.load(Ordering::Relaxed);
        let taken = bytes.len().min(usize::try_from(left).unwrap());
        if taken == 0 {
            return Err(io::Error::from_raw_os_error(NO_SPACE));
        }
        self.left.store(left - taken as u64, Ordering::Relaxed);
        RealDisk.append(file, &bytes[..taken])
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }
}

/// Creates a number of files and then refuses.
struct NoMoreFiles {
    left: AtomicU64,
}

impl Disk for NoMoreFiles {
    fn create(&self, path: &Path) -> io::Result<File> {
        let spend = |left: u64| left.checked_sub(1);
        match self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend) {
            Ok(_) => RealDisk.create(path),
            Err(_) => Err(io::Error::from_raw_os_error(NO_SPACE)),
        }
    }

    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        RealDisk.append(file, bytes)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }
}

/// Is interrupted before every write, writes one byte at a time, and never removes anything.
struct Annoying {
    calls: AtomicU64,
}

impl Disk for Annoying {
    fn create(&self, path: &Path) -> io::Result<File> {
        RealDisk.create(path)
    }

    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        if self.calls.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        RealDisk.append(file, &bytes[..1])
    }

    fn remove(&self, _path: &Path) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

/// Claims to write nothing, without an error.
struct Stubborn;

impl Disk for Stubborn {
    fn create(&self, path: &Path) -> io::Result<File> {
        RealDisk.create(path)
    }

    fn append(&self, _file: &File, _bytes: &[u8]) -> io::Result<usize> {
        Ok(0)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }
}

/// Truncates the data once, in the moment between the look at a file and the write.
struct Truncating {
    to: u64,
    left: AtomicU64,
}

impl Disk for Truncating {
    fn create(&self, path: &Path) -> io::Result<File> {
        RealDisk.create(path)
    }

    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        if bytes.starts_with(b"four") && self.left.swap(0, Ordering::Relaxed) > 0 {
            file.set_len(self.to)?;
        }
        RealDisk.append(file, bytes)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("windlass-faults-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn journal(&self, disk: impl Disk + 'static, retention: Retention) -> Journal {
        Journal::on(
            Arc::new(disk),
            SegmentPaths { dir: self.0.as_path().into(), id: ID, home: None },
            retention,
        )
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn append_text(journal: &Journal) {
    for (number, word) in TEXT.iter().enumerate() {
        let stream = if number % 2 == 0 { Stream::Stdout } else { Stream::Stderr };
        journal.append(stream, Duration::from_millis(number as u64), word);
    }
}

fn bytes(journal: &Journal) -> Vec<u8> {
    let mut bytes = Vec::new();
    journal.read_into(Span::new(Offset::ZERO, journal.end()), usize::MAX, &mut bytes);
    bytes
}

/// The words of each piece with their streams, pieces of one word joined.
fn words(journal: &Journal) -> Vec<(Stream, Vec<u8>)> {
    let mut words: Vec<(Stream, Vec<u8>)> = Vec::new();
    for piece in journal.read(Span::new(Offset::ZERO, journal.end()), usize::MAX).pieces {
        let JournalPiece::Bytes { stream, bytes, .. } = piece else { panic!("{piece:?}") };
        match words.last_mut() {
            Some((last, word)) if *last == stream => word.extend(bytes),
            _ => words.push((stream, bytes)),
        }
    }
    words
}

#[test]
fn a_disk_that_fills_up_at_any_byte_loses_nothing_and_leaves_a_readable_journal() {
    let healthy = Journal::in_memory(Retention::default());
    append_text(&healthy);
    let on_disk = 48 + 6 * 24 + bytes(&healthy).len() as u64;
    for room in 0..on_disk {
        let scratch = Scratch::new(&format!("full-{room}"));
        let journal = scratch.journal(FullDisk { left: AtomicU64::new(room) }, Retention::default());
        append_text(&journal);
        assert_eq!(words(&journal), words(&healthy), "room for {room}");
        let account = journal.account();
        let degraded = account.degraded.unwrap();
        assert!(degraded.reason.contains("No space left"), "{}", degraded.reason);
        assert!(degraded.reason.contains("7-0000000000000000."), "{}", degraded.reason);
        assert_eq!((account.dropped, account.bytes), (0, healthy.account().bytes));
        let later = Journal::open(&scratch.0, ID).unwrap();
        assert_eq!(later.end(), degraded.at);
        let kept = usize::try_from(degraded.at.get()).unwrap();
        assert_eq!(bytes(&later), bytes(&healthy)[..kept]);
    }
}

#[test]
fn a_disk_that_refuses_new_files_loses_nothing() {
    let retention = Retention { limit: 64 << 10, head: 8 << 10 };
    for files in 0..6 {
        let scratch = Scratch::new(&format!("files-{files}"));
        let journal = scratch.journal(NoMoreFiles { left: AtomicU64::new(files) }, retention);
        let printed: Vec<u8> = (0..30_000u32).map(|number| (number % 251) as u8).collect();
        for chunk in printed.chunks(700) {
            journal.append(Stream::Terminal, Duration::ZERO, chunk);
        }
        assert!(bytes(&journal) == printed);
        assert!(journal.account().degraded.unwrap().reason.contains("creating "));
    }
}

#[test]
fn after_the_disk_refused_the_gaps_are_counted_on_both_sides() {
    let scratch = Scratch::new("gaps");
    let retention = Retention { limit: 2 << 20, head: 64 << 10 };
    let journal = scratch.journal(FullDisk { left: AtomicU64::new(5 << 20) }, retention);
    let chunk = vec![b'x'; 10_000];
    for _ in 0..2000 {
        journal.append(Stream::Stdout, Duration::ZERO, &chunk);
    }
    let account = journal.account();
    let degraded = account.degraded.unwrap();
    let [on_disk, in_memory] = account.gaps[..] else { panic!("{:?}", account.gaps) };
    assert!(on_disk.to() < degraded.at && degraded.at < in_memory.from());
    assert_eq!(account.dropped, on_disk.len() + in_memory.len());
    assert_eq!((account.head_end, account.tail_start), (on_disk.from(), in_memory.to()));
    let reading = journal.read(Span::new(Offset::ZERO, account.end), usize::MAX);
    let said = reading.pieces.iter().filter_map(|piece| match piece {
        JournalPiece::Dropped { span } => Some(*span),
        JournalPiece::Bytes { .. } => None,
        JournalPiece::Unreadable { .. } => panic!("{piece:?}"),
    });
    assert_eq!(said.collect::<Vec<_>>(), [on_disk, in_memory]);
    let kept: u64 = reading.pieces.iter().map(|piece| piece.span().len()).sum::<u64>() - account.dropped;
    assert!(kept < retention.limit + Retention::DEGRADED.limit);
}

#[test]
fn interrupted_and_partial_writes_are_finished() {
    let scratch = Scratch::new("annoying");
    let journal = scratch.journal(Annoying { calls: AtomicU64::new(0) }, Retention::new(4096));
    let printed = vec![b'y'; 9000];
    journal.append(Stream::Stdout, Duration::ZERO, &printed);
    let account = journal.account();
    assert_eq!(account.degraded, None);
    assert!(account.dropped > 0, "retention goes on although nothing can be removed");
}

#[test]
fn a_write_that_takes_nothing_is_a_refusal_not_an_endless_loop() {
    let scratch = Scratch::new("stubborn");
    let journal = scratch.journal(Stubborn, Retention::default());
    append_text(&journal);
    assert!(journal.account().degraded.is_some());
    assert_eq!(bytes(&journal), TEXT.concat());
}

#[test]
fn a_file_that_is_truncated_in_the_moment_of_a_write_loses_what_was_in_it_and_nothing_else() {
    let all = Journal::in_memory(Retention::default());
    append_text(&all);
    let (all, former) = (bytes(&all), TEXT[..3].concat().len() as u64);
    for to in 0..former {
        let scratch = Scratch::new(&format!("truncating-{to}"));
        let journal = scratch.journal(Truncating { to, left: AtomicU64::new(1) }, Retention::default());
        append_text(&journal);
        let later = Journal::open(&scratch.0, ID).unwrap();
        for journal in [&journal, &later] {
            let account = journal.account();
            let [missing] = &account.missing[..] else { panic!("{to}: {account:?}") };
            assert_eq!(missing.span, Span::new(Offset::new(to), Offset::new(former)));
            assert!(missing.why.to_string().contains("7-0000000000000000.out was truncated"), "{missing:?}");
            let reading = journal.read(Span::new(Offset::ZERO, account.end), usize::MAX);
            for piece in reading.pieces {
                let JournalPiece::Bytes { span, bytes, .. } = piece else { continue };
                let (from, to) = (span.from().get() as usize, span.to().get() as usize);
                assert_eq!(bytes, all[from..to]);
            }
            assert_eq!(account.end.get(), all.len() as u64);
        }
    }
}

#[test]
fn an_idle_journal_is_small() {
    assert!(size_of::<super::Shared>() <= 512, "{}", size_of::<super::Shared>());
}
