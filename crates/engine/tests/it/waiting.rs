//! Waiting: the first condition that holds ends it, by events.

use crate::rig::{engine, on_terminal, printed, sh, text, with_stdin};
use std::time::{Duration, Instant};
use windlass_engine::{
    Delivery, Exit, JournalPiece, Met, PatternText, Stdin, SubscriptionLimits, Until, wait_any, wait_unless,
};
use windlass_output::{Offset, Pattern};
use windlass_testkit::HANG;

fn pattern(expression: &str) -> Pattern {
    Pattern::new(expression).expect("a pattern")
}

async fn hang<T>(wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(HANG, wait).await.expect("the wait ends")
}

#[tokio::test]
async fn exit_is_reported_after_the_last_byte() {
    let engine = engine();
    for _ in 0..50 {
        let session = engine.start(sh("printf 1234567890")).unwrap();
        let Met::Exit(receipt) = hang(session.wait(&Until::exit())).await else { panic!("it exits") };
        assert_eq!(
            (receipt.exit, receipt.bytes.stdout, session.journal().end()),
            (Exit::Code(0), 10, Offset::new(10))
        );
        assert!(session.progress().closed);
    }
}

#[tokio::test]
async fn a_pattern_is_found_across_the_edges_of_writes_in_settled_text_and_in_raw_bytes() {
    let engine = engine();
    let script = r"printf 'Serv\033[1mer rea'; sleep 0.05; printf 'dy on\033[0m 80'; sleep 0.05; printf 80; exec sleep 1000";
    let session = engine.start(on_terminal(sh(script))).unwrap();
    let Met::Pattern(found) = hang(session.wait(&Until::pattern(pattern(r"Server ready on \d{4}")))).await
    else {
        panic!("the pattern comes")
    };
    assert_eq!(found.text, "Server ready on 8080");
    let raw = Until { text: PatternText::Raw, ..Until::pattern(pattern(r"Serv\x1b\[1mer")) };
    let Met::Pattern(found) = hang(session.wait(&raw)).await else { panic!("it is there already") };
    assert_eq!((found.raw.from(), found.raw.to()), (Offset::ZERO, Offset::new(10)));
    session.stop().await;
}

#[tokio::test]
async fn a_condition_that_already_holds_answers_at_once() {
    let engine = engine();
    let session = engine.start(sh("echo here; exit 4")).unwrap();
    hang(session.exited()).await.unwrap();
    // Deadlines in the past: only a condition that holds already can end the wait.
    let past = Instant::now();
    assert!(
        matches!(session.wait(&Until::exit().by(past)).await, Met::Exit(receipt) if receipt.exit == Exit::Code(4))
    );
    assert!(matches!(session.wait(&Until::pattern(pattern("here")).by(past)).await, Met::Pattern(_)));
    let reached = Until { reached: Some(Offset::new(5)), ..Until::default() };
    assert!(matches!(session.wait(&reached.by(past)).await, Met::Reached(_)));
    assert!(matches!(session.wait(&Until::default().by(past)).await, Met::Closed));
}

#[tokio::test]
async fn silence_counts_from_the_last_output_and_from_the_call() {
    let engine = engine();
    let script = "for i in 1 2 3 4 5 6; do echo $i; sleep 0.05; done; echo quiet; exec sleep 1000";
    let session = engine.start(sh(script)).unwrap();
    let until = Until { idle: Some(Duration::from_millis(400)), ..Until::default() };
    assert!(matches!(hang(session.wait(&until)).await, Met::Idle(_)));
    assert!(text(&session).ends_with("quiet\n"), "{}", text(&session));
    let called = Instant::now();
    assert!(matches!(hang(session.wait(&until)).await, Met::Idle(_)));
    assert!(called.elapsed() >= Duration::from_millis(400), "earlier silence does not count for a new call");
    session.stop().await;
}

#[tokio::test]
async fn the_deadline_ends_a_wait_and_not_the_session() {
    let engine = engine();
    let session = engine.start(sh("exec sleep 1000")).unwrap();
    let until = Until::exit().by(Instant::now() + Duration::from_millis(50));
    assert!(matches!(hang(session.wait(&until)).await, Met::Deadline));
    assert!(session.receipt().is_none());
    session.stop().await;
}

#[tokio::test]
async fn cancelling_ends_a_wait_and_not_the_session() {
    let engine = engine();
    let session = engine.start(with_stdin(sh("read -r line; echo got $line"), Stdin::Open)).unwrap();
    assert!(hang(wait_unless(&session, &Until::exit(), async {})).await.is_none());
    session.write("it\n").await.unwrap();
    assert!(matches!(
        hang(wait_unless(&session, &Until::exit(), std::future::pending::<()>())).await,
        Some(Met::Exit(_))
    ));
    assert_eq!(text(&session), "got it\n");
}

