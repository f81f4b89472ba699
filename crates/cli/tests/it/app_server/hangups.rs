//! When a client closes one or both directions of its connection, its programs end.

use serde_json::{Value, json};
use windlass_testkit::survivors;

use super::client::App;
use crate::rig::nothing_survives;

fn flood(process: &str, more: &Value) -> Value {
    let mut params = json!({
        "command": ["/usr/bin/yes"], "processId": process, "streamStdoutStderr": true, "disableTimeout": true,
        "disableOutputCap": true,
    });
    params.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    params
}

#[test]
fn the_end_of_the_input_ends_everything() {
    let mut app = App::start("eof");
    let token = survivors::token("eof");
    let (_, held) = app.start_escapees(json!({ "disableTimeout": true }), (&token, "HUP"));
    app.end();
    nothing_survives(&held, &format!("{token}-"));
}

#[test]
fn a_client_that_only_closes_its_reading_end_is_gone_as_well() {
    let mut app = App::start("half");
    let token = survivors::token("half");
    // Nothing is printed from now on, so the server cannot notice by a failed write.
    let (_, held) = app.start_escapees(json!({ "disableTimeout": true }), (&token, "HUP"));
    app.wire.close_output();
    app.ends_anyhow();
    nothing_survives(&held, &format!("{token}-"));
}

/// Node gives its children sockets instead of pipes. They report their end in a different way.
#[test]
fn so_is_one_that_is_talked_to_through_sockets() {
    let mut app = App::start_on_sockets("half-sockets");
    let token = survivors::token("half-sockets");
    let (_, held) = app.start_escapees(json!({ "disableTimeout": true }), (&token, "HUP"));
    app.wire.close_output();
    app.ends_anyhow();
    nothing_survives(&held, &format!("{token}-"));
}

#[test]
fn a_client_that_closes_its_reading_end_in_a_flood_is_gone_as_well() {
    let mut app = App::start("half-flood");
    app.exec(&flood("y", &json!({})));
    app.printed("y", "y\n");
    app.wire.close_output();
    app.ends_anyhow();
}

#[test]
fn a_client_that_vanishes_in_the_middle_of_a_flood_leaves_nothing() {
    for more in [json!({}), json!({ "tty": true })] {
        let mut app = App::start("vanish");
        app.exec(&flood("a", &more));
        app.exec(&flood("b", &more));
        app.printed("a", "y");
        app.printed("b", "y");
        app.wire.close_output();
        app.wire.close_input();
        app.ends_anyhow();
    }
}

#[test]
fn a_client_that_stops_reading_and_then_closes_its_input_leaves_nothing() {
    let mut app = App::start("stuck");
    app.exec(&flood("a", &json!({})));
    app.printed("a", "y");
    // The output is not read: the server's pipe stays full until the end.
    app.wire.close_input();
    app.ends_unread();
}
