//! Survival of floods, stalls and deaths at bad moments: nothing lost, nothing left.

use crate::rig::{
    command, engine, on_terminal, options, output, printed, puppet, receipt, run, sh, tagged, text,
    with_stdin,
};
use std::time::Duration;
use windlass_engine::{
    Drain, Engine, EngineOptions, Exit, Journal, JournalPiece, Pace, Retention, Session, SessionId, Stdin,
    Store, StoreLimits, Stream, SubscriptionLimits, Until,
};
use windlass_output::{Offset, Span};
use windlass_testkit::bytes::Fingerprint;
use windlass_testkit::{HANG, Scratch, survivors};

fn on_disk(scratch: &Scratch) -> Engine {
    let store = Store::open(scratch.path(), StoreLimits::default()).expect("a store can be made");
    Engine::new(EngineOptions { store: Some(store), ..options() }).expect("an engine can be made")
}

fn fingerprint(session: &Session, stream: Stream) -> Fingerprint {
    let mut print = Fingerprint::default();
    print.add(&output(session, |found| found == stream));
    print
}

#[tokio::test]
async fn floods_on_both_streams_are_journaled_to_the_byte() {
    let scratch = Scratch::new("flood");
    for engine in [engine(), on_disk(&scratch)] {
        let length = 20_000_000;
        let session = engine.start(puppet(&["flood-both", "7", &length.to_string(), "8192"])).unwrap();
        assert_eq!(receipt(&session).await.exit, Exit::Code(0));
        assert_eq!(fingerprint(&session, Stream::Stdout), Fingerprint::of_noise(7, length));
        assert_eq!(fingerprint(&session, Stream::Stderr), Fingerprint::of_noise(8, length));
    }
}

#[tokio::test]
async fn single_byte_writes_are_journaled_to_the_byte() {
    let scratch = Scratch::new("ones");
    let engine = on_disk(&scratch);
    let session = engine.start(puppet(&["flood-both", "3", "60000", "1"])).unwrap();
    assert_eq!(receipt(&session).await.exit, Exit::Code(0));
    assert_eq!(fingerprint(&session, Stream::Stdout), Fingerprint::of_noise(3, 60000));
    assert_eq!(fingerprint(&session, Stream::Stderr), Fingerprint::of_noise(4, 60000));
}

#[tokio::test]
async fn a_spate_of_little_writes_is_journaled_to_the_byte_and_what_is_typed_after_it_is_answered() {
    let scratch = Scratch::new("spate");
    let mut expected: String = (0..60_000).map(|number| format!("{number}\n")).collect();
    let lines = expected.len() as u64;
    expected += "typed";
    let print = "awk 'BEGIN { for (i = 0; i < 60000; i++) { print i; fflush() } }'";
    let script = format!("stty raw -echo 2>/dev/null; {print}; exec cat");
    for terminal in [false, true] {
        let engine = on_disk(&scratch);
        let spec = with_stdin(sh(&script), Stdin::Open);
        let session = engine.start(if terminal { on_terminal(spec) } else { spec }).unwrap();
        let mut story = session.watch_output();
        let mut read_up_to = async |end| {
            while session.journal().end() < Offset::new(end) {
                tokio::time::timeout(HANG, story.changed()).await.expect("it goes on").unwrap();
            }
        };
        read_up_to(lines).await;
        session.write("typed").await.unwrap();
        read_up_to(expected.len() as u64).await;
        assert!(text(&session) == expected, "on a terminal: {terminal}");
        session.stop().await;
    }
}

#[tokio::test]
async fn a_terminal_in_raw_mode_passes_every_byte() {
    let engine = engine();
    let puppet = windlass_testkit::puppet().display().to_string();
    let script = format!("stty raw -echo; exec {puppet} flood 11 3000000 5000");
    let session = engine.start(on_terminal(sh(&script))).unwrap();
    assert_eq!(receipt(&session).await.exit, Exit::Code(0));
    assert_eq!(fingerprint(&session, Stream::Terminal), Fingerprint::of_noise(11, 3_000_000));
}

