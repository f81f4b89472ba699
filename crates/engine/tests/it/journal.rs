//! The journal, from outside: against a model, from several threads, after crashes, and on disks that refuse.

mod model;
mod threads;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use windlass_engine::{BoundedRead, Journal, JournalPiece, OpenJournal, Retention, SessionId, Stream};
use windlass_output::{Offset, Span};

use windlass_testkit::Scratch;

const ID: SessionId = SessionId::new(1001);
const EVERYTHING: usize = usize::MAX;

/// No two neighbouring offsets are alike, and no period is a power of two: a byte in the wrong place is noticed.
fn byte_at(offset: u64) -> u8 {
    u8::try_from((offset.wrapping_mul(2_654_435_761) >> 7) % 251).unwrap()
}

fn bytes_from(from: Offset, size: usize) -> Vec<u8> {
    (from.get()..from.get() + size as u64).map(byte_at).collect()
}

fn index(offset: Offset) -> usize {
    usize::try_from(offset.get()).unwrap()
}

// ---- retention ----

fn fill(journal: &Journal, total: u64, chunk: usize) {
    while journal.end().get() < total {
        journal.append(Stream::Stdout, Duration::ZERO, &bytes_from(journal.end(), chunk));
    }
}

#[test]
fn retention_keeps_the_beginning_and_the_newest_and_counts_the_gap() {
    let scratch = Scratch::new("engine");
    let retention = Retention { limit: 1 << 20, head: 256 << 10 };
    for journal in [Journal::in_memory(retention), Journal::on_disk(scratch.path(), ID, retention)] {
        fill(&journal, 10 << 20, 10_000);
        let account = journal.account();
        let kept = account.end.get() - account.dropped;
        assert!(account.head_end.get() > 250 << 10, "{account:?}");
        assert!(kept <= retention.limit && kept > retention.limit * 7 / 8, "{kept}");
        let gap = Span::new(account.head_end, account.tail_start);
        assert_eq!(account.gaps, [gap]);
        let reading = journal.read(Span::new(gap.from().back(1), gap.to() + 1), EVERYTHING);
        assert_eq!(reading.pieces.len(), 3);
        assert_eq!(reading.pieces[1], JournalPiece::Dropped { span: gap });
    }
    assert!(scratch.size() <= retention.limit);
}

#[test]
fn an_index_cannot_outgrow_the_limit() {
    let scratch = Scratch::new("engine");
    let journal = Journal::on_disk(scratch.path(), ID, Retention::new(64 << 10));
    for number in 0..20_000 {
        journal.append(Stream::Terminal, Duration::from_millis(2 * number), b".");
    }
    assert!(scratch.size() <= 64 << 10, "{}", scratch.size());
    assert_eq!(journal.account().bytes.terminal, 20_000);
}

#[test]
fn the_data_files_of_a_session_put_together_are_its_output() {
    let scratch = Scratch::new("engine");
    let journal = Journal::on_disk(scratch.path(), ID, Retention { limit: 1 << 20, head: 64 << 10 });
    fill(&journal, 600 << 10, 1000);
    let data = scratch.names().into_iter().filter(|name| name.ends_with(".out"));
    let all: Vec<u8> = data.flat_map(|name| fs::read(scratch.path().join(name)).unwrap()).collect();
    assert!(all == bytes_from(Offset::ZERO, all.len()));
    assert_eq!(all.len() as u64, journal.end().get());
}

// ---- files ----

