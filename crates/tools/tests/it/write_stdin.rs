//! `write_stdin`: typing, polling, and that nothing is lost.

use crate::workbench::{LONG, bench, object, output, session, state};
use serde_json::{Value, json};
use windlass_tools::{Call, Toolbox};

const NOTHING_WRITTEN: &str = "nothing was written: the process has exited";

#[test]
fn a_session_is_named_by_number_or_name() {
    bench(async |bench| {
        let reply = bench.run(json!({ "cmd": "cat", "tty": true, "name": "copy" })).await;
        let id = session(&reply);
        for (named, chars) in [(json!(id), "one\n"), (json!("copy"), "two\n"), (json!(id as f64), "three\n")]
        {
            let reply = bench.ask("write_stdin", json!({ "session_id": named, "chars": chars })).await;
            assert_eq!(output(&reply), chars.repeat(2));
            assert_eq!(session(&reply), id);
        }
    });
}

#[test]
fn keys_are_typed_by_name_after_chars() {
    bench(async |bench| {
        let id = bench.start_waiting("cat -v").await;
        let arguments = json!({ "session_id": id, "chars": "a", "keys": ["Up", "Enter"] });
        let reply = bench.ask("write_stdin", arguments).await;
        assert!(output(&reply).ends_with("a^[[A\n"), "{}", reply.text);
        let reply = bench.ask("write_stdin", json!({ "session_id": id, "keys": ["C-c"] })).await;
        assert_eq!(reply.structured["exit_code"], 130);
    });
}

#[test]
fn an_unknown_key_is_refused_by_name_and_nothing_is_typed() {
    bench(async |bench| {
        let id = bench.start_waiting("cat").await;
        let arguments = json!({ "session_id": id, "chars": "a", "keys": ["Upp"] });
        let complaint = bench.refused("write_stdin", arguments).await;
        assert!(complaint.starts_with("keys: ") && complaint.contains("Upp"), "{complaint}");
        assert_eq!(output(&bench.types(id, "b\n").await), "b\nb\n");
    });
}

#[test]
fn eof_ends_the_input() {
    bench(async |bench| {
        for chars in ["", "line\n", "no newline"] {
            let id = bench.start_waiting("cat > copy; echo end").await;
            let arguments =
                json!({ "session_id": id, "chars": chars, "eof": true, "until": { "exit": true } });
            let reply = bench.ask("write_stdin", arguments).await;
            assert!(output(&reply).ends_with("end\n"), "{}", reply.text);
            assert_eq!((&reply.structured["exit_code"], bench.contents("copy").as_str()), (&json!(0), chars));
        }
    });
}

#[test]
fn the_yield_is_at_least_250_ms_when_writing_and_5_s_when_polling() {
    bench(async |bench| {
        let id = bench.start_on_terminal("echo ready; sleep 60", "ready").await;
        for (arguments, least) in [
            (json!({ "chars": "x\n", "yield_time_ms": 1 }), 0.25),
            (json!({ "chars": "x\n" }), 0.25),
            (json!({ "yield_time_ms": 250 }), 5.0),
        ] {
            let mut arguments = object(arguments);
            arguments.insert("session_id".into(), id.into());
            let reply = bench.ask("write_stdin", Value::Object(arguments)).await;
            let seconds = reply.structured["wall_time_seconds"].as_f64().unwrap();
            assert!(seconds >= least, "{seconds}");
        }
    });
}

#[test]
fn u0003_to_a_pipe_session_sends_sigint_to_its_process_group() {
    bench(async |bench| {
        let id = bench
            // The child itself prints that it is ready: before that it could still be interrupted, too.
            .start(
                "trap 'echo interrupted; kill $!' INT; sh -c 'echo ready; exec sleep 60' & wait; echo on",
                "ready",
            )
            .await;
        let arguments = json!({ "session_id": id, "chars": "\u{3}", "until": { "exit": true } });
        let reply = bench.ask("write_stdin", arguments).await;
        assert_eq!(output(&reply), "interrupted\non\n");
        let id = bench.start("echo ready; sleep 60; echo on", "ready").await;
        let reply = bench
            .ask("write_stdin", json!({ "session_id": id, "keys": ["C-c"], "until": { "exit": true } }))
            .await;
        assert_eq!((output(&reply), &reply.structured["exit_code"]), ("", &json!(130)));
    });
}

