//! No process of its session survives the end of `windlass run`, whichever way it ends.

use std::time::{Duration, Instant};

use windlass_sys::guardian::wait_until_gone;
use windlass_sys::signal::Signal;
use windlass_testkit::bytes::Noise;
use windlass_testkit::{HANG, survivors};

use crate::rig::{Home, Running, WINDLASS, escapees, held, hold_escapees, nothing_survives};

/// Starts a tree that tries all ways to escape, signals windlass, and checks that the tree is gone.
fn ends_everything(name: &str, deaf: &str, signal: Signal) -> Option<i32> {
    let home = Home::new(name);
    let token = survivors::token(name);
    let mut running = home.start(&["run", &escapees(&token, deaf)]);
    let held = hold_escapees(&mut running, &token);
    running.signal(signal);
    let code = running.exit_code();
    nothing_survives(&held, &token);
    code
}

/// Orphans of a windlass become children of this process, as they would of an init that does not reap.
#[test]
fn a_runtime_that_ends_by_itself_leaves_no_guardian_to_collect() {
    rustix::process::set_child_subreaper(rustix::process::Pid::from_raw(1)).expect("it is allowed");
    let home = Home::new("collected");
    assert_eq!(home.seen(&["run", "--", "true"]).code, 0);
    assert_eq!(home.seen(&["run", "--timeout", "100ms", "sleep 1000"]).code, 143);
    let mut running = home.start(&["run", "echo up; exec sleep 1000"]);
    running.printed("up");
    running.signal(Signal::TERM);
    assert_eq!(running.exit_code(), Some(143));
    assert_eq!(home.windlass(&["mcp"]).output().expect("it starts").status.code(), Some(0));
    for signal in [None, Some(Signal::TERM)] {
        let mut served = crate::mcp::Served::start(&home, &[]);
        served.greet();
        match signal {
            Some(signal) => served.signal(signal),
            None => served.hang_up(),
        }
        assert_eq!(served.exit_code(), Some(0), "{signal:?}");
    }
    let children = std::fs::read_dir("/proc/self/task")
        .expect("it is there")
        .flatten()
        .map(|thread| std::fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    let children: String = children.collect();
    let name = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let guardians = children.split_whitespace().filter(|pid| name(pid).trim() == "wl-guardian").count();
    rustix::process::set_child_subreaper(None).expect("it is allowed");
    assert_eq!(guardians, 0);
}

#[test]
fn term_ends_the_tree_and_is_128_and_15() {
    assert_eq!(ends_everything("term", "HUP", Signal::TERM), Some(143));
}

#[test]
fn term_ends_a_tree_that_is_deaf_to_it() {
    assert_eq!(ends_everything("term-deaf", "TERM HUP INT", Signal::TERM), Some(143));
}

#[test]
fn a_hangup_ends_the_tree() {
    assert_eq!(ends_everything("hup", "HUP TERM", Signal::HUP), Some(129));
}

#[test]
fn an_interrupt_reaches_the_command_and_what_it_left_is_ended() {
    assert_eq!(ends_everything("int", "TERM", Signal::INT), Some(130));
}

#[test]
fn a_quit_reaches_the_command_like_an_interrupt() {
    assert_eq!(ends_everything("quit", "TERM", Signal::QUIT), Some(131));
}

#[test]
fn a_killed_windlass_leaves_nothing_behind() {
    assert_eq!(ends_everything("kill", "HUP", Signal::KILL), None);
}

#[test]
fn a_killed_windlass_leaves_nothing_behind_even_if_it_is_deaf_to_term() {
    assert_eq!(ends_everything("kill-deaf", "TERM HUP INT", Signal::KILL), None);
}

/// Before the tree is complete, while it grows, and after: windlass is signalled at different moments.
#[test]
fn nothing_survives_a_signal_at_any_moment() {
    let home = Home::new("moments");
    let mut noise = Noise::new(u64::from(std::process::id()));
    for round in 0..24 {
        let token = survivors::token("moments");
        let running = home.start(&["run", &escapees(&token, ["TERM HUP INT", "HUP"][round % 2])]);
        let signal = [Signal::KILL, Signal::TERM, Signal::HUP, Signal::INT][round / 2 % 4];
        let moment = Instant::now() + Duration::from_micros(noise.word() % 40_000);
        while Instant::now() < moment {}
        running.signal(signal);
        if signal == Signal::INT {
            // The command handles the first signal; this one ends windlass.
            running.signal(Signal::TERM);
        }
        running.exit_code();
        vanishes(&token);
    }
}

/// Waits until no process has the token, and checks again after other processes have come and gone.
fn vanishes(token: &str) {
    let deadline = Instant::now() + HANG;
    for _ in 0..3 {
        loop {
            let found = survivors::bearing(token);
            if found.is_empty() {
                break;
            }
            assert!(Instant::now() < deadline, "{found:?}");
            wait_until_gone(&held(&found), HANG);
        }
        std::process::Command::new("true").status().expect("a process can be started");
    }
}

#[test]
fn the_second_interrupt_stops_a_command_that_ignores_the_first() {
    let home = Home::new("int-twice");
    let token = survivors::token("int-twice");
    let script = format!("trap 'echo no' INT TERM; echo {token}-up; while :; do sleep 0.02; done");
    let mut running = home.start(&["run", &script]);
    running.printed("-up");
    let held = held(&survivors::bearing(&token));
    running.signal(Signal::INT);
    running.printed("no");
    running.signal(Signal::INT);
    assert_eq!(running.exit_code(), Some(130));
    nothing_survives(&held, &token);
}

#[test]
fn a_command_may_handle_an_interrupt_and_choose_its_own_exit() {
    let home = Home::new("int-own");
    let mut running = home.start(&["run", "trap 'exit 9' INT; echo up; while :; do sleep 0.02; done"]);
    running.printed("up");
    running.signal(Signal::INT);
    assert_eq!(running.exit_code(), Some(9));
}

#[test]
fn the_last_words_of_a_command_that_is_ended_are_shown() {
    let home = Home::new("last-words");
    let mut running =
        home.start(&["run", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.02; done"]);
    running.printed("up");
    running.signal(Signal::TERM);
    running.printed("bye");
    assert_eq!(running.exit_code(), Some(143));
}

#[test]
fn a_windlass_whose_reader_does_not_read_still_ends_when_told() {
    let home = Home::new("blocked");
    let token = survivors::token("blocked");
    let script = format!("sh -c 'echo up; exec yes' {token}; :");
    let mut running = home.start(&["run", &script]);
    running.printed("up");
    let held = held(&survivors::bearing(&token));
    // From here on the pipe has no reader; it is full in no time.
    running.signal(Signal::TERM);
    assert_eq!(running.exit_code(), Some(143));
    nothing_survives(&held, &token);
}

#[test]
fn what_windlass_was_started_to_ignore_it_ignores() {
    let home = Home::new("nohup");
    let go = home.path().join("go");
    assert!(std::process::Command::new("mkfifo").arg(&go).status().unwrap().success());
    let script = format!("echo up; read line < {}; echo $line", go.display());
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "trap '' HUP INT; exec \"$@\"", "sh", WINDLASS, "run", &script]);
    command.env("WINDLASS_STATE_DIR", home.path()).env("SHELL", "/bin/sh");
    let mut running = Running::of(&mut command);
    running.printed("up");
    running.signal(Signal::HUP);
    running.signal(Signal::INT);
    std::fs::write(&go, "went on\n").unwrap();
    running.printed("went on");
    assert_eq!(running.exit_code(), Some(0));
}

#[test]
fn json_is_still_printed_when_windlass_is_told_to_end() {
    let home = Home::new("term-json");
    let ready = home.path().join("ready");
    let fifo = ready.to_str().unwrap();
    // The open of a named pipe for reading returns when it has a writer: an event, not a guess.
    let made = std::process::Command::new("mkfifo").arg(fifo).status().unwrap();
    assert!(made.success());
    let script = format!("echo begun; echo up > {fifo}; sleep 1000");
    let mut command = home.windlass(&["run", "--json", &script]);
    let child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    assert_eq!(std::fs::read_to_string(&ready).unwrap(), "up\n");
    let windlass = windlass_sys::process::Process::open(windlass_sys::process::Pid::new(child.id())).unwrap();
    windlass.signal(Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    let seen: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(143));
    assert_eq!((seen["state"].as_str(), seen["output"].as_str()), (Some("shutdown"), Some("begun\n")));
}
