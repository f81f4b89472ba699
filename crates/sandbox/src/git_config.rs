//! The paths that a git configuration makes git obey: files that it includes, and programs and hooks that it runs. Pure; any
//! text can be read.

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    /// Lower case.
    section: String,
    /// As it is written; empty: none.
    subsection: String,
    /// Lower case.
    key: String,
    value: String,
}

/// What a configuration names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Named {
    /// Further configuration. Relative paths begin at the directory of the file.
    pub(crate) included: Vec<String>,
    /// Directories of hooks. Relative paths begin at the top of the work tree.
    pub(crate) hooks: Vec<String>,
    /// Words of commands that git runs at the top of the work tree: some may be paths of scripts.
    pub(crate) words: Vec<String>,
    /// The work tree, where the configuration says where it is. Relative to the repository.
    pub(crate) work_tree: Option<String>,
}

/// What a configuration names.
pub(crate) fn named(text: &str) -> Named {
    let mut named = Named::default();
    for setting in settings(text) {
        let Setting { section, key, value, .. } = &setting;
        match (section.as_str(), key.as_str()) {
            ("include" | "includeif", "path") => named.included.push(value.clone()),
            ("core", "worktree") => named.work_tree = Some(value.clone()),
            ("core", "hookspath") => named.hooks.push(value.clone()),
            _ if runs_programs(&setting) => named.words.extend(words(value)),
            _ => {}
        }
    }
    named
}

/// Whether git runs the value as a program, or may.
fn runs_programs(Setting { section, subsection, key, value }: &Setting) -> bool {
    const CORE: [&str; 7] =
        ["fsmonitor", "sshcommand", "editor", "pager", "askpass", "gitproxy", "alternaterefscommand"];
    match section.as_str() {
        "core" => CORE.contains(&key.as_str()),
        "alias" => value.starts_with('!'),
        "filter" => ["clean", "smudge", "process"].contains(&key.as_str()),
        "diff" => ["command", "textconv", "external"].contains(&key.as_str()),
        "merge" => key == "driver" && !subsection.is_empty(),
        "difftool" | "mergetool" | "browser" | "man" | "trailer" => {
            ["cmd", "path", "command"].contains(&key.as_str())
        }
        "gpg" => key == "program" || key == "defaultkeycommand",
        "credential" => key == "helper",
        "submodule" => key == "update" && value.starts_with('!'),
        "sequence" => key == "editor",
        "interactive" => key == "difffilter",
        "pager" => true,
        "init" => key == "templatedir",
        "uploadpack" => key == "packobjectshook",
        "remote" => ["uploadpack", "receivepack", "vcs"].contains(&key.as_str()),
        "sendemail" => ["smtpserver", "tocmd", "cccmd", "headercmd", "sendmailcmd"].contains(&key.as_str()),
        "guitool" => key == "cmd",
        "tar" => key == "command",
        "lfs" => ["path", "clean", "smudge"].contains(&key.as_str()),
        _ => false,
    }
}

/// The words of a command that can be paths of files in the work tree.
fn words(value: &str) -> impl Iterator<Item = String> + '_ {
    let separates = |character: char| character.is_whitespace() || "'\"();&|<>`!$".contains(character);
    let is_path = |word: &&str| !word.is_empty() && !word.starts_with('-');
    value.split(separates).filter(is_path).map(str::to_owned)
}

fn settings(text: &str) -> Vec<Setting> {
    let mut found = Vec::new();
    let (mut section, mut subsection) = (String::new(), String::new());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '#' | ';' => drop(characters.by_ref().find(|character| *character == '\n')),
            '[' => (section, subsection) = header(&mut characters),
            character if character.is_ascii_alphabetic() => {
                let mut key = String::from(character);
                while let Some(next) = characters.next_if(|next| next.is_ascii_alphanumeric() || *next == '-')
                {
                    key.push(next);
                }
                let value = value(&mut characters);
                let key = key.to_ascii_lowercase();
                found.push(Setting { section: section.clone(), subsection: subsection.clone(), key, value });
            }
            _ => {}
        }
    }
    found
}

