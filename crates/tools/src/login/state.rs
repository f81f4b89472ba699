//! The state that start-up files leave in a shell beside its environment: umask, limits, options, functions, variables
//! that are not exported, aliases.
//!
//! The same script asks a shell that has read no start-up files and one that has logged in. The differences are turned
//! into a script that commands run first. So a login that changes nothing costs commands nothing, and a default of this
//! shell's version is never set.

use std::ffi::OsString;

use crate::environment::EnvironmentPolicy;
use crate::shell::ShellDialect;

/// A longer script would make every command slower to start.
const MOST_BYTES: usize = 64 * 1024;
/// Options under which reading the command's script would itself be traced or ended, or everything restored would be
/// exported. They are set right before the script.
const DEFERRED: [&str; 6] = ["allexport", "errexit", "errreturn", "nounset", "verbose", "xtrace"];
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
    /// Restores the state. It always sets `windlass_options`, the options to be set right before the command's script:
    /// a caller could set that variable, too.
    pub(crate) script: String,
    /// Definitions of functions and aliases, in which a command's name is looked up.
    pub(crate) definitions: String,
    /// Whether programs run differently, also those that need no shell.
    pub(crate) changes_programs: bool,
    /// Whether the shell traces the commands that it runs.
    pub(crate) traces: bool,
    /// Whether the shell replaces aliases in a script.
    pub(crate) expands_aliases: bool,
}

/// A shell's description of its own state.
#[derive(Debug, Default)]
struct Account<'a> {
    entries: Vec<StateEntry<'a>>,
}

#[derive(Debug, PartialEq, Eq)]
struct StateEntry<'a> {
    kind: &'a str,
    name: &'a str,
    value: &'a str,
    text: &'a str,
}

/// The scripts that a shell runs to describe itself. Each prints entries of four fields, each ended by NUL; nothing is
/// traced into them, and options that would end the shell half-way are off once they are printed.
///
/// Every builtin that prints is a write that wakes the runtime, and every `$(...)` or pipeline a fork, so they print
/// many facts at once and use expansions where a shell has one.
pub(super) struct Questions {
    /// Puts the names of the variables into `windlass_known`.
    pub(super) names: String,
    /// Writes `windlass_known` as a line of the login shell's script.
    pub(super) handover: &'static str,
    /// Prints everything but variables.
    pub(super) state: &'static str,
    /// Prints the variables that are not in `windlass_known` and not exported.
    pub(super) variables: String,
    /// Prints the environment that a program would get.
    pub(super) environment: &'static str,
}

impl Questions {
    pub(super) fn of(dialect: ShellDialect) -> Self {
        match dialect {
            ShellDialect::Bash => Self {
                names: format!(
                    "windlass_known=({}); windlass_known=\" ${{windlass_known[*]}} \"",
                    bash_names()
                ),
                handover: "windlass_known='$windlass_known'",
                state: BASH,
                variables: BASH_VARIABLES.replace("NAMES", &bash_names()),
                environment: BASH_ENVIRONMENT,
            },
            ShellDialect::Zsh => Self {
                names: "windlass_known=(${(k)parameters})".to_owned(),
                handover: "windlass_known=(${(j: :)${(@qq)windlass_known}})",
                state: ZSH,
                variables: ZSH_VARIABLES.to_owned(),
                environment: ZSH_ENVIRONMENT,
            },
            ShellDialect::Posix => Self {
                names: ":".to_owned(),
                handover: ":",
                state: ":",
                variables: ":".to_owned(),
                environment: "cat /proc/self/environ",
            },
        }
    }
}

/// The names of all variables: bash has no expansion for them but by prefix, and `compgen -v` needs a fork and a read
/// for each byte.
fn bash_names() -> String {
    let prefixes = std::iter::once('_').chain('a'..='z').chain('A'..='Z');
    prefixes.map(|first| format!("\"${{!{first}@}}\"")).collect::<Vec<_>>().join(" ")
}

