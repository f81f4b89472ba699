//! The catalogue that models see: names, descriptions and schemas, word for word.

use crate::workbench::bench;
use serde_json::{Value, json};
use windlass_output::Tokenizer;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/golden/tools.json");

#[test]
fn tools_are_shown_in_a_fixed_order_word_for_word() {
    bench(async |bench| {
        let shown: Vec<Value> = bench.tools().iter().map(shown).collect();
        let shown = serde_json::to_string_pretty(&shown).unwrap() + "\n";
        let golden = std::fs::read_to_string(GOLDEN).unwrap_or_default();
        if shown != golden {
            let fresh = concat!(env!("CARGO_TARGET_TMPDIR"), "/tools.json");
            std::fs::write(fresh, &shown).unwrap();
            let place = shown.lines().zip(golden.lines()).position(|(new, old)| new != old);
            let line = place.unwrap_or_else(|| golden.lines().count().min(shown.lines().count())) + 1;
            panic!(
                "what models are shown differs from tests/it/golden/tools.json in line {line}.\n\
                 If that is meant, take it over: mv {fresh} {GOLDEN}"
            );
        }
    });
}

fn shown(tool: &windlass_tools::Tool) -> Value {
    json!({
        "name": tool.name, "description": tool.description,
        "inputSchema": tool.input_schema(), "outputSchema": tool.output_schema(),
    })
}

#[test]
fn the_default_set_is_six_tools_and_the_classic_profile_adds_two() {
    bench(async |bench| {
        let names: Vec<&str> = bench.tools().iter().map(|tool| tool.name).collect();
        let expected = [
            "exec_command",
            "write_stdin",
            "read_output",
            "wait_sessions",
            "stop_session",
            "list_sessions",
            "shell",
            "shell_command",
        ];
        assert_eq!(names, expected);
    });
}

#[test]
fn all_schemas_together_stay_under_two_thousand_tokens() {
    bench(async |bench| {
        let mut total = 0;
        for tool in &bench.tools()[..6] {
            let tokens = Tokenizer::O200k.count(&shown(tool).to_string()).get();
            println!("{:16} {tokens}", tool.name);
            total += tokens;
        }
        println!("{:16} {total}", "together");
        // Five hundred less than promised: room for later additions.
        assert!(total < 1500, "{total}");
    });
}

#[test]
fn every_argument_of_the_contract_is_in_its_schema() {
    bench(async |bench| {
        for (tool, required, arguments) in [
            (
                "exec_command",
                "cmd",
                "cmd workdir tty stdin env shell login yield_time_ms timeout_ms until max_output_tokens view name lifetime",
            ),
            (
                "write_stdin",
                "session_id",
                "session_id chars keys eof yield_time_ms until max_output_tokens view",
            ),
            (
                "read_output",
                "session_id",
                "session_id from to from_line lines tail_lines grep context view max_output_tokens",
            ),
            ("wait_sessions", "session_ids", "session_ids until timeout_ms"),
            ("stop_session", "session_id", "session_id signal"),
            ("list_sessions", "", ""),
            ("shell", "command", "command workdir timeout_ms"),
            ("shell_command", "command", "command workdir timeout_ms login"),
        ] {
            let schema = bench.tools().iter().find(|found| found.name == tool).unwrap().input_schema();
            let mut expected: Vec<&str> = arguments.split_whitespace().collect();
            let mut found: Vec<&str> =
                schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
            expected.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, expected, "{tool}");
            assert_eq!(schema["required"], json!(required.split_whitespace().collect::<Vec<_>>()), "{tool}");
            assert_eq!(schema["type"], "object");
        }
    });
}