type Characters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// `[section]`, `[section "subsection"]` or, as it once was, `[section.subsection]`.
fn header(characters: &mut Characters<'_>) -> (String, String) {
    let (mut section, mut subsection) = (String::new(), String::new());
    let mut is_quoted = false;
    while let Some(character) = characters.next() {
        match character {
            '"' => is_quoted = !is_quoted,
            '\\' if is_quoted => subsection.extend(characters.next()),
            ']' | '\n' if !is_quoted => break,
            character if is_quoted => subsection.push(character),
            character if character.is_whitespace() => {}
            character => section.push(character.to_ascii_lowercase()),
        }
    }
    match section.split_once('.') {
        Some((before, after)) if subsection.is_empty() => (before.to_owned(), after.to_owned()),
        _ => (section, subsection),
    }
}

/// The rest of the line, without comments, quotation marks and the space around it; a backslash at its end continues it.
fn value(characters: &mut Characters<'_>) -> String {
    let mut value = String::new();
    let mut is_quoted = false;
    while let Some(character) = characters.next() {
        match character {
            '\n' => break,
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => {
                characters.by_ref().find(|character| *character == '\n');
                break;
            }
            '\\' => match characters.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some('\n') | None => {}
                Some(other) => value.push(other),
            },
            character => value.push(character),
        }
    }
    let value = value.trim_start_matches([' ', '\t', '=']);
    value.trim_end_matches([' ', '\t', '\r']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;
    use windlass_testkit::Scratch;

    fn check(text: &str, included: &[&str], run: &[&str]) {
        let found = named(text);
        let found_to_run: Vec<String> = found.hooks.into_iter().chain(found.words).collect();
        assert_eq!((found.included, found_to_run), (strings(included), strings(run)), "{text}");
    }

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn what_git_includes_and_runs_is_named() {
        check("[core]\n\thooksPath = .husky\n", &[], &[".husky"]);
        check("[CORE] HooksPath=.husky ; comment", &[], &[".husky"]);
        check("[include]\npath = ../more.cfg # comment\n", &["../more.cfg"], &[]);
        check("[includeIf \"gitdir:~/work/\"]\n path = \"a \\\"b\\\".cfg\"\n", &["a \"b\".cfg"], &[]);
        check("[filter \"x\"]\n clean = sh tools/clean.sh \\\n %f\n", &[], &["sh", "tools/clean.sh", "%f"]);
        check("[core]\n fsmonitor = ./watch -v\n bare = false\n", &[], &["./watch"]);
        check("[alias]\n st = status\n x = !tools/x\n", &[], &["tools/x"]);
        check("[remote \"origin\"]\n url = ./x\n", &[], &[]);
    }

    #[test]
    fn the_work_tree_of_a_repository_is_named() {
        assert_eq!(named("[core]\nworktree = ../../../sub\n").work_tree.as_deref(), Some("../../../sub"));
    }

    #[test]
    fn settings_are_read_as_git_reads_them() {
        let text = "[a \"B.c\"]\n\tKey = one two  # comment\n\tother = \"x # y\" z\n\tflag\n[core]\n\tx = a\\\\b\\\n c\n[d.E]k=v\n";
        let scratch = Scratch::new("git-config");
        let file = scratch.path().join("config");
        std::fs::write(&file, text).unwrap();
        let output = Command::new("git").args(["config", "--null", "--list", "--file"]).arg(&file).output();
        let output = String::from_utf8(output.expect("git runs").stdout).unwrap();
        let expected: Vec<String> =
            output.split_terminator('\0').map(|line| line.replace('\n', "=")).collect();
        let shown = |Setting { section, subsection, key, value }: Setting| {
            let middle = if subsection.is_empty() { String::new() } else { format!(".{subsection}") };
            let value = if key == "flag" { String::new() } else { format!("={value}") };
            format!("{section}{middle}.{key}{value}")
        };
        let found: Vec<String> = settings(text).into_iter().map(shown).collect();
        assert_eq!(found, expected);
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text in "(\\[|\\]|\"|\\\\|=|#|\n|core|hooksPath|[ -~]){0,40}") {
            let _ = named(&text);
        }
    }
}
