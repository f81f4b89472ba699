//! Programs of awk. A bar outside of texts and regular expressions is a pipe to or from a command; `system`, `getline`,
//! and `@`, by which functions are loaded and called by name, may run one too.

use super::Meaning;

/// The effect of an awk program.
pub(super) fn meaning(program: &str) -> Meaning {
    // Where a text or a regular expression may end elsewhere than it seems to, all of the program counts as code.
    let code = code_of(program).unwrap_or_else(|| program.replace("||", ""));
    let words = || program.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let calls = words().any(|word| matches!(word, "system" | "getline" | "extension"));
    if calls || code.contains(['|', '@']) {
        return Meaning::Runs(None);
    }
    let prints = words().any(|word| word.starts_with("print"));
    if prints && code.contains('>') { Meaning::Writes } else { Meaning::Harmless }
}

/// The program without the insides of texts, regular expressions and comments, and without `||`. `None`: their ends are
/// ambiguous. A slash or a quotation mark in brackets ends nothing, and a slash may divide or begin a regular
/// expression.
fn code_of(program: &str) -> Option<String> {
    let (mut code, mut rest) = (String::new(), program);
    let has_texts = program.contains('"');
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '"' => {
                code.push('"');
                behind(after, '"')
            }
            '/' if begins_regex(&code) => {
                code.push('"');
                let end = behind(after, '/');
                let inside = &after[..after.len() - end.len()];
                if inside.contains(['"', '[']) {
                    return None;
                }
                end
            }
            '/' if has_texts => return None,
            '#' => &after[after.find('\n').unwrap_or(after.len())..],
            '|' if after.starts_with('|') => &after[1..],
            _ => {
                code.push(c);
                after
            }
        };
    }
    Some(code)
}

/// Whether a slash divides depends on the text before it. Where that is not certain, it divides: then the regular
/// expression behind it is taken for code, which at worst asks once too often.
fn begins_regex(code: &str) -> bool {
    let before = code.trim_end_matches([' ', '\t', '\\']);
    match before.chars().last() {
        None => true,
        Some(c) => "{}(;,!~&\n?:=".contains(c),
    }
}

/// The text after a closing delimiter. A newline ends texts and regular expressions too: awk would refuse the program.
fn behind(text: &str, close: char) -> &str {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return &text[at..],
            _ if c == close => return &text[at + 1..],
            _ => {}
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_run_commands_are_told_from_those_that_do_not() {
        for program in [
            "{ print $1 }",
            "/a|b/ { n++ } END { print n / NR }",
            "$1 == \"a|b\" || $2",
            "{ gsub(/ /, \"\"); print }",
            "$1 ~ /x|y/",
            "# a | b\n{ print }",
            "BEGIN { FS = \"|\" } { print $2 }",
            "{ x = $1 / 2; y = $2 / 3; print x }",
        ] {
            assert_eq!(meaning(program), Meaning::Harmless, "{program}");
        }
        assert_eq!(meaning("{ print > \"f\" }"), Meaning::Writes);
        for program in [
            "BEGIN { system(\"x\") }",
            "{ print | \"x\" }",
            "BEGIN { \"x\" | getline }",
            "@load \"x\"",
            "{ @f() }",
            "BEGIN { a = 1 / 2; print | \"x\"; b = 1 / 2 }",
            "BEGIN { a++ / 2; print | \"x\"; b / 2 }",
            "BEGIN { a[1] / 2; print | \"x\"; b / 2 }",
            "BEGIN { print \"a\" \"b\" | \"x\" }",
            "{ print |& \"x\" }",
            "/[/\"]/{system(\"touch X\")} #\"/",
            "/[/\"]/{print | \"touch X\"} #\"/",
            "{print /\"/; system(\"touch X\") }#\"/",
            "{print /\"/; print | \"touch X\" }#\"/",
            "BEGIN{x=1; x++ /\"/ 1; print | \"touch X\"}#\"/",
        ] {
            assert_eq!(meaning(program), Meaning::Runs(None), "{program}");
        }
    }
}
