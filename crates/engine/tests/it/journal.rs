//! The journal, from outside: against a model, from several threads, after crashes, and on disks that refuse.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use windlass_engine::{Journal, OpenJournal, Piece, Reading, Retention, SessionId, Stream, StreamBytes};
use windlass_output::{Offset, Span};

use crate::scratch::Scratch;

const ID: SessionId = SessionId::new(1001);
const EVERYTHING: usize = usize::MAX;

// ---- against a model ----

/// What a journal should hold: every byte, who printed it, and when.
#[derive(Default)]
struct Model {
    bytes: Vec<u8>,
    origin: Vec<(Stream, Duration)>,
}

impl Model {
    fn append(&mut self, stream: Stream, at: Duration, bytes: &[u8]) -> Span {
        let from = self.end();
        self.bytes.extend_from_slice(bytes);
        self.origin.resize(self.bytes.len(), (stream, at));
        Span::new(from, self.end())
    }

    fn end(&self) -> Offset {
        Offset::new(self.bytes.len() as u64)
    }

    fn slice(&self, span: Span) -> &[u8] {
        let known = self.bytes.get(index(span.from())..index(span.to()));
        known.or(span.is_empty().then_some(&[])).unwrap()
    }

    fn totals(&self) -> StreamBytes {
        let count = |wanted| self.origin.iter().filter(|(stream, _)| *stream == wanted).count() as u64;
        StreamBytes {
            stdout: count(Stream::Stdout),
            stderr: count(Stream::Stderr),
            terminal: count(Stream::Terminal),
        }
    }

    fn check(&self, journal: &Journal) {
        let account = journal.account();
        assert_eq!(account.end, self.end());
        assert_eq!(account.bytes, self.totals());
        assert_eq!(account.degraded, None);
        assert!(account.gaps.len() <= 1, "{:?}", account.gaps);
        assert_eq!(account.dropped, account.gaps.iter().map(|gap| gap.len()).sum::<u64>());
        assert_eq!(account.dropped, account.tail_start.since(account.head_end));
        self.check_read(journal, Span::new(Offset::ZERO, self.end()), EVERYTHING);
    }

    /// Every byte of the span is there and right, or is in a gap that the account knows.
    fn check_read(&self, journal: &Journal, span: Span, limit: usize) {
        let gaps = journal.account().gaps;
        let reading = journal.read(span, limit);
        let mut at = span.from();
        let mut count = 0;
        for piece in &reading.pieces {
            assert_eq!(piece.span().from(), at, "pieces follow one another");
            assert!(!piece.span().is_empty());
            at = piece.span().to();
            count += self.check_piece(piece, &gaps);
        }
        assert_eq!(reading.next, at);
        assert!(count <= limit);
        let last = span.to().min(self.end()).max(span.from());
        assert!(count == limit || reading.next == last, "stopped early at {at}");
        self.check_read_into(journal, span, limit);
    }

    fn check_piece(&self, piece: &Piece, gaps: &[Span]) -> usize {
        match piece {
            Piece::Bytes { span, stream, at, bytes } => {
                assert_eq!(bytes.as_slice(), self.slice(*span));
                for origin in &self.origin[index(span.from())..index(span.to())] {
                    assert_eq!(origin.0, *stream);
                    assert!(*at <= origin.1 && origin.1 - *at <= Duration::from_millis(1));
                }
                bytes.len()
            }
            Piece::Dropped { span } => {
                assert!(gaps.iter().any(|gap| gap.intersect(*span) == *span), "{span} is in no gap");
                0
            }
            Piece::Unreadable { span, reason } => panic!("{span} is unreadable: {reason}"),
        }
    }

    fn check_read_into(&self, journal: &Journal, span: Span, limit: usize) {
        let mut bytes = b"kept".to_vec();
        let found = journal.read_into(span, limit, &mut bytes);
        assert_eq!(&bytes[..4], b"kept");
        assert_eq!(&bytes[4..], self.slice(found));
        let first =
            journal.read(span, limit).pieces.into_iter().find(|piece| matches!(piece, Piece::Bytes { .. }));
        match first {
            Some(piece) => assert_eq!(found.from(), piece.span().from()),
            None => assert!(found.is_empty()),
        }
    }
}

#[derive(Clone, Debug)]
enum Action {
    Append { stream: Stream, size: usize, micros: u64 },
    Read { from: u64, len: u64, limit: usize },
    Refresh,
    Seal,
}

fn stream() -> impl Strategy<Value = Stream> {
    prop_oneof![Just(Stream::Stdout), Just(Stream::Stderr), Just(Stream::Terminal)]
}