const BASH: &str = r#"printf 'options\0\0%s\0%s\0' "$SHELLOPTS" "$BASHOPTS"; { set +aefuvx; shopt -u nocasematch; } 2>/dev/null
mapfile -t windlass_at </proc/self/limits; printf 'limits\0\0'; printf '%s;' "${windlass_at[@]}"
printf '\0\0umask\0\0\0'; umask; printf '\0functions\0\0\0'; declare -f
windlass_at=(''); for windlass_it in "${!BASH_ALIASES[@]}"; do
windlass_at+=(alias "$windlass_it" "${BASH_ALIASES[$windlass_it]}" ''); done; printf '%s\0' "${windlass_at[@]}"
printf 'variable\0IFS\0\0'; declare -p IFS; printf '\0variable\0PS4\0\0'; declare -p PS4; printf '\0'"#;

/// Collects the exported variables on the way: arrays are never in an environment.
const BASH_VARIABLES: &str = r#"windlass_environment=(); for windlass_it in NAMES; do
eval "windlass_at=\${$windlass_it@a}"; case $windlass_at in *[aA]*) ;;
*x*) windlass_environment+=("$windlass_it=${!windlass_it}"); continue;; esac
case $windlass_known in *" $windlass_it "*) continue;; esac; windlass_at="$windlass_it[*]"
printf 'variable\0%s\0%s\0' "$windlass_it" "${!windlass_at}"; declare -p "$windlass_it" 2>/dev/null; printf '\0'; done"#;

/// If there are functions, another program must print the environment, since bash cannot print a function as it exports
/// it. Variables whose names bash cannot use are passed on as they came.
const BASH_ENVIRONMENT: &str = r#"if compgen -A function >/dev/null; then cat /proc/self/environ; else
mapfile -d '' -t windlass_at </proc/self/environ; for windlass_it in "${windlass_at[@]}"; do case ${windlass_it%%=*} in
BASH_FUNC_*) ;; ''|[0-9]*|*[!a-zA-Z0-9_]*) windlass_environment+=("$windlass_it");; esac; done
printf '%s\0' "${windlass_environment[@]}"; fi"#;

const ZSH: &str = r#"printf 'options\0\0%s\0\0' "${(kvj: :)options}"; { emulate -R zsh; } 2>/dev/null
printf 'limits\0\0%s\0\0umask\0\0\0' "$(</proc/self/limits)"; umask; printf '\0functions\0\0\0'; typeset -f
printf '\0aliases\0\0\0'; alias -L; printf '\0variable\0IFS\0\0IFS=%s\0variable\0PS4\0\0PS4=%s\0' "${(qqqq)IFS}" "${(qqqq)PS4}"
printf 'variable\0fpath\0\0fpath=( %s )\0' "${(j: :)${(@qqqq)fpath}}""#;

const ZSH_VARIABLES: &str = r#"for windlass_it in ${${(k)parameters}:|windlass_known}; do
case ${parameters[$windlass_it]} in (*export*|*special*|*hide*) continue;; esac
printf 'variable\0%s\0%s\0' "$windlass_it" "${(P)windlass_it}"; typeset -p "$windlass_it"; printf '\0'; done"#;

const ZSH_ENVIRONMENT: &str = r#"windlass_at=(); for windlass_it in ${(k)parameters[(R)*export*]}; do
case ${parameters[$windlass_it]} in (array*|association*) ;; (*) windlass_at+=("$windlass_it=${(P)windlass_it}");; esac; done
for windlass_it in ${(0)"$(</proc/self/environ)"}; do case ${windlass_it%%=*} in
(''|[0-9]*|*[^a-zA-Z0-9_]*) windlass_at+=("$windlass_it");; esac; done; printf '%s\0' "${windlass_at[@]}""#;

