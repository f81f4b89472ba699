//! Arguments: which are accepted, which are refused, and that nothing starts when one is refused.

use crate::workbench::{Workbench, bench, object, output};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};
use std::time::Duration;
use windlass_tools::{Call, Toolbox};

#[test]
fn numbers_with_no_fraction_are_accepted_as_integers() {
    bench(async |bench| {
        let arguments =
            json!({ "cmd": "seq 1 9", "yield_time_ms": 1000.0, "timeout_ms": 2e4, "max_output_tokens": 1e3 });
        let reply = bench.run(arguments).await;
        let id = reply.structured["session"].as_u64().unwrap() as f64;
        assert_eq!(
            output(&bench.ask("read_output", json!({ "session_id": id, "from": 0.0, "to": 2.0 })).await),
            "1\n"
        );
        assert_eq!(
            bench.ask("wait_sessions", json!({ "session_ids": [id], "timeout_ms": 100.0 })).await.structured
                ["timed_out"],
            false
        );
    });
}

#[test]
fn negative_numbers_numeric_strings_and_unknown_enum_values_are_refused_with_an_error_that_names_the_field() {
    bench(async |bench| {
        let whole = [
            json!(-1),
            json!(-1.0),
            json!(1.5),
            json!("1000"),
            json!(true),
            json!([1]),
            json!({}),
            json!(1e300),
        ];
        for field in ["yield_time_ms", "timeout_ms", "max_output_tokens"] {
            for value in &whole {
                check(bench, "exec_command", (field, value), json!({ "cmd": "true" })).await;
            }
        }
        for field in ["from", "to", "from_line", "lines", "tail_lines", "context", "max_output_tokens"] {
            for value in &whole {
                check(bench, "read_output", (field, value), json!({ "session_id": 1, "grep": "x" })).await;
            }
        }
        for (tool, field, value) in [
            ("exec_command", "view", json!("html")),
            ("exec_command", "view", json!("Text")),
            ("exec_command", "view", json!(1)),
            ("exec_command", "lifetime", json!("forever")),
            ("exec_command", "cmd", json!(["ls"])),
            ("exec_command", "cmd", json!(null)),
            ("exec_command", "cmd", json!("a\u{0}b")),
            ("exec_command", "cmd", json!("x".repeat(2_000_000))),
            ("exec_command", "workdir", json!(1)),
            ("exec_command", "workdir", json!("a\u{0}b")),
            ("exec_command", "tty", json!("true")),
            ("exec_command", "tty", json!(1)),
            ("exec_command", "stdin", json!(1)),
            ("exec_command", "env", json!(["A=1"])),
            ("exec_command", "env.A", json!({ "A": 1 })),
            ("exec_command", "env.A", json!({ "A": "x\u{0}" })),
            ("exec_command", "env.A=B", json!({ "A=B": "1" })),
            ("exec_command", "env.", json!({ "": "1" })),
            ("exec_command", "shell", json!(1)),
            ("exec_command", "login", json!("no")),
            ("exec_command", "name", json!("12")),
            ("exec_command", "timeout_ms", json!(0)),
            ("exec_command", "until", json!("exit")),
            ("exec_command", "until.exits", json!({ "exits": true })),
            ("exec_command", "until.idle_ms", json!({ "idle_ms": "5" })),
            ("exec_command", "until[0].port", json!([{ "port": 70_000 }])),
            ("exec_command", "until.pattern", json!({ "pattern": "(" })),
            ("write_stdin", "session_id", json!("99999999999999999999")),
            ("write_stdin", "session_id", json!(-1)),
            ("write_stdin", "session_id", json!(1.5)),
            ("write_stdin", "session_id", json!(null)),
            ("write_stdin", "chars", json!(1)),
            ("write_stdin", "keys", json!("C-c")),
            ("write_stdin", "keys[0]", json!([1])),
            ("write_stdin", "eof", json!("yes")),
            ("write_stdin", "view", json!("html")),
            ("wait_sessions", "session_ids[0]", json!(["99999999999999999999"])),
            ("stop_session", "signal", json!("NOSUCH")),
        ] {
            let base = field.split(['.', '[']).next().unwrap();
            let mut arguments = object(json!({ "cmd": "true", "session_id": 1, "session_ids": [1] }));
            arguments.insert(base.into(), value);
            let complaint = bench.refused(tool, Value::Object(arguments)).await;
            assert!(complaint.starts_with(&format!("{field}: ")), "{tool} {field}: {complaint}");
        }
        let complaint =
            bench.refused("exec_command", json!({ "cmd": "cat", "tty": true, "stdin": "x" })).await;
        assert!(complaint.starts_with("stdin: "), "{complaint}");
        assert!(bench.engine.sessions().is_empty(), "no process is started");
    });
}