fn action() -> impl Strategy<Value = Action> {
    let size = prop_oneof![4 => 0..20usize, 4 => 0..400usize, 1 => 0..9000usize];
    let micros = prop_oneof![Just(0u64), 0..1200u64, 0..100_000u64];
    let append =
        (stream(), size, micros).prop_map(|(stream, size, micros)| Action::Append { stream, size, micros });
    let read = (0..40_000u64, 0..20_000u64, prop_oneof![0..50usize, 0..20_000usize])
        .prop_map(|(from, len, limit)| Action::Read { from, len, limit });
    prop_oneof![10 => append, 3 => read, 1 => Just(Action::Refresh), 1 => Just(Action::Seal)]
}

fn retention() -> impl Strategy<Value = Retention> {
    prop_oneof![
        Just(Retention::default()),
        (0..20_000u64, 0..20_000u64).prop_map(|(limit, head)| Retention { limit, head }),
        (4096..60_000u64).prop_map(Retention::new),
    ]
}

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

fn run_actions(actions: &[Action], journal: &Journal, reader: Option<&Journal>) -> Model {
    let mut model = Model::default();
    let mut now = Duration::ZERO;
    for action in actions {
        match *action {
            Action::Append { stream, size, micros } => {
                now += Duration::from_micros(micros);
                let bytes = bytes_from(model.end(), size);
                let span = journal.append(stream, now, &bytes);
                assert_eq!(span, model.append(stream, now, &bytes));
                assert_eq!(journal.end(), model.end());
            }
            Action::Read { from, len, limit } => {
                let span = Span::new(Offset::new(from), Offset::new(from + len));
                model.check_read(journal, span, limit);
            }
            Action::Refresh => {
                if let Some(reader) = reader {
                    assert_eq!(reader.refresh(), model.end());
                    model.check(reader);
                }
            }
            Action::Seal => journal.seal(),
        }
    }
    model
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_journal_in_memory_is_the_model(
        actions in prop::collection::vec(action(), 1..60),
        retention in retention(),
    ) {
        let journal = Journal::in_memory(retention);
        run_actions(&actions, &journal, None).check(&journal);
    }

    #[test]
    fn a_journal_on_disk_is_the_model_to_its_writer_to_a_follower_and_to_a_later_process(
        actions in prop::collection::vec(action(), 1..60),
        retention in retention(),
    ) {
        let scratch = Scratch::new();
        let journal = Journal::on_disk(scratch.path(), ID, retention);
        let follower = Journal::open(scratch.path(), ID).unwrap();
        let model = run_actions(&actions, &journal, Some(&follower));
        model.check(&journal);
        follower.refresh();
        model.check(&follower);
        let account = journal.account();
        drop(journal);
        let later = Journal::open(scratch.path(), ID).unwrap();
        model.check(&later);
        prop_assert_eq!(later.account(), account);
        prop_assert!(scratch.size() <= retention.limit.max(Retention::SMALLEST_LIMIT));
    }
}

// ---- retention ----

fn fill(journal: &Journal, total: u64, chunk: usize) {
    while journal.end().get() < total {
        journal.append(Stream::Stdout, Duration::ZERO, &bytes_from(journal.end(), chunk));
    }
}

#[test]
fn retention_keeps_the_beginning_and_the_newest_and_counts_the_gap() {
    let scratch = Scratch::new();
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
        assert_eq!(reading.pieces[1], Piece::Dropped { span: gap });
    }
    assert!(scratch.size() <= retention.limit);
}

#[test]
fn an_index_cannot_outgrow_the_limit() {
    let scratch = Scratch::new();
    let journal = Journal::on_disk(scratch.path(), ID, Retention::new(64 << 10));
    for number in 0..20_000 {
        journal.append(Stream::Terminal, Duration::from_millis(2 * number), b".");
    }
    assert!(scratch.size() <= 64 << 10, "{}", scratch.size());
    assert_eq!(journal.account().bytes.terminal, 20_000);
}

#[test]
fn the_data_files_of_a_session_put_together_are_its_output() {
    let scratch = Scratch::new();
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
    let scratch = Scratch::new();
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
    let scratch = Scratch::new();
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
    let scratch = Scratch::new();
    let reader = Journal::open(scratch.path(), ID).unwrap();
    assert_eq!(reader.refresh(), Offset::ZERO);
    let journal = Journal::on_disk(scratch.path(), ID, Retention::default());
    journal.append(Stream::Stderr, Duration::from_millis(3), b"late");
    assert_eq!(reader.refresh(), Offset::new(4));
    assert_eq!(text(&reader), "late");
}

