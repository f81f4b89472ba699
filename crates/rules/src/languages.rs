//! Small languages that stand in the arguments of tools: scripts of sed and awk, statements for databases, settings. They are
//! read just far enough to know whether they run a command or write a file.

mod awk;
mod sed;

/// What a text in such a language does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// It neither runs nor writes anything.
    Harmless,
    /// It writes a file.
    Writes,
    /// Part of it is known only when it runs; what is known is harmless.
    Unclear,
    /// It runs a command; which one, if that is known.
    Runs(Option<String>),
}

/// What a text means to a program. `option`: the first name of the option that it stands behind; empty for an operand.
pub(crate) fn meaning(program: &str, option: &str, text: &str) -> Meaning {
    match program {
        "sed" | "gsed" => sed::meaning(text),
        "awk" | "gawk" | "mawk" | "nawk" => awk::meaning(text),
        "tar" | "gtar" => checkpoint(text),
        "sqlite3" => sqlite(text),
        "psql" => postgres(text),
        "mysql" | "mariadb" => runs_if(holds_any(text, &["system", "\\"])),
        "wget" => wget_setting(text),
        // `%output{file}` writes a file, and `@` reads the format from one.
        "curl" if text.contains("%output") || text.starts_with('@') => Meaning::Writes,
        "curl" => Meaning::Harmless,
        "apt" | "apt-get" | "apt-cache" => {
            runs_if(holds_any(text, &["invoke", "dir::", "bin::", "dpkg::pre", "dpkg::post"]))
        }
        "scp" | "sftp" => ssh_setting(text),
        "dc" => runs_if(text.contains('!')),
        _ if option.starts_with("fuse-ld") => runs_if(text.contains('/')),
        // What is left are linkers.
        _ => runs_if(text.contains("plugin")),
    }
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

/// A setting of ssh, as in `-o ProxyCommand=…`.
pub(crate) fn ssh_setting(text: &str) -> Meaning {
    const RUNNING: [&str; 5] = ["pkcs11provider", "securitykeyprovider", "xauthlocation", "include", "match"];
    let (key, command) = text.split_once(['=', ' ']).unwrap_or((text, ""));
    let key = key.trim().to_ascii_lowercase();
    if key.ends_with("command") || RUNNING.contains(&key.as_str()) {
        return Meaning::Runs(Some(command.trim().to_owned()));
    }
    Meaning::Harmless
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
    let dotted = text.lines().map(str::trim_start).filter_map(|line| line.strip_prefix('.'));
    let mut commands = dotted.map(|line| line.split_whitespace().next().unwrap_or_default());
    let runs = holds_any(text, &["load_extension", "edit(", "edit ("])
        || commands.any(|name| !HARMLESS.contains(&name));
    match (runs, holds_any(text, &["writefile", "vacuum into"])) {
        (true, _) => Meaning::Runs(None),
        (false, true) => Meaning::Writes,
        (false, false) => Meaning::Harmless,
    }
}

/// Backslashes begin commands of psql, and the server itself runs programs for `copy`.
fn postgres(text: &str) -> Meaning {
    const HARMLESS: [&str; 10] =
        ["\\d", "\\l", "\\dt", "\\d+", "\\du", "\\dn", "\\conninfo", "\\x", "\\q", "\\timing"];
    let backslashed = text.split_whitespace().filter(|word| word.contains('\\'));
    let runs = backslashed.into_iter().any(|word| !HARMLESS.contains(&word));
    runs_if(runs || holds_any(text, &["program", "load "]))
}