#[test]
fn nothing_is_created_before_the_first_byte_and_files_are_private() {
    let scratch = Scratch::new("engine");
    let journal = Journal::on_disk(scratch.path(), ID, Retention::default());
    journal.append(Stream::Stdout, Duration::ZERO, b"");
    assert!(scratch.names().is_empty());
    journal.append(Stream::Stdout, Duration::ZERO, b"x");
    assert_eq!(scratch.names(), ["1001-0000000000000000.idx", "1001-0000000000000000.out"]);
    for name in scratch.names() {
        let mode = fs::metadata(scratch.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn the_format_on_disk_is_as_documented() {
    let scratch = Scratch::new("engine");
    let journal = Journal::on_disk(scratch.path(), ID, Retention::default());
    journal.append(Stream::Stdout, Duration::from_nanos(5), b"out");
    journal.append(Stream::Stderr, Duration::from_nanos(258), b"err");
    let data = fs::read(scratch.path().join("1001-0000000000000000.out")).unwrap();
    let index = fs::read(scratch.path().join("1001-0000000000000000.idx")).unwrap();
    assert_eq!(data, b"outerr");
    let hex: Vec<_> = index
        .chunks(8)
        .map(|word| word.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        .collect();
    assert_eq!(
        hex,
        [
            "77696e646c617373", // header: magic
            "0100000045e42a0b", // version, check
            "0000000000000000", // start
            "0000000000000000", // stdout before
            "0000000000000000", // stderr before
            "0000000000000000", // terminal before
            "0000000000000000", // record: offset
            "0500000000000000", // nanoseconds
            "0100000071f26ce8", // stream, check
            "0300000000000000", // record: offset
            "0201000000000000", // nanoseconds
            "02000000cd1c8c0b", // stream, check
        ]
    );
}

#[test]
fn a_session_that_printed_nothing_has_an_empty_journal_and_may_print_later() {
    let scratch = Scratch::new("engine");
    let reader = Journal::open(scratch.path(), ID).unwrap();
    assert_eq!(reader.refresh(), Offset::ZERO);
    let journal = Journal::on_disk(scratch.path(), ID, Retention::default());
    journal.append(Stream::Stderr, Duration::from_millis(3), b"late");
    assert_eq!(reader.refresh(), Offset::new(4));
    assert_eq!(text(&reader), "late");
}

#[test]
fn a_sealed_journal_reads_as_before_and_even_takes_more() {
    let scratch = Scratch::new("engine");
    let journal = Journal::on_disk(scratch.path(), ID, Retention::default());
    journal.append(Stream::Stdout, Duration::ZERO, b"one ");
    journal.seal();
    assert_eq!(text(&journal), "one ");
    journal.append(Stream::Stdout, Duration::ZERO, b"two");
    assert_eq!(text(&journal), "one two");
    assert_eq!(text(&Journal::open(scratch.path(), ID).unwrap()), "one two");
}

#[test]
fn a_journal_of_a_later_version_is_refused_by_name() {
    let scratch = Scratch::new("engine");
    write_small_journal(scratch.path());
    let path = scratch.path().join("1001-0000000000000000.idx");
    let mut index = fs::read(&path).unwrap();
    index[8] = 2;
    fs::write(&path, index).unwrap();
    let error = Journal::open(scratch.path(), ID).err().unwrap();
    assert!(matches!(error, OpenJournal::UnknownVersion { found: 2, known: 1, .. }), "{error}");
}

#[test]
fn opening_a_journal_in_a_directory_that_is_not_there_names_it() {
    let error = Journal::open(Path::new("/nowhere/at/all"), ID).err().unwrap();
    assert_eq!(error.to_string(), "listing /nowhere/at/all");
}

#[test]
fn appending_to_a_journal_opened_for_reading_leaves_the_files_alone() {
    let scratch = Scratch::new("engine");
    write_small_journal(scratch.path());
    let size = scratch.size();
    let reader = Journal::open(scratch.path(), ID).unwrap();
    let span = reader.append(Stream::Stdout, Duration::ZERO, b" and more");
    assert_eq!(span.from(), Offset::new(SMALL.len() as u64));
    assert_eq!(text(&reader), format!("{SMALL} and more"));
    assert_eq!(reader.account().bytes.total(), reader.end().get());
    assert!(reader.account().degraded.is_some());
    assert_eq!(scratch.size(), size);
}

// ---- crashes ----

const SMALL: &str = "out err tty out";

fn write_small_journal(dir: &Path) {
    let journal = Journal::on_disk(dir, ID, Retention::default());
    journal.append(Stream::Stdout, Duration::from_millis(1), b"out ");
    journal.append(Stream::Stderr, Duration::from_millis(2), b"err ");
    journal.append(Stream::Terminal, Duration::from_millis(3), b"tty ");
    journal.append(Stream::Stdout, Duration::from_millis(4), b"out");
}

fn truncate(path: &Path, len: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(len).unwrap();
}

fn text(journal: &Journal) -> String {
    let mut bytes = Vec::new();
    journal.read_into(Span::new(Offset::ZERO, journal.end()), EVERYTHING, &mut bytes);
    String::from_utf8(bytes).unwrap()
}

fn streams(reading: &BoundedRead) -> Vec<Stream> {
    let pieces = reading.pieces.iter().filter_map(|piece| match piece {
        JournalPiece::Bytes { stream, .. } => Some(*stream),
        JournalPiece::Dropped { .. } | JournalPiece::Unreadable { .. } => None,
    });
    pieces.collect()
}

#[test]
fn an_index_cut_at_any_byte_loses_no_output_and_no_whole_record() {
    const ALL: [Stream; 4] = [Stream::Stdout, Stream::Stderr, Stream::Terminal, Stream::Stdout];
    for len in 0..=48 + 4 * 24 {
        let scratch = Scratch::new("engine");
        write_small_journal(scratch.path());
        truncate(&scratch.path().join("1001-0000000000000000.idx"), len);
        let journal = Journal::open(scratch.path(), ID).unwrap();
        assert_eq!(text(&journal), SMALL);
        let whole = usize::try_from(len.saturating_sub(48) / 24).unwrap().max(1);
        let reading = journal.read(Span::new(Offset::ZERO, journal.end()), EVERYTHING);
        assert_eq!(streams(&reading), ALL[..whole], "index of {len} bytes");
    }
}

#[test]
fn data_cut_at_any_byte_reads_up_to_there() {
    for len in 0..=SMALL.len() {
        let scratch = Scratch::new("engine");
        write_small_journal(scratch.path());
        truncate(&scratch.path().join("1001-0000000000000000.out"), len as u64);
        let journal = Journal::open(scratch.path(), ID).unwrap();
        assert_eq!(text(&journal), SMALL[..len]);
        assert_eq!(journal.account().bytes.total(), len as u64);
    }
}

#[test]
fn an_index_of_garbage_loses_no_output() {
    let scratch = Scratch::new("engine");
    write_small_journal(scratch.path());
    let path = scratch.path().join("1001-0000000000000000.idx");
    for garbage in [&[0u8; 200][..], &[0xff; 200], b"", b"windlass"] {
        fs::write(&path, garbage).unwrap();
        assert_eq!(text(&Journal::open(scratch.path(), ID).unwrap()), SMALL);
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(text(&Journal::open(scratch.path(), ID).unwrap()), SMALL);
}

#[test]
fn a_vanished_file_is_unreadable_to_its_writer_and_dropped_to_others() {
    let scratch = Scratch::new("engine");
    let journal = Journal::on_disk(scratch.path(), ID, Retention::default());
    journal.append(Stream::Stdout, Duration::ZERO, b"gone");
    journal.seal();
    journal.append(Stream::Stdout, Duration::ZERO, b"here");
    let reader = Journal::open(scratch.path(), ID).unwrap();
    fs::remove_file(scratch.path().join("1001-0000000000000000.out")).unwrap();
    let gone = Span::new(Offset::ZERO, Offset::new(4));
    let all = Span::new(Offset::ZERO, Offset::new(8));
    match &journal.read(all, EVERYTHING).pieces[..] {
        [JournalPiece::Unreadable { span, reason }, JournalPiece::Bytes { bytes, .. }] => {
            assert_eq!((*span, bytes.as_slice()), (gone, &b"here"[..]));
            assert!(reason.contains("1001-0000000000000000.out"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(reader.read(all, EVERYTHING).pieces[0], JournalPiece::Dropped { span: gone });
    assert_eq!(reader.account().dropped, 4);
    let mut bytes = Vec::new();
    assert_eq!(journal.read_into(all, EVERYTHING, &mut bytes), Span::new(Offset::new(4), Offset::new(8)));
}

// ---- disks that refuse ----

#[test]
fn a_directory_that_cannot_be_written_degrades_to_memory_and_says_why() {
    let scratch = Scratch::new("engine");
    let file = scratch.path().join("file");
    fs::write(&file, "").unwrap();
    let taken = scratch.path().join("1001-0000000000000000.idx");
    fs::write(&taken, "another session's").unwrap();
    for (dir, why) in [
        (Path::new("/nowhere/at/all"), "No such file"),
        (Path::new("/proc/self"), "/proc/self"),
        (&file, "Not a directory"),
        (scratch.path(), "File exists"),
    ] {
        let journal = Journal::on_disk(dir, ID, Retention::default());
        journal.append(Stream::Stdout, Duration::ZERO, b"still ");
        journal.append(Stream::Stderr, Duration::ZERO, b"here");
        assert_eq!(text(&journal), "still here");
        let degraded = journal.account().degraded.unwrap();
        assert_eq!(degraded.at, Offset::ZERO);
        assert!(degraded.reason.contains(why), "{}", degraded.reason);
    }
    assert_eq!(fs::read(taken).unwrap(), b"another session's");
}

#[test]
fn a_directory_that_disappears_degrades_when_the_next_segment_begins() {
    let scratch = Scratch::new("engine");
    let dir = scratch.path().join("state");
    fs::create_dir(&dir).unwrap();
    let retention = Retention { limit: 64 << 10, head: 16 << 10 };
    let journal = Journal::on_disk(&dir, ID, retention);
    fill(&journal, 1000, 1000);
    fs::remove_dir_all(&dir).unwrap();
    fill(&journal, 1 << 20, 1000);
    let account = journal.account();
    let degraded = account.degraded.unwrap();
    assert!(degraded.at.get() > 15 << 10, "{degraded:?}");
    let newest = Span::new(account.tail_start, account.end);
    let mut bytes = Vec::new();
    assert_eq!(journal.read_into(newest, EVERYTHING, &mut bytes), newest);
    assert!(bytes == bytes_from(newest.from(), bytes.len()));
}

/// The kernel's own refusal in mid-write: a limit on file sizes, in a process of its own.
#[test]
fn a_write_that_the_kernel_cuts_short_is_continued_in_memory() {
    let scratch = Scratch::new("engine");
    let status = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" --exact journal::fills_its_disk --ignored"])
        .arg(std::env::current_exe().unwrap())
        .env("WINDLASS_TEST_DIR", scratch.path())
        .status()
        .unwrap();
    assert!(status.success());
    let later = Journal::open(scratch.path(), ID).unwrap();
    assert!(later.end().get() >= 32 << 10 && later.end().get() <= 64 << 10);
    assert!(text_bytes(&later) == bytes_from(Offset::ZERO, index(later.end())));
}

#[test]
#[ignore = "run by a_write_that_the_kernel_cuts_short_is_continued_in_memory"]
fn fills_its_disk() {
    let Some(dir) = std::env::var_os("WINDLASS_TEST_DIR") else { return };
    let journal = Journal::on_disk(Path::new(&dir), ID, Retention::default());
    fill(&journal, 200_000, 1000);
    let degraded = journal.account().degraded.unwrap();
    assert!(degraded.reason.contains("File too large"), "{}", degraded.reason);
    assert!(text_bytes(&journal) == bytes_from(Offset::ZERO, 200_000));
}

fn text_bytes(journal: &Journal) -> Vec<u8> {
    let mut bytes = Vec::new();
    journal.read_into(Span::new(Offset::ZERO, journal.end()), EVERYTHING, &mut bytes);
    bytes
}
