//! Variables that make programs run other programs, or other programs than their names say.

use crate::word::Word;

/// What setting a variable means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Its value is a command that some program runs.
    Command,
    /// It changes which code programs load or run.
    Code,
}

/// Variables whose value is a command.
const COMMANDS: &[&str] = &[
    "BROWSER",
    "CVS_RSH",
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
    "LESSOPEN",
    "MANPAGER",
    "PAGER",
    "PROMPT_COMMAND",
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
    "BASHOPTS",
    "BASH_ENV",
    "BASH_LOADABLES_PATH",
    "BASH_XTRACEFD",
    "CLASSPATH",
    "ENV",
    "EXINIT",
    "FPATH",
    "GCONV_PATH",
    "GIT_DIR",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LESSKEY",
    "LESSKEYIN",
    "MAKEFILES",
    "MAKEFLAGS",
    "GNUMAKEFLAGS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NVIM_APPNAME",
    "PATH",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "PHPRC",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONBREAKPOINT",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC",
    "RUSTFLAGS",
    "SHELL",
    "SHELLOPTS",
    "TAR_OPTIONS",
    "VIMINIT",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
    "path",
    "fpath",
];

/// Families of them.
const PREFIXES: &[&str] =
    &["BASH_FUNC_", "GIT_CONFIG", "LD_", "DYLD_", "npm_config_", "NPM_CONFIG_", "CARGO_TARGET_"];

/// Values that every program of a kind may be without doing anything: a pager that only prints, an editor that keeps.
const HARMLESS: &[&str] = &["", "cat", "true", "false", ":", "/bin/true", "/bin/false", "/bin/cat"];

/// What setting this variable means; `None` if it runs nothing.
pub(crate) fn effect(name: &str) -> Option<Effect> {
    if COMMANDS.contains(&name) {
        return Some(Effect::Command);
    }
    let runs_code = CODE.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    runs_code.then_some(Effect::Code)
}

/// Whether a command in a variable does nothing.
pub(crate) fn is_harmless(value: &Word) -> bool {
    value.text().is_some_and(|value| HARMLESS.contains(&value))
}
