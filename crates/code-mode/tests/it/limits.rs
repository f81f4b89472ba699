//! Scripts that exceed a limit: each ends with its reason, and the next one runs.

use std::time::Duration;

use windlass_code_mode::Options;
use windlass_code_mode::Status::{Completed, Failed};

use crate::rig::{block_on, finish, narrow, texts};

const SHORT: Duration = Duration::from_millis(100);
const TIME: &str = "the script took more than its 0.1 seconds, not counting the time it waited for tools";
const MEMORY: &str = "the script needs more than its 16777216 bytes of memory";
const MEMORY_OR_NULL: &str = "the script threw null, or needs more than its 16777216 bytes of memory";
const STUCK: &str = "the script awaits something that can never happen";
const OUTPUT: &str = "the script said more than 65536 bytes before anybody could read them";

/// Expects that the script fails with one of these reasons, and that the same cells run another one.
fn check(source: &str, reasons: &[&str]) {
    check_within(SHORT, source, reasons);
}

/// The same for limits other than time, so that the test may be slow on a slow machine.
fn check_unhurried(source: &str, reasons: &[&str]) {
    check_within(narrow().time_limit, source, reasons);
}

fn check_within(time_limit: Duration, source: &str, reasons: &[&str]) {
    let cells = crate::rig::cells(Options { time_limit, ..narrow() });
    block_on(async {
        let outcome = finish(&cells, source).await;
        assert_eq!(outcome.status, Failed, "{source}: {outcome:?}");
        let last = texts(&outcome).pop().expect("there is a reason");
        assert!(reasons.iter().any(|reason| last.starts_with(reason)), "{source}: {last}");
        assert_eq!(finish(&cells, "text(1)").await.status, Completed);
    });
}

#[test]
fn loops_without_end_run_out_of_time() {
    let loops = [
        "for (;;);",
        "while (true) { try { throw 1 } catch {} }",
        "for (;;) { try { for (;;); } catch {} finally { continue } }",
        "for (;;) await null",
        "const f = () => { Promise.resolve().then(f) }; f()",
        "const f = () => queueMicrotask(f); f()",
        "const f = () => setTimeout(f, 0); f()",
        "await new Promise((done) => setTimeout(done, 1e9))",
        "async function* g() { for (;;) yield 1 } for await (const x of g());",
    ];
    for source in loops {
        check(source, &[TIME]);
    }
}

#[test]
fn slow_patterns_and_functions_run_out_of_time() {
    check("/(a+)+$/.test('a'.repeat(100) + 'b')", &[TIME]);
    check("'a'.repeat(100).concat('b').replace(/^(a|a)*$/, '')", &[TIME]);
    check("[3, 1, 2].sort(() => { for (;;); })", &[TIME]);
    check("Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)", &[TIME]);
    check("for (const x of new Array(2 ** 32 - 1));", &[TIME]);
    check("'a'.repeat(2 ** 22).indexOf('a'.repeat(2 ** 21) + 'b')", &[TIME]);
    check("'a'.repeat(2 ** 22).split('a'.repeat(2 ** 21) + 'b')", &[TIME]);
    check(
        "Object.defineProperty(Error.prototype, 'name', {get() { for (;;); }}); throw new Error()",
        &[TIME],
    );
}

#[test]
fn what_could_not_be_interrupted_is_refused() {
    let too_long = "RangeError: an array of 4294967295 is too long here";
    let arrays = [
        "new Set(a)",
        "new Map(a)",
        "a.join('')",
        "`${a}`",
        "a.reverse()",
        "a.sort()",
        "[].concat(a)",
        "a.slice()",
        "a.fill(1)",
    ];
    for expression in arrays {
        check_unhurried(&format!("const a = new Array(2 ** 32 - 1); {expression}"), &[too_long]);
    }
    check_unhurried(
        "new Array(2 ** 32 - 1).values().drop(2 ** 32 - 2).next()",
        &["RangeError: drop takes at most"],
    );
    check_unhurried(
        "new RegExp('a'.repeat(1e5))",
        &["RangeError: a pattern of 100000 characters is too long here"],
    );
    check_unhurried(
        "'x'.match('a'.repeat(1e5))",
        &["RangeError: a pattern of 100000 characters is too long here"],
    );
    check_unhurried(
        "('a' + '\\u0301\\u0323'.repeat(1e5)).normalize('NFC')",
        &["RangeError: a letter has too many combining marks"],
    );
}

#[test]
fn recursion_without_end_is_a_range_error() {
    let deep = "RangeError: Maximum call stack size exceeded";
    let recursions = [
        "function f() { return f() + 1 } f()",
        "const f = (n) => [f(n + 1)]; f(0)",
        "class A { constructor() { new A() } } new A()",
        "const o = {get x() { return this.x }}; o.x",
        "const o = {toString() { return `${this}` }}; `${o}`",
        "let p = {}; for (let i = 0; i < 20000; i += 1) p = new Proxy(p, {}); p.x",
        "let a = []; for (let i = 0; i < 100000; i += 1) a = [a]; JSON.stringify(a)",
        "let a = []; for (let i = 0; i < 100000; i += 1) a = [a]; a.flat(Infinity)",
        "let f = () => 1; for (let i = 0; i < 20000; i += 1) f = f.bind(null); f()",
        "async function f() { await f() } await f()",
        "JSON.parse('['.repeat(100000))",
    ];
    for source in recursions {
        check_unhurried(source, &[deep, MEMORY, MEMORY_OR_NULL]);
    }
}

