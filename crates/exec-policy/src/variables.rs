//! Variables that make programs run other programs, or other programs than their names say.

use crate::word::Word;
use crate::wrapper::flags_run_program;

/// The effect of setting a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Its value is a command that some program runs.
    Command,
    /// It changes which code programs load or run.
    Code,
    /// The shell evaluates what is assigned to it as a number.
    Integer,
}

/// Variables that name a compiler or another tool of builds.
const BUILD_TOOLS: &[&str] =
    &["AR", "AS", "CC", "CPP", "CXX", "FC", "LD", "LINKER", "NM", "OBJCOPY", "RANLIB", "STRIP"];

/// Programs that they usually name.
const USUAL_TOOLS: &[&str] = &[
    "ar", "as", "c++", "cc", "clang", "clang++", "cpp", "g++", "gcc", "gfortran", "ld", "lld", "llvm-ar",
    "mold", "nm", "objcopy", "ranlib", "strip", "tcc",
];

/// Variables whose value is a command.
const COMMANDS: &[&str] = &[
    "ACK_PAGER",
    "BAT_PAGER",
    "BROWSER",
    "CCACHE_PREFIX",
    "CMAKE_CXX_COMPILER_LAUNCHER",
    "CMAKE_C_COMPILER_LAUNCHER",
    "CVS_RSH",
    "DELTA_PAGER",
    "DIFFPROG",
    "EDITOR",
    "FCEDIT",
    "FZF_DEFAULT_COMMAND",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "HGEDITOR",
    "JAVACMD",
    "LESSCLOSE",
    "LESSEDIT",
    "LESSOPEN",
    "MANPAGER",
    "MANROFFOPT",
    "NULLCMD",
    "PAGER",
    "PERLDOC_PAGER",
    "PKG_CONFIG",
    "PROMPT_COMMAND",
    "PSQL_EDITOR",
    "PSQL_PAGER",
    "READNULLCMD",
    "RSYNC_CONNECT_PROG",
    "RSYNC_RSH",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTFMT",
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
    "ACKRC",
    "ACK_OPTIONS",
    "ANSIBLE_CONFIG",
    "ANT_ARGS",
    "ANT_OPTS",
    "ASAN_SYMBOLIZER_PATH",
    "AWKLIBPATH",
    "AWKPATH",
    "AWS_CONFIG_FILE",
    "BASHOPTS",
    "BASH_ALIASES",
    "BASH_CMDS",
    "BASH_ENV",
    "BASH_LOADABLES_PATH",
    "BASH_XTRACEFD",
    "BAT_CONFIG_DIR",
    "BAT_CONFIG_PATH",
    "BAT_OPTS",
    "BC_ENV_ARGS",
    "BUNDLE_GEMFILE",
    "CCACHE_COMPILER",
    "CCACHE_CONFIGPATH",
    "CLASSPATH",
    "CMAKE_TOOLCHAIN_FILE",
    "COMPILER_PATH",
    "COVERAGE_PROCESS_START",
    "CTAGS",
    "CURL_HOME",
    "DOCKER_CONFIG",
    "DOCKER_HOST",
    "DOTNET_STARTUP_HOOKS",
    "EMACSLOADPATH",
    "ENV",
    "ERL_FLAGS",
    "ERL_LIBS",
    "EXECIGNORE",
    "EXINIT",
    "FPATH",
    "FZF_DEFAULT_OPTS",
    "FZF_DEFAULT_OPTS_FILE",
    "GCC_EXEC_PREFIX",
    "GCONV_PATH",
    "GEM_HOME",
    "GEM_PATH",
    "GH_CONFIG_DIR",
    "GIT_ALLOW_PROTOCOL",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "GNUMAKEFLAGS",
    "GNUPGHOME",
    "GOENV",
    "GOFLAGS",
    "GOROOT",
    "GOTOOLCHAIN",
    "GRADLE_OPTS",
    "GREP_OPTIONS",
    "GROFF_COMMAND_PREFIX",
    "GVIMINIT",
    "HOME",
    "IFS",
    "INPUTRC",
    "JAVA_HOME",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "KUBECONFIG",
    "LESSKEY",
    "LESSKEYIN",
    "LFTP_HOME",
    "LUA_CPATH",
    "LUA_INIT",
    "LUA_PATH",
    "MAGIC",
    "MAILPATH",
    "MAKEFILES",
    "MAKEFLAGS",
    "MANOPT",
    "MAVEN_ARGS",
    "MAVEN_OPTS",
    "MFLAGS",
    "MYSQL_HOME",
    "MYVIMRC",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REPL_EXTERNAL_MODULE",
    "NVIM_APPNAME",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "PARALLEL",
    "PARALLEL_HOME",
    "PATH",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PIP_CONFIG_FILE",
    "PKG_CONFIG_LIBDIR",
    "PKG_CONFIG_PATH",
    "POSIXLY_CORRECT",
    "PROMPT",
    "PROMPT2",
    "PROMPT3",
    "PROMPT4",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "PSQLRC",
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "PYTHONBREAKPOINT",
    "PYTHONEXECUTABLE",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "PYTHONPLATLIBDIR",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "PYTHONWARNINGS",
    "PYTHON_PRESITE",
    "REDISCLI_RCFILE",
    "RIPGREP_CONFIG_PATH",
    "RPROMPT",
    "RPS1",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC",
    "RUSTDOC",
    "RUSTDOCFLAGS",
    "RUSTFLAGS",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "R_PROFILE",
    "R_PROFILE_USER",
    "SBT_OPTS",
    "SCREENRC",
    "SHELL",
    "SHELLOPTS",
    "SPROMPT",
    "SSH_SK_PROVIDER",
    "SYSTEM_WGETRC",
    "TAR_OPTIONS",
    "TCLLIBPATH",
    "TEXTDOMAIN",
    "TEXTDOMAINDIR",
    "TF_CLI_CONFIG_FILE",
    "UV_CONFIG_FILE",
    "UV_PYTHON",
    "VIM",
    "VIMINIT",
    "VIMRUNTIME",
    "WGETRC",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "ZDOTDIR",
    "ZIPOPT",
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
    &["BASH_FUNC_", "CARGO_", "DYLD_", "GIT_CONFIG", "LD_", "PIP_", "TF_CLI_ARGS", "YARN_", "npm_"];

/// Members of these families that choose neither code nor a program.
const HARMLESS_MEMBERS: &[&str] = &[
    "CARGO_BUILD_JOBS",
    "CARGO_INCREMENTAL",
    "CARGO_NET_OFFLINE",
    "CARGO_NET_RETRY",
    "CARGO_PROFILE_",
    "CARGO_TERM_",
    "PIP_DISABLE_PIP_VERSION_CHECK",
    "PIP_NO_CACHE_DIR",
    "PIP_NO_INPUT",
    "PIP_PROGRESS_BAR",
    "PIP_QUIET",
];

/// Variables with flags for compilers. Some flags name a program.
const COMPILER_FLAGS: &[&str] =
    &["CFLAGS", "CPPFLAGS", "CXXFLAGS", "FFLAGS", "LDFLAGS", "CGO_CFLAGS", "CGO_LDFLAGS"];

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

/// The effect of setting this variable, or an element of it; `None` if it runs nothing.
pub(crate) fn effect(name: &str) -> Option<Effect> {
    let name = name.split('[').next().unwrap_or_default();
    if COMMANDS.contains(&name) || BUILD_TOOLS.contains(&name) {
        return Some(Effect::Command);
    }
    if INTEGERS.contains(&name) {
        return Some(Effect::Integer);
    }
    if HARMLESS_MEMBERS.iter().any(|member| name.starts_with(member)) {
        return None;
    }
    // npm reads these in any case.
    let is_for_npm = name.get(..11).is_some_and(|start| start.eq_ignore_ascii_case("npm_config_"));
    let is_of_family = is_for_npm || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let runs_code = is_of_family || CODE.contains(&name) || COMPILER_FLAGS.contains(&name);
    runs_code.then_some(Effect::Code)
}

/// Variables that name a file which programs write.
const OUTPUTS: &[&str] = &[
    "COVERAGE_FILE",
    "GCOV_PREFIX",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_WORK_TREE",
    "HISTFILE",
    "LESSHISTFILE",
    "LLVM_PROFILE_FILE",
    "MALLOC_TRACE",
    "MYSQL_HISTFILE",
    "NODE_COMPILE_CACHE",
    "NODE_REDIRECT_WARNINGS",
    "NODE_REPL_HISTORY",
    "NODE_V8_COVERAGE",
    "PSQL_HISTORY",
    "PYTEST_DEBUG_TEMPROOT",
    "PYTHONDUMPREFSFILE",
    "PYTHONPYCACHEPREFIX",
    "PYTHON_HISTORY",
    "SQLITE_HISTORY",
    "SSLKEYLOGFILE",
];

/// Whether a variable makes programs write to the file that it names.
pub(crate) fn names_output(name: &str) -> bool {
    name.starts_with("GIT_TRACE") || OUTPUTS.contains(&name)
}

/// Whether a value only switches something on or off.
pub(crate) fn is_switch(value: &str) -> bool {
    matches!(value, "" | "0" | "1" | "2" | "true" | "false" | "-" | "/dev/null")
}

/// Whether setting this variable makes programs run others, or other code than their names say.
pub fn changes_what_runs(name: &str) -> bool {
    matches!(effect(name), Some(Effect::Command | Effect::Code))
}

/// Whether a command in a variable does nothing.
pub(crate) fn is_harmless(value: &Word) -> bool {
    value.text().is_some_and(|value| HARMLESS.contains(&value))
}

/// Whether a variable that can change what runs does not do so with this value.
pub(crate) fn is_usual_value(name: &str, value: &Word) -> bool {
    let is_version = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit() || b"-.".contains(&byte));
    let is_tool =
        |value: &str| USUAL_TOOLS.iter().any(|tool| value.strip_prefix(tool).is_some_and(is_version));
    value.text().is_some_and(|value| match name {
        // Only what a prompt substitutes could run.
        "PS1" | "PS2" | "PS3" | "PS4" => !value.contains(['$', '`']),
        // A name is one of the toolchains that are installed; a path may be anything.
        "GOTOOLCHAIN" | "RUSTUP_TOOLCHAIN" => !value.contains('/'),
        // Categories of warnings with a dot are imported.
        "PYTHONWARNINGS" => !value.contains('.'),
        _ if COMPILER_FLAGS.contains(&name) => !flags_run_program(value),
        _ => BUILD_TOOLS.contains(&name) && is_tool(value),
    })
}

/// Whether a variable holds options for less, of which some write files or read commands, and others than switches may
/// be among them.
pub(crate) fn opens_less(name: &str, value: &Word) -> bool {
    let is_plain = |value: &str| {
        value.split(' ').all(|option| {
            let letters = option.trim_start_matches('-');
            option.len() - letters.len() < 2
                && letters.bytes().all(|byte| b"aAceEfFgGiIJKLmMnNqQrRsSuUwWX".contains(&byte))
        })
    };
    matches!(name, "LESS" | "SYSTEMD_LESS") && !value.text().is_some_and(is_plain)
}
