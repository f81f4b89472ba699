//! Formats the error of a failed script: the message, its position, and the stack frames of the script's own lines.

/// The name under which the engine knows the script.
pub(crate) const SCRIPT: &str = "cell.js";

/// The longest error message: a script can throw a text of any length.
const LONGEST: usize = 8 << 10;

/// Formats an error from its message and the engine's stack below it: the first line contains the position, the second
/// the script's line, and of the stack only the script's own frames are kept.
pub(crate) fn tell(explained: &str, source: &str) -> String {
    let (message, stack) = split(explained);
    let frames: Vec<&str> = stack.iter().copied().filter(|frame| place(frame).is_some()).collect();
    let message = hint(shorten(message.trim_end()));
    let Some((line, column)) = frames.first().and_then(|frame| place(frame)) else { return message };
    let head = format!("{message} (line {line}, column {column})\n{}", excerpt(source, line));
    std::iter::once(head.as_str()).chain(frames.into_iter().take(MOST_FRAMES)).collect::<Vec<_>>().join("\n")
}

/// A line of the script with its number.
fn excerpt(source: &str, line: u32) -> String {
    let text = source.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default();
    let end = text.floor_char_boundary(LONGEST_LINE);
    format!("  {line} | {}{}", &text[..end], if end < text.len() { "…" } else { "" })
}

/// A script may be a single long line.
const LONGEST_LINE: usize = 200;

/// Infinite recursion has a frame for each call.
const MOST_FRAMES: usize = 20;

/// Splits the message from the frames at its end.
fn split(explained: &str) -> (&str, Vec<&str>) {
    let mut message = explained.trim_end_matches('\n');
    let mut stack = Vec::new();
    while let Some((rest, last)) = message.rsplit_once('\n').filter(|(_, last)| last.starts_with("    at ")) {
        stack.push(last);
        message = rest;
    }
    stack.reverse();
    (message, stack)
}

/// The line and the column of a frame within the script.
fn place(frame: &str) -> Option<(u32, u32)> {
    let (_, place) = frame.rsplit_once(SCRIPT)?;
    let (line, column) = place.strip_prefix(':')?.trim_end_matches(')').split_once(':')?;
    Some((line.parse().ok()?, column.parse().ok()?))
}

/// Adds to a failed import that scripts have no modules: the engine's own message suggests that some could be loaded.
fn hint(message: String) -> String {
    let is_import = message.starts_with("ReferenceError: could not load module");
    if is_import { format!("{message}: there are no modules here, only tools") } else { message }
}

fn shorten(message: &str) -> String {
    let end = message.floor_char_boundary(LONGEST);
    if end == message.len() { message.to_string() } else { format!("{}…", &message[..end]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(explained: &str, expected: &str) {
        assert_eq!(tell(explained, "one\ntwo\nthree"), expected);
    }

    #[test]
    fn the_place_is_in_the_first_line_and_the_way_there_below() {
        check(
            "TypeError: no\n    at f (cell.js:2:5)\n    at <anonymous> (cell.js:9:1)\n",
            "TypeError: no (line 2, column 5)\n  2 | two\n    at f (cell.js:2:5)\n    at <anonymous> (cell.js:9:1)",
        );
        check(
            "SyntaxError: no\n    at cell.js:3:4\n",
            "SyntaxError: no (line 3, column 4)\n  3 | three\n    at cell.js:3:4",
        );
    }

    #[test]
    fn only_the_script_is_in_the_way_there() {
        check(
            "Error: no\n    at caller (prelude.js:1:1)\n    at g (native)\n    at f (cell.js:2:5)\n",
            "Error: no (line 2, column 5)\n  2 | two\n    at f (cell.js:2:5)",
        );
        check("Error: no\n    at g (native)\n", "Error: no");
    }

    #[test]
    fn a_message_may_be_anything() {
        check("", "");
        check(
            "Error: x\n    at f (cell.js:0:0)",
            "Error: x (line 0, column 0)\n  0 | one\n    at f (cell.js:0:0)",
        );
        check(
            "Error: x\n    at f (cell.js:9:9)",
            "Error: x (line 9, column 9)\n  9 | \n    at f (cell.js:9:9)",
        );
        check("\n\n", "");
        check("uncaught a\nb\n    at x", "uncaught a\nb");
        check("Error: a cell.js:x:y\n    at f (cell.js:1)\n", "Error: a cell.js:x:y");
        assert_eq!(tell(&"é".repeat(LONGEST), "").len(), LONGEST + "…".len());
    }
}
