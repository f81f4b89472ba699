//! The changes that a command may make to the configuration of a repository that the user works in. Pure; accepts any
//! bytes.
//!
//! Everyday git writes there: a branch is tracked, renamed or removed, a name is set. The same file names programs that
//! git runs and servers that it talks to. A deny-list would have to know every such setting of every version of git, so
//! this is an allow-list: a setting that is not listed can be neither added, changed, moved nor removed. Configurations
//! are compared as git parses them, not as text, because one setting can be written in many ways.

use std::collections::HashSet;
use std::fmt;

/// The reason why a command must not replace one configuration by another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RefusedChange {
    /// The settings before the change are not known, so none of them may change.
    #[error("git cannot read the configuration that is there; repair it outside of the sandbox")]
    UnreadableBefore,
    #[error("git cannot read the new configuration")]
    Unreadable,
    #[error("{0} is the user's setting; change it outside of the sandbox")]
    Setting(String),
    #[error("{0} can only have simple values; set others outside of the sandbox")]
    Value(String),
    #[error("{0} can only name a remote of this configuration; name others outside of the sandbox")]
    Remote(String),
    /// Git reads it, but git does not write lines like this one, and other programs could read it in another way.
    #[error("git does not write lines like line {0} of the new configuration")]
    Line(usize),
}

/// Checks whether a command may replace one configuration by another.
pub(crate) fn check_change(before: &[u8], after: &[u8]) -> Result<(), RefusedChange> {
    if before == after {
        return Ok(());
    }
    let old = parse(before).ok_or(RefusedChange::UnreadableBefore)?;
    let new = parse(after).ok_or(RefusedChange::Unreadable)?;
    if let Some(setting) = changed_frozen_setting(&old, &new) {
        return Err(RefusedChange::Setting(setting.to_string()));
    }
    for setting in new.iter().filter(|setting| !old.contains(setting)) {
        setting.check_value(&old)?;
    }
    match first_unusual_line(before, after) {
        Some(line) => Err(RefusedChange::Line(line)),
        None => Ok(()),
    }
}

/// One setting, as git hands it to its callers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    /// `section.subsection.key` or `section.key`. Section and key in lower case, the subsection as it is written.
    name: Vec<u8>,
    /// `None`: a name without `=`, which git takes for `true`.
    value: Option<Vec<u8>>,
}

/// The values that a command may give to a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Permission {
    /// None. The setting stays as it is.
    Frozen,
    /// Any text of one line.
    Text,
    /// Any text.
    Lines,
    /// A boolean, or one of these words.
    Switch(&'static [&'static str]),
    Number,
    Color,
    /// `.`, or a remote whose address the configuration already has.
    RemoteName,
    /// A value that the same key of another branch has: `git branch -m` moves whole sections.
    ValueOfAnotherBranch,
}

impl Setting {
    fn parts(&self) -> (&str, Option<&[u8]>, &str) {
        let dot = |at: Option<usize>| at.unwrap_or(self.name.len());
        let first = dot(self.name.iter().position(|byte| *byte == b'.'));
        let last = dot(self.name.iter().rposition(|byte| *byte == b'.'));
        let text = |bytes| std::str::from_utf8(bytes).unwrap_or_default();
        let subsection = (first < last).then(|| &self.name[first + 1..last]);
        (text(&self.name[..first]), subsection, text(self.name.get(last + 1..).unwrap_or_default()))
    }

