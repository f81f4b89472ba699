//! A journal behaves like a plain vector, whatever is appended, read, followed, sealed and reopened.

use std::time::Duration;

use proptest::prelude::*;
use windlass_engine::{Journal, JournalPiece, Retention, Stream, StreamBytes};
use windlass_output::{Offset, Span};

use super::{EVERYTHING, ID, bytes_from, index};
use windlass_testkit::Scratch;

/// The expected contents of a journal: every byte, its stream and its time.
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

    fn check_piece(&self, piece: &JournalPiece, gaps: &[Span]) -> usize {
        match piece {
            JournalPiece::Bytes { span, stream, at, bytes } => {
                assert_eq!(bytes.as_slice(), self.slice(*span));
                for origin in &self.origin[index(span.from())..index(span.to())] {
                    assert_eq!(origin.0, *stream);
                    assert!(*at <= origin.1 && origin.1 - *at <= Duration::from_millis(1));
                }
                bytes.len()
            }
            JournalPiece::Dropped { span } => {
                assert!(gaps.iter().any(|gap| gap.intersect(*span) == *span), "{span} is in no gap");
                0
            }
            JournalPiece::Unreadable { span, reason } => panic!("{span} is unreadable: {reason}"),
        }
    }

    fn check_read_into(&self, journal: &Journal, span: Span, limit: usize) {
        let mut bytes = b"kept".to_vec();
        let found = journal.read_into(span, limit, &mut bytes);
        assert_eq!(&bytes[..4], b"kept");
        assert_eq!(&bytes[4..], self.slice(found));
        let first = journal
            .read(span, limit)
            .pieces
            .into_iter()
            .find(|piece| matches!(piece, JournalPiece::Bytes { .. }));
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
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

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
        let scratch = Scratch::new("engine");
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
