//! The end of a server's standard error, kept to explain a failure.

/// The most bytes that are kept.
const KEPT: usize = 4 * 1024;

/// The most lines that are shown.
const SHOWN: usize = 20;

/// The newest bytes.
#[derive(Debug, Default)]
pub(super) struct Tail(Vec<u8>);

impl Tail {
    /// Appends bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(&bytes[bytes.len().saturating_sub(KEPT)..]);
        if self.0.len() > KEPT {
            self.0.drain(..self.0.len() - KEPT);
        }
    }

    /// The last lines, without control characters.
    pub(super) fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.0);
        let shown = |c: &char| *c == '\t' || !c.is_control();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(SHOWN)..];
        let last: Vec<String> = last.iter().map(|line| line.chars().filter(shown).collect()).collect();
        last.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pushed: &[&[u8]], expected: &str) {
        let mut tail = Tail::default();
        pushed.iter().for_each(|bytes| tail.push(bytes));
        assert_eq!(tail.text(), expected);
    }

    #[test]
    fn the_last_lines_are_kept() {
        check(&[], "");
        check(&[b"a\nb", b"c\n\n"], "a\nbc");
        check(&[b"\x1b[31mred\x1b[0m\r\n"], "[31mred[0m");
        let numbers: String = (0..100).map(|number| format!("{number}\n")).collect();
        let last: Vec<String> = (80..100).map(|number| number.to_string()).collect();
        check(&[numbers.as_bytes()], &last.join("\n"));
        check(&[&[b'x'; 3 * KEPT], b"yz"], &format!("{}yz", "x".repeat(KEPT - 2)));
    }
}
