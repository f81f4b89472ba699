//! git: options before its subcommand are skipped, settings and aliases that run programs are found, and a subcommand
//! that git does not ship may be an alias for anything.

use super::options::{ArgumentStep, ArgumentWalk, Spec};
use super::{Carried, Given, Look, Strength, joined, tables};
use crate::programs::{Arguments, Program, Role};
use crate::rule::CommandWords;
use crate::script::{self, ShellKind};
use crate::variables;
use crate::word::{Split, Word};

const GLOBAL: Spec = Spec {
    shorts: "C:c:pPvh",
    longs: "git-dir: work-tree: namespace: super-prefix: config-env: exec-path? paginate no-pager bare \
            no-replace-objects no-lazy-fetch no-optional-locks no-advice literal-pathspecs glob-pathspecs \
            noglob-pathspecs icase-pathspecs html-path man-path info-path version help attr-source: list-cmds:",
};

/// The subcommands that git ships, except those whose purpose is to run scripts of the caller.
const SUBCOMMANDS: &str = " add am annotate apply archive bisect blame branch bugreport bundle cat-file check-attr \
    check-ignore check-mailmap check-ref-format checkout checkout-index cherry cherry-pick citool clean clone column \
    commit commit-graph commit-tree config count-objects credential credential-cache credential-store daemon describe \
    diagnose diff diff-files diff-index diff-tree difftool fast-export fast-import fetch fetch-pack filter-branch \
    fmt-merge-msg for-each-ref for-each-repo format-patch fsck gc get-tar-commit-id grep gui hash-object help hook \
    index-pack init init-db instaweb interpret-trailers log ls-files ls-remote ls-tree mailinfo mailsplit maintenance \
    merge merge-base merge-file merge-index merge-one-file merge-tree mergetool mktag mktree multi-pack-index mv \
    name-rev notes p4 pack-objects pack-redundant pack-refs patch-id prune prune-packed pull push quiltimport \
    range-diff read-tree rebase receive-pack reflog refs remote repack replace replay request-pull rerere reset restore \
    rev-list rev-parse revert rm send-email send-pack shell shortlog show show-branch show-index show-ref \
    sparse-checkout stage stash status stripspace submodule switch symbolic-ref tag unpack-file unpack-objects \
    update-index update-ref update-server-info upload-archive upload-pack var verify-commit verify-pack verify-tag \
    version whatchanged worktree write-tree ";

/// Subcommands that run programs which the configuration names, serve others, or write a file to any given path. A rule
/// that allows git by its name alone does not cover them.
const REACHING: &[(&str, &str)] = &[
    ("bugreport", "it writes a file"),
    ("checkout-index", "it writes files"),
    ("citool", "it starts a program with windows"),
    ("credential", "it runs the helpers that keep passwords"),
    ("credential-cache", "it keeps passwords in a process of its own"),
    ("credential-store", "it keeps passwords in a file"),
    ("daemon", "it serves repositories"),
    ("diagnose", "it writes a file"),
    ("difftool", "it runs the program that the configuration names"),
    ("fast-import", "its input can write files"),
    ("gui", "it starts a program with windows"),
    ("hook", "it runs hooks"),
    ("index-pack", "it writes a file"),
    ("instaweb", "it starts a web server"),
    ("mailinfo", "it writes files"),
    ("mailsplit", "it writes files"),
    ("mergetool", "it runs the program that the configuration names"),
    ("p4", "it runs another program"),
    ("quiltimport", "it runs another program"),
    ("receive-pack", "it serves a repository"),
    ("send-email", "it runs another program"),
    ("shell", "it runs commands that it is given"),
    ("unpack-file", "it writes a file"),
    ("upload-archive", "it serves a repository"),
    ("upload-pack", "it serves a repository"),
];