    fn permission(&self) -> Permission {
        use Permission::{Color, Frozen, Lines, Number, RemoteName, Switch, Text, ValueOfAnotherBranch};
        let (section, subsection, key) = self.parts();
        match (section, subsection.is_some(), key) {
            // The branch that a branch is merged with, and a text about it. With a remote that the user has, the next
            // `git pull` gets another branch of the same server at worst.
            ("branch", true, "merge" | "rebase") => Text,
            ("branch", true, "description") => Lines,
            // Git takes a name that is not a configured remote for an address.
            ("branch", true, "remote" | "pushremote") => RemoteName,
            // `mergeOptions` can name a program; tools of others keep notes here. A branch that goes takes them along.
            ("branch", true, _) => ValueOfAnotherBranch,
            // The author of commits. A commit inside the sandbox can name any author anyway.
            ("user", false, "name" | "email") => Text,
            // How branches are merged and set up. `push.default` must not become `matching` or `upstream`: with the
            // first, the user's next `git push` would send every branch, and with the second, `branch.*.merge` decides
            // where it goes.
            ("pull", false, "rebase") => Switch(&["merges", "interactive"]),
            ("pull" | "merge", false, "ff") => Switch(&["only"]),
            ("push", false, "default") => Switch(&["simple", "current", "nothing"]),
            ("push", false, "autosetupremote") => Switch(&[]),
            ("rebase", false, "autostash" | "autosquash") => Switch(&[]),
            ("rerere", false, "enabled") => Switch(&[]),
            ("branch", false, "autosetupmerge") => Switch(&["always", "inherit", "simple"]),
            ("branch", false, "autosetuprebase") => Switch(&["never", "local", "remote", "always"]),
            ("init", false, "defaultbranch") => Text,
            // Features of the file system, which git itself detects and writes down, and ends of lines.
            ("core", false, "filemode" | "ignorecase") => Switch(&[]),
            ("core", false, "autocrlf") => Switch(&["input"]),
            // The form of diffs and conflicts. The rest of `diff` and `merge` has drivers and tools: programs.
            ("diff", false, "algorithm") => Switch(&["default", "myers", "minimal", "patience", "histogram"]),
            ("diff", false, "renames") => Switch(&["copies", "copy"]),
            ("merge", false, "conflictstyle") => Switch(&["merge", "diff3", "zdiff3"]),
            ("advice", false, _) => Switch(&[]),
            ("color", _, _) => Color,
            // When git packs objects. `gc.recentObjectsHook` is a program, so the others are named.
            ("gc", false, "auto") => Number,
            ("gc", false, "autodetach") => Switch(&[]),
            // Whether commands about all submodules are about this one. Its address stays the user's.
            ("submodule", true, "active") => Switch(&[]),
            _ => Frozen,
        }
    }