#[test]
fn u0003_to_a_terminal_interrupts_its_foreground() {
    bench(async |bench| {
        let id = bench
            // The interrupted process itself prints that it is ready: between two commands the shell would be
            // interrupted.
            .start_on_terminal(
                "trap 'echo interrupted' INT; sh -c 'echo ready; exec sleep 60'; echo on",
                "ready",
            )
            .await;
        let arguments = json!({ "session_id": id, "chars": "\u{3}", "until": { "exit": true } });
        let reply = bench.ask("write_stdin", arguments).await;
        assert!(output(&reply).ends_with("interrupted\non\n"), "{}", reply.text);
    });
}

#[test]
fn other_text_to_a_pipe_session_whose_stdin_is_closed_is_an_error_that_says_so() {
    bench(async |bench| {
        let id = bench.start("echo ready; sleep 60", "ready").await;
        for arguments in [json!({ "chars": "text\n" }), json!({ "keys": ["Enter"] }), json!({ "eof": true })]
        {
            let mut arguments = object(arguments);
            arguments.insert("session_id".into(), id.into());
            let complaint = bench.refused("write_stdin", Value::Object(arguments)).await;
            let says = complaint.contains("closed") && complaint.contains(&id.to_string());
            assert!(says && complaint.contains("tty=true"), "{complaint}");
        }
    });
}

#[test]
fn text_to_a_process_that_has_exited_is_answered_with_its_exit_its_unread_output_and_that_nothing_was_written()
 {
    bench(async |bench| {
        let gate = bench.gate("gate");
        for tty in [false, true] {
            let arguments = json!({ "cmd": "echo ready; read x < gate; echo last; exit 4", "tty": tty, "until": { "pattern": "ready" } });
            let id = session(&bench.run(arguments).await);
            gate.open().await;
            bench.ended(id).await;
            let reply = bench.ask("write_stdin", json!({ "session_id": id, "chars": "text\n" })).await;
            assert_eq!((output(&reply), &reply.structured["exit_code"]), ("last\n", &json!(4)));
            assert_eq!(reply.structured["notes"], json!([NOTHING_WRITTEN]), "{}", reply.text);
            // The same once its exit was reported; a poll needs no text.
            let reply = bench.ask("write_stdin", json!({ "session_id": id, "chars": "text\n" })).await;
            assert!(reply.text.contains(NOTHING_WRITTEN), "{}", reply.text);
            let reply = bench.ask("write_stdin", json!({ "session_id": id })).await;
            assert!(!reply.text.contains(NOTHING_WRITTEN), "{}", reply.text);
        }
    });
}

#[test]
fn large_writes_to_a_child_that_does_not_read_return_by_the_yield_and_say_how_much_went_in() {
    bench(async |bench| {
        let id = bench.start_on_terminal("stty raw -echo; echo ready; sleep 60", "ready").await;
        let text = "x".repeat(200_000);
        let reply = bench.ask("write_stdin", json!({ "session_id": id, "chars": text })).await;
        let input = &reply.structured["input"];
        let (written, queued) = (input["written"].as_u64().unwrap(), input["queued"].as_u64().unwrap());
        assert!(written > 0 && queued > 0 && written + queued == 200_000, "{input}");
        assert_eq!(input["refused"], 0);
        let line =
            format!("Input: {written} of 200000 bytes written, {queued} queued until the program reads\n");
        assert!(reply.text.contains(&line), "{}", reply.text);
    });
}

#[test]
fn a_write_that_cannot_go_in_does_not_outlast_a_condition_that_holds() {
    bench(async |bench| {
        let id = bench.start_on_terminal("stty raw -echo; echo ready; sleep 60", "ready").await;
        let arguments =
            json!({ "session_id": id, "chars": "x".repeat(200_000), "until": { "idle_ms": 300 } });
        let reply = bench.ask("write_stdin", arguments).await;
        assert_eq!(reply.structured["met"], "idle", "{}", reply.text);
    });
}

