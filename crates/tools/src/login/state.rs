//! The state that start-up files leave in a shell beside its environment: umask, limits, options, functions, variables that are not
//! exported, aliases.
//!
//! The same script asks a shell that has read no start-up files and one that has logged in. What differs is turned into a script that
//! commands run first. So a login that changes nothing costs commands nothing, and a default of this shell's version is never set.

use std::ffi::OsString;

use crate::environment::EnvironmentPolicy;
use crate::shell::Dialect;

/// A longer script would make every command slower to start.
const MOST_BYTES: usize = 64 * 1024;
/// Options under which reading the command's script would itself be traced or ended. They are set right before it.
const DEFERRED: [&str; 5] = ["errexit", "errreturn", "nounset", "verbose", "xtrace"];
/// Options that say how a shell was started, or are about prompts and history, which commands have not.
const NOT_RESTORED: [&str; 17] = [
    "checkwinsize",
    "cmdhist",
    "globalrcs",
    "histappend",
    "histexpand",
    "history",
    "histreedit",
    "histverify",
    "interactive",
    "lithist",
    "login",
    "login_shell",
    "rcs",
    "restricted",
    "restricted_shell",
    "shinstdin",
    "zle",
];
/// Variables that every shell sets anew, and those of prompts and history.
const ITS_OWN: [&str; 17] = [
    "BASH_REMATCH",
    "HISTCONTROL",
    "HISTFILE",
    "HISTFILESIZE",
    "HISTIGNORE",
    "HISTSIZE",
    "HISTTIMEFORMAT",
    "OLDPWD",
    "PIPESTATUS",
    "PROMPT_COMMAND",
    "PROMPT_DIRTRIM",
    "PS0",
    "PS1",
    "PS2",
    "PWD",
    "SHLVL",
    "_",
];
/// The only variables that are restored although a shell has them from its beginning.
const CHANGED: [&str; 3] = ["IFS", "PS4", "fpath"];

/// The state as a script, empty if the start-up files changed nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShellState {
    /// Restores the state. It always sets `windlass_options`, which holds what is to be set right before the command's script: a
    /// caller could set that variable, too.
    pub(crate) script: String,
    /// Definitions of functions and aliases, where a command's name is looked for.
    pub(crate) definitions: String,
    /// Whether programs run differently, also those that need no shell.
    pub(crate) changes_programs: bool,
}

/// What a shell said about itself.
#[derive(Debug, Default)]
struct Account<'a> {
    entries: Vec<Entry<'a>>,
}

#[derive(Debug, PartialEq, Eq)]
struct Entry<'a> {
    kind: &'a str,
    name: &'a str,
    value: &'a str,
    text: &'a str,
}

/// Makes a shell print its state: entries of four fields, each ended by NUL. Nothing is traced into it, and options that would end the
/// shell half-way are off once they are printed.
pub(super) fn account(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Bash => BASH,
        Dialect::Zsh => ZSH,
        Dialect::Posix => ":",
    }
}

const BASH: &str = r#"printf 'options\0\0\0'; set +o; printf '\0'; { set +efuvx; } 2>/dev/null
printf 'shopt\0\0\0'; shopt -p; printf '\0umask\0\0\0'; umask -p; printf '\0'
for windlass_it in c d e f i l m n q r s t u v x; do
printf 'limit\0%s\0\0' "$windlass_it"; ulimit -S "-$windlass_it" 2>/dev/null; ulimit -H "-$windlass_it" 2>/dev/null; printf '\0'; done
printf 'functions\0\0\0'; declare -f; printf '\0'
for windlass_it in "${!BASH_ALIASES[@]}"; do printf 'alias\0%s\0%s\0\0' "$windlass_it" "${BASH_ALIASES[$windlass_it]}"; done
compgen -v | while IFS= read -r windlass_it; do windlass_at="$windlass_it[*]"
printf 'variable\0%s\0%s\0' "$windlass_it" "${!windlass_at}"; declare -p "$windlass_it" 2>/dev/null; printf '\0'; done"#;

