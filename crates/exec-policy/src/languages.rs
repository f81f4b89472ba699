//! Small languages that stand in the arguments of tools: scripts of sed and awk, statements for databases, settings.
//! They are read just far enough to know whether they run a command or write a file.

mod awk;
mod sed;

/// The effect of a text in such a language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// It neither runs nor writes anything.
    Harmless,
    /// It writes a file.
    Writes,
    /// It names a file with code that is run.
    ReadsCode,
    /// Part of it is known only when it runs; what is known is harmless.
    Unclear,
    /// It runs a command; which one, if that is known.
    Runs(Option<String>),
}

/// The meaning of a text to a program. `option`: the first name of the option that takes the text; empty for an
/// operand.
pub(crate) fn meaning(program: &str, option: &str, text: &str) -> Meaning {
    match program {
        "sed" | "gsed" => sed::meaning(text),
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => awk::meaning(text),
        "tar" | "gtar" => checkpoint(text),
        "sqlite3" => sqlite(text),
        "psql" if matches!(option, "P" | "v") => psql_setting(text),
        "psql" => postgres(text),
        "mysql" | "mariadb" => mysql(text),
        "pandoc" => runs_if(text.contains(".lua") || text.contains('/')),
        "cmake" => cmake_variable(text),
        "go" => go_flags(text),
        "wget" => wget_setting(text),
        // `%output{file}` writes a file, and `@` reads the format from one.
        "curl" if text.contains("%output") || text.starts_with('@') => Meaning::Writes,
        "curl" => Meaning::Harmless,
        "apt" | "apt-get" | "apt-cache" => runs_if(!is_harmless_for_apt(text)),
        "scp" | "sftp" => ssh_setting(text),
        "dc" => runs_if(text.contains('!')),
        _ if option.starts_with("fuse-ld") => runs_if(text.contains('/')),
        // The rest of the table are linkers.
        _ => runs_if(text.contains("plugin")),
    }
}

/// Whether a setting of apt, as in `-o Dpkg::Use-Pty=0`, is known to run nothing. Many others name programs.
fn is_harmless_for_apt(text: &str) -> bool {
    const HARMLESS: [&str; 13] = [
        "acquire::check-valid-until=",
        "acquire::forceipv4=",
        "acquire::forceipv6=",
        "acquire::http::proxy=",
        "acquire::http::timeout=",
        "acquire::https::proxy=",
        "acquire::retries=",
        "apt::get::",
        "apt::install-recommends=",
        "apt::install-suggests=",
        "dpkg::lock::timeout=",
        "dpkg::options::=--force-conf",
        "dpkg::use-pty=",
    ];
    let text = text.to_ascii_lowercase();
    HARMLESS.iter().any(|known| text.starts_with(known))
}

/// A setting of wget, as in `-e robots=off`: each of its options is one, so only a few are known to be harmless.
fn wget_setting(text: &str) -> Meaning {
    const HARMLESS: [&str; 8] =
        ["robots", "tries", "timeout", "quiet", "verbose", "http_proxy", "https_proxy", "use_proxy"];
    let key = text.split('=').next().unwrap_or_default().trim().replace('-', "_").to_ascii_lowercase();
    match (HARMLESS.contains(&key.as_str()), key.contains("askpass")) {
        (true, _) => Meaning::Harmless,
        (false, true) => Meaning::Runs(None),
        (false, false) => Meaning::Writes,
    }
}