#[test]
fn what_exceeds_the_queue_is_refused_with_the_count_and_never_dropped_silently() {
    bench(async |bench| {
        let gate = bench.gate("gate");
        let script = "stty raw -echo; echo ready; read x < gate; head -c $(cat size) | wc -c";
        let id = bench.start_on_terminal(script, "ready").await;
        let text = "x".repeat(3 << 20);
        let reply = bench.ask("write_stdin", json!({ "session_id": id, "chars": text })).await;
        let input = &reply.structured["input"];
        let [written, queued, refused] =
            ["written", "queued", "refused"].map(|name| input[name].as_u64().unwrap());
        assert_eq!(written + queued + refused, 3 << 20);
        assert!(refused >= 2 << 20 && queued <= 1 << 20, "{input}");
        assert!(
            reply.text.contains(&format!("{refused} refused because the queue is full")),
            "{}",
            reply.text
        );
        // All that was taken arrives once the program reads.
        bench.write("size", &(written + queued).to_string());
        gate.open().await;
        let reply = bench.finish(id).await;
        assert_eq!(output(&reply).trim(), (written + queued).to_string());
    });
}

#[test]
fn a_write_that_is_held_up_holds_up_nobody_else() {
    bench(async |bench| {
        let stuck = bench.start_on_terminal("stty raw -echo; echo ready; sleep 60", "ready").await;
        let other = bench.start_waiting("cat").await;
        let toolbox = Toolbox::clone(bench);
        let arguments = json!({ "session_id": stuck, "chars": "x".repeat(200_000), "yield_time_ms": LONG });
        let writing =
            tokio::spawn(async move { toolbox.call(Call::new("write_stdin", object(arguments))).await });
        assert_eq!(output(&bench.types(other, "hello\n").await), "hello\nhello\n");
        // Nor does it hold up a call that stops the very session.
        bench.stop(stuck).await;
        assert!(writing.await.unwrap().unwrap().structured["exit_code"].is_number());
    });
}

#[test]
fn output_between_calls_is_never_lost_and_the_next_answer_starts_at_the_first_unread_byte() {
    bench(async |bench| {
        let gates = ["a", "b"].map(|name| bench.gate(name));
        let id = bench.start("echo 1; read x < a; echo 2; echo 3; read x < b; echo 4", "1").await;
        gates[0].open().await;
        let reply = bench.ask("write_stdin", json!({ "session_id": id, "until": { "pattern": "3" } })).await;
        assert_eq!((output(&reply), &reply.structured["span"]), ("2\n3\n", &json!({ "from": 2, "to": 6 })));
        gates[1].open().await;
        bench.ended(id).await;
        let reply = bench.finish(id).await;
        assert_eq!((output(&reply), &reply.structured["span"]), ("4\n", &json!({ "from": 6, "to": 8 })));
    });
}

#[test]
fn an_exit_is_reported_once_by_polling() {
    bench(async |bench| {
        let gate = bench.gate("gate");
        let id = bench.start("echo a; read x < gate; echo b; exit 9", "a").await;
        gate.open().await;
        let first = bench.finish(id).await;
        assert_eq!((output(&first), &first.structured["exit_code"]), ("b\n", &json!(9)));
        let second = bench.ask("write_stdin", json!({ "session_id": id })).await;
        assert_eq!(second.structured.get("exit_code"), None);
        assert_eq!(second.structured.get("session_id"), None);
        assert_eq!((session(&second), output(&second), second.is_error), (id, "", false));
        let remark = format!(
            "The exit of session {id} was already reported (exited with code 9); read_output session_id={id} reads its transcript\n"
        );
        assert!(second.text.contains(&remark), "{}", second.text);
    });
}

#[test]
fn after_its_exit_a_session_stays_readable_through_read_output() {
    bench(async |bench| {
        let id = session(&bench.exec("echo kept").await);
        bench.ask("write_stdin", json!({ "session_id": id })).await;
        assert_eq!(output(&bench.read(id, json!({})).await), "kept\n");
    });
}

