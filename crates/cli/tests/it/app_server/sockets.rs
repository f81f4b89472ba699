//! Several clients of one server: no client is affected by the actions or failures of another.

use serde_json::json;
use windlass_testkit::survivors;
use windlass_testkit::wire::{RequestId, Wire};

use super::client::{App, Clients};
use crate::rig::{held, nothing_survives};

fn cat(process: &str) -> serde_json::Value {
    json!({
        "command": ["/bin/cat"], "processId": process, "streamStdin": true, "streamStdoutStderr": true,
        "disableTimeout": true,
    })
}

fn flood(process: &str) -> serde_json::Value {
    json!({
        "command": ["/usr/bin/yes"], "processId": process, "streamStdoutStderr": true, "disableTimeout": true,
        "disableOutputCap": true,
    })
}

#[test]
fn two_clients_may_use_the_same_name_and_know_nothing_of_each_other() {
    let clients = Clients::start("names");
    let (mut first, mut second, mut third) = (clients.connect(), clients.connect(), clients.connect());
    let asked = first.exec(&cat("same"));
    second.exec(&cat("same"));
    first.write("same", b"to the first\n");
    second.write("same", b"to the second\n");
    assert_eq!(first.printed("same", "\n"), "to the first\n");
    assert_eq!(second.printed("same", "\n"), "to the second\n");
    let refusal = third.terminate("same").expect_err("it has none of that name");
    assert_eq!(refusal.message, r#"no active command/exec for process id "same""#);
    second.terminate("same").expect("it can be ended");
    first.write("same", b"still here\n");
    assert_eq!(first.printed("same", "\n"), "still here\n");
    first.terminate("same").expect("it can be ended");
    first.finished(asked, "same");
    drop((first, second, third));
    clients.end();
}

#[test]
fn a_client_that_stops_reading_in_a_flood_slows_nobody_else_and_its_end_ends_its_own_only() {
    let clients = Clients::start("stalled");
    let (mut stalled, mut other) = (clients.connect(), clients.connect());
    let token = survivors::token("stalled");
    let mut params = flood("y");
    params["env"] = json!({ "MARKED": token });
    stalled.exec(&params);
    stalled.printed("y", "y\n");
    let floods = held(&survivors::bearing(&token));
    assert_eq!(floods.len(), 1);
    other.exec(&cat("c"));
    for round in 0..20 {
        let line = format!("line {round}\n");
        other.write("c", line.as_bytes());
        assert_eq!(other.printed("c", "\n"), line);
        other.works();
    }
    drop(stalled);
    nothing_survives(&floods, &token);
    other.write("c", b"still here\n");
    assert_eq!(other.printed("c", "\n"), "still here\n");
    drop(other);
    clients.end();
}

#[test]
fn a_client_that_vanishes_in_the_middle_of_everything_takes_its_programs_along() {
    let clients = Clients::start("vanishes");
    let token = survivors::token("vanishes");
    let mut staying = clients.connect();
    for _ in 0..5 {
        let mut vanishing = clients.connect();
        vanishing.start_escapees(json!({ "disableTimeout": true }), (&token, "HUP"));
        vanishing.exec(&flood("y"));
        vanishing.printed("y", "y\n");
        let left = held(&survivors::bearing(&format!("{token}-")));
        drop(vanishing);
        nothing_survives(&left, &format!("{token}-"));
        staying.works();
    }
    drop(staying);
    clients.end();
}

#[test]
fn a_client_that_stops_reading_for_good_takes_its_programs_along_though_they_print_nothing() {
    for clients in Clients::on_each_kind("deaf") {
        let token = survivors::token("deaf");
        let mut staying = clients.connect();
        let mut deaf = clients.connect();
        let (_, left) = deaf.start_escapees(json!({ "disableTimeout": true }), (&token, "HUP"));
        deaf.wire.close_output();
        nothing_survives(&left, &format!("{token}-"));
        staying.works();
        drop((staying, deaf));
        clients.end();
    }
}

#[test]
fn so_does_one_that_stops_reading_for_good_in_the_middle_of_a_flood() {
    for clients in Clients::on_each_kind("deaf-flood") {
        let token = survivors::token("deaf-flood");
        let mut deaf = clients.connect();
        let mut params = flood("y");
        params["env"] = json!({ "MARKED": token });
        deaf.exec(&params);
        deaf.printed("y", "y\n");
        let floods = held(&survivors::bearing(&token));
        assert_eq!(floods.len(), 1);
        deaf.wire.close_output();
        nothing_survives(&floods, &token);
        drop(deaf);
        clients.end();
    }
}

#[test]
fn a_message_that_is_no_text_costs_only_itself() {
    let clients = Clients::start("frames");
    let mut client = clients.connect();
    for line in [&b"\xff\xfe\n"[..], b"\n", b"null\n", b"{\n"] {
        client.wire.send_bytes(line).expect("it listens");
    }
    client.works();
    drop(client);
    clients.end();
}

/// It was never answered on a socket, though it was on pipes.
#[test]
fn a_request_that_is_too_long_is_answered_on_a_socket_as_well() {
    let clients = Clients::start("too-long-socket");
    let mut client = clients.connect();
    let mut request = br#"{"id":4711,"method":"command/exec","params":{"x":""#.to_vec();
    request.resize(65 << 20, b'x');
    request.extend(b"\"}}\n");
    client.wire.send_bytes(&request).expect("it listens");
    let refusal = client.answer(RequestId(4711)).expect_err("it is too long");
    assert!(refusal.code == -32600 && refusal.message.contains("longer than 67108864 bytes"), "{refusal}");
    client.works();
    drop(client);
    clients.end();
}

#[test]
fn somebody_who_speaks_no_websocket_disturbs_nobody() {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    let clients = Clients::start("strangers");
    let mut client = clients.connect();
    let mut silent = UnixStream::connect(clients.socket()).expect("it listens");
    silent.write_all(b"GET").expect("it listens");
    for said in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\r\n\r\n\r\n",
    ] {
        let mut stranger = UnixStream::connect(clients.socket()).expect("it listens");
        stranger.write_all(said).expect("it listens");
        stranger.shutdown(std::net::Shutdown::Write).expect("it can be ended");
        let mut answer = Vec::new();
        // A reset is also a valid answer.
        let _ = stranger.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP/1.1 101"), "{answer:?}");
        client.works();
    }
    drop((client, silent));
    clients.end();
}

#[test]
fn a_killed_server_leaves_nothing_of_any_client() {
    let clients = Clients::start("killed");
    let token = survivors::token("killed");
    let mut apps: Vec<(App, String)> = Vec::new();
    for number in 0..3 {
        let mut client = clients.connect();
        let token = format!("{token}-{number}");
        client
            .start_escapees(json!({ "disableTimeout": true, "tty": number == 1 }), (&token, "TERM HUP INT"));
        apps.push((client, token));
    }
    let left = held(&survivors::bearing(&format!("{token}-")));
    clients.kill();
    nothing_survives(&left, &format!("{token}-"));
}

#[test]
fn a_web_page_is_not_let_in() {
    let clients = Clients::start("origin");
    let refused = Wire::connect_path_with(clients.socket(), &[("Origin", "https://example.org")]);
    let said = refused.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(said.starts_with("HTTP/1.1 403"), "{said}");
    clients.connect().works();
    clients.end();
}