#[tokio::test]
async fn two_hundred_megabytes_without_a_newline_are_kept_on_disk() {
    let scratch = Scratch::new("long");
    let engine = on_disk(&scratch);
    let session = engine.start(puppet(&["fill", "z", "200000000"])).unwrap();
    assert_eq!(receipt(&session).await.bytes.stdout, 200_000_000);
    let journal = session.journal();
    let (mut next, mut count, mut bytes) = (Offset::ZERO, 0, Vec::new());
    while next < journal.end() {
        bytes.clear();
        let read = journal.read_into(Span::new(next, journal.end()), 1 << 20, &mut bytes);
        assert!(read.from() == next && bytes.iter().all(|byte| *byte == b'z'));
        count += bytes.len();
        next = read.to();
    }
    assert_eq!(count, 200_000_000);
}

#[tokio::test]
async fn a_reader_that_stalls_loses_nothing_and_slows_nobody() {
    let engine = engine();
    let session = engine.start(puppet(&["flood", "5", "30000000", "65536"])).unwrap();
    let mut stalled = session.subscribe(Offset::ZERO, SubscriptionLimits::default());
    tokio::time::timeout(HANG, stalled.next()).await.unwrap().unwrap();
    // It does not ask again until all is over, and the command ends all the same.
    assert_eq!(receipt(&session).await.exit, Exit::Code(0));
    let mut late = session.subscribe(Offset::ZERO, SubscriptionLimits::default());
    let mut print = Fingerprint::default();
    while let Some(delivery) = late.next().await {
        if let windlass_engine::Delivery::Piece(JournalPiece::Bytes { bytes, .. }) = delivery {
            print.add(&bytes);
        }
    }
    assert_eq!(print, Fingerprint::of_noise(5, 30_000_000));
}

#[tokio::test]
async fn a_command_that_keeps_its_readers_pace_waits_for_it_and_loses_nothing() {
    let retention = Retention::new(1 << 20);
    let engine = Engine::new(EngineOptions { retention, ..options() }).unwrap();
    let mut spec = puppet(&["flood", "21", "20000000", "65536"]);
    spec.pace = Pace::Reader { window: 200_000 };
    let session = engine.start(spec).unwrap();
    let mut subscription = session.subscribe(Offset::ZERO, SubscriptionLimits::default());
    let (mut print, mut furthest) = (Fingerprint::default(), 0);
    while let Some(delivery) = tokio::time::timeout(HANG, subscription.next()).await.unwrap() {
        if let windlass_engine::Delivery::Piece(piece) = delivery {
            let JournalPiece::Bytes { span, bytes, .. } = piece else {
                panic!("nothing may be missing, but {piece:?}")
            };
            print.add(&bytes);
            furthest = furthest.max(session.journal().end().since(span.to()));
            session.confirm(span.to()).await;
        }
    }
    assert_eq!(print, Fingerprint::of_noise(21, 20_000_000));
    assert!(furthest <= 200_000 + 2 * 65536, "it ran {furthest} bytes ahead");
    // One that is never confirmed is stopped as any other.
    let mut spec = puppet(&["flood", "21", "20000000", "65536"]);
    spec.pace = Pace::Reader { window: 200_000 };
    let session = engine.start(spec).unwrap();
    let reached = Until { reached: Some(Offset::new(200_000)), ..Until::default() };
    tokio::time::timeout(HANG, session.wait(&reached)).await.unwrap();
    session.stop().await;
    assert_eq!(receipt(&session).await.exit, Exit::Signal(15));
}

#[tokio::test]
async fn output_that_was_confirmed_stays_so_whoever_confirms_less_later() {
    let engine = engine();
    let mut spec = with_stdin(sh("read _; seq 100000"), Stdin::Open);
    spec.pace = Pace::Reader { window: 10_000 };
    let session = engine.start(spec).unwrap();
    session.confirm(Offset::new(u64::MAX)).await;
    session.confirm(Offset::ZERO).await;
    session.write(b"\n").await.unwrap();
    assert_eq!(receipt(&session).await.bytes.stdout, 588_895);
}