/// Settings that run nothing, by their beginnings.
const HARMLESS_SETTINGS: &[&str] = &[
    "user.",
    "author.",
    "committer.",
    "color.",
    "advice.",
    "safe.",
    "pull.",
    "push.default",
    "push.autosetupremote",
    "fetch.",
    "rebase.",
    "merge.conflictstyle",
    "merge.ff",
    "merge.renamelimit",
    "diff.algorithm",
    "diff.noprefix",
    "diff.renames",
    "diff.renamelimit",
    "diff.context",
    "diff.mnemonicprefix",
    "log.",
    "status.",
    "column.",
    "gc.",
    "pack.",
    "index.",
    "feature.",
    "branch.",
    "tag.sort",
    "http.",
    "https.",
    "protocol.version",
    "init.defaultbranch",
    "commit.gpgsign",
    "tag.gpgsign",
    "commit.verbose",
    "core.autocrlf",
    "core.quotepath",
    "core.filemode",
    "core.ignorecase",
    "core.longpaths",
    "core.compression",
    "core.symlinks",
    "core.eol",
    "core.safecrlf",
    "core.abbrev",
    "core.bare",
    "core.commentchar",
    "core.precomposeunicode",
    "core.untrackedcache",
    "core.preloadindex",
    "blame.",
    "format.",
    "help.autocorrect",
    "i18n.",
    "transfer.",
    "submodule.recurse",
    "stash.",
    "rerere.",
    "clone.",
];

/// Settings that run a command or write a file although they begin like harmless ones, by their ends.
const HARMFUL_SETTINGS: &[&str] = &[
    "hook",
    "hookspath",
    ".cookiefile",
    ".savecookies",
    ".outputdirectory",
    "command",
    ".cmd",
    ".mergeoptions",
];

/// Settings whose value is a command; empty or a program that does nothing, they are harmless.
const COMMAND_SETTINGS: &[&str] = &[
    "core.pager",
    "core.editor",
    "core.askpass",
    "sequence.editor",
    "credential.helper",
    "core.hookspath",
    "pager.",
];

pub(super) fn look(name: &str, given: &Given<'_>, look: &mut Look) {
    if let Some(subcommand) = name.strip_prefix("git-").filter(|it| !it.is_empty()) {
        // git's own programs are its subcommands under another name.
        let mut words = vec![Word::literal("git"), Word::literal(subcommand)];
        words.extend_from_slice(&given.words[1..]);
        look.readings.push(CommandWords::plain(&words));
        return subcommand_of(&words, 1, look);
    }
    if name == "git" {
        globals(given.words, look);
    }
}

fn globals(words: &[Word], look: &mut Look) {
    let mut walk = ArgumentWalk::new(words);
    let place = loop {
        match walk.next(GLOBAL) {
            None => break None,
            Some(ArgumentStep::Strange(what)) => {
                look.ask(format!("{what} is not understood"));
                break None;
            }
            Some(ArgumentStep::Option(option, value)) => global(&option, value.as_ref(), look),
            Some(ArgumentStep::Operand(place)) => break Some(place),
        }
    };
    if walk.doubtful {
        look.ask("its subcommand is known only when it runs");
    }
    if let Some(place) = place {
        if !walk.doubtful {
            look.readings[0].hidden.iter_mut().take(place).skip(1).for_each(|hidden| *hidden = true);
        }
        subcommand_of(words, place, look);
    }
}

fn global(option: &str, value: Option<&Word>, look: &mut Look) {
    match option {
        "c" => match value.and_then(Word::setting) {
            Some((key, value)) => setting(key, &value, look),
            // Without a value it is set to true.
            None if value.is_some_and(|value| value.text().is_some()) => {}
            None => look.ask("which of its settings is changed is known only when it runs"),
        },
        "config-env" => look.ask("one of its settings comes from a variable"),
        "exec-path" if value.is_some() => look.ask("`--exec-path` says where its programs lie"),
        _ => {}
    }
}

/// A setting, for one command or stored for good.
fn setting(key: &str, value: &Word, look: &mut Look) {
    let key = key.to_ascii_lowercase();
    if let Some(alias) = key.strip_prefix("alias.") {
        return self::alias(alias, value, look);
    }
    let is_harmful = HARMFUL_SETTINGS.iter().any(|known| key.ends_with(known));
    if !is_harmful && HARMLESS_SETTINGS.iter().any(|known| key.starts_with(known)) {
        return;
    }
    let is_command = COMMAND_SETTINGS.iter().any(|known| key.starts_with(known));
    if is_command && (variables::is_harmless(value) || value.is("/dev/null")) {
        return;
    }
    look.ask(format!("its setting `{key}` may run a command"));
    if let Some(text) = value.text() {
        let text = text.strip_prefix('!').unwrap_or(text);
        look.carry(&format!("git {key}"), Carried::Perhaps(as_script(text)));
    }
}

