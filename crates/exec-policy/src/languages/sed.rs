//! Scripts of sed. `e` runs a command, alone or as a flag of `s`; `w` writes a file. What is not understood may run
//! one.

use super::Meaning;

/// The effect of a sed script.
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
                    self.regex('/')?;
                    self.rest = self.rest.trim_start_matches(['I', 'M']);
                }
                '\\' => {
                    self.rest = &self.rest[1..];
                    let delimiter = self.bump()?;
                    self.regex(delimiter)?;
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
        self.regex(delimiter)?;
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

    /// A replacement, up to behind the delimiter.
    fn section(&mut self, delimiter: char) -> Option<()> {
        let mut characters = self.rest.char_indices();
        while let Some((at, c)) = characters.next() {
            match c {
                '\\' => drop(characters.next()?),
                '\n' => return None,
                _ if c == delimiter => {
                    self.rest = &self.rest[at + c.len_utf8()..];
                    return Some(());
                }
                _ => {}
            }
        }
        None
    }

    /// A regular expression, up to behind the delimiter. In brackets a delimiter does not end it; a sed that does not
    /// know that refuses the whole script, because the brackets are not closed then.
    fn regex(&mut self, delimiter: char) -> Option<()> {
        loop {
            match self.bump()? {
                c if c == delimiter => return Some(()),
                '\\' => drop(self.bump()?),
                '\n' => return None,
                '[' => self.brackets()?,
                _ => {}
            }
        }
    }

    fn brackets(&mut self) -> Option<()> {
        self.rest = self.rest.strip_prefix('^').unwrap_or(self.rest);
        self.rest = self.rest.strip_prefix(']').unwrap_or(self.rest);
        loop {
            match self.bump()? {
                ']' => return Some(()),
                '\n' => return None,
                // Whether it escapes the bracket depends on the sed.
                '\\' if self.rest.starts_with(']') => return None,
                '[' if self.rest.starts_with([':', '.', '=']) => {
                    let end = self.rest[1..].find(']')?;
                    self.rest = &self.rest[end + 2..];
                }
                _ => {}
            }
        }
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
            "s/[^/]*$//",
            "s/[[:space:]/]x/e/",
            "s/[]/]e/x/",
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
            "s/[/e x",
            "s/[\\]/e;s/]/x/",
            "w f\ne x",
        ] {
            assert_eq!(meaning(script), Meaning::Runs(None), "{script}");
        }
    }
}
