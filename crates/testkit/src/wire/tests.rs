//! The client against servers that are shell scripts.

use super::*;

/// A server that is a shell script.
fn server(script: &str) -> Wire {
    Wire::start(Command::new("sh").args(["-c", script])).expect("a shell starts")
}

#[test]
fn an_answer_is_found_behind_other_messages_and_those_are_kept_in_order() {
    let mut wire = server(
        r#"read -r line; echo '{"method":"a","params":{"x":1}}'; echo '{"id":7,"result":{}}'; echo '{"id":1,"result":{"ok":true}}'"#,
    );
    assert_eq!(wire.request("hello", &json!({})).unwrap(), Ok(json!({ "ok": true })));
    assert_eq!(wire.next_message().unwrap().notice("a"), Some(&json!({ "x": 1 })));
    assert_eq!(wire.next_message().unwrap().answers(), Some(RequestId(7)));
    assert!(wire.end().unwrap().success());
}

#[test]
fn a_refusal_is_an_answer() {
    let mut wire = server(r#"read -r line; echo '{"error":{"code":-32600,"message":"no"},"id":1}'"#);
    let refusal = ServerError { code: -32600, message: "no".to_owned() };
    assert_eq!(wire.request("hello", &json!({})).unwrap(), Err(refusal));
}

#[test]
fn more_than_the_pipes_hold_goes_both_ways_without_a_thread() {
    let mut wire = server("cat");
    let line = vec![b'x'; 1_000_000];
    wire.send_bytes(&line).unwrap();
    wire.send_bytes(b"\n").unwrap();
    assert!(wire.untaken() > 0, "a pipe holds less");
    assert_eq!(wire.next_line().unwrap(), Some(&line[..]));
    assert_eq!(wire.untaken(), 0);
    wire.close_input();
    assert_eq!(wire.next_line().unwrap(), None);
}

#[test]
fn lines_of_all_lengths_come_out_as_they_went_in() {
    let mut wire = server("cat");
    let lines: Vec<Vec<u8>> = (0..300).map(|length| vec![b'a' + (length % 26) as u8; length * 17]).collect();
    for line in &lines {
        wire.send_bytes(line).unwrap();
        wire.send_bytes(b"\n").unwrap();
    }
    for line in &lines {
        assert_eq!(wire.next_line().unwrap(), Some(&line[..]));
    }
}

#[test]
fn the_end_of_a_server_is_an_error_for_who_waits_for_an_answer() {
    let mut wire = server("exit 3");
    assert!(wire.request("hello", &json!({})).is_err());
    assert_eq!(wire.exit().unwrap().code(), Some(3));
}
