//! A denial is a refusal by the sandbox only, and it names the reason.

use super::{LAYERS, Quarters};

/// These operations fail without a sandbox as well: `/sys` is a file system of its own.
#[test]
fn moving_and_linking_between_file_systems_is_no_denial() {
    let quarters = Quarters::new("devices");
    let script = "import errno, os\n\
                  for call in os.link, os.rename:\n    \
                      try:\n        call('/sys/kernel/uevent_seqnum', 'taken')\n    \
                      except OSError as error:\n        print(errno.errorcode[error.errno])\n";
    for layers in LAYERS {
        let seen = quarters.json(layers, "workspace-write", &["--", "python3", "-c", script]);
        assert_eq!(seen["output"], "EXDEV\nEXDEV\n", "{layers}: {seen}");
        assert_eq!(seen["denials"].as_array().map(Vec::len), Some(0), "{layers}: {seen}");
    }
}

#[test]
fn a_path_outside_is_denied_with_the_option_that_allows_it() {
    let quarters = Quarters::new("outside-words");
    let script = "echo x > /var/tmp/windlass-outside-words";
    let seen = quarters.run("all", "workspace-write", &["--", "sh", "-c", script]);
    assert!(seen.stderr.contains("[workspace-write: not in a writable place]\n"), "{seen:?}");
    assert!(seen.stderr.ends_with("windlass: --writable PATH lets the command change a path\n"), "{seen:?}");
    let protected = quarters.run("all", "workspace-write", &["--", "sh", "-c", "echo x > .bashrc"]);
    assert!(!protected.stderr.contains("--writable"), "{protected:?}");
}

#[test]
fn a_name_that_cannot_be_looked_up_is_denied_with_the_words_that_the_network_is_off() {
    let quarters = Quarters::new("names");
    let script = "import socket\n\
                  asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
                  try:\n    asked.connect(('192.0.2.1', 53))\nexcept OSError:\n    pass\n";
    let seen = quarters.json("all", "workspace-write", &["--", "python3", "-c", script]);
    let rule = seen["denials"][0]["rule"].as_str().unwrap_or_default();
    assert!(rule.starts_with("network is off, so names cannot be looked up"), "{seen}");
}

#[test]
fn a_protected_path_is_denied_with_the_reason_for_its_protection() {
    let quarters = Quarters::new("reasons");
    let git = quarters.home.path().join("work/.git");
    for directory in ["hooks", "objects", "refs"] {
        std::fs::create_dir_all(git.join(directory)).unwrap();
    }
    std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    for layers in LAYERS {
        for (path, reason) in [
            (".git/hooks/pre-commit", "protected: git runs the programs in it (hooks)"),
            (".git/commondir", "protected: it tells git where a repository and its configuration are"),
            (".codex", "protected: settings of agents, which can start programs"),
            (".bashrc", "protected: start-up file of shells (.bashrc)"),
            (".vscode", "protected: settings of editors (.vscode), which can run tasks and language servers"),
            ("deep/.windlass", "protected: configuration of Windlass (.windlass at any depth)"),
        ] {
            let script = format!("mkdir -p deep; echo x > {path}");
            let seen = quarters.json(layers, "workspace-write", &["--", "sh", "-c", &script]);
            assert_eq!(seen["denials"][0]["rule"], reason, "{layers}: {seen}");
        }
    }
}