fn as_script(text: &str) -> Vec<Word> {
    ["sh", "-c", text].map(Word::literal).to_vec()
}

/// An alias is a script if it begins with `!`, else a subcommand with arguments. More arguments may follow.
fn alias(name: &str, value: &Word, look: &mut Look) {
    let carrier = format!("git alias {name}");
    let Some(text) = value.text() else {
        return look.ask("an alias is known only when it runs");
    };
    if let Some(script) = text.strip_prefix('!') {
        let script = format!("{script} \"$@\"");
        return look.carry(&carrier, Carried::Script(Word::literal(script), ShellKind::Posix));
    }
    let parsed = script::parse(text, ShellKind::Posix, 8);
    match (&parsed.simples[..], &parsed.broken) {
        ([simple], None) => {
            let mut words = vec![Word::literal("git")];
            words.extend(simple.words.iter().cloned());
            words.push(Word::unknown("…", Split::Words));
            look.carry(&carrier, Carried::Command(words));
        }
        _ => look.ask("an alias is not understood"),
    }
}

fn subcommand_of(words: &[Word], place: usize, look: &mut Look) {
    let arguments = &words[place + 1..];
    let Some(subcommand) = words[place].text() else {
        return look.ask("its subcommand is known only when it runs");
    };
    if !SUBCOMMANDS.contains(&format!(" {subcommand} ")) {
        look.ask_unless_named("this is no subcommand of git itself; it may be an alias for anything");
    }
    if let Some((_, why)) = REACHING.iter().find(|(name, _)| *name == subcommand) {
        look.ask_at_least(Strength::UnlessWords(2), *why);
    }
    if subcommand == "send-pack" {
        // It does the work of `git push`, so a rule about the one is about the other.
        let push = [Word::literal("git"), Word::literal("push")];
        look.readings.push(CommandWords::plain(&[&push[..], arguments].concat()));
    }
    match subcommand {
        "config" => config(words, place, look),
        "bisect" => after("run", arguments, look),
        "submodule" => foreach(arguments, look),
        "for-each-repo" => look.ask("it runs git in other places"),
        "filter-branch" => look.ask("its filters are scripts"),
        "merge-index" => merge_index(words, place, look),
        "maintenance" => reaches("start", arguments, ("it makes the system run git later", look)),
        "bundle" => reaches("create", arguments, ("it writes a file", look)),
        "remote-ext" | "remote-fd" | "sh-i18n--envsubst" | "web--browse" => {
            look.ask("it runs the command that it is given");
        }
        _ => {}
    }
    let found = options_of(subcommand, words, place, look);
    if !writes_to_output(subcommand, &found, arguments) {
        look.ask_at_least(Strength::UnlessWords(2), "it writes files");
    }
    for setting in found.options.iter().filter(|found| found.entry.role == Role::Text) {
        match setting.value.as_ref().and_then(Word::setting) {
            Some((key, value)) => self::setting(key, &value, look),
            None => look.ask("which of its settings is changed is known only when it runs"),
        }
    }
    if arguments.iter().any(|word| word.beginning().starts_with("ext::")) {
        look.ask("an address that begins with `ext::` runs a command");
    }
}

/// The options of a subcommand, by its table. Some subcommands have subcommands with tables of their own.
fn options_of(subcommand: &str, words: &[Word], place: usize, look: &mut Look) -> Arguments {
    let nested = words.get(place + 1).and_then(Word::text).map(|nested| format!("git {subcommand} {nested}"));
    match nested.filter(|nested| Program::named(nested).is_some()) {
        Some(nested) => tables::look_at_subcommand(&nested, words, place + 1, look),
        None => tables::look_at_subcommand(&format!("git {subcommand}"), words, place, look),
    }
}

