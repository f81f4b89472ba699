//! `windlass log`: reads any part of any session's output.

use serde_json::json;
use windlass_sys::signal::Signal;

use crate::rig::Home;

/// A home with one session that printed `line 1` to `line 100`.
fn hundred_lines(name: &str) -> Home {
    let home = Home::new(name);
    let seen = home.seen(&["run", "--name", "lines", "for i in $(seq 1 100); do echo line $i; done"]);
    assert_eq!(seen.code, 0);
    home
}

fn check(home: &Home, words: &[&str], expected: &str) {
    let words: Vec<&str> = ["log", "lines"].iter().chain(words).copied().collect();
    let seen = home.seen(&words);
    assert_eq!((seen.stdout.as_str(), seen.code), (expected, 0), "{words:?} {}", seen.stderr);
}

#[test]
fn lines_are_chosen_by_number_tail_pattern_and_span() {
    let home = hundred_lines("choice");
    check(&home, &["--lines", "5..7"], "line 5\nline 6\nline 7\n");
    check(&home, &["--lines", "99.."], "line 99\nline 100\n");
    check(&home, &["--lines", "..1"], "line 1\n");
    check(&home, &["--tail", "2"], "line 99\nline 100\n");
    check(&home, &["--grep", "9[89]$"], "98:line 98\n99:line 99\n");
    check(&home, &["--grep", "line 50", "--context", "1"], "49-line 49\n50:line 50\n51-line 51\n");
    check(&home, &["--span", "7..21"], "line 2\nline 3\n");
    check(&home, &["--span", "7..21", "--view", "raw"], "line 2\nline 3\n");
    check(&home, &["--grep", "nothing like it"], "");
}

#[test]
fn all_of_it_is_the_default_by_number_or_name() {
    let home = hundred_lines("all");
    let by_name = home.seen(&["log", "lines"]);
    let by_number = home.seen(&["log", "1001"]);
    assert_eq!(by_name.stdout, by_number.stdout);
    assert_eq!(by_name.stdout.lines().count(), 100);
}

#[test]
fn the_newest_session_of_a_name_is_meant() {
    let home = Home::new("newest");
    for word in ["old", "young"] {
        home.seen(&["run", "--name", "x", "--", "echo", word]);
    }
    assert_eq!(home.seen(&["log", "x"]).stdout, "young\n");
}

#[test]
fn what_a_marker_left_out_is_at_the_span_it_names() {
    let home = hundred_lines("marker");
    let whole = home.seen(&["log", "lines"]).stdout;
    let seen = home.seen(&["log", "lines", "--max-tokens", "60"]).stdout;
    let marker = seen.lines().find(|line| line.starts_with('…')).expect("a marker");
    let command = marker.split_once('(').unwrap().1.split_once(')').unwrap().0;
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let rest = home.seen(&words).stdout;
    assert_eq!(seen.replace(&format!("{marker}\n"), &rest), whole);
}

#[test]
fn json_has_the_excerpt_or_the_matches_and_the_receipt() {
    let home = hundred_lines("json");
    let seen = home.json(&["log", "lines", "--json", "--tail", "1"]);
    assert_eq!((&seen["output"], &seen["session"]), (&json!("line 100\n"), &json!(1001)));
    assert_eq!((&seen["state"], &seen["exit_code"]), (&json!("exited"), &json!(0)));
    assert_eq!(seen["span"], json!({"from": 783, "to": 792}));
    let seen = home.json(&["log", "lines", "--json", "--max-tokens", "50"]);
    assert_eq!(seen["omitted"].as_array().unwrap().len(), 1);
    let seen = home.json(&["log", "lines", "--json", "--grep", "line 10$"]);
    assert_eq!(
        seen["matches"],
        json!([{"line": 10, "text": "line 10", "from": 63, "to": 71, "match": true, "cut": false}])
    );
}

#[test]
fn a_long_line_is_searched_to_its_end_and_shown_around_the_match() {
    let home = Home::new("long-line");
    let script = "head -c 300000 /dev/zero | tr '\\0' x; echo needle; echo end";
    home.seen(&["run", "--name", "lines", script]);
    check(&home, &["--grep", "x$"], "");
    let seen = home.seen(&["log", "lines", "--grep", "needle"]).stdout;
    assert!(seen.starts_with("1:…x") && seen.ends_with("xneedle\n") && seen.len() < 70_000, "{}", seen.len());
    let seen = home.json(&["log", "lines", "--json", "--grep", "needle"]);
    let found = &seen["matches"][0];
    assert_eq!((&found["cut"], &found["from"], &found["to"]), (&json!(true), &json!(0), &json!(300_007)));
    let text = found["text"].as_str().expect("it has a text");
    assert!(text.ends_with("xneedle") && text.len() == 2048, "{text}");
}