    /// Whether the setting may come into a configuration that has these.
    fn check_value(&self, old: &[Self]) -> Result<(), RefusedChange> {
        let permission = self.permission();
        let value = self.value.as_deref();
        let is_permitted = match permission {
            Permission::Frozen => false,
            Permission::Text => value.is_some_and(is_one_line),
            Permission::Lines => {
                value.is_some_and(|value| value.split(|byte| *byte == b'\n').all(is_one_line))
            }
            Permission::Switch(words) => {
                const BOOLEANS: &[&str] = &["", "true", "false", "yes", "no", "on", "off", "0", "1"];
                let is_word =
                    |word: &&str| value.is_none_or(|value| value.eq_ignore_ascii_case(word.as_bytes()));
                BOOLEANS.iter().chain(words).any(is_word)
            }
            Permission::Number => value
                .is_some_and(|value| (1..10).contains(&value.len()) && value.iter().all(u8::is_ascii_digit)),
            Permission::Color => value.is_none_or(|value| {
                value.iter().all(|byte| byte.is_ascii_alphanumeric() || b" #-".contains(byte))
            }),
            Permission::RemoteName => value.is_some_and(|value| value == b"." || has_remote(old, value)),
            Permission::ValueOfAnotherBranch => old.iter().any(|other| {
                let ((section, subsection, key), (_, _, own)) = (other.parts(), self.parts());
                section == "branch" && subsection.is_some() && key == own && other.value == self.value
            }),
        };
        match (is_permitted, permission) {
            (true, _) => Ok(()),
            (false, Permission::RemoteName) => Err(RefusedChange::Remote(self.to_string())),
            (false, Permission::Frozen | Permission::ValueOfAnotherBranch) => {
                Err(RefusedChange::Setting(self.to_string()))
            }
            (false, _) => Err(RefusedChange::Value(self.to_string())),
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let printable = |char: char| if char.is_control() { '?' } else { char };
        String::from_utf8_lossy(&self.name)
            .chars()
            .take(200)
            .try_for_each(|char| write!(f, "{}", printable(char)))
    }
}

/// A remote without an address would be an address itself: git takes its name for a path.
fn has_remote(settings: &[Setting], name: &[u8]) -> bool {
    settings.iter().any(|setting| {
        let (section, subsection, key) = setting.parts();
        (section, subsection, key) == ("remote", Some(name), "url")
            && setting.value.as_ref().is_some_and(|value| !value.is_empty())
    })
}

/// A setting that must stay as it is and does not. The order of settings counts, because the last one wins and some are
/// lists.
fn changed_frozen_setting<'a>(old: &'a [Setting], new: &'a [Setting]) -> Option<&'a Setting> {
    let is_frozen = |setting: &&Setting| setting.permission() == Permission::Frozen;
    let old: Vec<&Setting> = old.iter().filter(is_frozen).collect();
    let new: Vec<&Setting> = new.iter().filter(is_frozen).collect();
    if old == new {
        return None;
    }
    let added = new.iter().find(|setting| !old.contains(setting));
    let removed = old.iter().find(|setting| !new.contains(setting));
    let moved = || old.iter().zip(&new).find(|(old, new)| old != new).map(|(old, _)| old);
    // One list is the beginning of the other: a setting is repeated.
    let repeated = || if old.len() < new.len() { new.last() } else { old.last() };
    added.or(removed).or_else(moved).or_else(repeated).copied()
}

fn is_one_line(value: &[u8]) -> bool {
    value.iter().all(|byte| !byte.is_ascii_control() || *byte == b'\t')
}

/// The number of the first new line that does not look as git writes it. Libraries that parse configurations on their
/// own differ from git about comments, quotation marks and continued lines; new lines must give them nothing to differ
/// about.
fn first_unusual_line(before: &[u8], after: &[u8]) -> Option<usize> {
    let known: HashSet<&[u8]> = before.split(|byte| *byte == b'\n').collect();
    let is_unusual = |line: &[u8]| !known.contains(line) && !is_usual_line(line);
    after.split(|byte| *byte == b'\n').position(is_unusual).map(|place| place + 1)
}

fn is_usual_line(line: &[u8]) -> bool {
    let start = line.iter().position(|byte| !b" \t".contains(byte)).unwrap_or(line.len());
    let line = &line[start..];
    if line.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
        return false;
    }
    match line {
        [] => true,
        [b'#' | b';', ..] => !line.ends_with(b"\\"),
        [b'[', header @ .., b']'] => is_usual_header(header),
        [first, ..] if first.is_ascii_alphabetic() => {
            let end = line.iter().position(|byte| !is_key_byte(*byte)).unwrap_or(line.len());
            match line[end..].iter().position(|byte| !b" \t".contains(byte)) {
                None => true,
                Some(skipped) => {
                    let rest = &line[end + skipped..];
                    rest.first() == Some(&b'=') && is_usual_value(&rest[1..])
                }
            }
        }
        _ => false,
    }
}

/// `section` or `section "subsection"`.
fn is_usual_header(header: &[u8]) -> bool {
    let end = header.iter().position(|byte| !is_key_byte(*byte)).unwrap_or(header.len());
    match &header[end..] {
        [] => end > 0,
        [b' ', b'"', subsection @ .., b'"'] => end > 0 && is_escaped(subsection, b"\\\""),
        _ => false,
    }
}

fn is_usual_value(value: &[u8]) -> bool {
    let (mut is_quoted, mut bytes) = (false, value.iter());
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\\' if !bytes.next().is_some_and(|next| b"\\\"nt".contains(next)) => return false,
            b'#' | b';' if !is_quoted => return false,
            _ => {}
        }
    }
    !is_quoted
}

/// Whether each quotation mark and backslash has a backslash before it.
fn is_escaped(text: &[u8], escaped: &[u8]) -> bool {
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        let is_sound = match byte {
            b'"' => false,
            b'\\' => bytes.next().is_some_and(|next| escaped.contains(next)),
            _ => true,
        };
        if !is_sound {
            return false;
        }
    }
    true
}

fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

