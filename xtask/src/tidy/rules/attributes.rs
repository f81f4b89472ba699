//! Attributes that silence a lint: they carry the reason.

use crate::tidy::finding::Finding;
use crate::tidy::source::{Source, Token};

/// Finds `#[allow(...)]` and `#[expect(...)]` without `reason = "..."`.
pub(crate) fn give_reasons(source: &Source<'_>) -> Vec<Finding> {
    let patterns = ["# [ allow (", "# ! [ allow (", "# [ expect (", "# ! [ expect ("];
    let positions = patterns.iter().flat_map(|pattern| source.find(pattern));
    let silent = positions.filter(|&position| !has_reason(&source.tokens[position..]));
    silent.map(|position| finding(source, source.tokens[position].line)).collect()
}

/// Whether the attribute that begins here has a `reason` before its closing bracket.
fn has_reason(attribute: &[Token<'_>]) -> bool {
    attribute.iter().take_while(|token| token.text != "]").any(|token| token.text == "reason")
}

fn finding(source: &Source<'_>, line: usize) -> Finding {
    Finding::fault(
        "silenced-lint",
        (&source.file.path, line),
        "add `reason = \"...\"`, or do what the lint says",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::samples::check_source;

    fn check(text: &str, expected: &[&str]) {
        check_source(give_reasons, ("xtask/src/a.rs", text), expected);
    }

    #[test]
    fn a_silenced_lint_says_why() {
        check("\n#[allow(dead_code)]\nfn f() {}", &["xtask/src/a.rs:2: silenced-lint"]);
        check("#![allow(dead_code)]", &["xtask/src/a.rs:1: silenced-lint"]);
        check("#[expect(dead_code)]\nfn f() {}", &["xtask/src/a.rs:1: silenced-lint"]);
        check("#[allow(\n    dead_code,\n    reason = \"used by a test\"\n)]\nfn f() {}", &[]);
    }

    #[test]
    fn expecting_a_value_is_no_attribute() {
        check("fn f() { x.expect(\"there\"); }", &[]);
    }
}
