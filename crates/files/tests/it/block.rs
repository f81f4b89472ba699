//! Blocks around a line, in many languages.

use crate::place::Place;

/// The lines of the block around this line; `options` are those of `indentation`.
fn block(text: &str, anchor: usize, options: &str) -> Vec<usize> {
    let place = Place::with("block", &[("a", text)]);
    let shown = place.text(
        "read_file",
        &format!(
            r#"{{"file_path":"a","mode":"indentation","indentation":{{"anchor_line":{anchor}{options}}}}}"#
        ),
    );
    let numbers = shown.lines().filter_map(|line| line.strip_prefix('L')?.split_once(':'));
    numbers.map(|(number, _)| number.parse().unwrap()).collect()
}

fn check(text: &str, (anchor, options): (usize, &str), (first, last): (usize, usize)) {
    assert_eq!(block(text, anchor, options), (first..=last).collect::<Vec<_>>(), "line {anchor} {options}");
}

const RUST: &str = "\
use std::fs;

/// What it is.
#[derive(
    Debug,
)]
impl Thing {
    /// Does it.
    #[must_use]
    fn long(
        &self,
        number: u32,
    ) -> u32 {
        if number > 1 {
            one()

        } else {
            two()
        }
    }

    // Another.
    fn other(&self) {
        three()
    }
}

fn last() {}
";

#[test]
fn without_levels_the_outermost_block_is_shown_with_its_header() {
    for anchor in [3, 4, 5, 6, 7, 12, 15, 18, 21, 24, 26] {
        check(RUST, (anchor, ""), (3, 26));
    }
    check(RUST, (15, r#","include_header":false"#), (7, 26));
    check(RUST, (1, ""), (1, 1));
    check(RUST, (28, ""), (28, 28));
}

#[test]
fn levels_are_blocks_that_enclose_the_line() {
    check(RUST, (15, r#","max_levels":1"#), (14, 19));
    check(RUST, (15, r#","max_levels":2"#), (8, 20));
    check(RUST, (18, r#","max_levels":2,"include_header":false"#), (10, 20));
    check(RUST, (15, r#","max_levels":3"#), (3, 26));
    check(RUST, (15, r#","max_levels":30"#), (3, 26));
    check(RUST, (24, r#","max_levels":1"#), (22, 25));
}

#[test]
fn siblings_are_what_stands_beside_the_block() {
    check(RUST, (24, r#","max_levels":1,"include_siblings":true"#), (8, 25));
    check(RUST, (24, r#","include_siblings":true"#), (1, 28));
}

#[test]
fn a_comment_means_what_it_stands_before() {
    check(RUST, (22, r#","max_levels":1"#), (3, 26));
    check("# about f\ndef f():\n    pass\n\nx = 1\n", (1, ""), (1, 3));
}

const PYTHON: &str = "\
import os

@decorated
def f(x):
    if x:
# a comment at the margin
        return 1
    elif y:
        return 2

    else:
        return 3
    # the last word

# about g
def g():
    return os
";

#[test]
fn python_ends_blocks_without_a_word() {
    check(PYTHON, (7, ""), (3, 13));
    check(PYTHON, (12, r#","max_levels":1"#), (5, 12));
    check(PYTHON, (17, ""), (15, 17));
    check(PYTHON, (4, ""), (3, 13));
}

#[test]
fn brackets_may_stand_on_lines_of_their_own_and_tabs_indent_too() {
    let c = "int x;\n\n/* what\n * it does */\nint\nf(int a)\n{\n\tif (a)\n\t{\n\t\tg();\n\t}\n}\n\nint y;\n";
    check(c, (10, r#","max_levels":1"#), (8, 11));
    check(c, (10, ""), (6, 12));
    let ruby = "class A\n  def f\n    1\n  end\n\n  def g\n    2\n  end\nend\n";
    check(ruby, (3, r#","max_levels":1"#), (2, 4));
    check(ruby, (7, ""), (1, 9));
    let html = "<ul>\n  <li>\n    a\n  </li>\n</ul>\n<p>\n";
    check(html, (3, ""), (1, 5));
    let yaml = "a:\n  b:\n    - c\n    - d\ne: f\n";
    check(yaml, (4, ""), (1, 4));
    check(yaml, (4, r#","max_levels":1"#), (2, 4));
}

#[test]
fn a_block_that_is_too_long_is_shown_around_the_anchor() {
    let text = format!("fn f() {{\n{}}}\n", "    x();\n".repeat(5000));
    let place = Place::with("long-block", &[("a", &text)]);
    let shown = place.text(
        "read_file",
        r#"{"file_path":"a","mode":"indentation","indentation":{"anchor_line":3000,"max_lines":5}}"#,
    );
    let expected: String = (2998..=3002).map(|line| format!("L{line}:     x();\n")).collect();
    assert_eq!(
        shown,
        format!(
            "Absolute path: HERE/a\n{expected}Note: the block is lines 1 to 5002, and only the part around line 3000 is \
             shown; read more of it in mode slice, e.g. with offset 3003"
        )
    );
    let whole = block(&text, 3000, "");
    assert!(whole.len() == 2000 && whole.contains(&3000), "{whole:?}");
}

#[test]
fn an_anchor_beyond_the_end_is_refused() {
    let place = Place::with("no-anchor", &[("a", "x\n")]);
    let refusal = place
        .refusal("read_file", r#"{"file_path":"a","mode":"indentation","indentation":{"anchor_line":7}}"#);
    assert_eq!(refusal, "offset: HERE/a has 1 line, so there is nothing at 7");
}
