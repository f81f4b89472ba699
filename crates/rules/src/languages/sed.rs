//! Scripts of sed. `e` runs a command, alone or as a flag of `s`; `w` writes a file. What is not understood may run one.

use super::Meaning;

/// What a script does.
pub(super) fn meaning(script: &str) -> Meaning {
    let mut scanner = Scanner { rest: script, writes: false };
    match scanner.script() {
        Some(()) if scanner.writes => Meaning::Writes,
        Some(()) => Meaning::Harmless,
        None => Meaning::Runs(None),
    }
}

struct Scanner<'s> {
    rest: &'s str,
    writes: bool,
}

impl<'s> Scanner<'s> {
    /// `None`: it runs a command, or is not understood.
    fn script(&mut self) -> Option<()> {
        loop {
            self.rest = self.rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';' || c == '}');
            if self.rest.is_empty() {
                return Some(());
            }
            self.addresses()?;
            self.command()?;
        }
    }

    fn addresses(&mut self) -> Option<()> {
        loop {
            self.skip_blanks();
            match self.rest.chars().next()? {
                '/' => {
                    self.rest = &self.rest[1..];
                    self.section('/')?;
                    self.rest = self.rest.trim_start_matches(['I', 'M']);
                }
                '\\' => {
                    self.rest = &self.rest[1..];
                    let delimiter = self.bump()?;
                    self.section(delimiter)?;
                    self.rest = self.rest.trim_start_matches(['I', 'M']);
                }
                c if c.is_ascii_digit() || "$,~+!".contains(c) => self.rest = &self.rest[1..],
                _ => return Some(()),
            }
        }
    }

    fn command(&mut self) -> Option<()> {
        match self.bump()? {
            's' => self.substitute(),
            'y' => {
                let delimiter = self.bump()?;
                self.section(delimiter)?;
                self.section(delimiter)
            }
            'w' | 'W' => {
                self.writes = true;
                self.line();
                Some(())
            }
            'a' | 'i' | 'c' => {
                self.text();
                Some(())
            }
            'r' | 'R' | '#' => {
                self.line();
                Some(())
            }
            ':' | 'b' | 't' | 'T' => {
                let end = self.rest.find([';', '\n', '}']).unwrap_or(self.rest.len());
                self.rest = &self.rest[end..];
                Some(())
            }
            '{' => Some(()),
            'q' | 'Q' | 'l' | 'L' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x'
            | 'z' | 'F' => {
                self.skip_blanks();
                self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_digit());
                self.ends()
            }
            'v' => {
                self.line();
                Some(())
            }
            _ => None,
        }
    }

    fn substitute(&mut self) -> Option<()> {
        let delimiter = self.bump()?;
        self.section(delimiter)?;
        self.section(delimiter)?;
        loop {
            match self.rest.chars().next() {
                Some(c) if c.is_ascii_digit() || "gpiImM".contains(c) => self.rest = &self.rest[1..],
                Some('w') => {
                    self.writes = true;
                    self.line();
                    return Some(());
                }
                _ => return self.ends(),
            }
        }
    }

    /// A command must end here.
    fn ends(&mut self) -> Option<()> {
        self.skip_blanks();
        matches!(self.rest.chars().next(), None | Some(';' | '\n' | '}' | '#')).then_some(())
    }

    /// Up to behind the delimiter. Within brackets a delimiter still ends a regular expression of `s` and `y`, but not one
    /// of an address; both ways to read it must agree.
    fn section(&mut self, delimiter: char) -> Option<()> {
        let (mut escaped, mut bracket) = (false, false);
        for (at, c) in self.rest.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                _ if c == delimiter && bracket => return None,
                _ if c == delimiter => {
                    self.rest = &self.rest[at + c.len_utf8()..];
                    return Some(());
                }
                '[' => bracket = true,
                ']' => bracket = false,
                '\n' if delimiter != '\n' && bracket => bracket = false,
                _ => {}
            }
        }
        None
    }

    /// Text of `a`, `i` and `c`: to the end of the line, and further if that is escaped.
    fn text(&mut self) {
        loop {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            let goes_on = self.rest[..end].ends_with('\\');
            self.rest = self.rest.get(end + 1..).unwrap_or_default();
            if !goes_on || self.rest.is_empty() {
                return;
            }
        }
    }

    fn line(&mut self) {
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        self.rest = &self.rest[end..];
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_run_commands_are_told_from_those_that_do_not() {
        for script in [
            "s/a/b/",
            "s|/usr|/opt|g; s/e/E/",
            "10,20p",
            "$p",
            "/x/d",
            "/^$/d",
            "1,/end/{s/e/x/;p}",
            "y/abc/xyz/",
            ":a;N;$!ba;s/\\n/ /g",
            "1i\\\nexample text",
            "a e text",
            "s/x/e/2gI",
            "/e/!d",
            "1~2d",
            "s/[[:space:]]*$//",
            "/a/,/b/s/c/d/p",
            "n;d",
            "$!N;P;D",
            "s/\\//e/",
            "2q",
            "# e\np",
            "s/a/x\\\ny/",
            "\\,x,d",
            "/[0-9]e/p",
        ] {
            assert_eq!(meaning(script), Meaning::Harmless, "{script}");
        }
        for script in ["w f", "s/a/b/w f", "/x/w f", "1,2W f"] {
            assert_eq!(meaning(script), Meaning::Writes, "{script}");
        }
        for script in [
            "e",
            "1e",
            "1ecmd",
            "1e cmd",
            "$e cmd",
            "/x/e",
            "s/a/b/e",
            "s/a/b/ge",
            "s,a,b,2e",
            "p;e cmd",
            "{e cmd\n}",
            "/a/{\ne\n}",
            "s/a/b/;1!e x",
            ":a\ne x",
            "i\\\ntext\ne x",
            "s/a/b",
            "k",
            "s/[/]e/x/",
            "w f\ne x",
        ] {
            assert_eq!(meaning(script), Meaning::Runs(None), "{script}");
        }
    }
}