/// The clock for silence must not run while the slow reader keeps the task from reading.
#[tokio::test]
async fn what_is_printed_after_the_exit_waits_for_a_slow_reader_too() {
    let drain = Drain { silence: Duration::from_millis(100), ceiling: Duration::from_millis(200) };
    let engine = Engine::new(EngineOptions { drain, ..options() }).unwrap();
    let mut spec = sh("seq 100000 & exit 3");
    spec.pace = Pace::Reader { window: 10_000 };
    let session = engine.start(spec).unwrap();
    let reached = Until { reached: Some(Offset::new(10_000)), ..Until::default() };
    tokio::time::timeout(HANG, session.wait(&reached)).await.unwrap();
    // The reader pauses for longer than the drain's ceiling, and the session is not over.
    let until = Until::exit().by(std::time::Instant::now() + 3 * drain.ceiling);
    assert!(matches!(session.wait(&until).await, windlass_engine::Met::Deadline));
    session.confirm(Offset::new(u64::MAX)).await;
    let receipt = receipt(&session).await;
    assert_eq!((receipt.exit, receipt.cut_off), (Exit::Code(3), false));
    assert_eq!(receipt.bytes.stdout, 588_895);
}

#[tokio::test]
async fn an_output_that_is_held_by_somebody_else_is_cut_off_and_that_is_said() {
    let engine = engine();
    let (printed, receipt) = run(&engine, sh("sleep 1000 & echo out")).await;
    assert_eq!((printed.as_str(), receipt.cut_off), ("out\n", true));
    let (_, receipt) = run(&engine, sh("echo out")).await;
    assert!(!receipt.cut_off);
    engine.shutdown().await;
}

#[tokio::test]
async fn a_child_that_closes_its_output_and_lives_is_still_running() {
    let engine = engine();
    for spec in [
        sh("echo bye; exec >&- 2>&-; exec sleep 1000"),
        on_terminal(sh("echo bye; exec <&- >&- 2>&-; exec sleep 1000")),
    ] {
        let session = engine.start(spec).unwrap();
        printed(&session, "bye").await;
        let until = Until { idle: Some(Duration::from_millis(100)), ..Until::exit() };
        assert!(matches!(session.wait(&until).await, windlass_engine::Met::Idle(_)));
        assert!(session.receipt().is_none());
        session.stop().await;
        assert_eq!(receipt(&session).await.exit, Exit::Signal(15));
    }
}

#[tokio::test]
async fn a_program_that_closes_its_terminal_and_opens_it_again_is_still_heard() {
    let engine = engine();
    let script = "T=$(tty); echo before; exec <&- >&- 2>&-; sleep 0.1; echo after > $T";
    let (output, receipt) = run(&engine, on_terminal(sh(script))).await;
    assert_eq!((output.as_str(), receipt.exit), ("before\r\nafter\r\n", Exit::Code(0)));
}

#[tokio::test]
async fn a_double_forked_daemon_that_floods_the_pipe_does_not_hold_the_exit() {
    let engine = engine();
    let token = survivors::token("flooder");
    let session = engine.start(tagged(sh("(setsid yes &) ; echo done"), &token)).unwrap();
    let receipt = receipt(&session).await;
    assert_eq!(receipt.exit, Exit::Code(0));
    assert!(receipt.left_running.iter().any(|process| process.command == "yes"), "{receipt:?}");
    session.stop().await;
    assert_eq!(survivors::bearing(&token), Vec::<String>::new());
}

#[tokio::test]
async fn five_hundred_quick_sessions_leave_no_zombie_descriptor_terminal_or_stray_file() {
    let scratch = Scratch::new("quick");
    let engine = on_disk(&scratch);
    run(&engine, command(["true"])).await;
    let (descriptors, threads) = (survivors::open_descriptors(), survivors::threads());
    for batch in 0..25 {
        let start = |place: i32| {
            let spec = command(["true"]);
            engine.start(if place % 2 == 0 { spec } else { on_terminal(spec) }).unwrap()
        };
        let sessions: Vec<_> = (0..20).map(start).collect();
        for session in &sessions {
            assert_eq!(receipt(session).await.exit, Exit::Code(0), "batch {batch}");
        }
        for session in sessions {
            tokio::time::timeout(HANG, session.watch().wait_for(|progress| progress.closed))
                .await
                .unwrap()
                .unwrap();
        }
    }
    engine.shutdown().await;
    drop(engine);
    assert_eq!(survivors::zombies(), Vec::<u32>::new());
    // A terminal lives as long as a descriptor of it, so this counts those too.
    assert!(survivors::open_descriptors() <= descriptors);
    assert!(survivors::threads() <= threads, "no thread per session");
    // Silent sessions have no journal, and their records share files: blocks of 1, 1, 2, 4 up to 64. And the counter,
    // and the directory in which runtimes are registered.
    assert_eq!(count(scratch.path().to_str().unwrap()), 7 + 7 + 1 + 1);
}

