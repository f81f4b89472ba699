//! `read_output`: any part, again, of running and finished sessions.

use crate::workbench::{bench, bench_over, keeping, output, session};
use serde_json::{Value, json};

#[test]
fn any_part_is_read_by_offsets_lines_tail_or_pattern() {
    bench(async |bench| {
        let id = session(&bench.exec("seq 1 9").await);
        for (part, expected) in [
            (json!({}), "1\n2\n3\n4\n5\n6\n7\n8\n9\n"),
            (json!({ "from": 4, "to": 8 }), "3\n4\n"),
            (json!({ "from": 14 }), "8\n9\n"),
            (json!({ "to": 2.0 }), "1\n"),
            (json!({ "from": 99 }), ""),
            (json!({ "from_line": 8 }), "8\n9\n"),
            (json!({ "from_line": 2, "lines": 2 }), "2\n3\n"),
            (json!({ "lines": 1 }), "1\n"),
            (json!({ "from_line": 99 }), ""),
            (json!({ "tail_lines": 2 }), "8\n9\n"),
            (json!({ "tail_lines": 0 }), ""),
            (json!({ "grep": "[37]" }), "3:3\n7:7\n"),
            (json!({ "grep": "5", "context": 1 }), "4-4\n5:5\n6-6\n"),
            (json!({ "grep": "nothing" }), ""),
        ] {
            assert_eq!(output(&bench.read(id, part.clone()).await), expected, "{part}");
        }
    });
}

/// It was searched only up to 64 KiB, and was never shown, because that is more than the budget.
#[test]
fn a_long_line_is_searched_to_its_end_and_shown_around_the_match_with_its_address() {
    bench(async |bench| {
        let script = "head -c 300000 /dev/zero | tr '\\0' x; printf needle; head -c 100000 /dev/zero | tr '\\0' y; echo; echo end";
        let id = session(&bench.exec(script).await);
        let reply = bench.read(id, json!({ "grep": "needle" })).await;
        let shown = output(&reply);
        assert!(shown.starts_with("1:…xxx") && shown.contains("xneedley"), "{shown}");
        assert!(shown.ends_with("yyy… (line at bytes 0..400007)\n") && shown.len() < 2200, "{shown}");
        assert_eq!(output(&bench.read(id, json!({ "grep": "x$" })).await), "");
    });
}

#[test]
fn only_one_way_to_name_a_part_is_taken_and_the_complaint_names_the_field() {
    bench(async |bench| {
        let id = session(&bench.exec("seq 1 9").await);
        for (part, field) in [
            (json!({ "from": 1, "from_line": 1 }), "from_line/lines: "),
            (json!({ "tail_lines": 1, "grep": "a" }), "grep: "),
            (json!({ "to": 1, "tail_lines": 1 }), "tail_lines: "),
            (json!({ "context": 1 }), "context: "),
            (json!({ "from": 2, "to": 1 }), "from: "),
            (json!({ "from_line": 0 }), "from_line: "),
            (json!({ "lines": 0 }), "lines: "),
            (json!({ "grep": "(" }), "grep: "),
            (json!({ "view": "screen" }), "view: "),
        ] {
            let mut arguments = crate::workbench::object(part);
            arguments.insert("session_id".into(), id.into());
            let complaint = bench.refused("read_output", Value::Object(arguments)).await;
            assert!(complaint.starts_with(field), "{complaint}");
        }
    });
}

#[test]
fn it_works_on_running_and_finished_sessions_and_never_moves_the_unread_position() {
    bench(async |bench| {
        let gate = bench.gate("gate");
        let id = bench.start("echo 1; read x < gate; echo 2", "1").await;
        assert_eq!(output(&bench.read(id, json!({})).await), "1\n");
        gate.open().await;
        bench.ended(id).await;
        assert_eq!(output(&bench.read(id, json!({ "tail_lines": 1 })).await), "2\n");
        let reply = bench.finish(id).await;
        assert_eq!((output(&reply), &reply.structured["exit_code"]), ("2\n", &json!(0)));
        assert_eq!(output(&bench.read(id, json!({})).await), "1\n2\n");
    });
}

