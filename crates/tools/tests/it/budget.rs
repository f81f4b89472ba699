//! The output budget: the text shown, the text omitted, and the marker. Characters stay whole.

use crate::workbench::{Workbench, bench, bench_with, output, session};
use serde_json::json;
use windlass_output::Tokenizer;
use windlass_tools::ToolboxOptions;

fn bytes4(options: &mut ToolboxOptions) {
    options.tokenizer = Tokenizer::Bytes4;
}

#[test]
fn within_budget_the_text_is_unchanged() {
    bench(async |bench| {
        let reply = bench.exec("printf '  a\\n\\n\\nb  \\n\\n'; printf end").await;
        assert_eq!(output(&reply), "  a\n\n\nb  \n\nend");
        assert_eq!((&reply.structured["omitted"], reply.text.contains("truncated")), (&json!([]), false));
    });
}

#[test]
fn tokens_are_counted_with_a_real_tokenizer() {
    bench(async |bench| {
        let text = "Tokenizers split words; 1234567890 and größere Wörter 漢字 too.\n";
        let reply = bench.run(json!({ "cmd": "cat", "stdin": text })).await;
        assert_eq!(reply.structured["original_token_count"], Tokenizer::O200k.count(text).get());
        let line = format!("Original token count: {}\n", Tokenizer::O200k.count(text));
        assert!(reply.text.contains(&line), "{}", reply.text);
    });
}

#[test]
fn twenty_lines_in_64_bytes_keep_four_at_each_end() {
    bench_with(bytes4, async |bench| {
        let reply = bench.run(json!({ "cmd": "seq -f %03g 20", "max_output_tokens": 16 })).await;
        assert_eq!(output(&reply), "001\n002\n003\n004\n…12 tokens truncated…\n017\n018\n019\n020\n");
        assert_eq!(reply.structured["original_token_count"], 20);
        assert_eq!(reply.structured["omitted"], json!([{ "from": 16, "to": 64, "tokens": 12 }]));
    });
}

#[test]
fn the_alphanumeric_string_in_16_bytes_is_a_marker_only() {
    bench_with(bytes4, async |bench| {
        let word: String = ('a'..='z').chain('A'..='Z').chain('0'..='9').collect();
        let reply = bench.run(json!({ "cmd": format!("printf {word}"), "max_output_tokens": 4 })).await;
        assert_eq!(output(&reply), "…16 tokens truncated…");
        assert_eq!(reply.structured["original_token_count"], 16);
    });
}

#[test]
fn a_budget_of_0_is_the_marker_only() {
    bench(async |bench| {
        let reply = bench.run(json!({ "cmd": "seq 1 10", "max_output_tokens": 0 })).await;
        let id = session(&reply);
        let tokens = &reply.structured["original_token_count"];
        assert_eq!(
            output(&reply),
            format!("…{tokens} tokens truncated (read_output session_id={id} from=0 to=21)…")
        );
        let reply = bench.run(json!({ "cmd": "true", "max_output_tokens": 0 })).await;
        assert_eq!(output(&reply), "");
    });
}

#[test]
fn above_it_the_middle_is_cut_at_line_boundaries_and_a_marker_on_its_own_line_says_what_is_missing() {
    bench(async |bench| {
        let reply = bench.run(json!({ "cmd": "seq 1 5000", "max_output_tokens": 300 })).await;
        let omitted = &reply.structured["omitted"][0];
        let marker = format!(
            "…{} tokens truncated (read_output session_id={} from={} to={})…",
            omitted["tokens"],
            session(&reply),
            omitted["from"],
            omitted["to"]
        );
        let lines: Vec<&str> = output(&reply).lines().collect();
        let at = lines.iter().position(|line| *line == marker).unwrap();
        let number = |line: &str| line.parse::<u64>().unwrap();
        assert!(lines[..at].iter().enumerate().all(|(place, line)| number(line) == place as u64 + 1));
        assert!(
            lines[at + 1..].iter().rev().enumerate().all(|(place, line)| number(line) == 5000 - place as u64)
        );
        // The marker is charged to the budget, which is used well.
        let used = Tokenizer::O200k.count(output(&reply)).get();
        assert!((200..=300).contains(&used), "{used}");
        let rest = bench
            .read(
                session(&reply),
                json!({ "from": omitted["from"], "to": omitted["to"], "max_output_tokens": 100_000 }),
            )
            .await;
        assert_eq!(rest.structured["original_token_count"], omitted["tokens"]);
    });
}

#[test]
fn a_line_longer_than_the_budget_is_cut_inside() {
    bench(async |bench| {
        let cmd = "python3 -c 'print(\"héé \" * 5000)'";
        let reply = bench.run(json!({ "cmd": cmd, "max_output_tokens": 120 })).await;
        let lines: Vec<&str> = output(&reply).lines().collect();
        assert_eq!(lines.len(), 3, "{}", reply.text);
        assert!(lines[0].starts_with("héé héé") && lines[1].starts_with('…') && lines[2].ends_with("héé "));
        assert!(!output(&reply).contains('\u{fffd}'));
        assert!(Tokenizer::O200k.count(output(&reply)).get() <= 120);
    });
}

