//! Regression tests: each bug here once happened.

use crate::rig::{command, engine, on_terminal, options, printed, receipt, run, sh, tagged};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use windlass_engine::{
    Cause, Engine, EngineError, EngineOptions, Exit, Guard, Lifetime, Met, RegistryLimits, Session,
    SubscriptionLimits, Until,
};
use windlass_output::{Offset, Pattern};
use windlass_sys::guardian::GuardianProgram;
use windlass_sys::process::{Pid, Process};
use windlass_testkit::{HANG, hang_deadline, survivors};

/// Yields to other tasks and processes until this holds.
async fn comes_true(what: &str, condition: impl Fn() -> bool) {
    let (deadline, clock) = (hang_deadline(), engine());
    while !condition() {
        assert!(Instant::now() < deadline, "{what}");
        run(&clock, command(["true"])).await;
    }
}

fn no_zombies() -> bool {
    survivors::zombies().is_empty()
}

#[tokio::test]
async fn a_dropped_engine_leaves_no_zombies_of_orphans() {
    let engine = engine();
    let token = survivors::token("orphans");
    let script = "setsid sleep 1000 & setsid sleep 1001 & echo ready; sleep 1000";
    let session = engine.start(tagged(sh(script), &token)).unwrap();
    printed(&session, "ready").await;
    drop((engine, session));
    comes_true("they are ended and collected", || survivors::bearing(&token).is_empty() && no_zombies())
        .await;
}

#[tokio::test]
async fn a_dropped_engine_leaves_no_zombie_of_its_guardian() {
    fn plan(_: u32) -> GuardianProgram {
        GuardianProgram { program: c"/bin/cat".into(), arguments: vec![c"cat".into()] }
    }
    for _ in 0..3 {
        let engine = Engine::new(EngineOptions { guard: Guard::Program(plan), ..options() }).unwrap();
        engine.shutdown().await;
    }
    comes_true("the guardians are collected", no_zombies).await;
}

/// Sessions were started without a warning once the guardian could not be replaced.
#[tokio::test]
async fn an_engine_says_that_it_has_no_guardian_and_tries_on_until_it_has() {
    static STARTS: AtomicUsize = AtomicUsize::new(0);
    static IS_THERE: AtomicBool = AtomicBool::new(false);
    fn plan(_: u32) -> GuardianProgram {
        let is_first = STARTS.fetch_add(1, Ordering::Relaxed) == 0;
        let program = match (is_first, IS_THERE.load(Ordering::Relaxed)) {
            (true, _) => c"/bin/true",
            (false, false) => c"/does/not/exist",
            (false, true) => c"/bin/cat",
        };
        GuardianProgram { program: program.into(), arguments: vec![c"guardian".into()] }
    }
    let engine = Engine::new(EngineOptions { guard: Guard::Program(plan), ..options() }).unwrap();
    comes_true("it is said", || {
        engine.guard_trouble().is_some_and(|said| said.contains("cannot be started: No such file"))
    })
    .await;
    let tries = STARTS.load(Ordering::Relaxed) + 9;
    comes_true("it is tried on", || STARTS.load(Ordering::Relaxed) > tries).await;
    IS_THERE.store(true, Ordering::Relaxed);
    comes_true("there is one again", || engine.guard_trouble().is_none()).await;
    drop(engine);
    comes_true("it ends with its engine", no_zombies).await;
}

#[tokio::test]
async fn a_guardian_that_was_killed_is_replaced() {
    fn plan(family: u32) -> GuardianProgram {
        let name = std::ffi::CString::new(format!("guardian-of-{family}")).unwrap();
        GuardianProgram { program: c"/bin/cat".into(), arguments: vec![name] }
    }
    let engine = Engine::new(EngineOptions { guard: Guard::Program(plan), ..options() }).unwrap();
    let guardians = || -> Vec<u32> {
        let lines = survivors::bearing("guardian-of-");
        lines
            .iter()
            .filter_map(|line| line.split(' ').next()?.parse().ok())
            .filter(|pid| is_child(*pid))
            .collect()
    };
    comes_true("one stands", || guardians().len() == 1).await;
    let first = guardians();
    let process = Process::open(Pid::new(first[0])).unwrap();
    process.signal(windlass_sys::signal::Signal::KILL).unwrap();
    comes_true("another one stands", || guardians().len() == 1 && guardians() != first).await;
    drop(engine);
    comes_true("it ends with its engine", || guardians().is_empty() && no_zombies()).await;
}

fn is_child(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.contains(&format!("PPid:\t{}\n", std::process::id()))
}

#[tokio::test]
async fn a_detached_session_that_is_held_is_still_watched_after_the_shutdown() {
    let engine = engine();
    let mut spec = sh("read -r line < /dev/null; exec sleep 0.2");
    spec.lifetime = Lifetime::Detached;
    let session = engine.start(spec).unwrap();
    engine.shutdown().await;
    assert_eq!(receipt(&session).await.exit, Exit::Code(0));
    comes_true("its root is collected", no_zombies).await;
}