const ZSH: &str = r#"printf 'options\0\0\0'; for windlass_it windlass_at in "${(@kv)options}"; do
[ "$windlass_at" = on ] && printf 'setopt %s\n' "$windlass_it" || printf 'unsetopt %s\n' "$windlass_it"; done; printf '\0'
{ emulate -R zsh; } 2>/dev/null; printf 'umask\0\0\0umask %s\0' "$(umask)"
for windlass_it in c d e f i l m n q r s t u v x; do
printf 'limit\0%s\0\0' "$windlass_it"; ulimit -S "-$windlass_it" 2>/dev/null; ulimit -H "-$windlass_it" 2>/dev/null; printf '\0'; done
printf 'functions\0\0\0'; typeset -f; printf '\0aliases\0\0\0'; alias -L; printf '\0'
for windlass_it in ${(k)parameters}; do case ${parameters[$windlass_it]} in (*export*|*special*|*hide*) continue;; esac
printf 'variable\0%s\0%s\0' "$windlass_it" "${(P)windlass_it}"; typeset -p "$windlass_it"; printf '\0'; done
printf 'variable\0IFS\0\0IFS=%s\0variable\0PS4\0\0PS4=%s\0' "${(qq)IFS}" "${(qq)PS4}"
printf 'variable\0fpath\0\0fpath=( %s )\0' "${(j: :)${(@qq)fpath}}""#;

/// The difference between a shell that has logged in and one that has not, and a remark if it is not all restored.
pub(super) fn difference(
    dialect: Dialect,
    (before, after): (&[u8], &[u8]),
    policy: &EnvironmentPolicy,
) -> (ShellState, Option<String>) {
    let (Ok(before), Ok(after)) = (std::str::from_utf8(before), std::str::from_utf8(after)) else {
        let remark = "the start-up files leave a shell state that is not UTF-8: only exported variables of it are used";
        return (ShellState::default(), Some(remark.to_owned()));
    };
    let (before, after) = (Account::read(before), Account::read(after));
    let mut options = lines(&before, &after, &["options", "shopt"]);
    let deferred = |line: &&str| DEFERRED.iter().any(|name| line.ends_with(name));
    let late: String = options.iter().filter(|line| deferred(line)).map(|line| format!("{line}; ")).collect();
    options.retain(|line| !deferred(line));
    let (expands, options): (Vec<&str>, _) =
        options.into_iter().partition(|line| line.ends_with("expand_aliases"));
    let limits = limits(&before, &after);
    let umask = lines(&before, &after, &["umask"]);
    let changes_programs = !limits.is_empty() || !umask.is_empty() || !late.is_empty();
    let (functions, variables) = (functions(&before, &after), variables(dialect, (&before, &after), policy));
    let aliases = aliases(&before, &after);
    let early = [options.join("\n"), umask.join("\n"), limits.join("\n")].join("\n");
    // Aliases come after the functions, which they could change or make unreadable.
    let names = [aliases.join("\n"), expands.join("\n")].join("\n");
    let (middle, remark) = fitting(&functions, &variables, early.len() + names.len());
    if [&early, &middle, &names, &late].iter().all(|part| part.trim().is_empty()) {
        return (ShellState::default(), remark);
    }
    let script = format!("{early}\n{middle}\n{names}\nwindlass_options={}\n", quoted(&late));
    let definitions = format!("{functions}\n{}", aliases.join("\n"));
    (ShellState { script, definitions, changes_programs }, remark)
}

/// Functions and variables as far as there is room for them.
fn fitting(functions: &str, variables: &str, others: usize) -> (String, Option<String>) {
    if functions.len() + variables.len() + others <= MOST_BYTES {
        return (format!("{functions}\n{variables}"), None);
    }
    let (kept, left_out) = match variables.len() + others <= MOST_BYTES {
        true => (variables, "functions"),
        false => ("", "functions and variables that are not exported"),
    };
    let remark = format!(
        "commands do not get the {left_out} of the shell's start-up files: they are longer than {} KiB",
        MOST_BYTES / 1024
    );
    (kept.to_owned(), Some(remark))
}

