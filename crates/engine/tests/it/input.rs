//! Input: in order, bounded, exact about delivered bytes, and never in the way of other sessions.

use crate::rig::{command, engine, on_terminal, printed, puppet, receipt, sh, tagged, text, with_stdin};
use std::time::{Duration, Instant};
use windlass_engine::{Cause, Engine, Exit, InputError, LastLine, QUEUE_LIMIT, Session, Stdin};
use windlass_output::{CursorKeys, keys};
use windlass_testkit::{HANG, hang_deadline, survivors};

fn open(engine: &Engine, script: &str) -> Session {
    engine.start(with_stdin(sh(script), Stdin::Open)).expect("the command starts")
}

#[tokio::test]
async fn input_arrives_in_order_whatever_its_sizes() {
    let engine = engine();
    let session = engine.start(with_stdin(command(["cat"]), Stdin::Open)).unwrap();
    let mut expected = Vec::<u8>::new();
    for (round, size) in [1, 10, 4096, 70_000, 3, 200_000, 1].into_iter().enumerate() {
        let bytes = vec![b'a' + u8::try_from(round).unwrap(); size];
        expected.extend(&bytes);
        let written = session.write_until(bytes, hang_deadline()).await.unwrap();
        assert_eq!((written.refused, written.queued), (0, 0));
    }
    session.end_input().await.unwrap();
    assert_eq!(receipt(&session).await.exit, Exit::Code(0));
    assert!(text(&session).as_bytes() == expected);
}

#[tokio::test]
async fn a_child_that_never_reads_holds_up_neither_stop_nor_timeout_nor_other_sessions() {
    let engine = engine();
    let token = survivors::token("deaf");
    let deaf =
        engine.start(tagged(with_stdin(sh("echo ready; exec sleep 1000"), Stdin::Open), &token)).unwrap();
    let mut timed = tagged(with_stdin(sh("exec sleep 1000"), Stdin::Open), &token);
    timed.timeout = Some(Duration::from_millis(300));
    let timed = engine.start(timed).unwrap();
    printed(&deaf, "ready").await;
    for session in [&deaf, &timed] {
        let written = session.write_until(vec![b'x'; 300_000], Instant::now()).await.unwrap();
        assert_eq!(written.refused, 0);
        assert!(written.queued > 0, "the pipe takes less than 300 kB");
        assert_eq!(written.input.delivered + written.queued, 300_000);
    }
    // Other sessions work meanwhile.
    let other = engine.start(with_stdin(command(["cat"]), Stdin::Bytes(b"other".to_vec()))).unwrap();
    assert_eq!(receipt(&other).await.exit, Exit::Code(0));
    let timed = receipt(&timed).await;
    assert_eq!(timed.cause, Cause::Timeout(Duration::from_millis(300)));
    assert!(timed.undelivered_input > 0);
    tokio::time::timeout(HANG, deaf.stop()).await.expect("the stop is answered");
    assert_eq!(receipt(&deaf).await.exit, Exit::Signal(15));
    assert_eq!(survivors::bearing(&token), Vec::<String>::new());
}

/// A client that passed output on was woken for every line that was typed, and found nothing to pass on.
#[tokio::test]
async fn input_is_no_news_to_who_follows_the_output() {
    let engine = engine();
    let session = open(&engine, "echo ready; read line; echo \"got $line\"; exec sleep 1000");
    printed(&session, "ready").await;
    let (progress, mut output) = (session.watch(), session.watch_output());
    session.write_until("a", hang_deadline()).await.unwrap();
    assert!(progress.has_changed().unwrap());
    assert!(!output.has_changed().unwrap());
    session.write("\n").await.unwrap();
    tokio::time::timeout(HANG, output.changed()).await.expect("output is news").unwrap();
    printed(&session, "got a").await;
    output.mark_unchanged();
    session.stop().await;
    assert!(output.has_changed().unwrap(), "so is the end");
}

