//! Readers of lines beside a process whose end or output their job waits for.

use crate::stage::{Play, Stage};
use std::time::Instant;
use windlass_sys::evidence::{Doubt, InputState};
use windlass_testkit::{Scratch, hang_deadline};

const NODE: &str = "require('child_process').spawn('sleep', ['1000'], {detached: true, stdio: 'ignore'})\
    .on('exit', () => console.log('late')); process.stdin.on('data', () => {}); process.stdout.write('Name: ')";

/// The first answer that says that the program waits, after its prompt.
fn doubt_of(script: &str) -> Option<Doubt> {
    let scratch = Scratch::new("awaited");
    std::fs::write(scratch.path().join("clock.py"), include_str!("corpus/clock.py")).unwrap();
    let mut stage = Stage::on_terminal(&Play::shell(script).within(scratch.path()));
    stage.wait_for("Name: ");
    let deadline = hang_deadline();
    loop {
        match stage.reading() {
            InputState::Waiting { .. } => return None,
            InputState::Probably { doubt, .. } => return Some(doubt),
            last => assert!(Instant::now() < deadline, "{script}: {last:?}"),
        }
        stage.pause();
    }
}

#[track_caller]
fn check(expected: Option<Doubt>, kinds: &[&str]) {
    let found =
        kinds.iter().map(|kind| (*kind, doubt_of(&format!("exec python3 clock.py \"{kind}\" silent 1000"))));
    let wrong: Vec<_> = found.filter(|(_, doubt)| *doubt != expected).collect();
    assert!(wrong.is_empty(), "expected {expected:?}: {wrong:?}");
}

#[test]
fn a_child_that_sleeps_and_can_print_is_a_doubt() {
    check(Some(Doubt::ProcessTimer), &["child"]);
}

#[test]
fn a_child_whose_end_is_awaited_is_a_doubt() {
    check(Some(Doubt::ProcessTimer), &["thread's child"]);
    check(Some(Doubt::LeftJob), &["thread's child, own session", "pidfd", "child's end"]);
    assert_eq!(doubt_of(&format!("exec node -e \"{NODE}\"")), Some(Doubt::LeftJob), "node");
}

#[test]
fn a_writer_whose_pipe_or_socket_is_awaited_is_a_doubt() {
    check(Some(Doubt::ProcessTimer), &["writer", "writer, select", "writer, socket"]);
    check(
        Some(Doubt::LeftJob),
        &[
            "writer, own session",
            "writer, own session, works",
            "writer, own session, select",
            "writer, own session, socket",
        ],
    );
}

#[test]
fn a_shell_with_sleep_in_the_background_waits_without_a_doubt() {
    for shell in ["sh", "bash"] {
        let read = "printf 'Name: '; read name";
        assert_eq!(doubt_of(&format!("exec {shell} -c \"sleep 1000 & {read}\"")), None, "{shell}");
        let quiet = "setsid sleep 1000 >/dev/null 2>&1 &";
        assert_eq!(doubt_of(&format!("exec {shell} -c \"{quiet} {read}\"")), None, "{shell}, own session");
    }
}
