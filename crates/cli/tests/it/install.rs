//! `windlass mcp install`: adds and removes the entry in each client's file, and leaves everything else in it
//! unchanged.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use windlass_testkit::Scratch;

use crate::rig::{Home, Seen, WINDLASS};

/// A client: its name, its file below the home directory, and the content of a file that was in use for a while, in two
/// parts between which the entry goes.
struct Client {
    word: &'static str,
    file: &'static str,
    before: &'static str,
    after: &'static str,
    ours: &'static str,
    broken: (&'static str, usize),
}

const CLIENTS: [Client; 7] = [
    Client {
        word: "claude",
        file: ".claude.json",
        before: "{\n  \"numStartups\": 34,\n  \"mcpServers\": {\n    \"a\": {\n      \"type\": \"stdio\",\n      \"command\": \"a\"\n    }",
        after: "\n  },\n  \"é\": \"\\u00e9\"\n}",
        ours: ",\n    \"windlass\": {\n      \"type\": \"stdio\",\n      \"command\": \"w\",\n      \"args\": [\"mcp\", \"--x\"]\n    }",
        broken: ("{\n  \"a\": 1,\n}\n", 3),
    },
    Client {
        word: "codex",
        file: ".codex/config.toml",
        before: "# Mine.\nmodel = \"x\" # the best\n\n[mcp_servers.a] # first\ncommand = 'a'\n\n[tui]\nx=1\n# the end\n",
        after: "",
        ours: "\n[mcp_servers.windlass]\ncommand = \"w\"\nargs = [\"mcp\", \"--x\"]\nstartup_timeout_sec = 30\ntool_timeout_sec = 600\n",
        broken: ("a = 1\n\n[b\n", 3),
    },
    Client {
        word: "gemini",
        file: ".gemini/settings.json",
        before: "{\n    \"theme\": \"Dracula\", // dark\n    \"mcpServers\": {\n        \"a\": { \"command\": \"a\" }",
        after: "\n    }\n}\n",
        ours: ",\n        \"windlass\": {\n            \"command\": \"w\",\n            \"args\": [\"mcp\", \"--x\"],\n            \"timeout\": 600000\n        }",
        broken: ("{\n  \"a\": 1\n  \"b\": 2\n}\n", 3),
    },
    Client {
        word: "cursor",
        file: ".cursor/mcp.json",
        before: "{\n\t\"mcpServers\": {\n\t\t\"a\": {\"url\": \"https://example.com/mcp\"}",
        after: "\n\t}\n}\n",
        ours: ",\n\t\t\"windlass\": {\n\t\t\t\"type\": \"stdio\",\n\t\t\t\"command\": \"w\",\n\t\t\t\"args\": [\"mcp\", \"--x\"]\n\t\t}",
        broken: ("{\n  \"mcpServers\": []\n}\n", 2),
    },
    Client {
        word: "vscode",
        file: ".config/Code/User/mcp.json",
        before: "// Mine.\n{\n  \"servers\": {\n    /* the first */ \"a\": { \"command\": \"a\", }, // so",
        after: "\n    // the end\n  },\n  \"inputs\": [],\n}\n",
        ours: "\n    \"windlass\": {\n      \"type\": \"stdio\",\n      \"command\": \"w\",\n      \"args\": [\"mcp\", \"--x\"]\n    },",
        broken: ("{\n  \"servers\": {\n", 3),
    },
    Client {
        word: "zed",
        file: ".config/zed/settings.json",
        before: "// Zed settings\n//\n{\n  \"context_servers\": {\n    \"a\": {\n      \"command\": \"a\", // \"b\": {\n    },",
        after: "\n  },\n  \"vim_mode\": true,\n}\n",
        ours: "\n    \"windlass\": {\n      \"command\": \"w\",\n      \"args\": [\"mcp\", \"--x\"],\n      \"timeout\": 600\n    },",
        broken: ("{\n  \"a\": \"b\n}\n", 2),
    },
    Client {
        word: "goose",
        file: ".config/goose/config.yaml",
        before: "# Mine.\nGOOSE_PROVIDER: \"x\" # the best\nextensions:\n",
        after: "    # the first\n    developer:\n        enabled: true\n        type: builtin\n\nGOOSE_MODE: auto\n",
        ours: "    windlass:\n      enabled: true\n      type: stdio\n      name: windlass\n      description: \"Run commands, keep every byte they print\"\n      cmd: w\n      args: [mcp, \"--x\"]\n      timeout: 600\n",
        broken: ("extensions:\n\tdeveloper: 1\n", 2),
    },
];

/// The fixture: a home directory with windlass in it.
struct Rig {
    home: Home,
    client: &'static Client,
}

impl Rig {
    fn of(client: &'static Client) -> Self {
        Self { home: Home::new(&format!("install-{}", client.word)), client }
    }

    fn file(&self) -> PathBuf {
        self.home.path().join(self.client.file)
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.file()).expect("the file can be read")
    }

