//! The paths that a git configuration makes git obey: files that it includes, and programs and hooks that it runs.
//! Pure; any text can be read.

use std::fmt;

/// One setting of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// Lower case.
    section: String,
    /// The subsection as it is written; empty: none.
    subsection: String,
    /// Lower case.
    key: String,
    pub(crate) value: String,
}

/// The files and programs that a configuration names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Named {
    /// Further configuration. Relative paths begin at the directory of the file.
    pub(crate) included: Vec<String>,
    /// Directories of hooks, and of templates for them. Relative paths begin at the top of the work tree.
    pub(crate) hooks: Vec<String>,
    /// Words of commands that git runs at the top of the work tree: some may be paths of scripts.
    pub(crate) words: Vec<String>,
    /// The work tree, where the configuration says where it is. Relative to the repository.
    pub(crate) work_tree: Option<String>,
}

/// The files and programs that a configuration names.
pub(crate) fn named(text: &str) -> Named {
    let mut named = Named::default();
    for setting in settings(text) {
        let Setting { section, key, value, .. } = &setting;
        match (section.as_str(), key.as_str()) {
            ("include" | "includeif", "path") => named.included.push(value.clone()),
            ("core", "worktree") => named.work_tree = Some(value.clone()),
            ("core", "hookspath") => {
                named.hooks.push(value.clone());
                // husky's hooks in `.husky/_` run the files beside that directory.
                named.hooks.extend(value.strip_suffix("/_").map(str::to_owned));
            }
            ("init", "templatedir") => named.hooks.push(value.clone()),
            _ if runs_programs(&setting) => named.words.extend(words(value)),
            _ => {}
        }
    }
    named
}

/// The settings that make git run a program, or obey a file that could.
pub(crate) fn orders(text: &str) -> Vec<Setting> {
    settings(text).into_iter().filter(is_order).collect()
}

/// The settings that say where files are checked out.
pub(crate) fn work_trees(text: &str) -> Vec<Setting> {
    let is_work_tree = |it: &Setting| it.section == "core" && it.key == "worktree";
    settings(text).into_iter().filter(is_work_tree).collect()
}

fn is_order(setting: &Setting) -> bool {
    let Setting { section, subsection, key, value } = setting;
    match (section.as_str(), key.as_str()) {
        ("include" | "includeif", "path") => true,
        ("core", "hookspath") | ("init", "templatedir") => value != "/dev/null",
        // An address `ext::…` is a command; git refuses it unless this setting allows it.
        ("protocol", "allow") => ["", "ext"].contains(&subsection.as_str()) && value != "never",
        // Lines of the list of steps, one of which can be `exec`.
        ("rebase", "instructionformat") => true,
        // Files that git writes for its user, wherever they are.
        ("http", "cookiefile")
        | ("format", "outputdirectory")
        | ("gc", "repackfilterto")
        | ("lfs", "storage") => !value.is_empty(),
        // Files that git copies into messages, which commands can read.
        ("commit", "template") | ("format", "signaturefile") => !value.is_empty(),
        // The name of a tool names a script in git's own directory, unless the name contains a path.
        ("diff" | "merge", "tool" | "guitool") => value.contains('/'),
        // Strategies of merging: a name that git does not know is that of a program, `git-merge-NAME`.
        ("pull", "twohead" | "octopus") => !value.split_whitespace().all(is_own_strategy),
        // Settings of programs beside git that name others.
        ("tig" | "annex", _) => !is_harmless(value),
        ("remote", _) if key.starts_with("annex-") => !is_harmless(value),
        ("alias", _) => !is_plain_alias(value),
        _ => (runs_programs(setting) || is_named_as_program(setting)) && !is_harmless(value),
    }
}

fn is_own_strategy(name: &str) -> bool {
    ["ort", "recursive", "resolve", "octopus", "ours", "subtree"].contains(&name)
}