#[test]
fn matches_stay_within_a_budget_and_the_rest_is_counted() {
    let home = hundred_lines("grep-budget");
    let seen = home.seen(&["log", "lines", "--grep", "line", "--max-tokens", "30"]).stdout;
    let shown = seen.lines().count() - 1;
    assert!(seen.starts_with("1:line 1\n") && shown < 10, "{seen}");
    assert!(seen.ends_with(&format!("…{} more lines truncated…\n", 100 - shown)), "{seen}");
}

#[test]
fn a_terminals_screen_can_be_seen_again() {
    let home = Home::new("screen");
    home.seen(&["run", "--tty", "--name", "lines", r"printf 'abc\033[2;5Hxyz\n'"]);
    check(&home, &["--view", "screen"], "abc\n    xyz\n");
}

#[test]
fn a_match_that_was_overwritten_is_found_in_the_raw_output() {
    let home = Home::new("overwritten");
    home.seen(&["run", "--name", "lines", r"printf 'one\nFAILED 3\rpassed  \n'"]);
    let seen = home.seen(&["log", "lines", "--grep", "FAILED"]);
    assert_eq!((seen.stdout.as_str(), seen.code), ("", 0));
    assert!(seen.stderr.contains("the raw output does at 4..10"), "{seen:?}");
    assert!(seen.stderr.contains("windlass log 1001 --span 4..10 --view raw"), "{seen:?}");
    check(&home, &["--grep", "FAILED", "--view", "raw"], "2:FAILED 3\rpassed  \n");
    check(&home, &["--span", "4..10", "--view", "raw"], "FAILED");
    let seen = home.json(&["log", "lines", "--json", "--grep", "FAILED"]);
    assert_eq!(seen["matches_raw"], json!({"from": 4, "to": 10}));
    assert_eq!(home.seen(&["log", "lines", "--grep", "passed"]).stderr, "");
}

#[test]
fn a_terminals_text_is_its_scroll_back_and_its_screen_with_what_was_left_on_the_other() {
    let home = Home::new("scroll-back");
    let script = r"seq 100; printf '\033[Hredrawn\033[?1049h\033[Hpanicked'";
    home.seen(&["run", "--tty", "--name", "lines", script]);
    let seen = home.seen(&["log", "lines"]).stdout;
    let lines: Vec<&str> = seen.lines().collect();
    assert_eq!((lines[36], lines[76], lines[77], lines[99]), ("37", "77", "redrawn", "100"));
    assert!(seen.ends_with("\n…left on the alternate screen:…\npanicked\n"), "{seen}");
    check(&home, &["--tail", "1"], "panicked\n");
}

#[test]
fn an_unknown_session_is_told_with_the_ones_there_are() {
    let home = hundred_lines("unknown");
    let seen = home.seen(&["log", "9999"]);
    assert_eq!(seen.code, 1);
    assert!(seen.stderr.contains("no session `9999`; the newest are 1001 (lines)"), "{seen:?}");
    let seen = Home::new("empty").seen(&["log", "web"]);
    assert!(seen.stderr.contains("no session `web`; none is remembered yet"), "{seen:?}");
}

#[test]
fn a_running_session_is_followed_to_its_end() {
    let home = Home::new("follow");
    let go = home.path().join("go");
    let made = std::process::Command::new("mkfifo").arg(&go).status().unwrap();
    assert!(made.success());
    let script = format!("seq 1 5; read line < {}; echo $line; printf 'no newline'", go.display());
    let mut running = home.start(&["run", "--name", "talk", &script]);
    running.printed("5");
    let mut follower = home.start(&["log", "talk", "--tail", "2", "--follow"]);
    // The last lines so far come first, and then the output that is printed while `log` follows.
    follower.printed("4");
    follower.printed("5");
    std::fs::write(&go, "more\n").unwrap();
    follower.printed("more");
    follower.printed("no newline");
    assert_eq!(follower.exit_code(), Some(0));
    assert_eq!(running.exit_code(), Some(0));
}

#[test]
fn following_ends_when_the_runtime_is_killed() {
    for view in ["text", "raw"] {
        let home = Home::new("follow-kill");
        let mut running = home.start(&["run", "--name", "talk", "echo up; sleep 1000"]);
        running.printed("up");
        let mut follower = home.start(&["log", "talk", "--follow", "--view", view]);
        follower.printed("up");
        running.signal(Signal::KILL);
        running.exit_code();
        assert_eq!(follower.exit_code(), Some(0));
    }
}

#[test]
fn following_what_is_over_is_reading_it() {
    let home = hundred_lines("follow-over");
    check(&home, &["--follow", "--tail", "1"], "line 100\n");
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let home = Home::new("log-pipe");
    home.seen(&["run", "--name", "flood", "--max-tokens", "1", "seq 1 200000"]);
    let mut command = home.windlass(&["log", "flood"]);
    let mut child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(141), b"".as_slice()));
}