#[test]
fn an_unknown_id_is_answered_as_such_and_lists_the_live_ones() {
    bench(async |bench| {
        for (tool, arguments) in [
            ("write_stdin", json!({ "session_id": 77 })),
            ("read_output", json!({ "session_id": 77 })),
            ("stop_session", json!({ "session_id": 77 })),
            ("wait_sessions", json!({ "session_ids": [77] })),
        ] {
            assert_eq!(bench.refused(tool, arguments).await, "Unknown session id 77; no session is running");
        }
        let one = bench.start("echo ready; sleep 60", "ready").await;
        let arguments =
            json!({ "cmd": "echo ready; sleep 60", "name": "web", "until": { "pattern": "ready" } });
        let two = session(&bench.run(arguments).await);
        let over = session(&bench.exec("true").await);
        let complaint = bench.refused("write_stdin", json!({ "session_id": "wbe" })).await;
        let expected = format!("Unknown session id wbe; running: {one} (echo ready; sleep 60), {two} (web)");
        assert_eq!(complaint, expected);
        assert!(!complaint.contains(&over.to_string()));
    });
}

#[test]
fn two_polls_of_one_session_at_once_never_show_the_same_bytes_twice_nor_lose_any() {
    bench(async |bench| {
        let gate = bench.gate("gate");
        let id = bench.start("echo go; read x < gate; seq 1 200000; exit 5", "go").await;
        let poll = |bench: &Toolbox| {
            let toolbox = bench.clone();
            let arguments =
                json!({ "session_id": id, "until": { "idle_ms": 1 }, "max_output_tokens": 900_000 });
            async move {
                let reply = toolbox.call(Call::new("write_stdin", object(arguments))).await.unwrap();
                reply.delivery.confirm();
                reply
            }
        };
        gate.open().await;
        let mut pieces: Vec<(u64, u64, String)> = Vec::new();
        let mut exits = 0;
        let mut at_the_end = 0;
        while at_the_end < 2 {
            let (a, b, c) =
                tokio::join!(tokio::spawn(poll(bench)), tokio::spawn(poll(bench)), tokio::spawn(poll(bench)));
            let over = bench.engine.sessions().iter().all(|session| session.progress().closed);
            at_the_end += usize::from(over);
            for reply in [a.unwrap(), b.unwrap(), c.unwrap()] {
                exits += usize::from(reply.structured.get("exit_code").is_some());
                let bound = |name: &str| reply.structured["span"][name].as_u64().unwrap();
                pieces.push((bound("from"), bound("to"), output(&reply).to_owned()));
            }
        }
        pieces.retain(|(from, to, _)| from < to);
        pieces.sort();
        let whole =
            "go\n".to_owned() + &(1..=200_000).map(|number| format!("{number}\n")).collect::<String>();
        let mut position = 3;
        for (from, to, text) in pieces {
            assert_eq!(from, position);
            assert_eq!(text, whole[from as usize..to as usize]);
            position = to;
        }
        assert_eq!((position, exits), (whole.len() as u64, 1));
    });
}

/// A call was cancelled just as its reply was made: the reply went nowhere, and no later one showed its output.
#[test]
fn a_reply_that_is_not_delivered_has_told_nothing() {
    bench(async |bench| {
        let gate = bench.gate("gate");
        let id = bench.start("echo 1; read x < gate; echo 2; exit 3", "1").await;
        gate.open().await;
        bench.ended(id).await;
        let poll =
            || Call::new("write_stdin", object(json!({ "session_id": id, "until": { "exit": true } })));
        let lost = bench.call(poll()).await.unwrap();
        assert_eq!((output(&lost), &lost.structured["exit_code"]), ("2\n", &json!(3)));
        drop(lost);
        let told = bench.finish(id).await;
        assert_eq!((output(&told), &told.structured["exit_code"]), ("2\n", &json!(3)));
        let repeated = "bytes 2..4 are shown again: they were in an earlier reply that was not delivered";
        assert!(told.text.contains(repeated), "{}", told.text);
        let again = bench.finish(id).await;
        assert_eq!(output(&again), "", "it was delivered");
        assert!(!again.text.contains("shown again"), "{}", again.text);
    });
}

