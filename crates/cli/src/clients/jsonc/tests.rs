//! Edits of JSON by example: the text before, the text after, and the way back.

use super::*;

const LAYOUT: Layout = (JsonDialect::Commented, "servers");

fn ours(arguments: &[&str]) -> Vec<Field> {
    let field = |name, value, when| Field { name, value, when };
    vec![
        field("command", json!("windlass"), When::Always),
        field("args", json!(arguments), When::Always),
        field("timeout", json!(600), When::Absent),
    ]
}

/// Inserts the entry and removes it again, and checks that a second insertion changes nothing.
fn check(before: &str, after: &str) {
    let inserted = insert(before, LAYOUT, &ours(&["mcp"])).expect("it can be edited");
    assert_eq!(inserted, after);
    assert_eq!(insert(&inserted, LAYOUT, &ours(&["mcp"])).as_ref(), Ok(&inserted), "the second time");
    let removed = remove(&inserted, LAYOUT).expect("it can be removed");
    assert_eq!(removed, before, "after removing");
}

#[test]
fn a_server_joins_others_and_leaves_no_trace() {
    let before = r#"// My servers.
{
    "servers": {
        "first": { "command": "a" }, // the first
        /* the second */
        "second": { "url": "https://example.com" } // no more
        // the end
    },
    "inputs": []
}
"#;
    let after = r#"// My servers.
{
    "servers": {
        "first": { "command": "a" }, // the first
        /* the second */
        "second": { "url": "https://example.com" }, // no more
        "windlass": {
            "command": "windlass",
            "args": ["mcp"],
            "timeout": 600
        }
        // the end
    },
    "inputs": []
}
"#;
    check(before, after);
}

#[test]
fn trailing_commas_tabs_and_carriage_returns_are_kept() {
    let before = "{\r\n\t\"servers\": {\r\n\t\t\"a\": {},\r\n\t},\r\n}\r\n";
    let after = "{\r\n\t\"servers\": {\r\n\t\t\"a\": {},\r\n\t\t\"windlass\": {\r\n\t\t\t\"command\": \"windlass\",\r\n\t\t\t\"args\": [\"mcp\"],\r\n\t\t\t\"timeout\": 600\r\n\t\t},\r\n\t},\r\n}\r\n";
    check(before, after);
}

#[test]
fn what_is_on_one_line_stays_on_it() {
    check(
        r#"{"servers": {"a": {}}}"#,
        r#"{"servers": {"a": {}, "windlass": {"command": "windlass", "args": ["mcp"], "timeout": 600}}}"#,
    );
}

#[test]
fn a_missing_list_is_made_and_taken_away_again() {
    let entry = "\"windlass\": {\n      \"command\": \"windlass\",\n      \"args\": [\"mcp\"],\n      \"timeout\": 600\n    }";
    check("{}\n", &format!("{{\n  \"servers\": {{\n    {entry}\n  }}\n}}\n"));
    check("{\n  \"a\": 1\n}", &format!("{{\n  \"a\": 1,\n  \"servers\": {{\n    {entry}\n  }}\n}}"));
    check("{\n  // mine\n}", &format!("{{\n  // mine\n  \"servers\": {{\n    {entry}\n  }}\n}}"));
}

#[test]
fn an_entry_that_is_there_keeps_what_is_its_owners() {
    let before = "{\"servers\": {\n  \"windlass\": {\n    \"args\": [\"old\"], // mine\n    \"command\": \"windlass\",\n    \"timeout\": 5,\n    \"env\": {\"A\": \"b\"}\n  }\n}}";
    let after = insert(before, LAYOUT, &ours(&["mcp", "--x"])).expect("it can be edited");
    assert_eq!(after, before.replace("[\"old\"]", "[\"mcp\", \"--x\"]"));
}

#[test]
fn an_entry_of_another_kind_is_replaced() {
    let before = "{\"servers\": {\"windlass\": {\"url\": \"http://127.0.0.1:1\"}}}";
    let after = insert(before, LAYOUT, &ours(&["mcp"])).expect("it can be edited");
    assert!(!after.contains("url") && after.contains("\"command\": \"windlass\""), "{after}");
}

#[test]
fn a_broken_text_is_refused_with_its_line() {
    let check = |dialect: JsonDialect, text: &str, line: usize, what: &str| {
        let broken = insert(text, (dialect, "servers"), &ours(&[])).expect_err(text);
        assert_eq!(broken.line, line, "{text:?} {broken}");
        assert!(broken.what.contains(what), "{text:?} {broken}");
        assert!(remove(text, (dialect, "servers")).is_err(), "{text:?}");
    };
    check(JsonDialect::Commented, "{\n  \"a\": 1\n  \"b\": 2\n}", 3, "comma");
    check(JsonDialect::Commented, "{\n  \"a\": \"x\n}", 2, "string does not end");
    check(JsonDialect::Commented, "{\n  a: 1\n}", 2, "double quotes");
    check(JsonDialect::Commented, "{\n\n  \"a\": yes\n}", 3, "yes");
    check(JsonDialect::Commented, "{ /* a\n", 1, "comment");
    check(JsonDialect::Commented, "{\n  \"a\": ", 2, "ends too early");
    check(JsonDialect::Commented, "{}\n{}", 2, "more");
    check(JsonDialect::Commented, "[]", 1, "object");
    check(JsonDialect::Commented, "{\n\"servers\": []}", 2, "not an object");
    check(JsonDialect::Strict, "{\n  // hm\n}", 2, "no comments");
    check(JsonDialect::Strict, "{\n  \"a\": 1,\n}", 3, "comma");
    check(JsonDialect::Commented, &"[".repeat(100_000), 1, "levels");
}

#[test]
fn an_empty_text_is_a_fresh_one() {
    let fresh = insert("  \n", LAYOUT, &ours(&["mcp"])).expect("it can be made");
    assert!(fresh.starts_with("{\n  \"servers\": {\n    \"windlass\": {\n"), "{fresh}");
    assert_eq!(remove("", LAYOUT).as_deref(), Ok(""));
}