    fn put(&self, text: &str) {
        std::fs::create_dir_all(self.file().parent().expect("it has a directory")).expect("it can be made");
        std::fs::write(self.file(), text).expect("the file can be written");
    }

    /// The names of all files in the file's directory that contain its name.
    fn beside(&self) -> Vec<String> {
        let name = self.file().file_name().expect("it has a name").to_string_lossy().into_owned();
        let entries = std::fs::read_dir(self.file().parent().expect("it has a directory"));
        let names = entries.into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|other| other.contains(&name)).collect();
        names.sort();
        names
    }

    fn install(&self, words: &[&str]) -> Seen {
        let words: Vec<&str> = ["mcp", "install", self.client.word].iter().chain(words).copied().collect();
        seen(&self.home, &words)
    }

    fn installed(&self) -> Seen {
        let seen = self.install(&["--command", "w", "--", "--x"]);
        assert_eq!((seen.code, seen.stderr.as_str()), (0, ""), "{seen:?}");
        seen
    }
}

fn seen(home: &Home, words: &[&str]) -> Seen {
    let mut command = home.windlass(words);
    command.env("HOME", home.path()).current_dir(home.path()).env("PATH", "/usr/bin:/bin");
    for name in ["XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME", "GOOSE_PATH_ROOT"] {
        command.env_remove(name);
    }
    let output = command.output().expect("windlass starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it prints text");
    let code = output.status.code().expect("windlass exits by itself");
    Seen { code, stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn everything_else_in_the_file_stays_and_removing_restores_it() {
    for client in &CLIENTS {
        let rig = Rig::of(client);
        let old = format!("{}{}", client.before, client.after);
        rig.put(&old);
        let seen = rig.installed();
        assert_eq!(rig.text(), format!("{}{}{}", client.before, client.ours, client.after));
        assert!(seen.stdout.contains("+++ ~/") && seen.stdout.contains("\n+"), "{seen:?}");
        assert!(!seen.stdout.contains('\x1b'), "no colour where there is no terminal");
        let removed = rig.install(&["--remove"]);
        assert_eq!((removed.code, rig.text()), (0, old), "{removed:?}");
    }
}

#[test]
fn the_second_time_there_is_nothing_to_change() {
    for client in &CLIENTS {
        let rig = Rig::of(client);
        rig.installed();
        let (text, files) = (rig.text(), rig.beside());
        let again = rig.installed();
        assert!(again.stdout.contains("nothing to change in ~/"), "{again:?}");
        assert_eq!((rig.text(), rig.beside()), (text, files));
        rig.install(&["--remove"]);
        let again = rig.install(&["--remove"]);
        assert!(again.code == 0 && again.stdout.contains("nothing to change in ~/"), "{again:?}");
    }
}

#[test]
fn a_fresh_file_holds_what_print_shows_and_has_no_backup() {
    for client in &CLIENTS {
        let rig = Rig::of(client);
        let printed = rig.install(&["--print", "--command", "w", "--", "--x"]);
        assert!(!rig.file().exists() && rig.home.path().read_dir().unwrap().next().is_none(), "it wrote");
        let (path, snippet) = printed.stdout.split_once("\n\n").expect("the path and the snippet");
        assert_eq!(path, rig.file().display().to_string());
        let seen = rig.installed();
        assert_eq!(rig.text(), snippet);
        assert_eq!(rig.beside().len(), 1, "{:?}", rig.beside());
        assert!(seen.stdout.contains("--- /dev/null"), "{seen:?}");
        rig.put("");
        rig.installed();
        assert_eq!(rig.text(), snippet, "an empty file is as good as none");
    }
}

#[test]
fn the_document_shows_what_is_written() {
    let document = include_str!("../../../../docs/mcp-clients.md");
    for client in &CLIENTS {
        let printed = Rig::of(client).install(&["--print", "--command", "windlass"]).stdout;
        let (_, snippet) = printed.split_once("\n\n").expect("the path and the snippet");
        assert!(document.contains(&format!("\n{snippet}```\n")), "not in the document:\n{snippet}");
    }
}

#[test]
fn a_backup_is_kept_each_time_and_none_is_overwritten() {
    for client in &CLIENTS {
        let rig = Rig::of(client);
        let old = format!("{}{}", client.before, client.after);
        rig.put(&old);
        rig.installed();
        let installed = rig.text();
        rig.install(&["--remove"]);
        let name = rig.file().file_name().unwrap().to_string_lossy().into_owned();
        let backups = [format!("{name}.windlass-backup-1"), format!("{name}.windlass-backup-2")];
        assert_eq!(rig.beside(), [name, backups[0].clone(), backups[1].clone()]);
        for (backup, text) in backups.iter().zip([old, installed]) {
            assert_eq!(std::fs::read_to_string(rig.file().with_file_name(backup)).unwrap(), text);
        }
    }
}

#[test]
fn a_file_that_is_not_understood_is_left_alone() {
    for client in &CLIENTS {
        let rig = Rig::of(client);
        let (text, line) = client.broken;
        rig.put(text);
        for words in [&[][..], &["--remove"]] {
            let seen = rig.install(words);
            assert_eq!((seen.code, seen.stdout.as_str()), (1, ""), "{seen:?}");
            let said = format!("cannot understand {}, line {line}: ", rig.file().display());
            assert!(seen.stderr.contains(&said) && seen.stderr.contains("--print"), "{said} {seen:?}");
        }
        assert_eq!((rig.text().as_str(), rig.beside().len()), (text, 1));
    }
}

#[test]
fn a_link_stays_a_link_and_the_mode_stays_as_it_was() {
    for client in &CLIENTS {
        let rig = Rig::of(client);
        rig.put("");
        let elsewhere = Scratch::new("install-dotfiles");
        let real = elsewhere.path().join("real");
        std::fs::write(&real, format!("{}{}", client.before, client.after)).unwrap();
        std::fs::set_permissions(&real, PermissionsExt::from_mode(0o640)).unwrap();
        std::fs::remove_file(rig.file()).unwrap();
        std::os::unix::fs::symlink(&real, rig.file()).unwrap();
        rig.installed();
        assert!(rig.file().is_symlink());
        assert!(std::fs::read_to_string(&real).unwrap().contains("windlass"));
        assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o7777, 0o640);
        let backup = rig.file().display().to_string() + ".windlass-backup-1";
        assert_eq!(std::fs::metadata(backup).unwrap().permissions().mode() & 0o7777, 0o640);
        assert_eq!(elsewhere.names(), ["real"], "nothing is left beside it");
    }
}

#[test]
fn a_link_to_nowhere_gets_its_file() {
    let rig = Rig::of(&CLIENTS[0]);
    std::os::unix::fs::symlink("dotfiles/claude.json", rig.file()).unwrap();
    rig.installed();
    assert!(rig.file().is_symlink());
    assert!(rig.home.path().join("dotfiles/claude.json").is_file());
}

#[test]
fn a_project_has_files_of_its_own_where_the_client_reads_them() {
    let files = [
        ("claude", ".mcp.json"),
        ("codex", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
    ];
    let home = Home::new("install-project");
    for (client, file) in files {
        assert_eq!(seen(&home, &["mcp", "install", client, "--project"]).code, 0);
        let text = std::fs::read_to_string(home.path().join(file)).expect("the file is there");
        assert!(text.contains("windlass"), "{text}");
    }
    for client in ["zed", "goose"] {
        let seen = seen(&home, &["mcp", "install", client, "--project"]);
        assert!(seen.code == 2 && seen.stderr.contains("leave --project away"), "{seen:?}");
    }
}

#[test]
fn the_command_is_our_name_where_path_finds_us_and_our_path_otherwise() {
    let home = Home::new("install-command");
    let words = ["mcp", "install", "cursor", "--print"];
    let printed = seen(&home, &words).stdout;
    assert!(printed.contains(&format!("\"command\": \"{WINDLASS}\"")), "{printed}");
    assert!(printed.contains("\"args\": [\"mcp\"]"), "{printed}");
    std::os::unix::fs::symlink(WINDLASS, home.path().join("windlass")).unwrap();
    let mut command = home.windlass(&words);
    let output = command.env("HOME", "/h").env("PATH", home.path()).output().expect("windlass starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("\"command\": \"windlass\""), "{printed}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let home = Home::new("install-unreadable");
    std::fs::create_dir_all(home.path().join(".cursor/mcp.json")).unwrap();
    let is_directory = seen(&home, &["mcp", "install", "cursor"]);
    assert!(is_directory.code == 1 && is_directory.stderr.contains(".cursor/mcp.json"), "{is_directory:?}");
    std::fs::write(home.path().join(".claude.json"), b"{\"\xff\": 1}").unwrap();
    let not_text = seen(&home, &["mcp", "install", "claude"]);
    assert!(not_text.code == 1 && not_text.stderr.contains("is not UTF-8"), "{not_text:?}");
    assert_eq!(std::fs::read(home.path().join(".claude.json")).unwrap(), b"{\"\xff\": 1}");
}

#[test]
fn words_that_do_not_go_together_are_refused() {
    let home = Home::new("install-usage");
    for words in [
        &["mcp", "install"][..],
        &["mcp", "install", "emacs"],
        &["mcp", "install", "zed", "--remove", "--print"],
        &["mcp", "install", "zed", "--remove", "--", "--x"],
        &["mcp", "install", "zed", "--x"],
    ] {
        let seen = seen(&home, words);
        assert_eq!((seen.code, seen.stdout.as_str()), (2, ""), "{words:?} {seen:?}");
    }
    assert_eq!(home.path().read_dir().unwrap().count(), 0, "nothing was written");
}