/// The difference between a shell that has logged in and one that has not, and a remark if it is not all restored.
pub(super) fn difference(
    dialect: ShellDialect,
    (before, after): (&[u8], &[u8]),
    policy: &EnvironmentPolicy,
) -> (ShellState, Option<String>) {
    let (Ok(before), Ok(after)) = (std::str::from_utf8(before), std::str::from_utf8(after)) else {
        let remark = "the start-up files leave a shell state that is not UTF-8: only exported variables of it are used";
        return (ShellState::default(), Some(remark.to_owned()));
    };
    let (before, after) = (Account::read(before), Account::read(after));
    let mut options = options(dialect, &before, &after);
    let deferred = |line: &&String| DEFERRED.iter().any(|name| line.ends_with(name));
    let late: String = options.iter().filter(|line| deferred(line)).map(|line| format!("{line}; ")).collect();
    options.retain(|line| !deferred(&line));
    let (expands, options): (Vec<String>, _) =
        options.into_iter().partition(|line| line.ends_with("expand_aliases"));
    let limits = limits(dialect, &before, &after);
    let umask: Vec<String> =
        lines(&before, &after, "umask").into_iter().map(|mask| format!("umask {mask}")).collect();
    let changes_programs = !limits.is_empty() || !umask.is_empty() || !late.is_empty();
    let (functions, variables) = (functions(&before, &after), variables(dialect, (&before, &after), policy));
    let aliases = aliases(&before, &after);
    // The option `posix` changes the unit of some limits.
    let early = [umask.join("\n"), limits.join("\n"), options.join("\n")].join("\n");
    // Aliases come after the functions, which they could change or make unreadable.
    let names = [aliases.join("\n"), expands.join("\n")].join("\n");
    let (middle, remark) = fitting(&functions, &variables, early.len() + names.len());
    if [&early, &middle, &names, &late].iter().all(|part| part.trim().is_empty()) {
        return (ShellState::default(), remark);
    }
    let script = format!("{early}\n{middle}\n{names}\nwindlass_options={}\n", quoted(&late));
    let definitions = format!("{functions}\n{}", aliases.join("\n"));
    let (traces, expands_aliases) = (late.contains("set -o xtrace"), !expands.is_empty());
    (ShellState { script, definitions, changes_programs, traces, expands_aliases }, remark)
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
            entries.push(StateEntry { kind, name, value, text: text.trim_end_matches('\n') });
        }
        Self { entries }
    }

    fn of(&self, kind: &'static str) -> impl Iterator<Item = &StateEntry<'a>> {
        self.entries.iter().filter(move |entry| entry.kind == kind)
    }
}

/// Lines of this kind that are only in the second account.
fn lines<'a>(before: &Account<'a>, after: &Account<'a>, kind: &'static str) -> Vec<&'a str> {
    let all =
        |account: &Account<'a>| -> Vec<&'a str> { account.of(kind).flat_map(|it| it.text.lines()).collect() };
    let known = all(before);
    all(after).into_iter().filter(|line| !known.contains(line)).collect()
}

/// Commands that set the options which the login changed.
fn options(dialect: ShellDialect, before: &Account<'_>, after: &Account<'_>) -> Vec<String> {
    let all = |account: &Account<'_>| -> Vec<(String, String)> {
        account.of("options").flat_map(|entry| switches(dialect, entry)).collect()
    };
    let (before, after) = (all(before), all(after));
    let is_left_out = |name: &str| NOT_RESTORED.contains(&name);
    let only_in = |these: &[(String, String)], those: &[(String, String)], command: fn(&str) -> &str| {
        let only = these.iter().filter(|it| !those.contains(it) && !is_left_out(&it.1));
        only.map(|(turns_on, name)| format!("{} {name}", command(turns_on))).collect::<Vec<_>>()
    };
    let mut changed = only_in(&before, &after, turning_off);
    changed.extend(only_in(&after, &before, |turns_on| turns_on));
    changed
}

/// The options that are on, each with the command that turns it on.
fn switches(dialect: ShellDialect, entry: &StateEntry<'_>) -> Vec<(String, String)> {
    let with = |command: &str, name: &str| (command.to_owned(), name.to_owned());
    let listed = |names: &str, command: &str| -> Vec<_> {
        names.split(':').filter(|name| !name.is_empty()).map(|name| with(command, name)).collect()
    };
    match dialect {
        ShellDialect::Zsh => {
            let words: Vec<&str> = entry.value.split(' ').collect();
            let on = words.chunks_exact(2).filter(|pair| pair[1] == "on");
            on.map(|pair| with("setopt", pair[0])).collect()
        }
        _ => [listed(entry.value, "set -o"), listed(entry.text, "shopt -s")].concat(),
    }
}

