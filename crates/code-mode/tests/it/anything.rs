//! Any text is a valid input: the cell ends in some way, and the process survives.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use windlass_code_mode::{Options, Status, Wait};

use crate::rig::{Stage, block_on, narrow};

/// Pieces of which scripts are made, the more dangerous ones among them.
const PIECES: &[&str] = &[
    "a",
    "b",
    "x",
    "1",
    "-1",
    "2 ** 31",
    "0n",
    "'s'",
    "`t${a}`",
    "/(a*)*b/",
    "null",
    "undefined",
    "[]",
    "{}",
    "[a, b]",
    "{a, b}",
    "function f() {",
    "async function g() {",
    "function* h() {",
    "class A extends B {",
    "(a) => ",
    "async () => ",
    "}",
    ")",
    "(",
    "]",
    "[",
    "; ",
    "\n",
    ", ",
    " = ",
    " += ",
    " ?? ",
    "?.",
    ".",
    "...",
    " instanceof ",
    " in ",
    " of ",
    "await ",
    "yield ",
    "return ",
    "throw ",
    "new ",
    "delete ",
    "typeof ",
    "void ",
    "let a = ",
    "var b = ",
    "const x = ",
    "for (;;) ",
    "for (const a of ",
    "while (a) ",
    "if (a) ",
    "else ",
    "try {",
    "} catch (e) {",
    "} finally {",
    "switch (a) {",
    "case 1:",
    "break; ",
    "continue; ",
    "label: ",
    "f()",
    "g()",
    "new A()",
    "tools.echo({})",
    "tools.fail()",
    "text(a)",
    "store('a', a)",
    "load('a')",
    "exit()",
    "yield_control()",
    "setTimeout(f, 1)",
    "Promise.all(a)",
    ".then(f)",
    "Object.prototype.a = ",
    "Symbol.iterator",
    "new Proxy(a, b)",
    "Reflect.construct(f, a)",
    "a.length = ",
    "JSON.stringify(a)",
    "a.sort(f)",
    "'x'.repeat(a)",
    "import('a')",
    "import.meta",
    "globalThis",
    "this",
    "super",
    "with (a) ",
    "debugger; ",
    "#p",
    "static ",
    "get a() {",
    "set a(b) {",
    "// @exec: {}\n",
    "/*",
    "*/",
    "//",
    "\u{2028}",
    "\u{feff}",
    "\\u{61}",
];

/// Runs a text and expects only that it ends.
fn ends(source: &str) {
    let limits = Options { time_limit: Duration::from_millis(50), memory_limit: 4 << 20, ..narrow() };
    let cells = crate::rig::cells(limits);
    block_on(async {
        let mut outcome = cells.exec(source, Arc::new(Stage::default())).await;
        while let Status::Running(cell) = outcome.status {
            outcome = cells.wait(&Wait { terminate: true, ..Wait::on(cell.to_string()) }).await;
        }
        assert!(outcome.to_text().starts_with("Script "), "{source}");
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_text_ends(source in "\\PC{0,80}") {
        ends(&source);
    }

    #[test]
    fn any_pieces_of_scripts_end(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        ends(&pieces.concat());
    }

    #[test]
    fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        ends(&String::from_utf8_lossy(&bytes));
    }
}
