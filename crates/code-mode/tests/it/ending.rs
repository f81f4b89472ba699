//! Ends of scripts, and their messages.

use windlass_code_mode::Status::{Completed, Failed};
use windlass_code_mode::{OutputItem, Status};

use crate::rig::{run, texts};

fn check(source: &str, status: Status, expected: &[&str]) {
    let outcome = run(source);
    assert_eq!((outcome.status, texts(&outcome)), (status, expected.to_vec()), "{source}");
}

#[test]
fn a_script_that_runs_to_its_end_is_completed() {
    check("", Completed, &[]);
    check("// only a remark", Completed, &[]);
    check("text('a'); text('b')", Completed, &["a", "b"]);
    check("text(await Promise.resolve(1))", Completed, &["1"]);
    check("for await (const x of [1, Promise.resolve(2)]) text(x)", Completed, &["1", "2"]);
    check(
        "// @exec: {\"max_output_tokens\": 2}\ntext('0123456789abcdef')",
        Completed,
        &["0123", "…2 tokens truncated…", "cdef"],
    );
}

#[test]
fn any_value_has_words() {
    let values = "[1, null, undefined, {b: [1]}, 10n, true, Symbol('s'), () => 1, NaN, '\\ud800']";
    let expected =
        ["1", "null", "undefined", "{\"b\":[1]}", "10", "true", "Symbol(s)", "() => 1", "null", "\u{fffd}"];
    check(&format!("for (const value of {values}) text(value)"), Completed, &expected);
    check("const circle = {}; circle.circle = circle; text(circle)", Completed, &["[object Object]"]);
    check("console.log('a', 1, {}); console.error('b')", Completed, &["a 1 {}", "b"]);
}

#[test]
fn exit_ends_a_script_well_and_cannot_be_caught() {
    check("text(1); exit(); text(2)", Completed, &["1"]);
    check("for (;;) { try { exit() } catch {} finally { text(2); continue } }", Completed, &[]);
    check("setTimeout(exit, 1); await new Promise(() => {})", Completed, &[]);
    check("tools.hang({}); await null; exit()", Completed, &[]);
}

#[test]
fn an_error_has_its_place_and_the_way_there() {
    check(
        "// a remark\nfunction f() {\n  null.x\n}\nf()",
        Failed,
        &[
            "TypeError: cannot read property 'x' of null (line 3, column 3)\n  3 |   null.x\n    at f (cell.js:3:3)\n    at <anonymous> (cell.js:5:1)",
        ],
    );
    check(
        "// @exec: {}\nlet x = ;",
        Failed,
        &[
            "SyntaxError: unexpected token in expression: ';' (line 2, column 9)\n  2 | let x = ;\n    at cell.js:2:9",
        ],
    );
    check(
        "text('before')\nawait tools.fail({a: 1})",
        Failed,
        &[
            "before",
            "Error: no: {\"a\":1} (line 2, column 13)\n  2 | await tools.fail({a: 1})\n    at <anonymous> (cell.js:2:13)",
        ],
    );
}

#[test]
fn whatever_is_thrown_is_told() {
    check("throw {a: 1}", Failed, &["uncaught {\"a\":1}"]);
    check("throw 'no'", Failed, &["uncaught no"]);
    check("throw undefined", Failed, &["uncaught undefined"]);
    check(
        "throw {toJSON() { throw 1 }, toString() { throw 2 }}",
        Failed,
        &["the script threw something that cannot be shown"],
    );
    check("throw null", Failed, &["the script threw null, or needs more than its 16777216 bytes of memory"]);
    check(
        "Error.prepareStackTrace = () => { throw 1 }; null.x",
        Failed,
        &["TypeError: cannot read property 'x' of null"],
    );
}

#[test]
fn a_failure_that_nobody_looks_at_is_one_all_the_same() {
    let lost = "Error: lost (line 1, column 47)\n  1 | async function main() { await null; throw new Error('lost') } main()\n    at main (cell.js:1:47)";
    check("async function main() { await null; throw new Error('lost') } main()", Failed, &[lost]);
    check("const p = Promise.reject(1); await null; p.catch(() => text('seen'))", Completed, &["seen"]);
    check("setTimeout(() => { throw 'late' }, 1)", Failed, &["uncaught late"]);
    check("queueMicrotask(() => { throw 'soon' })", Failed, &["uncaught soon"]);
}

#[test]
fn a_script_that_can_never_go_on_is_not_waited_for() {
    let never = "the script awaits something that can never happen: no call and no timer is under way (or it once needed more than its 16777216 bytes of memory)";
    check("text(1); await new Promise(() => {})", Failed, &["1", never]);
    check("await import('cell.js')", Failed, &[never]);
}

#[test]
fn what_a_script_began_is_waited_for() {
    check("async function main() { text(await tools.echo({})) } main()", Completed, &["{}"]);
    check("setTimeout(() => text('later'), 1)", Completed, &["later"]);
    check(
        "const t = setTimeout(() => text('never'), 1); clearTimeout(t); clearTimeout(t); clearTimeout('x')",
        Completed,
        &[],
    );
    check(
        "setTimeout((a, b) => text(a + b), 0, 1, 2); setTimeout(() => text('second'), -5)",
        Completed,
        &["3", "second"],
    );
}

#[test]
fn a_first_line_that_is_no_pragma_though_it_means_to_be_is_refused() {
    let outcome = run("// @exec: {\"yield\": 1}\ntext(1)");
    assert_eq!(outcome.status, Failed);
    assert!(texts(&outcome)[0].contains("unknown field `yield`"), "{outcome:?}");
}

#[test]
fn a_script_that_is_too_long_is_refused() {
    let outcome = run(&" ".repeat(300 << 10));
    assert_eq!(
        (outcome.status, texts(&outcome)),
        (Failed, vec!["the script has 307200 bytes; at most 262144 are run"])
    );
}

#[test]
fn a_byte_that_ends_texts_elsewhere_is_no_end_here() {
    let outcome = run("text(1)\0");
    assert_eq!(outcome.status, Failed);
}

#[test]
fn an_answer_is_a_head_and_then_its_items() {
    let rendered = run("text('a'); image('data:image/png;base64,AAAA')").render();
    let OutputItem::Text(head) = &rendered[0] else { panic!("{rendered:?}") };
    assert!(
        head.starts_with("Script completed\nWall time ") && head.ends_with(" seconds\nOutput:"),
        "{head}"
    );
    let items = [OutputItem::Text("a".into()), OutputItem::Image("data:image/png;base64,AAAA".into())];
    assert_eq!(rendered[1..], items);
}