/// The settings of a configuration in their order, as git's own parser finds them; `None` where it gives up. A file
/// with a NUL is refused although git reads some of them: git cuts names and values there.
fn parse(bytes: &[u8]) -> Option<Vec<Setting>> {
    const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
    if bytes.contains(&0) {
        return None;
    }
    let mut parser = Parser { rest: bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes), is_over: false };
    let (mut settings, mut prefix) = (Vec::new(), Vec::new());
    loop {
        match parser.next() {
            b'\n' if parser.is_over => return Some(settings),
            byte if is_space(byte) => {}
            b'#' | b';' => parser.skip_line(),
            b'[' => prefix = parser.header()?,
            byte if byte.is_ascii_alphabetic() => {
                let mut name = prefix.clone();
                name.push(byte.to_ascii_lowercase());
                let value = parser.setting(&mut name)?;
                settings.push(Setting { name, value });
            }
            _ => return None,
        }
    }
}

/// Reads bytes as git does: both ends of a line are one, and the end of the file is one as well.
struct Parser<'a> {
    rest: &'a [u8],
    is_over: bool,
}

/// Whitespace as git defines it, in any locale.
fn is_space(byte: u8) -> bool {
    b" \t\n\r".contains(&byte)
}

impl Parser<'_> {
    fn next(&mut self) -> u8 {
        let (byte, rest) = match self.rest {
            [b'\r', b'\n', rest @ ..] => (b'\n', rest),
            [byte, rest @ ..] => (*byte, rest),
            [] => {
                self.is_over = true;
                (b'\n', self.rest)
            }
        };
        self.rest = rest;
        byte
    }

    /// Skips to the end of the line, which is not skipped itself.
    fn skip_line(&mut self) {
        let end = self.rest.iter().position(|byte| *byte == b'\n').unwrap_or(self.rest.len());
        self.rest = &self.rest[end..];
    }

    /// The part before the key in the names of the settings that follow: `section.` or `section.subsection.`.
    fn header(&mut self) -> Option<Vec<u8>> {
        let mut name = Vec::new();
        loop {
            match self.next() {
                _ if self.is_over => return None,
                b']' if name.is_empty() => return None,
                b']' => break,
                byte if is_space(byte) => {
                    self.subsection(byte, &mut name)?;
                    break;
                }
                byte if is_key_byte(byte) || byte == b'.' => name.push(byte.to_ascii_lowercase()),
                _ => return None,
            }
        }
        name.push(b'.');
        Some(name)
    }

    fn subsection(&mut self, first: u8, name: &mut Vec<u8>) -> Option<()> {
        let mut byte = first;
        while is_space(byte) {
            if byte == b'\n' {
                return None;
            }
            byte = self.next();
        }
        if byte != b'"' {
            return None;
        }
        name.push(b'.');
        loop {
            match self.next() {
                b'\n' => return None,
                b'"' => break,
                b'\\' => match self.next() {
                    b'\n' => return None,
                    byte => name.push(byte),
                },
                byte => name.push(byte),
            }
        }
        (self.next() == b']').then_some(())
    }

    /// The rest of a name, and its value.
    fn setting(&mut self, name: &mut Vec<u8>) -> Option<Option<Vec<u8>>> {
        let mut byte = self.next();
        while is_key_byte(byte) {
            name.push(byte.to_ascii_lowercase());
            byte = self.next();
        }
        while b" \t".contains(&byte) {
            byte = self.next();
        }
        match byte {
            b'\n' => Some(None),
            b'=' => self.value().map(Some),
            _ => None,
        }
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let (mut value, mut is_quoted, mut length) = (Vec::new(), false, 0);
        loop {
            match self.next() {
                b'\n' if is_quoted => return None,
                b'\n' => break,
                byte if is_space(byte) && !is_quoted => {
                    if !value.is_empty() {
                        value.push(byte);
                    }
                    continue;
                }
                b'#' | b';' if !is_quoted => {
                    self.skip_line();
                    continue;
                }
                b'\\' => match self.next() {
                    b'\n' => {}
                    b't' => value.push(b'\t'),
                    b'b' => value.push(8),
                    b'n' => value.push(b'\n'),
                    byte @ (b'\\' | b'"') => value.push(byte),
                    _ => return None,
                },
                b'"' => is_quoted = !is_quoted,
                byte => value.push(byte),
            }
            length = value.len();
        }
        // Spaces after the last character do not belong to the value.
        value.truncate(length);
        Some(value)
    }
}

#[cfg(test)]
mod tests;
