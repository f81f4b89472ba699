//! Bytes become text by one rule, and invalid bytes do not damage the valid ones around them.

use serde_json::json;

use super::client::App;

fn check(app: &mut App, printed: &str, cap: Option<u64>, expected: &str) {
    let result = app.run_with(&["/usr/bin/printf", printed], json!({ "outputBytesCap": cap }));
    assert_eq!(result["stdout"], expected, "{result}");
}

#[test]
fn a_cap_inside_a_character_cuts_before_it() {
    let mut app = App::start("cut");
    for (cap, expected) in [(9, "日本語"), (8, "日本"), (7, "日本"), (6, "日本"), (5, "日"), (2, "")]
    {
        check(&mut app, "日本語", Some(cap), expected);
    }
    let result = app.run_with(&["/usr/bin/printf", "日本語"], json!({ "outputBytesCap": 8 }));
    assert_eq!(result["stdoutTruncated"], true, "{result}");
    app.end();
}

#[test]
fn the_default_cap_cuts_long_text_between_characters() {
    let mut app = App::start("default-cap");
    let result = app.run(&["/bin/sh", "-c", "yes 日本語 | tr -d '\\n' | head -c 2000000"]);
    let text = result["stdout"].as_str().expect("text");
    let expected: String = "日本語".chars().cycle().take((1 << 20) / 3).collect();
    assert!(text == expected, "{} bytes, {:?}", text.len(), text.chars().rev().take(5).collect::<String>());
    assert_eq!(result["stdoutTruncated"], true);
    app.end();
}

#[test]
fn one_bad_byte_costs_one_character() {
    let mut app = App::start("bad-byte");
    check(&mut app, r"naïve \377 café", None, "naïve \u{fffd} café");
    check(&mut app, r"日本語\xe6", None, "日本語\u{fffd}");
    check(&mut app, r"\0\033[1m", None, "\0\u{1b}[1m");
    app.end();
}