#[tokio::test]
async fn the_first_of_several_sessions_is_named() {
    let engine = engine();
    let slow = engine.start(sh("exec sleep 1000")).unwrap();
    let quick =
        engine.start(with_stdin(sh("read -r l; echo listening; exec sleep 1000"), Stdin::Open)).unwrap();
    let waits = [(slow.clone(), Until::exit()), (quick.clone(), Until::pattern(pattern("listening")))];
    quick.write("go\n").await.unwrap();
    let (place, met) = hang(wait_any(&waits)).await;
    assert_eq!(place, 1);
    assert!(matches!(met, Met::Pattern(_)));
    slow.stop().await;
    quick.stop().await;
}

#[tokio::test]
async fn a_subscriber_gets_every_byte_then_the_exit_then_the_end() {
    let engine = engine();
    let session = engine.start(sh("for i in 1 2 3 4 5; do echo $i; echo e$i >&2; done")).unwrap();
    let mut subscription =
        session.subscribe(Offset::ZERO, SubscriptionLimits { delivery: 3, ..Default::default() });
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    while let Some(delivery) = hang(subscription.next()).await {
        match delivery {
            Delivery::Piece(JournalPiece::Bytes { bytes: piece, .. }) => {
                assert!(piece.len() <= 3 && ends.is_empty());
                bytes.extend(piece);
            }
            Delivery::Exited(receipt) => ends.push(format!("{:?}", receipt.exit)),
            Delivery::Closed { end } => ends.push(format!("closed at {end}")),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(ends, ["Code(0)", "closed at 25"]);
    assert_eq!(String::from_utf8(bytes).unwrap(), text(&session));
}

#[tokio::test]
async fn a_subscriber_with_a_cap_is_told_where_it_was_cut_and_still_hears_the_end() {
    let engine = engine();
    let session = engine.start(sh("printf 0123456789")).unwrap();
    hang(session.exited()).await.unwrap();
    let mut subscription = session.subscribe(Offset::new(2), SubscriptionLimits { delivery: 100, total: 5 });
    let mut told = Vec::new();
    while let Some(delivery) = hang(subscription.next()).await {
        told.push(match delivery {
            Delivery::Piece(JournalPiece::Bytes { bytes, .. }) => String::from_utf8(bytes).unwrap(),
            Delivery::Capped { at } => format!("capped at {at}"),
            Delivery::Exited(_) => "exited".into(),
            Delivery::Closed { end } => format!("closed at {end}"),
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(told, ["23456", "capped at 7", "exited", "closed at 10"]);
}

#[tokio::test]
async fn cursors_are_exact_and_independent() {
    let engine = engine();
    let session = engine.start(with_stdin(sh("exec cat"), Stdin::Open)).unwrap();
    let (mut one, mut other) = (session.cursor(Offset::ZERO), session.cursor(Offset::ZERO));
    session.write("first\n").await.unwrap();
    printed(&session, "first").await;
    let read = |cursor: &mut windlass_engine::Cursor| -> String {
        cursor
            .read(1 << 20)
            .pieces
            .into_iter()
            .map(|piece| match piece {
                JournalPiece::Bytes { bytes, .. } => String::from_utf8(bytes).unwrap(),
                other => panic!("{other:?}"),
            })
            .collect()
    };
    assert_eq!(read(&mut one), "first\n");
    session.write("second\n").await.unwrap();
    printed(&session, "second").await;
    assert_eq!(one.unread().len(), 7);
    assert_eq!(read(&mut one), "second\n");
    assert_eq!(read(&mut one), "");
    assert_eq!(read(&mut other), "first\nsecond\n");
    session.stop().await;
}

#[tokio::test]
async fn silence_of_what_is_over_is_not_waited_for() {
    let engine = engine();
    let session = engine.start(sh("echo done")).unwrap();
    let hour = Until { idle: Some(Duration::from_secs(3600)), ..Until::default() };
    assert!(matches!(hang(session.wait(&hour)).await, Met::Closed));
    let moment = Until { idle: Some(Duration::ZERO), ..Until::default() };
    assert!(matches!(hang(session.wait(&moment)).await, Met::Idle(_)));
}

#[tokio::test]
async fn a_pattern_is_said_to_be_where_its_bytes_are() {
    let engine = engine();
    for (printed, from, to) in [
        (r"plain ready\n", 6, 11),
        (r"10%%\r20%%\rready\n", 8, 13),
        (r"\033[31mstart\033[0m\n\033[32mready\033[0m\n", 20, 25),
        // Not together anywhere: somewhere in its line.
        (r"start\n\033[32mre\033[1mady\033[0m\n", 6, 25),
    ] {
        let session = engine.start(sh(&format!("printf '{printed}'"))).unwrap();
        match hang(session.wait(&Until::pattern(pattern("ready")))).await {
            Met::Pattern(found) => {
                assert_eq!((found.raw.from().get(), found.raw.to().get()), (from, to), "{printed}");
            }
            met => panic!("{printed}: {met:?}"),
        }
    }
}