/// Whether an alias is a command of git's that only shows something, with options that run nothing: git takes any
/// option there, such as `-c`, and any program. `bisect run x`, `submodule foreach x` and `merge-index x` run their
/// operands, `config` sets what git runs, and a word with a slash is the path of a program, `git-WORD`. Commands that
/// change something are left out because an alias of a repository overrides one of the user's own: `git st` would be
/// `reset --hard`.
fn is_plain_alias(value: &str) -> bool {
    const COMMANDS: [&str; 18] = [
        "annotate",
        "blame",
        "branch",
        "cat-file",
        "cherry",
        "describe",
        "diff",
        "diff-tree",
        "for-each-ref",
        "grep",
        "log",
        "ls-files",
        "ls-tree",
        "rev-list",
        "rev-parse",
        "shortlog",
        "show",
        "status",
    ];
    const OPTIONS: [&str; 8] =
        ["--all", "--cached", "--decorate", "--graph", "--oneline", "--short", "--staged", "--stat"];
    let is_plain = |word: &str| {
        let is_name = word.chars().all(|it| it.is_ascii_alphanumeric() || "-_./~^@".contains(it));
        is_name && (!word.starts_with('-') || OPTIONS.contains(&word))
    };
    let mut words = value.split_whitespace();
    words.next().is_none_or(|command| COMMANDS.contains(&command)) && words.all(is_plain)
}

/// Values that programs and tests often set: switches, and programs of the system that run nothing further. The
/// credential helper `store` is none of them: it writes the user's password to a file that commands can read.
fn is_harmless(value: &str) -> bool {
    const VALUES: [&str; 16] = [
        "",
        "true",
        "false",
        "yes",
        "no",
        "on",
        "off",
        "0",
        "1",
        ":",
        "cat",
        "less",
        "/dev/null",
        "cache",
        "gpg",
        "gpg2",
    ];
    const LFS: [&str; 5] = [
        "git-lfs clean -- %f",
        "git-lfs smudge -- %f",
        "git-lfs smudge --skip -- %f",
        "git-lfs filter-process",
        "git-lfs filter-process --skip",
    ];
    VALUES.contains(&value) || LFS.contains(&value)
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { section, subsection, key, .. } = self;
        match subsection.is_empty() {
            true => write!(f, "{section}.{key}"),
            false => write!(f, "{section}.{subsection}.{key}"),
        }
    }
}

/// Whether git runs the value as a program, or may.
fn runs_programs(Setting { section, subsection, key, value }: &Setting) -> bool {
    // The last one is of the git for virtual file systems.
    const CORE: [&str; 8] = [
        "fsmonitor",
        "sshcommand",
        "editor",
        "pager",
        "askpass",
        "gitproxy",
        "alternaterefscommand",
        "virtualfilesystem",
    ];
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
        "hook" => key == "command",
        "imap" => key == "tunnel",
        "svn" | "svn-remote" => ["authors-prog", "authorsprog"].contains(&key.as_str()),
        "gc" => key == "recentobjectshook",
        "instaweb" => ["httpd", "browser"].contains(&key.as_str()),
        "lfs" => ["path", "clean", "smudge"].contains(&key.as_str()),
        _ => false,
    }
}

/// Whether a setting's name says that its value is a program: of other tools, and of a git that is newer than this
/// list.
fn is_named_as_program(Setting { section, key, .. }: &Setting) -> bool {
    const PARTS: [&str; 9] =
        ["command", "cmd", "hook", "program", "exec", "editor", "pager", "helper", "askpass"];
    let is_about_output = ["advice", "color"].contains(&section.as_str());
    !is_about_output && PARTS.iter().any(|part| key.contains(part))
}