impl<'a> Account<'a> {
    fn read(printed: &'a str) -> Self {
        let mut fields = printed.split('\0');
        let mut entries = Vec::new();
        while let (Some(kind), Some(name), Some(value), Some(text)) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        {
            entries.push(Entry { kind, name, value, text: text.trim_end_matches('\n') });
        }
        Self { entries }
    }

    fn of(&self, kind: &'static str) -> impl Iterator<Item = &Entry<'a>> {
        self.entries.iter().filter(move |entry| entry.kind == kind)
    }
}

/// Lines of these kinds that are only in the second account.
fn lines<'a>(before: &Account<'a>, after: &Account<'a>, kinds: &[&'static str]) -> Vec<&'a str> {
    let all = |account: &Account<'a>| -> Vec<&'a str> {
        let entries = kinds.iter().flat_map(|kind| account.of(kind));
        entries.flat_map(|entry| entry.text.lines()).collect()
    };
    let known = all(before);
    let is_left_out = |line: &str| NOT_RESTORED.contains(&line.rsplit(' ').next().unwrap_or(line));
    all(after).into_iter().filter(|line| !known.contains(line) && !is_left_out(line)).collect()
}

/// The soft limit goes first, so that the hard one can be lowered to it, and again, in case the hard one had to be raised before.
fn limits(before: &Account<'_>, after: &Account<'_>) -> Vec<String> {
    let is_new = |entry: &&Entry<'_>| !before.of("limit").any(|known| known == *entry);
    let restored = after.of("limit").filter(is_new).filter_map(|entry| {
        let (soft, hard) = entry.text.split_once('\n')?;
        let set = |kind: &str, value: &str| format!("ulimit -{kind} -{} {value}", entry.name);
        let (soft, hard) = (set("S", soft), set("H", hard));
        Some(format!("{{ {soft}; {hard}; {soft}; }} 2>/dev/null"))
    });
    restored.collect()
}

fn functions(before: &Account<'_>, after: &Account<'_>) -> String {
    let text = |account: &Account<'_>| account.of("functions").map(|entry| entry.text.to_owned()).next();
    text(after).filter(|now| text(before).as_ref() != Some(now)).unwrap_or_default()
}

fn aliases(before: &Account<'_>, after: &Account<'_>) -> Vec<String> {
    let is_new = |entry: &&Entry<'_>| !before.of("alias").any(|known| known == *entry);
    let named = after.of("alias").filter(is_new);
    let mut aliases: Vec<String> =
        named.map(|entry| format!("alias -- {}={}", entry.name, quoted(entry.value))).collect();
    aliases.extend(lines(before, after, &["aliases"]).into_iter().map(str::to_owned));
    aliases
}

/// Variables that the environment does not set: a caller's `env` wins.
fn variables(
    dialect: Dialect,
    (before, after): (&Account<'_>, &Account<'_>),
    policy: &EnvironmentPolicy,
) -> String {
    let mut text = String::new();
    for entry in after.of("variable").filter(|entry| !entry.text.is_empty()) {
        let name = entry.name;
        let is_its_own = ITS_OWN.contains(&name) || name.starts_with("windlass_");
        let known = before.of("variable").find(|known| known.name == name);
        let is_exported =
            entry.text.split(' ').nth(1).is_some_and(|flags| flags.starts_with('-') && flags.contains('x'));
        if is_its_own || is_exported || is_secret(entry, policy) {
            continue;
        }
        match (known, dialect) {
            (Some(known), _) if CHANGED.contains(&name) && known.text != entry.text => {
                text.push_str(entry.text);
            }
            (Some(_), _) => continue,
            (None, Dialect::Zsh) => text += &format!("(( ${{+{name}}} )) || {}", entry.text),
            (None, _) => text += &format!("[[ -v {name} ]] || {}", entry.text),
        }
        text.push('\n');
    }
    text
}

fn is_secret(entry: &Entry<'_>, policy: &EnvironmentPolicy) -> bool {
    let variable = (OsString::from(entry.name), OsString::from(entry.value));
    !policy.withhold(&[variable]).1.is_empty()
}

/// A text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