/// Whether the options make a subcommand that usually writes files write to its output instead.
fn writes_to_output(subcommand: &str, found: &Arguments, arguments: &[Word]) -> bool {
    let has = |name: &str| arguments.iter().any(|word| word.is(name));
    match subcommand {
        "format-patch" => found.options.iter().any(|found| found.entry.is_named("stdout")),
        "merge-file" => has("-p") || has("--stdout"),
        "pack-objects" => has("--stdout"),
        _ => true,
    }
}

/// A subcommand of a subcommand that a rule has to name.
fn reaches(nested: &str, arguments: &[Word], (why, look): (&str, &mut Look)) {
    let is_reading = |word: &Word| word.text().is_some_and(|text| !text.starts_with('-') && text != nested);
    if !arguments.first().is_some_and(is_reading) && !arguments.is_empty() {
        look.ask_at_least(Strength::UnlessWords(3), why);
    }
}

/// `git merge-index [-o] [-q] program …` runs the program for every file.
fn merge_index(words: &[Word], place: usize, look: &mut Look) {
    let mut command = words[place + 1..].iter().skip_while(|word| word.is("-o") || word.is("-q"));
    let Some(program) = command.next() else { return };
    let words = vec![program.clone(), Word::unknown("…", Split::Words)];
    look.carry("git merge-index", Carried::Command(words));
}

fn after(word: &str, arguments: &[Word], look: &mut Look) {
    if let Some(at) = arguments.iter().position(|argument| argument.is(word)) {
        look.carry_command(&format!("git bisect {word}"), &arguments[at + 1..]);
    }
}

fn foreach(arguments: &[Word], look: &mut Look) {
    if let Some(at) = arguments.iter().position(|argument| argument.is("foreach")) {
        let rest = &arguments[at + 1..];
        let options = rest.iter().take_while(|word| word.beginning().starts_with('-')).count();
        let script = joined(&rest[options..]);
        look.carry("git submodule foreach", Carried::Script(script, ShellKind::Posix));
    }
}

/// `git config KEY VALUE` and `git config set KEY VALUE`. Options stand before the first operand.
fn config(words: &[Word], place: usize, look: &mut Look) {
    const SPEC: Spec = Spec {
        shorts: "f:lez",
        longs: "global system local worktree file: blob: get get-all get-regexp get-urlmatch get-color get-colorbool \
                replace-all add unset unset-all rename-section remove-section list edit type: bool int bool-or-int \
                bool-or-str path expiry-date null name-only includes no-includes show-origin show-scope show-names default: \
                comment: fixed-value all regexp value: url: append help",
    };
    const READING: [&str; 9] =
        ["get", "get-all", "get-regexp", "get-urlmatch", "get-color", "get-colorbool", "list", "l", "help"];
    const NESTED: [&str; 7] = ["list", "get", "set", "unset", "rename-section", "remove-section", "edit"];
    let mut walk = ArgumentWalk::new(&words[place..]);
    let (mut reads, mut in_file, mut nested) = (false, false, false);
    let operands = loop {
        match walk.next(SPEC) {
            None => break &words[..0],
            Some(ArgumentStep::Strange(what)) => return look.ask(format!("{what} is not understood")),
            Some(ArgumentStep::Option(option, _)) => {
                reads |= READING.contains(&option.as_str());
                in_file |= matches!(option.as_str(), "f" | "file");
            }
            Some(ArgumentStep::Operand(first)) => {
                let word = &words[place + first];
                let is_nested = word.text().is_some_and(|text| NESTED.contains(&text));
                if nested || !is_nested {
                    break &words[place + first..];
                }
                nested = true;
                reads |= word.is("get") || word.is("list");
            }
        }
    };
    if walk.doubtful && !reads {
        look.ask("which of its settings is changed is known only when it runs");
    }
    let (Some(key), false) = (operands.first(), reads) else { return };
    if in_file {
        look.ask_at_least(Strength::UnlessDefaultAllows, "its option `--file` writes a file");
    }
    match (key.text(), operands.get(1)) {
        (Some(key), Some(value)) => setting(key, value, look),
        (Some(_), None) => {}
        (None, _) => look.ask("which of its settings is changed is known only when it runs"),
    }
}