#[tokio::test]
async fn a_subscription_ends_after_the_shutdown() {
    let engine = engine();
    let session = engine.start(sh("setsid sleep 1000 & exit 0")).unwrap();
    receipt(&session).await;
    let mut subscription = session.subscribe(Offset::ZERO, SubscriptionLimits::default());
    engine.shutdown().await;
    let all = async { while subscription.next().await.is_some() {} };
    tokio::time::timeout(HANG, all).await.expect("the subscription ends");
}

#[tokio::test]
async fn a_root_that_had_exited_by_itself_was_not_stopped() {
    let engine = engine();
    for _ in 0..20 {
        let session = engine.start(sh("exit 0")).unwrap();
        // Dead, but this thread has not given the session's task a chance to see it.
        let root = Process::open(session.facts().root).unwrap();
        while root.is_alive() {}
        session.stop().await;
        let receipt = receipt(&session).await;
        assert_eq!((receipt.exit, receipt.cause), (Exit::Code(0), Cause::Itself));
    }
}

#[tokio::test]
async fn stops_that_are_repeated_do_not_put_off_the_kill() {
    let engine = engine();
    let stubborn = "setsid sh -c 'trap \"\" TERM; echo ready; while :; do sleep 1000; done' & exit 0";
    let session = engine.start(sh(stubborn)).unwrap();
    printed(&session, "ready").await;
    receipt(&session).await;
    let first = tokio::spawn({
        let session = session.clone();
        async move { session.stop().await }
    });
    let deadline = hang_deadline();
    while !first.is_finished() {
        assert!(Instant::now() < deadline, "the first stop is answered");
        let _ = tokio::time::timeout(Duration::from_millis(50), session.stop()).await;
    }
    assert!(!first.await.unwrap().ended.is_empty());
}

/// An embedding program that waits for any child may collect a session's root: then its exit is unknown.
#[tokio::test]
async fn an_exit_that_somebody_else_collected_is_unknown_and_not_invented() {
    let engine = engine();
    let session = engine.start(sh("exit 3")).unwrap();
    let root = Process::open(session.facts().root).unwrap();
    while root.is_alive() {}
    windlass_sys::process::reap_orphan(root.pid());
    let receipt = receipt(&session).await;
    assert_eq!((receipt.exit, receipt.exit.code(), receipt.cause), (Exit::Unknown, 255, Cause::Itself));
}

#[tokio::test]
async fn no_duration_is_too_long() {
    let engine = engine();
    let mut spec = sh("exit 0");
    spec.timeout = Some(Duration::MAX);
    let session = engine.start(spec).unwrap();
    let until = Until { idle: Some(Duration::MAX), ..Until::exit() };
    assert!(matches!(tokio::time::timeout(HANG, session.wait(&until)).await, Ok(Met::Exit(_))));
}

#[tokio::test]
async fn a_burst_of_starts_stays_within_the_limit() {
    let limits = RegistryLimits { running: 3, finished: 10, ..RegistryLimits::default() };
    let engine = Engine::new(EngineOptions { limits, ..options() }).unwrap();
    let sessions: Vec<_> = (0..13).map(|_| engine.start(sh("exec sleep 1000")).unwrap()).collect();
    let running = || sessions.iter().filter(|session| session.receipt().is_none()).count();
    comes_true("ten of them make room", || running() <= 3).await;
    assert_eq!(running(), 3);
    engine.shutdown().await;
}

#[tokio::test]
async fn forgetting_a_finished_session_does_not_end_the_server_it_left_running() {
    let limits = RegistryLimits { running: 100, finished: 5, ..RegistryLimits::default() };
    let engine = Engine::new(EngineOptions { limits, ..options() }).unwrap();
    let token = survivors::token("server");
    let server = engine.start(tagged(sh("setsid sleep 1000 & echo started"), &token)).unwrap();
    assert_eq!(receipt(&server).await.left_running.len(), 1);
    let id = server.id();
    drop(server);
    for _ in 0..150 {
        run(&engine, command(["true"])).await;
    }
    assert_eq!(survivors::bearing(&token).len(), 1);
    engine.session(id).expect("it is still known").stop().await;
    assert_eq!(survivors::bearing(&token), Vec::<String>::new());
}

#[tokio::test]
async fn dropping_the_engine_ends_what_finished_sessions_left_running() {
    for redirect in ["", ">/dev/null 2>&1"] {
        let engine = engine();
        let token = survivors::token("leftover");
        let session =
            engine.start(tagged(sh(&format!("setsid sleep 1000 {redirect} & exit 0")), &token)).unwrap();
        receipt(&session).await;
        drop((session, engine));
        comes_true("the leftover is ended", || survivors::bearing(&token).is_empty()).await;
    }
}