/// A setting of ssh, as in `-o ProxyCommand=…`. Its name may be quoted, and blanks of any kind may surround it.
pub(crate) fn ssh_setting(text: &str) -> Meaning {
    const RUNNING: [&str; 5] = ["pkcs11provider", "securitykeyprovider", "xauthlocation", "include", "match"];
    const WRITING: [&str; 3] = ["userknownhostsfile", "controlpath", "identityagent"];
    let text = text.trim_start();
    let is_end = |c: char| c == '=' || c == '"' || c.is_whitespace();
    let unquoted = text.strip_prefix('"').unwrap_or(text);
    let (key, value) = unquoted.split_once(is_end).unwrap_or((unquoted, ""));
    let key = key.to_ascii_lowercase();
    let value = value.trim_matches(is_end);
    if key.ends_with("command") || RUNNING.contains(&key.as_str()) {
        return Meaning::Runs(Some(value.to_owned()));
    }
    let writes = WRITING.contains(&key.as_str()) && !matches!(value, "/dev/null" | "none");
    if writes { Meaning::Writes } else { Meaning::Harmless }
}

fn runs_if(runs: bool) -> Meaning {
    if runs { Meaning::Runs(None) } else { Meaning::Harmless }
}

fn holds_any(text: &str, words: &[&str]) -> bool {
    let text = text.to_ascii_lowercase();
    words.iter().any(|word| text.contains(word))
}

/// `--checkpoint-action` of tar.
fn checkpoint(action: &str) -> Meaning {
    const HARMLESS: [&str; 7] = ["dot", ".", "echo", "bell", "totals", "sleep", "wait"];
    match action.split_once('=') {
        Some(("exec", script)) => Meaning::Runs(Some(script.to_owned())),
        _ if HARMLESS.iter().any(|known| action.starts_with(known)) || action.starts_with("ttyout") => {
            Meaning::Harmless
        }
        _ => Meaning::Runs(None),
    }
}

/// Lines that begin with a dot are commands of the shell of SQLite; some run programs, some write files.
fn sqlite(text: &str) -> Meaning {
    const HARMLESS: [&str; 26] = [
        "bail",
        "changes",
        "databases",
        "dbinfo",
        "dump",
        "echo",
        "eqp",
        "exit",
        "explain",
        "fullschema",
        "headers",
        "header",
        "help",
        "indexes",
        "indices",
        "mode",
        "nullvalue",
        "print",
        "quit",
        "schema",
        "separator",
        "show",
        "stats",
        "tables",
        "timeout",
        "width",
    ];
    let is_dotted = |line: &&str| line.trim_start().starts_with('.');
    let dotted = text.lines().filter(is_dotted).map(|line| line.trim_start().trim_start_matches('.'));
    let mut commands = dotted.map(|line| line.split_whitespace().next().unwrap_or_default());
    let runs = holds_any(text, &["load_extension", "edit", "fts3_tokenizer"])
        || commands.any(|name| !HARMLESS.contains(&name));
    let statements: String =
        text.lines().filter(|line| !is_dotted(line)).flat_map(|line| [line, "\n"]).collect();
    match (runs, reads_only(&statements)) {
        (true, _) => Meaning::Runs(None),
        (false, true) => Meaning::Harmless,
        (false, false) => Meaning::Writes,
    }
}

/// Whether statements of SQL only read a database. What changes it writes its file, and may name another one.
fn reads_only(statements: &str) -> bool {
    const READING: [&str; 5] = ["select", "explain", "values", "with", "pragma"];
    const CHANGING: [&str; 14] = [
        "attach",
        "insert",
        "update",
        "delete",
        "replace",
        "create",
        "drop",
        "alter",
        "vacuum",
        "reindex",
        "writefile",
        "detach",
        "zipfile",
        "begin",
    ];
    let text = statements.to_ascii_lowercase();
    let words = || text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    // A semicolon in a text only makes for more statements, which then begin with another word.
    let is_reading = |statement: &str| {
        let first = statement.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        first.is_empty() && statement.is_empty()
            || READING.contains(&first) && (first != "pragma" || is_query(statement))
    };
    text.split(';').map(str::trim).all(is_reading) && !words().any(|word| CHANGING.contains(&word))
}

