//! Variables that make programs run other programs, or other programs than their names say.

use crate::word::Word;

/// What setting a variable means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Its value is a command that some program runs.
    Command,
    /// It changes which code programs load or run.
    Code,
    /// The shell evaluates what is assigned to it as a number.
    Integer,
}

/// Variables whose value is a command.
const COMMANDS: &[&str] = &[
    "BAT_PAGER",
    "BROWSER",
    "CMAKE_CXX_COMPILER_LAUNCHER",
    "CMAKE_C_COMPILER_LAUNCHER",
    "CVS_RSH",
    "DELTA_PAGER",
    "DIFFPROG",
    "EDITOR",
    "FCEDIT",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "HGEDITOR",
    "LESSCLOSE",
    "LESSEDIT",
    "LESSOPEN",
    "MANPAGER",
    "MANROFFOPT",
    "NULLCMD",
    "PAGER",
    "PERLDOC_PAGER",
    "PROMPT_COMMAND",
    "READNULLCMD",
    "RSYNC_RSH",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "SUDO_EDITOR",
    "SVN_EDITOR",
    "SVN_SSH",
    "SYSTEMD_EDITOR",
    "SYSTEMD_PAGER",
    "VISUAL",
];

/// Variables that decide which code is run.
const CODE: &[&str] = &[
    "AWKLIBPATH",
    "AWKPATH",
    "BASHOPTS",
    "BASH_ALIASES",
    "BASH_CMDS",
    "BASH_ENV",
    "BASH_LOADABLES_PATH",
    "BASH_XTRACEFD",
    "BUNDLE_GEMFILE",
    "CARGO_BUILD_RUSTC",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "CARGO_ENCODED_RUSTFLAGS",
    "CLASSPATH",
    "COMPILER_PATH",
    "CURL_HOME",
    "DOTNET_STARTUP_HOOKS",
    "EMACSLOADPATH",
    "ENV",
    "ERL_FLAGS",
    "ERL_LIBS",
    "EXECIGNORE",
    "EXINIT",
    "FPATH",
    "GCC_EXEC_PREFIX",
    "GCONV_PATH",
    "GEM_HOME",
    "GEM_PATH",
    "GIT_ALLOW_PROTOCOL",
    "GIT_DIR",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "GNUMAKEFLAGS",
    "GOFLAGS",
    "HOME",
    "IFS",
    "INPUTRC",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LESSKEY",
    "LESSKEYIN",
    "LUA_CPATH",
    "LUA_INIT",
    "LUA_PATH",
    "MAILPATH",
    "MAKEFILES",
    "MAKEFLAGS",
    "MYVIMRC",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NVIM_APPNAME",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "PATH",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PIP_CONFIG_FILE",
    "PROMPT",
    "PROMPT2",
    "PROMPT3",
    "PROMPT4",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "PYTHONBREAKPOINT",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "RPROMPT",
    "RPS1",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC",
    "RUSTDOC",
    "RUSTFLAGS",
    "R_PROFILE",
    "R_PROFILE_USER",
    "SHELL",
    "SHELLOPTS",
    "SPROMPT",
    "SSH_SK_PROVIDER",
    "TAR_OPTIONS",
    "TCLLIBPATH",
    "VIM",
    "VIMINIT",
    "VIMRUNTIME",
    "WGETRC",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
    "fpath",
    "path",
];

/// Variables that shells keep as integers: what is assigned to them is evaluated.
const INTEGERS: &[&str] = &[
    "BASHPID",
    "BAUD",
    "COLUMNS",
    "DIRSTACKSIZE",
    "EGID",
    "EPOCHSECONDS",
    "ERRNO",
    "EUID",
    "FUNCNEST",
    "GID",
    "HISTCMD",
    "HISTSIZE",
    "KEYTIMEOUT",
    "LINENO",
    "LINES",
    "LISTMAX",
    "LOGCHECK",
    "MAILCHECK",
    "OPTIND",
    "PERIOD",
    "PPID",
    "RANDOM",
    "SAVEHIST",
    "SECONDS",
    "SHLVL",
    "SRANDOM",
    "TMOUT",
    "TTYIDLE",
    "UID",
];

/// Families of them.
const PREFIXES: &[&str] =
    &["BASH_FUNC_", "GIT_CONFIG", "LD_", "DYLD_", "npm_config_", "NPM_CONFIG_", "CARGO_TARGET_"];

/// Values that every program of a kind may be without doing anything: a pager that only prints, an editor that keeps.
const HARMLESS: &[&str] = &["", "cat", "true", "false", ":", "/bin/true", "/bin/false", "/bin/cat"];

/// Arrays of zsh that hold what commands mean. Elsewhere these are names like others.
const ZSH: &[&str] = &[
    "aliases",
    "commands",
    "dis_aliases",
    "dis_functions",
    "dis_galiases",
    "dis_saliases",
    "functions",
    "galiases",
    "options",
    "saliases",
];

/// The same for a variable of zsh.
pub(crate) fn effect_in_zsh(name: &str) -> Option<Effect> {
    let array = name.split('[').next().unwrap_or_default();
    effect(name).or_else(|| ZSH.contains(&array).then_some(Effect::Code))
}

/// What setting this variable, or an element of it, means; `None` if it runs nothing.
pub(crate) fn effect(name: &str) -> Option<Effect> {
    let name = name.split('[').next().unwrap_or_default();
    if COMMANDS.contains(&name) {
        return Some(Effect::Command);
    }
    if INTEGERS.contains(&name) {
        return Some(Effect::Integer);
    }
    let runs_code = CODE.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    runs_code.then_some(Effect::Code)
}

/// Whether a variable makes programs write to the file that it names.
pub(crate) fn names_output(name: &str) -> bool {
    name.starts_with("GIT_TRACE") || name == "SSLKEYLOGFILE"
}

/// Whether a value only switches something on or off.
pub(crate) fn is_switch(value: &str) -> bool {
    matches!(value, "" | "0" | "1" | "2" | "true" | "false")
}

/// Whether a prompt is plain text: only what it substitutes could run.
pub(crate) fn is_plain_prompt(name: &str, value: &Word) -> bool {
    matches!(name, "PS1" | "PS2" | "PS3" | "PS4")
        && value.text().is_some_and(|value| !value.contains(['$', '`']))
}

/// Whether setting this variable makes programs run others, or other code than their names say.
pub fn changes_what_runs(name: &str) -> bool {
    matches!(effect(name), Some(Effect::Command | Effect::Code))
}

/// Whether a command in a variable does nothing.
pub(crate) fn is_harmless(value: &Word) -> bool {
    value.text().is_some_and(|value| HARMLESS.contains(&value))
}
