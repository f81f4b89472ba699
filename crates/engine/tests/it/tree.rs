//! The tree: everything a session started is found and ended, or reported as left.

use crate::rig::{engine, on_terminal, printed, receipt, run, sh, tagged, text, with_stdin};
use std::time::Duration;
use windlass_engine::{Cause, Engine, EngineOptions, Exit, KillDelays, Lifetime, Session, Stdin};
use windlass_testkit::{HANG, Scratch, survivors};

/// Starts the script, waits until it says `ready`, stops it, and checks that nothing of it is left.
async fn stop_leaves_nothing(name: &str, script: &str) -> (Session, windlass_engine::TreeEnd) {
    stop_after(name, script, "ready").await
}

async fn stop_after(name: &str, script: &str, sign: &str) -> (Session, windlass_engine::TreeEnd) {
    let engine = engine();
    let token = survivors::token(name);
    let session = engine.start(tagged(sh(script), &token)).unwrap();
    printed(&session, sign).await;
    let end = tokio::time::timeout(HANG, session.stop()).await.expect("the stop is answered");
    assert_eq!(end.remaining, [], "{end:?}");
    assert_eq!(survivors::bearing(&token), Vec::<String>::new(), "{end:?}");
    assert_eq!(receipt(&session).await.cause, Cause::Stopped);
    (session, end)
}

#[tokio::test]
async fn a_plain_command_is_ended_by_term() {
    let (session, end) = stop_leaves_nothing("plain", "echo ready; exec sleep 1000").await;
    assert_eq!(end.ended, []);
    assert_eq!(receipt(&session).await.exit, Exit::Signal(15));
}

/// The mark is a limit, and a process can change its limits.
#[tokio::test]
async fn who_sheds_its_mark_is_ended_as_well() {
    let script = "unmarked() { exec prlimit --locks=5:5 sh -c \"$1\"; }; up='echo up; exec sleep'; \
                  unmarked \"$up 1001\" & (unmarked \"$up 1002\" &); \
                  unmarked \"(sh -c '$up 1003' &); sh -c '$up 1004' & $up 1005\" & wait; wait";
    let (_, end) = stop_after("unmarked", script, "(?s)(up.*){5}").await;
    assert!(end.ended.len() >= 5, "{end:?}");
}

#[tokio::test]
async fn who_sheds_its_mark_is_reported_as_left_and_ended_later() {
    let engine = engine();
    let token = survivors::token("unmarked-left");
    let script = "prlimit --locks=5:5 --pid $$; (sleep 1006 > /dev/null 2>&1 &); exit 3";
    let session = engine.start(tagged(sh(script), &token)).unwrap();
    let receipt = receipt(&session).await;
    assert_eq!(receipt.exit, Exit::Code(3));
    let left: Vec<&str> = receipt.left_running.iter().map(|line| line.command.as_str()).collect();
    assert_eq!(left, ["sleep 1006"]);
    let end = tokio::time::timeout(HANG, session.stop()).await.expect("the stop is answered");
    assert_eq!(end.remaining, [], "{end:?}");
    assert_eq!(survivors::bearing(&token), Vec::<String>::new(), "{end:?}");
    assert_eq!(survivors::zombies(), Vec::<u32>::new());
}

#[tokio::test]
async fn setsid_and_double_forked_children_are_ended_even_with_an_empty_environment() {
    // Each prints before it becomes the program by which it is looked for.
    let script = "setsid sh -c 'echo up; exec sleep 1001' & (setsid sh -c 'echo up; exec sleep 1002' &) ; \
                  env -i setsid sh -c 'echo up; exec sleep 1003' & \
                  (env -i setsid sh -c '(echo up; exec sleep 1004) & echo up; exec sleep 1005' & ) ; wait; wait";
    let (_, end) = stop_after("setsid", script, "(?s)(up.*){5}").await;
    for number in 1001..=1005 {
        let sleep = format!("sleep {number}");
        assert!(
            end.ended.iter().any(|process| process.command.contains(&sleep)),
            "{sleep} is not in {end:?}"
        );
    }
}