#[test]
fn the_number_of_a_session_can_be_given_as_text() {
    const SCRIPT: &str = "stty -echo; echo ready; read -r line; echo \"got $line\"";
    bench(async |bench| {
        let session = bench.start_on_terminal(SCRIPT, "ready").await.to_string();
        let written = bench.ask("write_stdin", json!({ "session_id": session, "chars": "x\n" })).await;
        assert!(written.text.contains("got x"), "{}", written.text);
        let waited = bench.ask("wait_sessions", json!({ "session_ids": [session] })).await;
        assert!(waited.text.contains(&session), "{}", waited.text);
        let read = bench.ask("read_output", json!({ "session_id": session })).await;
        assert_eq!(read.structured["output"], "ready\ngot x\n", "{}", read.text);
    });
}

async fn check(bench: &Workbench, tool: &str, (field, value): (&str, &Value), base: Value) {
    let mut arguments = object(base);
    arguments.insert(field.into(), value.clone());
    let complaint = bench.refused(tool, Value::Object(arguments)).await;
    assert!(complaint.starts_with(&format!("{field}: ")), "{tool} {field} {value}: {complaint}");
}

#[test]
fn a_refused_call_does_not_even_log_in() {
    bench(async |bench| {
        bench.write(".bash_profile", "echo login >> logins\n");
        for (tool, arguments) in [
            ("exec_command", json!({ "cmd": "true", "view": "html" })),
            ("exec_command", json!({ "cmd": "a\u{0}b" })),
            ("shell", json!({ "command": ["true"], "timeout_ms": -1 })),
            ("shell", json!({ "command": ["true"], "workdir": 3 })),
            ("shell_command", json!({ "command": "true", "timeout_ms": "5" })),
        ] {
            bench.refused(tool, arguments).await;
        }
        assert_eq!(bench.contents("logins"), "");
    });
}

#[test]
fn null_is_as_good_as_not_given() {
    bench(async |bench| {
        let arguments = json!({
            "cmd": "echo a", "workdir": null, "tty": null, "stdin": null, "env": null, "shell": null, "login": null,
            "yield_time_ms": null, "timeout_ms": null, "until": null, "max_output_tokens": null, "view": null,
            "name": null, "lifetime": null,
        });
        let reply = bench.run(arguments).await;
        assert_eq!((output(&reply), &reply.structured["notes"]), ("a\n", &json!([])));
    });
}

#[test]
fn an_argument_under_the_name_of_another_tool_is_recognised() {
    bench(async |bench| {
        for (tool, arguments, said) in [
            (
                "exec_command",
                json!({ "command": "true" }),
                "cmd: is missing; did you mean `cmd` instead of `command`?",
            ),
            ("write_stdin", json!({ "session": 1 }), "did you mean `session_id` instead of `session`?"),
            (
                "wait_sessions",
                json!({ "session_id": 1 }),
                "did you mean `session_ids` instead of `session_id`?",
            ),
            ("exec_command", json!({ "note": "true" }), "cmd: is missing"),
        ] {
            let text = bench.refused(tool, arguments).await;
            assert!(text.contains(said), "{tool}: {text}");
        }
    });
}

#[test]
fn an_argument_that_is_not_known_is_ignored_and_named() {
    bench(async |bench| {
        let reply = bench.run(json!({ "cmd": "echo a", "yield_time": 5, "justification": "x" })).await;
        assert_eq!(output(&reply), "a\n");
        let notes = [
            "argument `justification` is not known and was ignored",
            "argument `yield_time` is not known and was ignored; did you mean `yield_time_ms`?",
        ];
        assert_eq!(reply.structured["notes"], json!(notes));
    });
}

