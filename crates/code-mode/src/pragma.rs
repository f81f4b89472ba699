//! The optional pragma in a script's first line, with the time to wait and the size of the reply: `// @exec: {...}`.

use serde::Deserialize;

use crate::request::WaitBudget;

const MARK: &str = "@exec:";

/// An invalid pragma.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadPragma {
    #[error("the first line has `// @exec:` but then no JSON: {fault}; write it as // @exec: {EXAMPLE}")]
    NotJson { fault: serde_json::Error },
    #[error("the first line's `// @exec:` is not understood: {fault}; write it as // @exec: {EXAMPLE}")]
    NotUnderstood { fault: serde_json::Error },
    #[error("there is nothing but a pragma: the JavaScript begins on the second line")]
    NothingElse,
}

const EXAMPLE: &str = r#"{"yield_time_ms": 10000, "max_output_tokens": 10000}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    yield_time_ms: Option<u64>,
    max_output_tokens: Option<u64>,
}

/// The settings in the first line, or the defaults if it is not a pragma.
pub(crate) fn read(source: &str) -> Result<WaitBudget, BadPragma> {
    let (first, rest) = source.split_once('\n').unwrap_or((source, ""));
    let Some(words) = words_of(first) else { return Ok(WaitBudget::new(None, None)) };
    let words = parse(words.trim())?;
    if rest.trim().is_empty() {
        return Err(BadPragma::NothingElse);
    }
    Ok(WaitBudget::new(words.yield_time_ms, words.max_output_tokens))
}

/// The text behind the mark, if the line is a comment that begins with it.
fn words_of(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("//")?.trim_start().strip_prefix(MARK)
}

fn parse(words: &str) -> Result<Words, BadPragma> {
    serde_json::from_str(words).map_err(|fault| match fault.classify() {
        serde_json::error::Category::Data => BadPragma::NotUnderstood { fault },
        _ => BadPragma::NotJson { fault },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: Result<(Option<u64>, Option<u64>), &str>) {
        match (read(source), expected) {
            (Ok(patience), Ok((time, tokens))) => {
                assert_eq!(patience, WaitBudget::new(time, tokens), "{source}");
            }
            (Err(fault), Err(part)) => assert!(fault.to_string().contains(part), "{source}: {fault}"),
            (result, expected) => panic!("{source}: {result:?}, not {expected:?}"),
        }
    }

    #[test]
    fn a_first_line_says_how_long_to_wait_and_how_much_to_tell() {
        check("// @exec: {\"yield_time_ms\": 5}\n1", Ok((Some(5), None)));
        check("//@exec:{\"max_output_tokens\":7}\r\n1", Ok((None, Some(7))));
        check("  // @exec: {}\n1", Ok((None, None)));
    }

    #[test]
    fn what_is_no_pragma_is_script() {
        for source in ["", "1", "// exec: {\n1", "1 // @exec: {", "\n// @exec: {", "/* @exec: x */ 1"] {
            check(source, Ok((None, None)));
        }
    }

    #[test]
    fn what_is_wrong_with_a_pragma_is_said() {
        check("// @exec: yes\n1", Err("no JSON"));
        check("// @exec:\n1", Err("no JSON"));
        check("// @exec: {\"yield\": 1}\n1", Err("unknown field `yield`"));
        check("// @exec: {\"yield_time_ms\": -1}\n1", Err("invalid value"));
        check("// @exec: {\"yield_time_ms\": 1.5}\n1", Err("invalid type"));
        check("// @exec: []\n1", Err("not understood"));
        check("// @exec: {} 1\n1", Err("trailing characters"));
        check("// @exec: {}", Err("nothing but a pragma"));
    }
}