#[tokio::test]
async fn what_is_left_in_the_roots_group_can_be_ended_without_the_rest() {
    let engine = engine();
    let token = survivors::token("group");
    let script = "(trap '' TERM; echo up; exec sleep 1001) & sleep 1002 & setsid sh -c 'echo up; exec sleep 1003' & read _";
    let session = engine.start(with_stdin(tagged(sh(script), &token), Stdin::Open)).unwrap();
    printed(&session, "(?s)up.*up").await;
    session.end_input().await.unwrap();
    let left = receipt(&session).await.left_running;
    assert_eq!(left.len(), 3, "{left:?}");
    let end = tokio::time::timeout(HANG, session.end_group()).await.expect("it is answered");
    assert_eq!((end.ended.len(), end.remaining.len()), (2, 0), "{end:?}");
    assert_eq!(survivors::bearing(&token).len(), 1);
    engine.shutdown().await;
    assert_eq!(survivors::bearing(&token), Vec::<String>::new());
}

#[tokio::test]
async fn trees_that_ignore_term_are_killed() {
    let script = "trap '' TERM HUP; sh -c 'trap \"\" TERM; echo ready; while :; do sleep 1000; done' & while :; do sleep 1000; done";
    let (session, _) = stop_leaves_nothing("stubborn", script).await;
    assert_eq!(receipt(&session).await.exit, Exit::Signal(9));
}

#[tokio::test]
async fn stopped_processes_are_ended() {
    let script = "sleep 1000 & kill -STOP $!; echo ready; kill -STOP $$";
    let (session, _) = stop_leaves_nothing("stopped", script).await;
    assert_eq!(receipt(&session).await.exit, Exit::Signal(15), "TERM is enough once it is continued");
}

#[tokio::test]
async fn processes_that_keep_changing_their_number_are_caught() {
    let scratch = Scratch::new("hop");
    let hop = scratch.path().join("hop.sh");
    std::fs::write(&hop, "trap '' TERM HUP\nsetsid sh \"$0\" &\nexit 0\n").unwrap();
    let hop = hop.to_str().unwrap();
    let script = format!("for i in 1 2 3 4; do sh {hop} & done; echo ready; wait; sleep 1000");
    stop_leaves_nothing("hop", &script).await;
    // The hoppers are also known by the file they run.
    assert_eq!(survivors::bearing(hop), Vec::<String>::new());
}

#[tokio::test]
async fn a_burst_of_processes_is_ended() {
    let script =
        "f() { [ $1 -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & }; sleep 1000; }; f 6 & echo ready; wait";
    stop_leaves_nothing("burst", script).await;
}

#[tokio::test]
async fn a_timeout_ends_the_tree_and_says_so() {
    let token = survivors::token("timeout");
    let mut spec = tagged(sh("setsid sleep 1000 & echo begun; sleep 1000"), &token);
    spec.timeout = Some(Duration::from_millis(200));
    let (output, receipt) = run(&engine(), spec).await;
    assert_eq!(output, "begun\n", "what was printed before the timeout is kept");
    assert_eq!(receipt.cause, Cause::Timeout(Duration::from_millis(200)));
    assert_eq!(receipt.ended.len(), 2, "{receipt:?}");
    assert_eq!(survivors::bearing(&token), Vec::<String>::new());
}

#[tokio::test]
async fn a_background_child_that_holds_the_pipe_does_not_hold_the_exit_and_is_reported() {
    let engine = engine();
    let token = survivors::token("holder");
    let script = "(setsid sh -c 'while [ ! -e $GO ]; do sleep 0.01; done; echo late' &); echo done";
    let scratch = Scratch::new("holder");
    let go = scratch.path().join("go");
    let mut spec = tagged(sh(script), &token);
    spec.environment.push(("GO".into(), go.clone().into()));
    let session = engine.start(spec).unwrap();
    let receipt = receipt(&session).await;
    assert_eq!((receipt.exit, text(&session).as_str()), (Exit::Code(0), "done\n"));
    assert!(receipt.left_running.iter().any(|process| process.command.contains("echo late")), "{receipt:?}");
    assert!(!session.progress().closed);
    // A second stop finds nothing, and does not report again the processes that the first one ended.
    std::fs::write(&go, "").unwrap();
    printed(&session, "late").await;
    tokio::time::timeout(HANG, session.watch().wait_for(|progress| progress.closed)).await.unwrap().unwrap();
}