#[test]
fn what_nests_too_deep_to_be_read_is_refused() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{a:", "}"),
        ("!", ""),
        ("-", ""),
        ("`${", "}`"),
        ("()=>", ""),
        ("new ", ""),
        ("a=>{", "}"),
    ] {
        check_unhurried(
            &format!("x = {}1{}", open.repeat(30_000), close.repeat(30_000)),
            &[
                "RangeError: Maximum",
                "SyntaxError: ",
                "InternalError: ",
                MEMORY,
                "ReferenceError",
                "TypeError",
            ],
        );
    }
    check_unhurried(
        &format!("/{}a{}/", "(?:".repeat(30_000), ")".repeat(30_000)),
        &["RangeError: Maximum", "SyntaxError: ", "InternalError: "],
    );
}

#[test]
fn memory_is_bounded() {
    let hogs = [
        "const a = []; for (;;) a.push({})",
        "const a = []; for (;;) a.push(new Array(1000).fill(1))",
        "const a = []; for (;;) a.push(Promise.resolve().then(() => 1))",
        "const a = []; for (;;) a.push(new Promise(() => {}))",
        "const a = []; for (let i = 0; ; i += 1) a.push('text' + i)",
        "const m = new Map(); for (let i = 0; ; i += 1) m.set(i, i)",
        "const o = {}; for (let i = 0; ; i += 1) o['k' + i] = i",
        "const a = []; for (;;) a.push(() => a)",
        "[...new Array(2 ** 32 - 1)]",
        "Array.from({length: 2 ** 32 - 1})",
        "JSON.stringify(new Array(2 ** 32 - 1))",
        "'x'.repeat(5e7)",
        "'x'.padStart(5e7)",
        "new Array(1e6).fill('x'.repeat(100)).join('')",
        "let p = Promise.resolve(); for (let i = 0; i < 1e6; i += 1) p = p.then(() => 1); await p",
        "const f = () => Promise.resolve().then(f); f()",
        "async function f() { await Promise.all([f(), f()]) } await f()",
    ];
    for source in hogs {
        check_unhurried(source, &[MEMORY, MEMORY_OR_NULL, STUCK]);
    }
}

#[test]
fn texts_have_a_longest_length() {
    check_unhurried(
        "let s = 'x'; for (;;) s += s",
        &["InternalError: string too long", MEMORY, MEMORY_OR_NULL],
    );
    check_unhurried("'x'.repeat(2 ** 31)", &["RangeError: invalid"]);
    check_unhurried("1n << (2n ** 40n)", &["RangeError: BigInt is too large"]);
}

#[test]
fn a_script_that_goes_on_after_each_failure_still_ends() {
    check("const a = []; for (;;) { try { a.push(new Array(100).fill({})) } catch {} }", &[TIME, MEMORY]);
    check("const f = () => { try { f() } catch { f() } }; f()", &[TIME, "RangeError: Maximum"]);
    check("for (;;) { try { 'x'.repeat(5e7) } catch {} }", &[TIME]);
}

#[test]
fn output_is_bounded() {
    check_unhurried("for (;;) text('x'.repeat(1000))", &[OUTPUT]);
    check_unhurried("for (;;) text('')", &[OUTPUT]);
    check_unhurried("for (;;) console.log('x')", &[OUTPUT]);
    check_unhurried("for (;;) { try { text('x'.repeat(1000)) } finally { continue } }", &[OUTPUT]);
    check_unhurried("text('x'.repeat(1e6))", &[OUTPUT]);
    check_unhurried("image('data:image/png;base64,' + 'A'.repeat(1e6))", &[OUTPUT]);
    check_unhurried("throw new Error('x'.repeat(1e6))", &["Error: xxx"]);
}

#[test]
fn timers_are_bounded() {
    check_unhurried("for (;;) setTimeout(() => {}, 1e6)", &["RangeError: 1000 timers are running"]);
}

#[test]
fn waiting_for_a_tool_costs_no_time() {
    use std::sync::Arc;
    let (cells, stage) = (
        crate::rig::cells(Options { time_limit: SHORT, ..narrow() }),
        Arc::new(crate::rig::Stage::default()),
    );
    block_on(async {
        let opener = async {
            stage.begun.notified().await;
            // A second cell uses up as much time as the first one has.
            assert_eq!(finish(&cells, "for (;;);").await.status, Failed);
            stage.gate.notify_one();
        };
        let waiting = cells.exec("text(await tools.gate({}))", Arc::clone(&stage) as Arc<_>);
        let (outcome, ()) = tokio::join!(waiting, opener);
        assert_eq!((outcome.status, texts(&outcome)), (Completed, vec!["open"]));
    });
}