#[test]
fn every_marker_left_by_truncation_names_the_span_to_ask_for() {
    bench(async |bench| {
        let id = session(&bench.exec("seq 1 3000").await);
        let whole: String = (1..=3000).map(|number| format!("{number}\n")).collect();
        for part in [
            json!({}),
            json!({ "from": 100, "to": 9000 }),
            json!({ "from_line": 5 }),
            json!({ "tail_lines": 2000 }),
        ] {
            let mut narrow = crate::workbench::object(part);
            narrow.insert("max_output_tokens".into(), 200.into());
            let reply = bench.read(id, Value::Object(narrow)).await;
            let omitted = &reply.structured["omitted"][0];
            let marker = format!(
                "…{} tokens truncated (read_output session_id={id} from={} to={})…",
                omitted["tokens"], omitted["from"], omitted["to"]
            );
            assert_eq!(output(&reply).lines().filter(|line| *line == marker).count(), 1, "{}", reply.text);
            let span = json!({ "from": omitted["from"], "to": omitted["to"], "max_output_tokens": 100_000 });
            let rest = bench.read(id, span).await;
            let range = &reply.structured["span"];
            let range = range["from"].as_u64().unwrap() as usize..range["to"].as_u64().unwrap() as usize;
            let together = output(&reply).replace(&format!("{marker}\n"), output(&rest));
            assert_eq!(together, whole[range]);
        }
    });
}

#[test]
fn a_search_that_finds_too_much_names_the_span_that_was_left_out() {
    bench(async |bench| {
        let id = session(&bench.exec("seq 1 3000").await);
        let reply = bench.read(id, json!({ "grep": "7", "max_output_tokens": 100 })).await;
        let omitted = &reply.structured["omitted"][0];
        let expected = format!(
            "…{} tokens truncated (read_output session_id={id} from={} to={})…",
            omitted["tokens"], omitted["from"], omitted["to"]
        );
        assert_eq!(output(&reply).lines().last().unwrap(), expected);
        let shown: Vec<&str> = output(&reply).lines().collect();
        assert_eq!(&shown[..3], ["7:7", "17:17", "27:27"]);
        assert!(windlass_output::Tokenizer::O200k.count(output(&reply)).get() <= 100);
        // Reading goes on exactly where the list ends.
        let span = json!({ "from": omitted["from"], "to": omitted["to"], "max_output_tokens": 100_000 });
        let rest = bench.read(id, span).await;
        let last: u64 = shown[shown.len() - 2].split(':').next().unwrap().parse().unwrap();
        let next = (last + 1..).find(|number| number.to_string().contains('7')).unwrap();
        assert_eq!(output(&rest).lines().next().unwrap(), next.to_string());
        assert_eq!(
            bench.read(id, json!({ "grep": "7", "max_output_tokens": 0 })).await.structured["omitted"][0]["from"],
            12
        );
    });
}

#[test]
fn spans_are_half_open_raw_byte_offsets_in_every_view() {
    bench(async |bench| {
        let id = session(&bench.exec(r"printf 'a\033[1mb\033[0mc\né\n'").await);
        for view in ["text", "raw"] {
            let whole = bench.read(id, json!({ "view": view })).await;
            assert_eq!(whole.structured["span"], json!({ "from": 0, "to": 15 }), "{view}");
            let part = bench.read(id, json!({ "view": view, "from": 12, "to": 14 })).await;
            assert_eq!(output(&part), "é", "{view}");
        }
        let raw = bench.read(id, json!({ "view": "raw", "to": 6 })).await;
        assert_eq!(output(&raw), "a\u{1b}[1mb");
    });
}

#[test]
fn lines_count_from_1_on_settled_text() {
    bench(async |bench| {
        let id = session(&bench.exec(r"printf 'one\n10%%\r20%%\rtwo\033[K\nthree\n'").await);
        assert_eq!(output(&bench.read(id, json!({ "from_line": 2, "lines": 1 })).await), "two\n");
        assert_eq!(output(&bench.read(id, json!({ "grep": "t" })).await), "2:two\n3:three\n");
    });
}

#[test]
fn the_screen_is_read_after_the_end_too_and_its_marker_names_all_of_the_output() {
    bench(async |bench| {
        let cmd = r"printf 'gone\033[2J\033[H'; seq 1 20; read x; printf '\033[2J\033[Hlast'";
        let id = bench.start_waiting(cmd).await;
        let screen = bench.read(id, json!({ "view": "screen" })).await;
        assert_eq!(output(&screen).lines().take(2).collect::<Vec<_>>(), ["1", "2"]);
        let narrow = bench.read(id, json!({ "view": "screen", "max_output_tokens": 30 })).await;
        let end = &narrow.structured["span"]["to"];
        assert!(
            output(&narrow).contains(&format!("(read_output session_id={id} from=0 to={end})…")),
            "{}",
            narrow.text
        );
        assert_eq!(narrow.structured["omitted"][0]["to"], *end);
        bench.types_and_ends(id).await;
        assert_eq!(output(&bench.read(id, json!({ "view": "screen" })).await).trim_end(), "last");
    });
}