#[tokio::test]
async fn a_stop_with_no_descriptor_left_ends_the_tree_all_the_same() {
    let engine = engine();
    let token = survivors::token("hog");
    let session = engine.start(tagged(sh("setsid sleep 1000 & echo ready; sleep 1000"), &token)).unwrap();
    printed(&session, "ready").await;
    let mut hog = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        hog.push(file);
    }
    let end = session.stop().await;
    drop(hog);
    assert_eq!((end.remaining, survivors::bearing(&token)), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn where_processes_cannot_be_marked_the_engine_says_so() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    setrlimit(Resource::Locks, Rlimit { current: Some(1000), maximum: Some(1000) }).unwrap();
    let error = Engine::new(options()).unwrap_err();
    assert!(matches!(error, EngineError::CannotMark));
    assert!(error.to_string().contains("ulimit -x"));
}

#[tokio::test]
async fn a_wait_on_a_session_that_can_print_no_more_is_answered() {
    let engine = engine();
    let session = engine.start(sh("echo x")).unwrap();
    receipt(&session).await;
    let pattern = Until { exit: false, ..Until::pattern(Pattern::new("never").unwrap()) };
    let reached = Until { reached: Some(Offset::new(100)), ..Until::default() };
    for until in [pattern, reached] {
        let met = tokio::time::timeout(HANG, session.wait(&until)).await;
        assert!(matches!(met, Ok(Met::Closed)), "{met:?}");
    }
}

#[tokio::test]
async fn children_of_a_second_engine_get_the_original_limit_of_open_files_too() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(777), maximum }).unwrap();
    for engine in [engine(), engine()] {
        assert_eq!(run(&engine, sh("ulimit -n")).await.0, "777\n");
    }
}

#[test]
fn a_session_can_be_started_from_a_thread_outside_the_runtime() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let engine = runtime.block_on(async { engine() });
    let session = engine.start(sh("exit 3")).unwrap();
    assert_eq!(runtime.block_on(receipt(&session)).exit, Exit::Code(3));
}

/// A start that takes a while, and has begun when this returns.
async fn long_start(
    engine: &Engine,
    token: &str,
) -> tokio::task::JoinHandle<Result<Session, windlass_engine::StartError>> {
    let mut spec = tagged(command(["sleep", "1000"]), token);
    // A search that takes a while.
    spec.environment[0].1 = format!("{}/bin", "/x:".repeat(30_000)).into();
    let (begun, under_way) = tokio::sync::oneshot::channel();
    let engine = engine.clone();
    let starter = tokio::task::spawn_blocking(move || {
        let _ = begun.send(());
        engine.start(spec)
    });
    under_way.await.unwrap();
    starter
}

/// A client that hangs up and a signal both ask for the end. One of them waited for ever, and the server with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_shutdowns_while_something_starts_both_end() {
    for _ in 0..20 {
        let engine = engine();
        let token = survivors::token("twice");
        let starter = long_start(&engine, &token).await;
        let both = async { tokio::join!(engine.shutdown(), engine.shutdown(), engine.shutdown()) };
        tokio::time::timeout(HANG, both).await.expect("every shutdown ends");
        drop(starter.await.unwrap());
        assert_eq!(survivors::bearing(&token), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_that_was_under_way_does_not_outlive_the_shutdown() {
    for _ in 0..10 {
        let engine = engine();
        let token = survivors::token("late");
        let starter = long_start(&engine, &token).await;
        engine.shutdown().await;
        assert_eq!(survivors::bearing(&token), Vec::<String>::new());
        if let Ok(session) = starter.await.unwrap() {
            assert!(session.receipt().is_some());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_that_is_opened_again_after_its_end_does_not_spin() {
    let engine = engine();
    let script = "T=$(tty); setsid sh -c 'exec 0</dev/null 2>/dev/null; while :; do exec 1>&-; exec 1>'$T'; sleep 0.05; done' & sleep 0.2; echo done";
    for _ in 0..6 {
        let session = engine.start(on_terminal(sh(script))).unwrap();
        receipt(&session).await;
        let before = cpu_time();
        let half_a_second = Until::default().by(Instant::now() + Duration::from_millis(500));
        session.wait(&half_a_second).await;
        assert!(
            cpu_time() - before < Duration::from_millis(250),
            "half a second of waiting costs next to nothing"
        );
        session.stop().await;
    }
}

fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}

/// The task that reads kept the thread to itself for as long as there was more to read, and tasks that it had woken
/// waited for that thread: clients saw nothing of a terminal's flood for a quarter of a second at a time.
#[tokio::test]
async fn who_follows_a_flood_hears_of_it_while_it_goes_on() {
    const MOST: u64 = 512 * 1024;
    let engine = engine();
    let session = engine.start(on_terminal(sh("yes | head -c 8000000"))).unwrap();
    // A task like any client's: the test's own future is polled more rarely.
    let follower = tokio::spawn(largest_step(session.clone()));
    let step = tokio::time::timeout(HANG, follower).await.expect("it ends").unwrap();
    assert!(step <= MOST, "{step} bytes at a time");
    assert_eq!(session.journal().end().get(), 12_000_000);
}

async fn largest_step(session: Session) -> u64 {
    let (mut story, mut seen, mut largest) = (session.watch_output(), Offset::ZERO, 0);
    while !session.progress().closed && story.changed().await.is_ok() {
        let end = session.progress().end;
        largest = largest.max(end.since(seen));
        seen = end;
    }
    largest
}