#[tokio::test]
async fn what_exceeds_the_queue_is_refused_with_the_count() {
    let engine = engine();
    let session = open(&engine, "exec sleep 1000");
    let offered = QUEUE_LIMIT + 5_000_000;
    let accepted = session.write(vec![b'x'; offered]).await.unwrap();
    assert_eq!(accepted, QUEUE_LIMIT);
    // The bytes that the pipe took have left the queue, so exactly as many fit again.
    let again = session.write(vec![b'x'; offered]).await.unwrap();
    let input = session.progress().input;
    assert_eq!(input.accepted as usize, accepted + again);
    assert!(input.queued() as usize <= QUEUE_LIMIT);
    session.stop().await;
}

#[tokio::test]
async fn writing_to_closed_input_is_an_error_that_says_so() {
    let engine = engine();
    let session = engine.start(with_stdin(sh("exec sleep 1000"), Stdin::Closed)).unwrap();
    assert_eq!(session.write("x").await, Err(InputError::Closed));
    session.stop().await;
    let session = open(&engine, "echo ready; exec sleep 1000");
    session.end_input().await.unwrap();
    assert_eq!(session.write("x").await, Err(InputError::Closed));
    assert_eq!(session.end_input().await, Err(InputError::Closed));
    session.stop().await;
    assert_eq!(session.write("x").await, Err(InputError::Gone));
}

#[tokio::test]
async fn a_child_that_closes_its_input_is_told_as_gone_and_the_rest_is_counted() {
    let engine = engine();
    let session = open(&engine, "exec 0<&-; echo closed; exec sleep 1000");
    printed(&session, "closed").await;
    let written = session.write_until(vec![b'x'; 100], hang_deadline()).await.unwrap();
    assert_eq!((written.input.delivered, written.input.undelivered), (0, 100));
    assert_eq!(session.write("x").await, Err(InputError::Gone));
    session.stop().await;
}

#[tokio::test]
async fn the_end_of_input_on_a_terminal_is_its_end_of_file_character_also_in_the_middle_of_a_line() {
    let engine = engine();
    for typed in ["whole line\n", "half a line"] {
        let session = engine.start(on_terminal(command(["cat"]))).unwrap();
        session.write(typed).await.unwrap();
        session.end_input().await.unwrap();
        assert_eq!(receipt(&session).await.exit, Exit::Code(0), "{typed:?}");
    }
}

#[tokio::test]
async fn a_line_that_was_begun_may_be_ended_with_the_input() {
    let engine = engine();
    for (typed, expected) in [("half", "half\r\n"), ("", "\r\n"), ("whole\n", "whole\r\n\r\n")] {
        let session = engine.start(on_terminal(sh("stty -echo; echo ready; exec cat"))).unwrap();
        printed(&session, "ready").await;
        session.write(typed).await.unwrap();
        session.end_input_with(LastLine::Ended).await.unwrap();
        assert_eq!(receipt(&session).await.exit, Exit::Code(0), "{typed:?}");
        assert_eq!(text(&session), format!("ready\r\n{expected}"));
    }
}

#[tokio::test]
async fn a_terminal_in_raw_mode_has_no_end_of_input() {
    let engine = engine();
    let session = engine.start(on_terminal(sh("stty raw; echo ready; exec sleep 1000"))).unwrap();
    printed(&session, "ready").await;
    assert_eq!(session.end_input().await, Err(InputError::NotInLineMode));
    session.stop().await;
}

#[tokio::test]
async fn input_unread_at_exit_neither_spins_nor_hangs() {
    let engine = engine();
    for _ in 0..2 {
        // Raw mode, so that the terminal takes no more once its buffer is full.
        let script = "stty raw -echo; trap 'exit 5' USR1; echo ready; while :; do sleep 0.01; done";
        let session = engine.start(on_terminal(sh(script))).unwrap();
        printed(&session, "ready").await;
        let written = session.write_until(vec![b'x'; 300_000], Instant::now()).await.unwrap();
        assert!(written.queued > 0);
        session.signal("USR1".parse().unwrap()).await.unwrap();
        let receipt = receipt(&session).await;
        assert_eq!(receipt.exit, Exit::Code(5));
        assert!(receipt.undelivered_input > 0);
        tokio::time::timeout(HANG, session.watch().wait_for(|progress| progress.closed))
            .await
            .unwrap()
            .unwrap();
    }
    let before = cpu_time();
    let idle = engine.start(sh("read -r line < /dev/null; exec sleep 0.3")).unwrap();
    receipt(&idle).await;
    assert!(cpu_time() - before < Duration::from_millis(200), "nothing spins after those sessions");
}

