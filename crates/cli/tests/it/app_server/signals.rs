//! Signals to the server: whichever ends it, none of its programs is left.

use rustix::process::Signal;
use serde_json::json;
use windlass_testkit::survivors;

use super::client::App;
use crate::rig::nothing_survives;

fn check(signal: Signal, deaf: &str) {
    for tty in [false, true] {
        let mut app = App::start("signals");
        let token = survivors::token("signals");
        let more = json!({ "disableTimeout": true, "tty": tty });
        let (_, held) = app.start_escapees(more, (&token, deaf));
        app.wire.signal(signal).expect("it can be signalled");
        app.wire.exit().expect("it comes to an end");
        nothing_survives(&held, &format!("{token}-"));
        app.leaves_nothing();
    }
}

#[test]
fn term_leaves_nothing() {
    check(Signal::TERM, "HUP");
}

#[test]
fn an_interrupt_leaves_nothing() {
    check(Signal::INT, "HUP");
}

#[test]
fn a_hangup_leaves_nothing() {
    check(Signal::HUP, "HUP");
}

#[test]
fn kill_leaves_nothing() {
    check(Signal::KILL, "HUP");
}

#[test]
fn kill_leaves_nothing_that_is_deaf() {
    check(Signal::KILL, "TERM HUP INT");
}

#[test]
fn term_ends_a_server_that_is_busy_with_a_client_that_does_not_read() {
    let mut app = App::start("busy");
    let params = json!({
        "command": ["/usr/bin/yes"], "processId": "y", "streamStdoutStderr": true, "disableTimeout": true,
        "disableOutputCap": true,
    });
    app.exec(&params);
    app.printed("y", "y\n");
    app.wire.signal(Signal::TERM).expect("it can be signalled");
    app.ends_unread();
}