fn turning_off(turns_on: &str) -> &str {
    match turns_on {
        "set -o" => "set +o",
        "shopt -s" => "shopt -u",
        _ => "unsetopt",
    }
}

/// A limit as the kernel names it, the option of `ulimit`, and the bytes in one unit of that in bash and in zsh.
const LIMITS: [(&str, &str, u64, u64); 16] = [
    ("Max cpu time", "t", 1, 1),
    ("Max file size", "f", 1024, 512),
    ("Max data size", "d", 1024, 1024),
    ("Max stack size", "s", 1024, 1024),
    ("Max core file size", "c", 1024, 512),
    ("Max resident set", "m", 1024, 1024),
    ("Max processes", "u", 1, 1),
    ("Max open files", "n", 1, 1),
    ("Max locked memory", "l", 1024, 1024),
    ("Max address space", "v", 1024, 1024),
    ("Max file locks", "x", 1, 1),
    ("Max pending signals", "i", 1, 1),
    ("Max msgqueue size", "q", 1, 1),
    ("Max nice priority", "e", 1, 1),
    ("Max realtime priority", "r", 1, 1),
    ("Max realtime timeout", "R", 1, 1),
];

/// The soft limit goes first, so that the hard one can be lowered to it, and again, in case the hard one had to be
/// raised before.
fn limits(dialect: ShellDialect, before: &Account<'_>, after: &Account<'_>) -> Vec<String> {
    let rows = |account: &Account<'_>| -> Vec<String> {
        let tables = account.of("limits");
        tables.flat_map(|it| it.value.split(['\n', ';']).map(str::to_owned)).collect()
    };
    let known = rows(before);
    let is_new = |row: &&String| !known.contains(row);
    rows(after).iter().filter(is_new).filter_map(|row| limit(dialect, row)).collect()
}

/// The command that sets a limit to the values of a row of `/proc/self/limits`.
fn limit(dialect: ShellDialect, row: &str) -> Option<String> {
    let (name, option, bash, zsh) = LIMITS.iter().find(|(name, ..)| row.starts_with(name))?;
    let unit = if dialect == ShellDialect::Zsh { zsh } else { bash };
    let mut values = row[name.len()..].split_whitespace().map(|value| match value.parse::<u64>() {
        Ok(number) => (number / unit).to_string(),
        Err(_) => value.to_owned(),
    });
    let (soft, hard) = (values.next()?, values.next()?);
    let set = |kind: &str, value: &str| format!("ulimit -{kind} -{option} {value}");
    let (soft, hard) = (set("S", &soft), set("H", &hard));
    Some(format!("{{ {soft}; {hard}; {soft}; }} 2>/dev/null"))
}

fn functions(before: &Account<'_>, after: &Account<'_>) -> String {
    let text = |account: &Account<'_>| account.of("functions").map(|entry| entry.text.to_owned()).next();
    text(after).filter(|now| text(before).as_ref() != Some(now)).unwrap_or_default()
}

fn aliases(before: &Account<'_>, after: &Account<'_>) -> Vec<String> {
    let is_new = |entry: &&StateEntry<'_>| !before.of("alias").any(|known| known == *entry);
    let named = after.of("alias").filter(is_new);
    let mut aliases: Vec<String> =
        named.map(|entry| format!("alias -- {}={}", entry.name, quoted(entry.value))).collect();
    aliases.extend(lines(before, after, "aliases").into_iter().map(str::to_owned));
    aliases
}

/// Variables that the environment does not set: a caller's `env` wins.
fn variables(
    dialect: ShellDialect,
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
            (None, ShellDialect::Zsh) => text += &format!("(( ${{+{name}}} )) || {}", entry.text),
            (None, _) => text += &format!("[[ -v {name} ]] || {}", entry.text),
        }
        text.push('\n');
    }
    text
}

fn is_secret(entry: &StateEntry<'_>, policy: &EnvironmentPolicy) -> bool {
    let variable = (OsString::from(entry.name), OsString::from(entry.value));
    !policy.withhold(&[variable]).1.is_empty()
}

/// A text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