#[test]
fn a_reply_that_is_made_after_its_call_was_revoked_has_told_nothing() {
    bench(async |bench| {
        let gate = bench.gate("gate");
        let next = bench.start("echo 3; read x < gate; exit 5", "3").await;
        gate.open().await;
        bench.ended(next).await;
        let call = Call::new("list_sessions", object(json!({})));
        call.delivery.revoke();
        let lost = bench.call(call).await.unwrap();
        let announcement = format!("session {next} exited with code 5");
        assert!(lost.text.contains(&announcement), "{}", lost.text);
        lost.delivery.confirm();
        let told = bench.ask("list_sessions", json!({})).await;
        assert!(told.text.contains(&announcement), "{}", told.text);
        let told = bench.ask("list_sessions", json!({})).await;
        assert!(!told.text.contains(&format!("Note: {announcement}")), "{}", told.text);
    });
}

#[test]
fn what_later_replies_showed_is_shown_again_with_what_was_lost_before_it() {
    bench(async |bench| {
        let gates = ["a", "b"].map(|name| bench.gate(name));
        let id = bench.start("echo 1; read x < a; echo 2; read x < b; echo 3; sleep 60", "1").await;
        let poll = |pattern: &str| {
            let until = json!({ "pattern": pattern });
            Call::new("write_stdin", object(json!({ "session_id": id, "until": until })))
        };
        gates[0].open().await;
        let lost = bench.call(poll("2")).await.unwrap();
        gates[1].open().await;
        let later = bench.call(poll("3")).await.unwrap();
        later.delivery.confirm();
        assert_eq!((output(&lost), output(&later)), ("2\n", "3\n"));
        drop(lost);
        let told = bench.call(poll("3")).await.unwrap();
        assert_eq!(output(&told), "2\n3\n");
        assert!(told.text.contains("bytes 2..6 are shown again"), "{}", told.text);
    });
}

#[test]
fn a_cancelled_call_leaves_the_session_and_its_unread_output_intact() {
    bench(async |bench| {
        let gate = bench.gate("gate");
        let id = bench.start("echo first; read x < gate; seq 1 100000; exit 3", "first").await;
        let toolbox = Toolbox::clone(bench);
        let poll = |until: Value| {
            let call = Call::new(
                "write_stdin",
                object(json!({ "session_id": id, "until": until, "max_output_tokens": 500 })),
            );
            let toolbox = toolbox.clone();
            async move { toolbox.call(call).await }
        };
        let waiting = tokio::spawn(poll(json!({ "exit": true })));
        tokio::task::yield_now().await;
        waiting.abort();
        assert!(waiting.await.unwrap_err().is_cancelled());
        gate.open().await;
        bench.ended(id).await;
        // Cancelled at every step of making the reply.
        for steps in 0..40 {
            let mut poll = Box::pin(poll(json!({ "exit": true })));
            for _ in 0..steps {
                let polled =
                    std::future::poll_fn(|context| std::task::Poll::Ready(poll.as_mut().poll(context))).await;
                if let std::task::Poll::Ready(reply) = polled {
                    check_whole(&reply.unwrap());
                    return;
                }
                tokio::task::yield_now().await;
            }
        }
        check_whole(&poll(json!({ "exit": true })).await.unwrap());
    });
}

fn check_whole(reply: &windlass_tools::Reply) {
    assert_eq!(reply.structured["exit_code"], 3, "{}", reply.text);
    assert!(
        output(reply).starts_with("1\n2\n") && output(reply).ends_with("\n99999\n100000\n"),
        "{}",
        reply.text
    );
    assert_eq!(reply.structured["span"]["from"], 6);
}

