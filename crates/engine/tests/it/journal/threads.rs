//! Readers of every kind beside one appender: they may be late, but never wrong.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use windlass_engine::{BoundedRead, Journal, JournalPiece, Retention, Stream};
use windlass_output::{Offset, Span};

use super::{ID, bytes_from, index};
use windlass_testkit::Scratch;

/// Follows the journal to each level that arrives. Every byte that it gets must be the one that belongs there.
fn follow(journal: &Journal, levels: &mpsc::Receiver<Offset>) -> Following {
    let mut seen = Following { next: Offset::ZERO, bytes: 0, dropped: 0, hash: HASH_START };
    for level in levels {
        journal.refresh();
        while seen.next < level {
            let reading = journal.read(Span::new(seen.next, level), 100_000);
            if reading.next == seen.next && journal.end() < level {
                // A writer that outruns every look of one refresh is caught up with at the next.
                journal.refresh();
                continue;
            }
            seen.take(reading);
        }
    }
    seen
}

struct Following {
    next: Offset,
    bytes: u64,
    dropped: u64,
    hash: u64,
}

impl Following {
    fn take(&mut self, reading: BoundedRead) {
        assert!(reading.next > self.next, "no progress at {}", self.next);
        for piece in reading.pieces {
            match piece {
                JournalPiece::Bytes { span, bytes, .. } => {
                    assert!(bytes == bytes_from(span.from(), bytes.len()), "wrong bytes at {span}");
                    self.bytes += span.len();
                    self.hash = hash(self.hash, &bytes);
                }
                JournalPiece::Dropped { span } => self.dropped += span.len(),
                JournalPiece::Unreadable { span, reason } => panic!("{span}: {reason}"),
            }
        }
        self.next = reading.next;
    }
}

const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;

fn hash(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// One appender, one reader per journal handle; returns the bytes that each reader saw.
fn race(writer: &Journal, readers: &[Journal], total: u64) -> Vec<Following> {
    thread::scope(|scope| {
        let mut followers = Vec::new();
        let mut senders = Vec::new();
        for reader in readers {
            let (sender, levels) = mpsc::channel();
            senders.push(sender);
            followers.push(scope.spawn(move || follow(reader, &levels)));
        }
        append_and_tell(writer, &senders, total);
        drop(senders);
        followers.into_iter().map(|follower| follower.join().unwrap()).collect()
    })
}

fn append_and_tell(writer: &Journal, senders: &[mpsc::Sender<Offset>], total: u64) {
    let sizes = [1, 7, 64, 1000, 4096, 65_536];
    let streams = [Stream::Stdout, Stream::Stderr];
    for step in 0.. {
        if writer.end().get() >= total {
            return;
        }
        let bytes = bytes_from(writer.end(), sizes[step % sizes.len()]);
        writer.append(streams[step / 9 % 2], Duration::from_micros(step as u64 * 300), &bytes);
        for sender in senders {
            sender.send(writer.end()).unwrap();
        }
    }
}

#[test]
fn readers_of_every_kind_get_every_byte_while_it_is_appended() {
    const TOTAL: u64 = 8 << 20;
    let scratch = Scratch::new("engine");
    let on_disk = Journal::on_disk(scratch.path(), ID, Retention { limit: 64 << 20, head: 1 << 20 });
    let opened = Journal::open(scratch.path(), ID).unwrap();
    let in_memory = Journal::in_memory(Retention::default());
    for (writer, readers) in [
        (&on_disk, vec![on_disk.clone(), on_disk.clone(), opened]),
        (&in_memory, vec![in_memory.clone(), in_memory.clone()]),
    ] {
        let seen = race(writer, &readers, TOTAL);
        let expected = hash(HASH_START, &bytes_from(Offset::ZERO, index(writer.end())));
        for seen in seen {
            assert_eq!((seen.bytes, seen.dropped), (writer.end().get(), 0));
            assert_eq!(seen.hash, expected);
        }
    }
}

#[test]
fn a_reader_that_retention_overtakes_is_told_and_never_gets_a_wrong_byte() {
    const TOTAL: u64 = 8 << 20;
    let scratch = Scratch::new("engine");
    let retention = Retention { limit: 128 << 10, head: 8 << 10 };
    let on_disk = Journal::on_disk(scratch.path(), ID, retention);
    let opened = Journal::open(scratch.path(), ID).unwrap();
    let in_memory = Journal::in_memory(retention);
    for (writer, readers) in
        [(&on_disk, vec![on_disk.clone(), opened]), (&in_memory, vec![in_memory.clone(), in_memory.clone()])]
    {
        for seen in race(writer, &readers, TOTAL) {
            assert_eq!(seen.bytes + seen.dropped, writer.end().get());
        }
    }
}