#[test]
fn the_default_budget_is_ten_thousand_tokens() {
    bench(async |bench| {
        let reply = bench.exec("seq 1 30000").await;
        let used = Tokenizer::O200k.count(output(&reply)).get();
        assert!((9_000..=10_000).contains(&used), "{used}");
    });
}

#[test]
fn no_budget_is_without_bounds() {
    bench_with(bytes4, async |bench| {
        let reply = bench.run(json!({ "cmd": "head -c 6000000 /dev/zero | tr '\\0' x", "max_output_tokens": u64::MAX >> 1, "until": { "exit": true } })).await;
        assert!(output(&reply).len() <= 4_000_000 && output(&reply).len() > 3_900_000);
        assert_eq!(reply.structured["original_token_count"], 1_500_000);
    });
}

/// Checks head, tail and counts of many numbered lines.
async fn check_large(bench: &Workbench, lines: u64, budget: u64) {
    let arguments = json!({ "cmd": format!("seq -f 'line %09.0f' {lines}"), "max_output_tokens": budget, "until": { "exit": true } });
    let reply = bench.run(arguments).await;
    let total = lines * 15;
    assert_eq!(reply.structured["span"], json!({ "from": 0, "to": total }));
    let omitted = &reply.structured["omitted"][0];
    let (from, to) = (omitted["from"].as_u64().unwrap(), omitted["to"].as_u64().unwrap());
    let (head, rest) = output(&reply).split_once('…').unwrap();
    let tail = rest.split_once("…\n").unwrap().1;
    let numbered = |range: std::ops::Range<u64>| range.map(|n| format!("line {n:09}\n")).collect::<String>();
    assert_eq!(head, numbered(1..from / 15 + 1));
    assert_eq!(tail, numbered(to / 15 + 1..lines + 1));
    assert!(!head.is_empty() && !tail.is_empty());
}

#[test]
fn of_twenty_megabytes_head_tail_and_counts_are_exact() {
    bench_with(bytes4, async |bench| {
        check_large(bench, 1_400_000, 2_000).await;
        let entry = bench.exec("true").await;
        let id = session(&entry) - 1;
        let counted = bench.read(id, json!({ "max_output_tokens": 0 })).await;
        assert_eq!(counted.structured["original_token_count"], 1_400_000 * 15 / 4);
        assert_eq!(
            counted.structured["omitted"],
            json!([{ "from": 0, "to": 21_000_000, "tokens": 5_250_000 }])
        );
    });
}

#[test]
fn of_three_megabytes_head_and_tail_are_exact_with_the_real_tokenizer() {
    bench(async |bench| check_large(bench, 200_000, 2_000).await);
}

#[test]
fn a_character_split_over_two_answers_appears_whole_exactly_once() {
    bench(async |bench| {
        let gate = bench.gate("gate");
        for tty in [false, true] {
            for (first, second, whole) in
                [(r"a\303", r"\251b", "é"), (r"a\342\202", r"\254b", "€"), (r"a\360\237\230", r"\200b", "😀")]
            {
                let cmd = format!("printf '{first}'; read x < gate; printf '{second}'");
                let arguments = json!({ "cmd": cmd, "tty": tty, "until": { "pattern": "a" } });
                let one = bench.run(arguments).await;
                gate.open().await;
                let two = bench.finish(session(&one)).await;
                assert_eq!((output(&one), output(&two)), ("a", format!("{whole}b").as_str()), "{tty}");
                assert_eq!(one.structured["span"]["to"], two.structured["span"]["from"]);
                assert_eq!(two.structured["exit_code"], 0);
            }
        }
    });
}

#[test]
fn a_character_that_never_ends_is_told_at_the_end() {
    bench(async |bench| {
        let reply = bench.exec(r"printf 'a\303'").await;
        assert_eq!((output(&reply), &reply.structured["span"]["to"]), ("a\u{fffd}", &json!(2)));
    });
}

#[test]
fn an_escape_code_split_over_two_answers_is_carried_out_once() {
    bench(async |bench| {
        let gate = bench.gate("gate");
        let title = format!(r"\033]0;{}", "title".repeat(100));
        for tty in [false, true] {
            for (first, second) in [
                (r"a\033", r"[1mb"),
                (r"a\033[", r"31mb"),
                (r"a\033[38;5;", r"1mb"),
                (&format!("a{title}"), r"more\007b"),
            ] {
                let cmd = format!("printf '{first}'; read x < gate; printf '{second}'");
                let arguments = json!({ "cmd": cmd, "tty": tty, "until": { "pattern": "a" } });
                let one = bench.run(arguments).await;
                gate.open().await;
                let two = bench.finish(session(&one)).await;
                assert_eq!((output(&one), output(&two)), ("a", "b"), "{tty} {first}");
            }
        }
    });
}

#[test]
fn retention_is_256_mib_for_each_session_by_default() {
    let retention = windlass_engine::Retention::default();
    assert_eq!(format!("{retention:?}"), format!("{:?}", windlass_engine::Retention::new(256 << 20)));
}