/// Any JSON, with numbers of every size.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0..3u64).prop_map(Value::from),
        Just(Value::from(1001)),
        ".{0,12}".prop_map(Value::from),
        prop_oneof![
            Just("text"),
            Just("raw"),
            Just("screen"),
            Just("call"),
            Just("runtime"),
            Just("echo hi"),
            Just("TERM"),
            Just("KILL"),
            Just("done"),
            Just("("),
            Just("/"),
            Just("a\u{0}b"),
        ]
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        let name = prop_oneof![
            Just("exit".to_owned()),
            Just("pattern".to_owned()),
            Just("idle_ms".to_owned()),
            Just("port".to_owned()),
            Just("input".to_owned()),
            ".{0,6}",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// Arguments for a tool: some of its own, some with valid values, and some unknown.
fn any_arguments(toolbox: &Toolbox) -> impl Strategy<Value = (String, Map<String, Value>)> + use<> {
    let tools: Vec<(String, Vec<String>)> = toolbox
        .tools()
        .iter()
        .map(|tool| {
            let properties = tool.input_schema()["properties"].as_object().unwrap().keys().cloned().collect();
            (tool.name.to_owned(), properties)
        })
        .collect();
    prop::sample::select(tools).prop_flat_map(|(tool, mut fields)| {
        fields.push("unknown".into());
        let fields = prop::collection::vec((prop::sample::select(fields), any_json()), 0..6);
        let right = prop_oneof![
            Just(json!({})),
            Just(json!({ "cmd": "echo hi" })),
            Just(json!({ "session_id": 1001 })),
            Just(json!({ "session_ids": [1001] })),
            Just(json!({ "command": "echo hi" })),
            Just(json!({ "command": ["echo", "hi"] })),
        ];
        (Just(tool), right, fields).prop_map(|(tool, right, fields)| {
            let mut arguments = object(right);
            for (name, value) in fields {
                // A detached session would outlive the test by design.
                if name != "lifetime" || value != "detached" {
                    arguments.insert(name, value);
                }
            }
            (tool, arguments)
        })
    })
}

#[test]
fn any_json_as_arguments_never_panics_starts_nothing_when_refused_and_answers_within_bounds() {
    bench(async |bench| {
        // One to be named, polled and stopped.
        bench.exec("seq 1 100000").await;
        let handle = tokio::runtime::Handle::current();
        let toolbox = Toolbox::clone(bench);
        let engine = bench.engine.clone();
        let calls = move || {
            let mut runner =
                TestRunner::new(Config { cases: 400, failure_persistence: None, ..Config::default() });
            runner.run(&any_arguments(&toolbox), |(tool, arguments)| {
                let before = engine.sessions().len();
                let mut call = Call::new(tool, arguments);
                call.ceiling = Duration::from_millis(20);
                let reply = handle.block_on(toolbox.call(call)).unwrap();
                if reply.is_error {
                    prop_assert!(engine.sessions().len() <= before, "{}", reply.text);
                    prop_assert!(reply.text.len() < 20_000);
                }
                prop_assert!(!reply.text.is_empty());
                prop_assert!(reply.text.len() < 5_000_000 && reply.structured.to_string().len() < 10_000_000);
                Ok(())
            })
        };
        tokio::task::spawn_blocking(calls).await.unwrap().unwrap();
    });
}

#[test]
fn a_refusal_of_something_long_is_short() {
    bench(async |bench| {
        let long = "x".repeat(1_000_000);
        for (tool, arguments) in [
            ("write_stdin", json!({ "session_id": long })),
            ("exec_command", json!({ "cmd": "true", "view": long })),
            ("exec_command", json!({ "cmd": "true", "until": { &long: true } })),
            ("exec_command", json!({ "cmd": "true", "env": { &long: 1 } })),
            ("exec_command", json!({ "cmd": "true", "until": { "pattern": format!("({long}") } })),
            ("exec_command", json!({ "cmd": "true", "workdir": long })),
            ("shell", json!({ "command": [long] })),
            ("stop_session", json!({ "session_id": 1, "signal": long })),
        ] {
            let complaint = bench.refused(tool, arguments).await;
            assert!(complaint.len() < 20_000, "{tool} {}", complaint.len());
        }
        let reply = bench.run(json!({ "cmd": "true", &long: 1 })).await;
        assert!(reply.text.len() < 1000);
    });
}