/// Whether a pragma only reads: it assigns nothing, and the text in parentheses is a name.
fn is_query(pragma: &str) -> bool {
    const ABOUT_TABLES: [&str; 10] = [
        "table_info",
        "table_xinfo",
        "table_list",
        "index_list",
        "index_info",
        "index_xinfo",
        "foreign_key_list",
        "foreign_key_check",
        "integrity_check",
        "quick_check",
    ];
    let name = pragma["pragma".len()..].trim_start();
    let name = name.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
    !pragma.contains('=') && (!pragma.contains('(') || ABOUT_TABLES.contains(&name))
}

/// Backslashes begin commands of psql, and the server itself runs programs for `copy`.
fn postgres(text: &str) -> Meaning {
    const HARMLESS: [&str; 10] =
        ["\\d", "\\l", "\\dt", "\\d+", "\\du", "\\dn", "\\conninfo", "\\x", "\\q", "\\timing"];
    let backslashed = text.split_whitespace().filter(|word| word.contains('\\'));
    let runs = backslashed.into_iter().any(|word| !HARMLESS.contains(&word));
    if runs || holds_any(text, &["program", "load "]) {
        return Meaning::Runs(None);
    }
    // The server writes the file.
    let copies = holds_any(text, &["copy"]) && !holds_any(text, &["stdout", "stdin"]);
    if copies || holds_any(text, &["lo_export"]) { Meaning::Writes } else { Meaning::Harmless }
}

/// A variable or a setting of psql's output. A prompt can run a command in backquotes.
fn psql_setting(text: &str) -> Meaning {
    runs_if(text.contains(['`', '\\']) || holds_any(text, &["prompt", "editor"]))
}

/// Statements of MySQL's client, some of which it carries out itself.
fn mysql(text: &str) -> Meaning {
    let has = |names: &[&str]| {
        let lower = text.to_ascii_lowercase();
        lower.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| names.contains(&word))
    };
    if text.contains('\\') || has(&["system", "pager", "source", "edit", "plugin"]) {
        return Meaning::Runs(None);
    }
    if has(&["tee", "outfile", "dumpfile"]) { Meaning::Writes } else { Meaning::Harmless }
}

/// A variable of CMake, as in `-D NAME:TYPE=value`. Some name compilers, and files with code that is run.
fn cmake_variable(text: &str) -> Meaning {
    const PROGRAMS: [&str; 7] =
        ["compiler", "launcher", "program", "command", "emulator", "linker", "executable"];
    const FILES: [&str; 3] = ["toolchain", "include", "module_path"];
    const PLACES: [&str; 3] = ["install_prefix", "output_directory", "destdir"];
    let name = text.split(['=', ':']).next().unwrap_or_default();
    let value = text.split_once('=').map(|it| it.1).unwrap_or_default();
    if holds_any(name, &PROGRAMS) && !is_usual_compiler(value) {
        return Meaning::Runs(None);
    }
    match (holds_any(name, &FILES), holds_any(name, &PLACES)) {
        (true, _) => Meaning::ReadsCode,
        (false, true) => Meaning::Writes,
        (false, false) => Meaning::Harmless,
    }
}

fn is_usual_compiler(value: &str) -> bool {
    const USUAL: [&str; 12] =
        ["gcc", "g++", "clang", "clang++", "cc", "c++", "ccache", "sccache", "make", "ninja", "ON", "OFF"];
    let name = value.strip_prefix("/usr/bin/").unwrap_or(value);
    USUAL.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-' || c == '.'))
}

/// Flags that go hands on to its linker and compilers.
fn go_flags(text: &str) -> Meaning {
    let names_program = |word: &str| {
        let name = word.trim_start_matches('-').split('=').next().unwrap_or_default();
        word.starts_with('-') && ["extld", "o", "tmpdir", "tooldir"].contains(&name)
    };
    runs_if(
        text.split_whitespace().any(names_program)
            || text.contains('@')
            || holds_any(text, &["plugin", "wrapper", "specs"]),
    )
}