fn count(directory: &str) -> usize {
    std::fs::read_dir(directory).map_or(0, Iterator::count)
}

#[tokio::test]
async fn orphans_that_die_while_their_session_runs_are_collected() {
    let engine = engine();
    let script = "for i in 1 2 3 4 5 6 7 8; do (sh -c 'exit 0' &) ; done; echo ready; read -r line < /dev/null; exec sleep 1000";
    let session = engine.start(sh(script)).unwrap();
    printed(&session, "ready").await;
    // The next death is an event after which all earlier ones have been handled.
    for _ in 0..20 {
        run(&engine, command(["true"])).await;
    }
    let until = Until { idle: Some(Duration::from_millis(50)), ..Until::exit() };
    session.wait(&until).await;
    assert_eq!(survivors::zombies(), Vec::<u32>::new());
    session.stop().await;
}

#[tokio::test]
async fn a_state_directory_that_vanishes_costs_the_disk_and_not_the_session() {
    let scratch = Scratch::new("vanish");
    let engine = on_disk(&scratch);
    let running = engine.start(with_stdin(sh("read -r line; echo $line"), Stdin::Open)).unwrap();
    std::fs::remove_dir_all(scratch.path()).unwrap();
    running.write("still here\n").await.unwrap();
    assert_eq!(receipt(&running).await.exit, Exit::Code(0));
    assert_eq!(text(&running), "still here\n");
    assert!(running.journal().account().degraded.is_some());
    let later = engine.start(sh("echo here too")).unwrap();
    assert_eq!(receipt(&later).await.exit, Exit::Code(0));
    assert_eq!(text(&later), "here too\n");
    let path = scratch.path().display().to_string();
    assert!(later.trouble().is_some_and(|trouble| trouble.contains(&path)), "{:?}", later.trouble());
}

/// A limit on file sizes is the one way to be refused by a disk that needs neither privileges nor a mount.
#[tokio::test]
async fn a_disk_that_takes_no_more_costs_the_middle_and_says_so() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let scratch = Scratch::new("full");
    let engine = on_disk(&scratch);
    // The refusal comes with a signal whose default action ends the process; with a handler only the error remains.
    let _handler = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(25)).unwrap();
    setrlimit(Resource::Fsize, Rlimit { current: Some(1_000_000), maximum: None }).unwrap();
    let session = engine.start(puppet(&["flood", "9", "8000000", "65536"])).unwrap();
    assert_eq!(receipt(&session).await.exit, Exit::Code(0), "the child is neither blocked nor killed");
    let account = session.journal().account();
    assert_eq!(account.end, Offset::new(8_000_000));
    assert_eq!(account.degraded.expect("it says so").at, Offset::new(1_000_000));
    let kept: u64 = 8_000_000 - account.dropped;
    let reading = session.journal().read(Span::new(Offset::ZERO, account.end), usize::MAX);
    let bytes: u64 = reading
        .pieces
        .iter()
        .filter(|piece| matches!(piece, JournalPiece::Bytes { .. }))
        .map(|piece| piece.span().len())
        .sum();
    assert_eq!(bytes, kept);
    assert!(kept >= 1_000_000 && account.dropped > 0);
}