/// CPU time of this process, which does nothing but wait.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}

#[tokio::test]
async fn named_keys_reach_the_program_as_a_terminal_would_send_them() {
    let engine = engine();
    let session = engine
        .start(on_terminal(sh(
            "trap 'echo interrupted; exit 7' INT; echo ready; while :; do read -r l; done",
        )))
        .unwrap();
    printed(&session, "ready").await;
    session.write(keys(["C-c"], CursorKeys::Normal).unwrap()).await.unwrap();
    assert_eq!(receipt(&session).await.exit, Exit::Code(7));
    assert!(text(&session).contains("interrupted"));
}

#[tokio::test]
async fn bytes_that_came_with_the_command_are_exact_however_many() {
    let engine = engine();
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|n| u8::try_from(n % 251).unwrap()).collect();
    let session = engine.start(with_stdin(puppet(&["swallow"]), Stdin::Bytes(bytes))).unwrap();
    assert_eq!(receipt(&session).await.exit, Exit::Code(0));
    assert_eq!(text(&session), "swallowed 3000000\n");
}

#[tokio::test]
async fn questions_to_the_terminal_are_answered() {
    let engine = engine();
    let script = r"stty raw -echo; printf 'abc\033[6n'; dd bs=1 count=6 2>/dev/null | od -An -c; stty sane; echo; echo done";
    let session = engine.start(on_terminal(sh(script))).unwrap();
    printed(&session, "done").await;
    assert!(text(&session).contains("033   [   1   ;   4   R"), "{}", text(&session));
}

#[tokio::test]
async fn the_screen_is_made_from_the_journal_when_asked_for() {
    let engine = engine();
    let script = r"printf '\033[2J\033[3;5Hhello\033[1;1Htop'; printf '\033[10;1Hready'; exec sleep 1000";
    let session = engine.start(on_terminal(sh(script))).unwrap();
    printed(&session, "ready").await;
    let screen = session.screen().unwrap();
    let lines: Vec<&str> = screen.text.lines().collect();
    assert_eq!((lines[0], lines[2]), ("top", "    hello"));
    assert_eq!((screen.cursor.row, screen.cursor.column), (9, 5));
    session.stop().await;
    assert!(engine.start(sh("true")).unwrap().screen().is_none(), "a pipe has no screen");
}

#[tokio::test]
async fn after_a_flood_the_terminal_is_watched_again() {
    let engine = engine();
    let script = "stty -echo; for i in 1 2 3; do yes | head -c 200000; echo; echo next $i; read line; echo got $line; done";
    let session = engine.start(on_terminal(sh(script))).unwrap();
    for number in 1..=3 {
        printed(&session, &format!("next {number}")).await;
        session.write(format!("line {number}\n")).await.unwrap();
        printed(&session, &format!("got line {number}")).await;
    }
    assert_eq!(receipt(&session).await.exit, Exit::Code(0));
}

#[tokio::test]
async fn what_a_terminal_does_not_take_at_once_arrives_when_it_is_read() {
    const MUCH: usize = 300_000;
    let engine = engine();
    let script = format!("stty raw -echo; echo ready; head -c {MUCH} | wc -c; echo done");
    let session = engine.start(on_terminal(sh(&script))).unwrap();
    printed(&session, "ready").await;
    let typed = vec![b'x'; MUCH];
    assert_eq!(session.write(typed).await, Ok(MUCH));
    printed(&session, &MUCH.to_string()).await;
    assert_eq!(session.progress().input.delivered, MUCH as u64);
    assert_eq!(receipt(&session).await.exit, Exit::Code(0));
}