/// The words of a command that can be paths of files in the work tree, at the top of which git runs it.
fn words(value: &str) -> Vec<String> {
    let value = expanded(value);
    let separates = |character: char| character.is_whitespace() || "'\"();&|<>`!$".contains(character);
    let is_path = |word: &&str| !word.is_empty() && !word.starts_with('-');
    // A quotation mark is around a word, or around a command (`sh -c 'tools/x'`), or within a word (`"$PWD"/tools/x`).
    let unquoted = value.replace(['"', '\''], "");
    let mut words: Vec<String> = Vec::new();
    for word in value.split(separates).chain(unquoted.split(separates)).filter(is_path) {
        if !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    }
    words
}

/// A command with the usual ways to name the work tree, the repository and the home directory as paths.
fn expanded(value: &str) -> String {
    const WAYS: [(&str, &str); 18] = [
        ("$(git rev-parse --show-toplevel)", "."),
        ("`git rev-parse --show-toplevel`", "."),
        ("$(pwd)", "."),
        ("`pwd`", "."),
        ("${PWD}", "."),
        ("$PWD", "."),
        ("${GIT_WORK_TREE}", "."),
        ("$GIT_WORK_TREE", "."),
        ("$(git rev-parse --git-common-dir)", ".git"),
        ("$(git rev-parse --git-dir)", ".git"),
        ("`git rev-parse --git-common-dir`", ".git"),
        ("`git rev-parse --git-dir`", ".git"),
        ("${GIT_COMMON_DIR}", ".git"),
        ("$GIT_COMMON_DIR", ".git"),
        ("${GIT_DIR}", ".git"),
        ("$GIT_DIR", ".git"),
        ("${HOME}", "~"),
        ("$HOME", "~"),
    ];
    WAYS.iter().fold(value.to_owned(), |value, (way, path)| value.replace(way, path))
}

fn settings(text: &str) -> Vec<Setting> {
    // Reads ends of lines as git does: a backslash before either end of a line continues the line.
    let text = text.replace("\r\n", "\n");
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
    // Both forms at once are one name for git: `[filter.x "y"]` has the subsection `x.y`.
    match section.split_once('.') {
        Some((before, after)) if subsection.is_empty() => (before.to_owned(), after.to_owned()),
        Some((before, after)) => (before.to_owned(), format!("{after}.{subsection}")),
        None => (section, subsection),
    }
}