#[tokio::test]
async fn stopping_an_exited_session_ends_what_it_left_running() {
    let engine = engine();
    for redirect in ["", ">/dev/null 2>&1"] {
        let token = survivors::token("left");
        let session =
            engine.start(tagged(sh(&format!("setsid sleep 1000 {redirect} & echo done")), &token)).unwrap();
        let first = receipt(&session).await;
        assert_eq!(first.left_running.len(), 1, "{first:?}");
        let end = session.stop().await;
        assert_eq!(end.ended.len(), 1, "{end:?}");
        assert_eq!(survivors::bearing(&token), Vec::<String>::new());
        // A second stop finds nothing, and does not report again the processes that the first one ended.
        assert_eq!(session.stop().await.ended, []);
    }
}

#[tokio::test]
async fn an_interactive_shell_on_a_terminal_ends_within_the_grace() {
    let patience = KillDelays { grace: HANG, ..KillDelays::default() };
    let engine = Engine::new(EngineOptions { patience, ..EngineOptions::default() }).unwrap();
    let session = engine.start(on_terminal(crate::rig::command(["bash", "--norc", "-i"]))).unwrap();
    session.write("echo re''ady\n").await.unwrap();
    printed(&session, "ready").await;
    session.stop().await;
    assert_eq!(receipt(&session).await.exit, Exit::Signal(1), "it ignores TERM, but not the hangup");
}

#[tokio::test]
async fn dropping_the_last_handle_of_a_call_session_ends_it() {
    let engine = engine();
    let token = survivors::token("call");
    let mut spec = tagged(sh("setsid sleep 1000 & echo ready; sleep 1000"), &token);
    spec.lifetime = Lifetime::Call;
    let session = engine.start(spec).unwrap();
    printed(&session, "ready").await;
    let mut progress = session.watch();
    drop(session);
    let over = tokio::time::timeout(HANG, progress.wait_for(|progress| progress.receipt.is_some()));
    let receipt = over.await.unwrap().unwrap().receipt.clone().unwrap();
    assert_eq!(receipt.cause, Cause::Dropped);
    assert_eq!(survivors::bearing(&token), Vec::<String>::new());
}

#[tokio::test]
async fn what_a_call_session_left_running_ends_with_its_caller() {
    let engine = engine();
    for redirect in ["", ">/dev/null 2>&1"] {
        let token = survivors::token("left-by-call");
        let mut spec = tagged(sh(&format!("setsid sleep 1000 {redirect} & exit 0")), &token);
        spec.lifetime = Lifetime::Call;
        let session = engine.start(spec).unwrap();
        let left = receipt(&session).await.left_running;
        let pidfd =
            windlass_sys::process::Process::open(windlass_sys::process::Pid::new(left[0].pid)).unwrap();
        drop(session);
        gone(pidfd).await;
        assert_eq!(survivors::bearing(&token), Vec::<String>::new());
    }
}

/// Waits, by event, until a process is dead.
async fn gone(process: windlass_sys::process::Process) {
    let wait = move || windlass_sys::guardian::wait_until_gone(&[process], HANG);
    tokio::task::spawn_blocking(wait).await.unwrap();
}

#[tokio::test]
async fn shutdown_ends_everything_but_detached_sessions() {
    let engine = engine();
    let (token, kept) = (survivors::token("shutdown"), survivors::token("kept"));
    for _ in 0..5 {
        let session = engine.start(tagged(sh("setsid sleep 1000 & echo ready; sleep 1000"), &token)).unwrap();
        printed(&session, "ready").await;
    }
    let gone = engine.start(tagged(sh("setsid sleep 1000 >/dev/null 2>&1 & exit 0"), &token)).unwrap();
    receipt(&gone).await;
    let mut spec = tagged(sh("exec sleep 1000"), &kept);
    spec.lifetime = Lifetime::Detached;
    let detached = engine.start(spec).unwrap();
    engine.shutdown().await;
    assert_eq!(survivors::bearing(&token), Vec::<String>::new());
    assert_eq!(survivors::bearing(&kept).len(), 1, "a detached session survives");
    detached.stop().await;
    assert_eq!(survivors::bearing(&kept), Vec::<String>::new());
}

#[tokio::test]
async fn dropping_the_engine_ends_its_sessions() {
    let engine = engine();
    let token = survivors::token("dropped");
    let session = engine.start(tagged(sh("setsid sleep 1000 & echo ready; sleep 1000"), &token)).unwrap();
    printed(&session, "ready").await;
    let mut progress = session.watch();
    drop((engine, session));
    tokio::time::timeout(HANG, progress.wait_for(|progress| progress.receipt.is_some()))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(survivors::bearing(&token), Vec::<String>::new());
}
