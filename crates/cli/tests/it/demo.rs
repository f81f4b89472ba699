//! `windlass demo`: often the first command that people run.

use std::time::{Duration, Instant};

use windlass_testkit::survivors;

use crate::rig::Home;

#[test]
fn the_demo_plays_to_its_end_quickly_and_leaves_nothing() {
    let home = Home::new("demo");
    let token = survivors::token("demo");
    let begun = Instant::now();
    let output = home.windlass(&["demo"]).env(survivors::TOKEN_VARIABLE, &token).output().unwrap();
    let (text, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr).into_owned());
    assert_eq!((output.status.code(), errors.as_str()), (Some(0), ""), "{text}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{text}");
    for scene in ["1 a REPL", "2 a server", "3 a progress bar", "4 a runaway tree", "5 a long log"] {
        assert!(text.contains(scene), "{scene} is not in {text}");
    }
    assert!(text.contains("nothing left running"), "{text}");
    assert!(!text.contains('\x1b'), "no colour where there is no terminal");
    // The guardian does not carry the token; all other processes of the demo do.
    assert_eq!(survivors::bearing(&token), Vec::<String>::new());
}

#[test]
fn what_the_demo_promises_to_be_readable_is() {
    let home = Home::new("demo-log");
    let text = home.seen(&["demo"]).stdout;
    let marker = text.split_once("(windlass log ").unwrap().1.split_once(')').unwrap().0;
    let (id, span) = marker.split_once(" --span ").unwrap();
    assert!(home.seen(&["log", id, "--span", span]).stdout.contains("case_2718 ... FAILED"));
    assert!(home.seen(&["log", id, "--grep", "FAILED"]).stdout.starts_with("2718:test case_2718"));
}

#[test]
fn a_demo_that_is_killed_leaves_nothing_either() {
    let home = Home::new("demo-kill");
    let mut running = home.start(&["demo"]);
    // Scene 3 is shown right before the runaway tree is started.
    running.printed("3 a progress bar");
    running.signal(windlass_sys::signal::Signal::KILL);
    running.exit_code();
    let state = home.path().to_str().unwrap();
    let left = crate::rig::held(&survivors::bearing(state));
    crate::rig::nothing_survives(&left, state);
}