/// The rest of the line, without comments, quotation marks and the space around it; a backslash at its end continues
/// it.
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
        check("[filter.x \"y\"]\n clean = tools/clean\n", &[], &["tools/clean"]);
        check("[core]\n fsmonitor = ./watch -v\n bare = false\n", &[], &["./watch"]);
        check("[alias]\n st = status\n x = !tools/x\n", &[], &["tools/x"]);
        check("[remote \"origin\"]\n url = ./x\n", &[], &[]);
        check("[core]\nhooksPath = .husky/_\n[init]\ntemplateDir = t\n", &[], &[".husky/_", ".husky", "t"]);
    }

    #[test]
    fn scripts_that_are_named_through_variables_are_found() {
        let check = |command: &str, path: &str| {
            let found = words(command);
            assert!(found.iter().any(|word| word == path), "{command}: {found:?}");
        };
        check("\"$PWD\"/tools/x %f", "./tools/x");
        check("\"${PWD}/tools/x\" %f", "./tools/x");
        check("\"$(git rev-parse --show-toplevel)\"/tools/x", "./tools/x");
        check("!f() { `git rev-parse --show-toplevel`/tools/x; }; f", "./tools/x");
        check("\"$GIT_DIR\"/x", ".git/x");
        check("$HOME/bin/x", "~/bin/x");
        check("sh -c 'tools/x --clean'", "tools/x");
    }

    #[test]
    fn settings_that_run_programs_are_orders() {
        let check = |text: &str, expected: &[&str]| {
            let found: Vec<String> = orders(text).iter().map(Setting::to_string).collect();
            assert_eq!(found, strings(expected), "{text}");
        };
        check("[core]\n\tbare = false\n\tfsmonitor = true\n\tpager = cat\n\thooksPath = /dev/null\n", &[]);
        check("[core]\n\tfsmonitor = ./x\n\thooksPath = true\n", &["core.fsmonitor", "core.hookspath"]);
        check("[pull]\n\ttwohead = ort\n\toctopus = x/run\n", &["pull.octopus"]);
        check(
            "[pull]\n\ttwohead = x/run\n[tig]\n\tdiff-highlight = ./x\n",
            &["pull.twohead", "tig.diff-highlight"],
        );
        check("[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = x\n", &["filter.lfs.smudge"]);
        check("[include]\n\tpath = /dev/null\n", &["include.path"]);
        check("[alias]\nst = status --short\nlg = log --graph --oneline\nbr = branch\n", &[]);
        check("[alias]\nst = reset --hard\nci = commit\np = push\n", &["alias.st", "alias.ci", "alias.p"]);
        check("[alias]\nst = log --output x\nbr = branch -D\n", &["alias.st", "alias.br"]);
        check("[credential]\nhelper = store\n[credential \"x\"]\nhelper = cache\n", &["credential.helper"]);
        check("[core]\nvirtualFilesystem = ./x\n", &["core.virtualfilesystem"]);
        check("[alias]\na = bisect run ./x\nb = submodule foreach x\n", &["alias.a", "alias.b"]);
        check("[alias]\na = ./x\nb = config core.fsmonitor x\nc = y\n", &["alias.a", "alias.b", "alias.c"]);
        check("[alias]\nst = -c core.fsmonitor=x status\nco = grep -Ox y\n", &["alias.st", "alias.co"]);
        check("[rebase]\ninstructionFormat = %s%nexec x\nautosquash = true\n", &["rebase.instructionformat"]);
        check("[diff]\ntool = ../../x\n[merge]\ntool = vimdiff\n", &["diff.tool"]);
        check("[http]\ncookieFile = /h/.x\nsaveCookies = true\n", &["http.cookiefile"]);
        check(
            "[gc]\nrecentObjectsHook = x\n[annex]\nweb-download-command = x\n",
            &["gc.recentobjectshook", "annex.web-download-command"],
        );
        check(
            "[protocol \"file\"]\nallow = always\n[protocol \"ext\"]\nallow = user\n",
            &["protocol.ext.allow"],
        );
        check("[remote \"origin\"]\n\turl = ./x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n", &[]);
        check("[core]\r\n\ta = \"x\\\r\n[user]\"\r\n\tfsmonitor = ./x\r\n", &["core.fsmonitor"]);
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

    /// The names and values that git itself reads from a text; none, if it refuses the text.
    fn read_by_git(file: &std::path::Path) -> Vec<String> {
        let output = Command::new("git").args(["config", "--null", "--list", "--file"]).arg(file).output();
        let output = output.expect("git runs");
        if !output.status.success() {
            return Vec::new();
        }
        String::from_utf8(output.stdout).unwrap().split_terminator('\0').map(str::to_owned).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

        /// A program in a setting that this parser overlooks would run.
        #[test]
        fn no_setting_that_git_finds_is_overlooked(
            text in "(\\[core\\]|\\[user\\]|\\[a \"b\"\\]|\\[c.d \"e\"\\]|fsmonitor|x|=|\"|\\\\|#|;|\r| |\n|\r\n|\n){0,24}",
        ) {
            let scratch = Scratch::new("git-config-any");
            let file = scratch.path().join("config");
            std::fs::write(&file, &text).unwrap();
            let found: Vec<String> =
                settings(&text).iter().map(|it| it.to_string().trim_start_matches('.').to_owned()).collect();
            prop_assert!(settings(&text).iter().all(|it| !it.section.contains('.')), "{text:?}");
            for line in read_by_git(&file) {
                let name = line.split('\n').next().unwrap_or_default().to_owned();
                prop_assert!(found.contains(&name), "{name} in {text:?}: {found:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text in "(\\[|\\]|\"|\\\\|=|#|\n|core|hooksPath|[ -~]){0,40}") {
            let _ = named(&text);
        }
    }
}
