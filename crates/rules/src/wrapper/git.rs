//! git: options before its subcommand are passed over, settings and aliases that run programs are found, and a subcommand
//! that git does not bring may be an alias for anything.

use super::options::{Spec, Step, Walk};
use super::{Carried, Given, Look, joined, tables};
use crate::programs::Role;
use crate::rule::Reading;
use crate::script::{self, ShellKind};
use crate::variables;
use crate::word::{Split, Word};

const GLOBAL: Spec = Spec {
    shorts: "C:c:pPvh",
    longs: "git-dir: work-tree: namespace: super-prefix: config-env: exec-path? paginate no-pager bare \
            no-replace-objects no-lazy-fetch no-optional-locks no-advice literal-pathspecs glob-pathspecs \
            noglob-pathspecs icase-pathspecs html-path man-path info-path version help attr-source: list-cmds:",
};

/// What git brings, except what runs scripts of its caller by its very nature.
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
        look.readings.push(Reading::plain(&words));
        return subcommand_of(&words, 1, look);
    }
    if name == "git" {
        globals(given.words, look);
    }
}

fn globals(words: &[Word], look: &mut Look) {
    let mut walk = Walk::new(words);
    let place = loop {
        match walk.next(GLOBAL) {
            None => break None,
            Some(Step::Strange(what)) => {
                look.ask(format!("{what} is not understood"));
                break None;
            }
            Some(Step::Option(option, value)) => global(&option, value.as_ref(), look),
            Some(Step::Operand(place)) => break Some(place),
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

/// A setting that is made, for one command or for good.
fn setting(key: &str, value: &Word, look: &mut Look) {
    let key = key.to_ascii_lowercase();
    if let Some(alias) = key.strip_prefix("alias.") {
        return self::alias(alias, value, look);
    }
    if HARMLESS_SETTINGS.iter().any(|known| key.starts_with(known)) {
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
    match subcommand {
        "config" => config(arguments, look),
        "bisect" => after("run", arguments, look),
        "submodule" => foreach(arguments, look),
        "for-each-repo" => look.ask("it runs git in other places"),
        "filter-branch" => look.ask("its filters are scripts"),
        _ => {}
    }
    let found = tables::look_at_subcommand(&format!("git {subcommand}"), words, place, look);
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

/// `git config KEY VALUE` and `git config set KEY VALUE`.
fn config(arguments: &[Word], look: &mut Look) {
    const READING: [&str; 9] =
        ["--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l", "get", "list", "--unset"];
    if arguments.iter().any(|word| word.text().is_some_and(|text| READING.contains(&text))) {
        return;
    }
    let mut operands = arguments.iter().filter(|word| !word.beginning().starts_with('-'));
    let key = operands.find(|word| word.text().is_none_or(|text| text.contains('.') && !text.contains('/')));
    match (key.map(Word::text), operands.next()) {
        (Some(Some(key)), Some(value)) => setting(key, value, look),
        (Some(None), _) => look.ask("which of its settings is changed is known only when it runs"),
        _ => {}
    }
}