#[tokio::test]
async fn a_later_process_reads_what_a_session_printed() {
    let scratch = Scratch::new("later");
    let engine = on_disk(&scratch);
    let session = engine.start(sh("echo out; echo err >&2; exit 3")).unwrap();
    receipt(&session).await;
    let id: SessionId = session.id();
    engine.shutdown().await;
    drop((engine, session));
    let store = Store::reading(scratch.path(), StoreLimits::default());
    let record = store.load(id).unwrap();
    assert_eq!(record.receipt.as_ref().unwrap().exit, Exit::Code(3));
    let journal: Journal = store.open_journal(&record).unwrap();
    let reading = journal.read(Span::new(Offset::ZERO, journal.end()), 100);
    let streams: Vec<_> = reading
        .pieces
        .iter()
        .map(|piece| match piece {
            JournalPiece::Bytes { stream, bytes, .. } => (*stream, bytes.clone()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(
        streams.contains(&(Stream::Stdout, b"out\n".to_vec()))
            && streams.contains(&(Stream::Stderr, b"err\n".to_vec()))
    );
}

#[tokio::test]
async fn running_out_of_descriptors_is_a_clear_error_and_leaves_nothing() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let engine = engine();
    run(&engine, command(["true"])).await;
    let before = survivors::open_descriptors();
    let limit = getrlimit(Resource::Nofile);
    // Every number of descriptors that is too few for one session or the other.
    for spare in 0..8 {
        let current = Some(before as u64 + spare);
        setrlimit(Resource::Nofile, Rlimit { current, maximum: limit.maximum }).unwrap();
        for spec in [command(["sleep", "1000"]), on_terminal(command(["sleep", "1000"]))] {
            match engine.start(spec) {
                Ok(session) => drop(session.stop().await),
                Err(error) => assert!(error.to_string().starts_with("out of file descriptors"), "{error}"),
            }
        }
        setrlimit(Resource::Nofile, limit).unwrap();
    }
    for session in engine.sessions() {
        tokio::time::timeout(HANG, session.watch().wait_for(|progress| progress.closed))
            .await
            .unwrap()
            .unwrap();
    }
    // Some of the reserved descriptors may not have been reopened yet.
    assert!(survivors::open_descriptors() <= before);
    assert_eq!(survivors::zombies(), Vec::<u32>::new());
}

/// The limit on processes binds only ordinary users: where the tests run as root, an unprivileged user runs this one.
#[test]
fn running_out_of_processes_is_a_clear_error() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new("processes");
    let program = scratch.path().join("test");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    for path in [scratch.path(), &program] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = std::process::Command::new(&program);
    if rustix::process::geteuid().is_root() {
        command = std::process::Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
    }
    let output =
        command.args(["--exact", "survive::starts_with_no_process_left", "--ignored"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[tokio::test]
#[ignore = "run by running_out_of_processes_is_a_clear_error"]
async fn starts_with_no_process_left() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let engine = engine();
    run(&engine, command(["true"])).await;
    let before = survivors::open_descriptors();
    let limit = getrlimit(Resource::Nproc);
    setrlimit(Resource::Nproc, Rlimit { current: Some(1), ..limit }).unwrap();
    for spec in [command(["true"]), on_terminal(command(["true"]))] {
        let error = engine.start(spec).unwrap_err();
        assert!(error.to_string().starts_with("out of processes"), "{error}");
    }
    setrlimit(Resource::Nproc, limit).unwrap();
    assert_eq!(survivors::open_descriptors(), before);
    assert_eq!(run(&engine, command(["true"])).await.1.exit, Exit::Code(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_over_when_its_receipt_is_published_holds_no_file_of_its_journal() {
    let scratch = Scratch::new("sealed");
    let engine = on_disk(&scratch);
    let own = windlass_sys::process::Pid::of_this_process();
    for round in 0..200 {
        let session = engine.start(command(["/bin/echo", "up"])).unwrap();
        let receipt = receipt(&session).await;
        assert!(!receipt.cut_off);
        let held = windlass_sys::held_files::held_in(own, scratch.path()).unwrap();
        let mut held = held.iter().filter(|file| file.path.extension().is_some_and(|end| end == "out"));
        assert_eq!(held.next(), None, "round {round}");
    }
}

#[tokio::test]
async fn output_of_a_live_session_whose_record_was_removed_is_no_stray() {
    let scratch = Scratch::new("no-stray");
    let limits = StoreLimits { stray_age: Duration::ZERO, ..StoreLimits::default() };
    let store = Store::open(scratch.path(), limits).unwrap();
    let engine = Engine::new(EngineOptions { store: Some(store.clone()), ..options() }).unwrap();
    let session = engine.start(sh("echo up; exec sleep 1000")).unwrap();
    printed(&session, "up").await;
    std::fs::remove_file(scratch.path().join(format!("{}.rec", session.id()))).unwrap();
    store.prune(|_| true).unwrap();
    let output = scratch.path().join(format!("{}-0000000000000000.out", session.id()));
    assert!(output.exists(), "it is still written");
    session.stop().await;
}
