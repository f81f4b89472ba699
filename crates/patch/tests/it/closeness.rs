//! Errors describe the closest place in the file, so that the next patch fits.

use crate::workspace::check_misfit;

const FILE: &str =
    "fn main() {\n    let count = 1;\n    print(count);\n}\n\nfn other() {\n    print(2);\n}\n";

#[test]
fn the_closest_place_and_its_differences_are_shown() {
    check_misfit(
        FILE,
        "@@\n fn main() {\n-    let count = 2;\n+    let count = 3;\n     print(count);",
        "Failed to find expected lines in a.txt:\nfn main() {\n    let count = 2;\n    print(count);\nThe closest match \
         begins at line 1, where 2 of 3 lines agree:\nline 2 in the file:     let count = 1;\n       in the patch:     \
         let count = 2;",
    );
}

#[test]
fn a_single_line_that_is_spelled_otherwise_is_found() {
    check_misfit(
        FILE,
        "@@\n-    let counter = 1;\n+    let counter = 3;",
        "The closest line is line 2:\nline 2 in the file:     let count = 1;\n       in the patch:     let counter = 1;",
    );
}

#[test]
fn a_header_that_is_spelled_otherwise_is_found() {
    check_misfit(
        FILE,
        "@@ fn othr() {\n-    print(2);\n+    print(3);",
        "Failed to find context 'fn othr() {' in a.txt\nThe closest line is line 6:\nline 6 in the file: fn other() {\n       \
         in the patch: fn othr() {",
    );
}

#[test]
fn a_file_that_ends_too_early_is_said_to() {
    check_misfit(
        "one\ntwo\n",
        "@@\n two\n three\n-four",
        "The closest match begins at line 2, where 1 of 3 lines agree:\nline 3 in the file: (the file ends before it)\n",
    );
}

#[test]
fn lines_above_their_header_are_said_to_be_there() {
    check_misfit(
        FILE,
        "@@ fn other() {\n-    print(count);\n+    print(3);",
        "These lines begin at line 3, above the previous chunk or the @@ header",
    );
}

#[test]
fn headers_in_the_wrong_order_are_said_to_be() {
    check_misfit(
        FILE,
        "@@ fn other() {\n@@ fn main() {\n-    print(2);\n+    print(3);",
        "Failed to find context 'fn main() {' in a.txt\nIt is line 1, but headers and chunks must be in the order of the file",
    );
}

#[test]
fn what_is_like_nothing_gets_no_advice() {
    check_misfit("abc\n", "@@\n-xyz\n+w", "Failed to find expected lines in a.txt:\nxyz");
    check_misfit("", "@@\n-xyz\n+w", "Failed to find expected lines in a.txt:\nxyz");
}

#[test]
fn long_lines_and_long_chunks_are_shown_in_part() {
    let long = "x".repeat(10_000);
    check_misfit(
        &format!("{long}\n"),
        &format!("@@\n-{long}y\n+z"),
        &format!("{}…\nThe closest line", "x".repeat(200)),
    );
    let many = "-line\n".repeat(50);
    check_misfit("other\n", &format!("@@\n{many}+z"), "(and 30 more lines)");
}