#[test]
fn a_view_is_chosen_for_each_answer() {
    bench(async |bench| {
        let id = bench.start_on_terminal("PS1='> ' bash --norc --noprofile -i", "> ").await;
        let raw = json!({ "session_id": id, "chars": "printf '\\033[1mbold\\033[0m\\n'\n", "view": "raw", "until": { "input": true } });
        assert!(output(&bench.ask("write_stdin", raw).await).contains("\u{1b}[1mbold\u{1b}[0m\r\n"));
        let text = json!({ "session_id": id, "chars": "printf '\\033[1mbold\\033[0m\\n'\n", "until": { "input": true } });
        assert!(output(&bench.ask("write_stdin", text).await).contains("\nbold\n> "));
        let screen =
            json!({ "session_id": id, "chars": "clear\n", "view": "screen", "until": { "input": true } });
        assert_eq!(output(&bench.ask("write_stdin", screen).await).trim_end(), ">");
        let pipes = bench.start("echo ready; sleep 60", "ready").await;
        let complaint = bench.refused("write_stdin", json!({ "session_id": pipes, "view": "screen" })).await;
        assert!(complaint.starts_with("view: "), "{complaint}");
    });
}

#[test]
fn a_stopped_session_is_told_when_it_is_polled() {
    bench(async |bench| {
        let id = bench.start("echo ready; sleep 60", "ready").await;
        bench.stop(id).await;
        let reply = bench.ask("write_stdin", json!({ "session_id": id })).await;
        assert_eq!((state(&reply), &reply.structured["exit_code"]), ("killed: stopped", &json!(143)));
    });
}

#[test]
fn what_a_full_screen_program_draws_is_no_text_and_shown_where_an_answer_would_be_empty() {
    bench(async |bench| {
        let draw = "printf 'before\\n\\033[?1049h\\033[Htop\\n~\\n'; read -r x; printf '~\\n~\\n'; read -r x; \
                    printf '\\033[?1049lafter\\n'";
        let started = bench.run(json!({ "cmd": draw, "tty": true })).await;
        assert_eq!(output(&started), "before\n");
        let hint = "a full-screen program has the alternate screen; view=screen shows it";
        assert_eq!(started.structured["notes"], json!([hint]));
        let id = session(&started);
        let drawn = bench.ask("write_stdin", json!({ "session_id": id, "chars": "\n" })).await;
        assert_eq!(output(&drawn), "top\n~\n\n~\n~");
        assert_eq!(
            drawn.structured["notes"],
            json!(["a full-screen program has the alternate screen, shown here; view=screen shows it again"])
        );
        let again = bench.ask("write_stdin", json!({ "session_id": id, "until": { "idle_ms": 1 } })).await;
        assert_eq!((output(&again), &again.structured["notes"]), ("", &json!([hint])));
        let closed = bench.ask("write_stdin", json!({ "session_id": id, "chars": "\n" })).await;
        assert_eq!((output(&closed), &closed.structured["notes"]), ("after\n", &json!([])));
    });
}

#[test]
fn a_screen_that_was_never_left_is_at_the_end_of_the_text() {
    bench(async |bench| {
        let cmd = "printf 'before\\n\\033[?1049h\\033[Hpanicked at\\r\\nmain.rs'; kill -9 $$";
        let reply = bench.run(json!({ "cmd": cmd, "tty": true })).await;
        assert_eq!(output(&reply), "before\n…left on the alternate screen:…\npanicked at\nmain.rs\n");
        assert_eq!(
            reply.structured["notes"],
            json!(["it ended on the alternate screen; what stood there is at the end of the output"])
        );
        let id = reply.structured["session"].as_u64().unwrap();
        let found = bench.read(id, json!({ "grep": "panicked" })).await;
        assert_eq!(output(&found), "3:panicked at\n");
        assert_eq!(output(&bench.read(id, json!({ "tail_lines": 1 })).await), "main.rs\n");
    });
}

#[test]
fn the_end_of_input_is_a_key_where_a_program_takes_single_keys() {
    bench(async |bench| {
        let id = bench.start_on_terminal("stty raw -echo; echo ready; od -An -tx1 -N3", "ready").await;
        let arguments = json!({ "session_id": id, "chars": "ab", "eof": true, "until": { "exit": true } });
        let reply = bench.ask("write_stdin", arguments).await;
        assert_eq!((&reply.structured["exit_code"], output(&reply).trim()), (&json!(0), "61 62 04"));
    });
}