#[test]
fn a_sealed_journal_reads_as_before_and_even_takes_more() {
    let scratch = Scratch::new();
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
    let scratch = Scratch::new();
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
    let scratch = Scratch::new();
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

fn streams(reading: &Reading) -> Vec<Stream> {
    let pieces = reading.pieces.iter().filter_map(|piece| match piece {
        Piece::Bytes { stream, .. } => Some(*stream),
        Piece::Dropped { .. } | Piece::Unreadable { .. } => None,
    });
    pieces.collect()
}

#[test]
fn an_index_cut_at_any_byte_loses_no_output_and_no_whole_record() {
    const ALL: [Stream; 4] = [Stream::Stdout, Stream::Stderr, Stream::Terminal, Stream::Stdout];
    for len in 0..=48 + 4 * 24 {
        let scratch = Scratch::new();
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
        let scratch = Scratch::new();
        write_small_journal(scratch.path());
        truncate(&scratch.path().join("1001-0000000000000000.out"), len as u64);
        let journal = Journal::open(scratch.path(), ID).unwrap();
        assert_eq!(text(&journal), SMALL[..len]);
        assert_eq!(journal.account().bytes.total(), len as u64);
    }
}

#[test]
fn an_index_of_garbage_loses_no_output() {
    let scratch = Scratch::new();
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
    let scratch = Scratch::new();
    let journal = Journal::on_disk(scratch.path(), ID, Retention::default());
    journal.append(Stream::Stdout, Duration::ZERO, b"gone");
    journal.seal();
    journal.append(Stream::Stdout, Duration::ZERO, b"here");
    let reader = Journal::open(scratch.path(), ID).unwrap();
    fs::remove_file(scratch.path().join("1001-0000000000000000.out")).unwrap();
    let gone = Span::new(Offset::ZERO, Offset::new(4));
    let all = Span::new(Offset::ZERO, Offset::new(8));
    match &journal.read(all, EVERYTHING).pieces[..] {
        [Piece::Unreadable { span, reason }, Piece::Bytes { bytes, .. }] => {
            assert_eq!((*span, bytes.as_slice()), (gone, &b"here"[..]));
            assert!(reason.contains("1001-0000000000000000.out"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(reader.read(all, EVERYTHING).pieces[0], Piece::Dropped { span: gone });
    assert_eq!(reader.account().dropped, 4);
    let mut bytes = Vec::new();
    assert_eq!(journal.read_into(all, EVERYTHING, &mut bytes), Span::new(Offset::new(4), Offset::new(8)));
}

// ---- disks that refuse ----

#[test]
fn a_directory_that_cannot_be_written_degrades_to_memory_and_says_why() {
    let scratch = Scratch::new();
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
    let scratch = Scratch::new();
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
    let scratch = Scratch::new();
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

// ---- threads ----

/// Follows the journal to each level it is told of. Every byte it gets must be the one that belongs there.
fn follow(journal: &Journal, levels: &mpsc::Receiver<Offset>) -> Following {
    let mut seen = Following { next: Offset::ZERO, bytes: 0, dropped: 0, hash: HASH_START };
    for level in levels {
        journal.refresh();
        while seen.next < level {
            seen.take(journal.read(Span::new(seen.next, level), 100_000));
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
    fn take(&mut self, reading: Reading) {
        assert!(reading.next > self.next, "no progress at {}", self.next);
        for piece in reading.pieces {
            match piece {
                Piece::Bytes { span, bytes, .. } => {
                    assert!(bytes == bytes_from(span.from(), bytes.len()), "wrong bytes at {span}");
                    self.bytes += span.len();
                    self.hash = hash(self.hash, &bytes);
                }
                Piece::Dropped { span } => self.dropped += span.len(),
                Piece::Unreadable { span, reason } => panic!("{span}: {reason}"),
            }
        }
        self.next = reading.next;
    }
}

const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;

fn hash(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// One appender, one reader per journal handle; returns what each reader saw.
fn race(writer: &Journal, readers: &[Journal], total: u64) -> Vec<Following> {
    thread::scope(|scope| {
        let mut followers = Vec::new();
        let mut senders = Vec::new();
        for reader in readers {
            let (sender, levels) = mpsc::channel();
            senders.push(sender);
            followers.push(scope.spawn(move || follow(reader, &levels)));
        }
        append_and_tell(writer, senders, total);
        followers.into_iter().map(|follower| follower.join().unwrap()).collect()
    })
}

fn append_and_tell(writer: &Journal, senders: Vec<mpsc::Sender<Offset>>, total: u64) {
    let sizes = [1, 7, 64, 1000, 4096, 65_536];
    let streams = [Stream::Stdout, Stream::Stderr];
    for step in 0.. {
        if writer.end().get() >= total {
            return;
        }
        let bytes = bytes_from(writer.end(), sizes[step % sizes.len()]);
        writer.append(streams[step / 9 % 2], Duration::from_micros(step as u64 * 300), &bytes);
        for sender in &senders {
            sender.send(writer.end()).unwrap();
        }
    }
}

#[test]
fn readers_of_every_kind_get_every_byte_while_it_is_appended() {
    const TOTAL: u64 = 8 << 20;
    let scratch = Scratch::new();
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
    let scratch = Scratch::new();
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