#[test]
fn output_beyond_retention_is_gone_with_the_exact_number_omitted() {
    bench_over(
        keeping(100_000),
        |_| {},
        async |bench| {
            let reply = bench.exec("seq 1 100000").await;
            let id = session(&reply);
            let total: u64 = (1..=100_000u64).map(|number| number.to_string().len() as u64 + 1).sum();
            assert_eq!(reply.structured["span"], json!({ "from": 0, "to": total }));
            let note = reply.structured["notes"][0].as_str().unwrap();
            let numbers: Vec<u64> =
                note.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
            let (from, to, gone) = (numbers[0], numbers[1], *numbers.last().unwrap());
            assert!(gone == to - from && from > 0 && to < total, "{note}");
            assert!(total - gone <= 100_000 + 64 * 1024, "{note}");
            // The head and the newest bytes are kept, and are complete.
            let whole: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
            let head =
                bench.read(id, json!({ "to": from, "max_output_tokens": 900_000, "view": "raw" })).await;
            assert_eq!(output(&head), &whole[..from as usize]);
            let tail =
                bench.read(id, json!({ "from": to, "max_output_tokens": 900_000, "view": "raw" })).await;
            assert_eq!(output(&tail), &whole[to as usize..]);
            let across = bench.read(id, json!({})).await;
            assert!(across.text.contains(&format!("({gone} bytes)")), "{}", across.text);
        },
    );
}

#[test]
fn a_session_of_an_earlier_runtime_is_read_from_the_state_directory() {
    bench(async |bench| {
        let id = session(&bench.run(json!({ "cmd": "echo earlier", "name": "old" })).await);
        let mut options = windlass_tools::ToolboxOptions::new(bench.home(), Vec::new());
        options.store = Some(bench.store.clone());
        let later = windlass_tools::Toolbox::new(bench.engine.clone(), options);
        for named in [json!(id), json!("old")] {
            let arguments = crate::workbench::object(json!({ "session_id": named }));
            let reply = later.call(windlass_tools::Call::new("read_output", arguments)).await.unwrap();
            assert_eq!(output(&reply), "earlier\n");
        }
    });
}

#[test]
fn what_is_not_there_is_said() {
    bench(async |bench| {
        let id = bench.exec("seq 100").await.structured["session"].as_u64().unwrap();
        for (part, said) in [
            (json!({ "from": 8000 }), "the output has 292 bytes so far"),
            (json!({ "from_line": 101 }), "the output has fewer lines so far"),
            (json!({ "grep": "x" }), "no line matches"),
        ] {
            let reply = bench.read(id, part.clone()).await;
            assert_eq!((output(&reply), &reply.structured["notes"]), ("", &json!([said])), "{part}");
        }
        let silent = bench.exec("true").await.structured["session"].as_u64().unwrap();
        assert_eq!(bench.read(silent, json!({})).await.structured["notes"], json!([]));
    });
}

#[test]
fn lines_behind_what_is_gone_are_said_to_be_miscounted() {
    bench_over(
        keeping(64 << 10),
        |_| {},
        async |bench| {
            let id = bench.exec("seq 100000").await.structured["session"].as_u64().unwrap();
            let reply = bench.read(id, json!({ "grep": "^99999$" })).await;
            let notes = reply.structured["notes"].to_string();
            assert!(
                notes.contains("lines are counted without those that are gone; byte offsets are exact"),
                "{notes}"
            );
            assert!(output(&reply).ends_with(":99999\n"), "{}", reply.text);
        },
    );
}

#[test]
fn a_line_that_a_person_still_sees_is_found_whatever_was_drawn_at_the_top_of_the_screen() {
    bench(async |bench| {
        let cmd = "for i in $(seq 100); do [ $i = 37 ] && echo FAILED || echo line $i; done; printf '\\033[Hredrawn'";
        let reply = bench.run(json!({ "cmd": cmd, "tty": true })).await;
        let lines: Vec<&str> = output(&reply).lines().collect();
        assert_eq!((lines[36], lines[76], lines[77]), ("FAILED", "line 77", "redrawn"));
        let id = reply.structured["session"].as_u64().unwrap();
        assert_eq!(output(&bench.read(id, json!({ "grep": "FAILED" })).await), "37:FAILED\n");
        assert_eq!(output(&bench.read(id, json!({ "grep": "redrawn" })).await), "78:redrawn\n");
    });
}

#[test]
fn a_match_that_was_overwritten_is_found_in_the_raw_output() {
    bench(async |bench| {
        let id =
            bench.exec("printf 'one\\nFAILED 3\\rpassed  \\n'").await.structured["session"].as_u64().unwrap();
        let reply = bench.read(id, json!({ "grep": "FAILED" })).await;
        let said = "no line of the text matches; the raw output does at 4..10, where it was overwritten or is part of an escape \
                    code (from=4 to=10 view=raw)";
        assert_eq!((output(&reply), &reply.structured["notes"]), ("", &json!([said])));
        let raw = bench.read(id, json!({ "grep": "FAILED", "view": "raw" })).await;
        assert_eq!(output(&raw), "2:FAILED 3\rpassed  \n");
    });
}
