//! The order of calls about one session.

use std::cell::RefCell;

use windlass_tools::Delivery;

use crate::workbench::{LONG, bench, object, output};
use serde_json::{Value, json};

fn writing(id: u64, chars: &str, until: &Value) -> Value {
    json!({ "session_id": id, "chars": chars, "until": until })
}

#[test]
fn calls_are_carried_out_in_the_order_of_their_tickets_whichever_is_called_first() {
    bench(async |bench| {
        let id = bench.start_waiting("cat").await;
        let arguments = |chars: &str| json!({ "session_id": id, "chars": chars });
        let [first, second] = ["one\n", "two\n"].map(|chars| {
            let ticket = bench.ticket("write_stdin", &object(arguments(chars)));
            bench.call_with("write_stdin", arguments(chars), |call| call.ticket = ticket)
        });
        // The second is polled first.
        let (second, first) = tokio::join!(second, first);
        assert_eq!((output(&first), output(&second)), ("one\none\n", "two\ntwo\n"));
    });
}

#[test]
fn a_call_that_is_given_up_lets_the_next_one_go_on() {
    bench(async |bench| {
        let id = bench.start_waiting("cat").await;
        let arguments = json!({ "session_id": id, "chars": "two\n" });
        let given_up = bench.ticket("write_stdin", &object(arguments.clone()));
        let second = bench.ticket("write_stdin", &object(arguments.clone()));
        drop(given_up);
        let reply = bench.call_with("write_stdin", arguments, |call| call.ticket = second).await;
        assert_eq!(output(&reply), "two\ntwo\n");
    });
}

/// Tasks carry replies to the transport in any order: the second reply overtook the first one between the two.
#[test]
fn a_call_waits_until_the_response_before_it_is_sent_and_other_sessions_do_not() {
    bench(async |bench| {
        let (id, other) = (bench.start_waiting("cat").await, bench.start_waiting("cat").await);
        let arguments = |id: u64, chars: &str| json!({ "session_id": id, "chars": chars });
        let response = Delivery::new();
        let first = bench.ticket("write_stdin", &object(arguments(id, "one\n")));
        first.as_ref().expect("it is about a session").sent_with(&response);
        let one = bench.call_with("write_stdin", arguments(id, "one\n"), |call| call.ticket = first).await;
        assert_eq!(output(&one), "one\none\n");
        let happened = RefCell::new(Vec::new());
        let second = async {
            let two = bench.ask("write_stdin", arguments(id, "two\n")).await;
            happened.borrow_mut().push("answered");
            assert_eq!(output(&two), "two\ntwo\n");
        };
        let sending = async {
            // The same work three times: without the order, the second call is over by then.
            for _ in 0..3 {
                let reply = bench.ask("write_stdin", arguments(other, "x\n")).await;
                assert_eq!(output(&reply), "x\nx\n");
            }
            happened.borrow_mut().push("sent");
            response.confirm();
        };
        tokio::join!(second, sending);
        assert_eq!(happened.into_inner(), ["sent", "answered"]);
    });
}

#[test]
fn a_response_that_is_dropped_lets_the_next_call_go_on() {
    bench(async |bench| {
        let id = bench.start_waiting("cat").await;
        let arguments = json!({ "session_id": id, "chars": "x\n" });
        let response = Delivery::new();
        let ticket = bench.ticket("write_stdin", &object(arguments.clone()));
        ticket.as_ref().expect("it is about a session").sent_with(&response);
        bench.call_with("write_stdin", arguments.clone(), |call| call.ticket = ticket).await;
        drop(response);
        assert_eq!(output(&bench.ask("write_stdin", arguments).await), "x\nx\n");
    });
}

#[test]
fn a_condition_that_only_a_later_write_brings_about_does_not_hold_that_write_up() {
    bench(async |bench| {
        let id = bench.start_waiting("read a; read b; echo $a $b").await;
        let exit = json!({ "exit": true });
        let first = bench.ask("write_stdin", writing(id, "one\n", &exit));
        let second = bench.ask("write_stdin", writing(id, "two\n", &exit));
        let (first, second) = tokio::join!(first, second);
        let seen = [output(&first), output(&second)].concat();
        assert!(seen.contains("one two\n"), "{seen}");
    });
}

#[test]
fn a_stop_does_not_wait_for_the_reply_to_a_write() {
    bench(async |bench| {
        let id = bench.start_on_terminal("echo ready; sleep 61", "ready").await;
        let arguments = json!({ "session_id": id, "chars": "x\n", "yield_time_ms": LONG });
        let (written, _) = tokio::join!(bench.ask("write_stdin", arguments), bench.stop(id));
        assert!(written.structured["exit_code"].is_number(), "{}", written.text);
    });
}

#[test]
fn standard_output_and_standard_error_of_a_command_on_pipes_keep_their_order() {
    bench(async |bench| {
        let script = "for number in $(seq 200); do echo out $number; echo err $number >&2; done";
        let reply = bench.exec(script).await;
        let expected: String = (1..=200).map(|number| format!("out {number}\nerr {number}\n")).collect();
        assert_eq!(output(&reply), expected);
        // Without a shell in between, too.
        let reply = bench.exec("/bin/sh -c 'echo err >&2; echo out; echo err >&2'").await;
        assert_eq!(output(&reply), "err\nout\nerr\n");
    });
}
