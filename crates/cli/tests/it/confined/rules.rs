//! Rules apply to the targets of their paths, whatever commands do to the paths.

use std::fs;

use serde_json::json;

use super::{LAYERS, Quarters};
use crate::rig::Seen;

/// Runs two commands under the same rules: no permitted operation of the first may let the second read or change more.
fn one_after_the_other(name: &str, rules: &[&str], first: &str, second: &str) -> Vec<(&'static str, Seen)> {
    let check = |layers: &'static str| {
        let quarters = Quarters::new(&format!("{name}-{layers}"));
        let work = &quarters.work;
        for (link, target) in [("link", "target"), ("conf", "v1"), (".env", "real"), ("away", "nowhere")] {
            std::os::unix::fs::symlink(target, work.join(link)).unwrap();
        }
        for directory in ["v1", "c/d", "roots/sub"] {
            fs::create_dir_all(work.join(directory)).unwrap();
        }
        for secret in ["target", "v1/secret", "real"] {
            fs::write(work.join(secret), "SECRET\n").unwrap();
        }
        let run = |script: &str| {
            quarters.run(layers, "workspace-write", &[rules, &["--", "sh", "-c", script]].concat())
        };
        run(first);
        (layers, run(second))
    };
    LAYERS.map(check).into()
}

#[test]
fn what_is_hidden_behind_a_link_stays_hidden_whatever_becomes_of_the_link() {
    let rules = ["--deny-read", "link", "--deny-read", "conf/secret", "--deny-read", "**/.env"];
    let first = "rm link conf .env; echo mine > link; mkdir n; ln -s n conf; echo mine > .env; mv v1 v2";
    let second = "cat target real v1/secret v2/secret; ls -l";
    for (layers, seen) in one_after_the_other("links", &rules, first, second) {
        assert!(!seen.stdout.contains("SECRET"), "{layers}: {seen:?}");
    }
}

#[test]
fn what_is_not_there_and_must_not_be_made_is_made_by_no_detour() {
    let rules = ["--deny-read", "c/d/x", "--read-only", "away", "--read-only", "new/deep/file"];
    // Directories on the way may be created and removed, but a directory that is not empty cannot replace another.
    let first = "mkdir -p e/d; echo planted > e/d/x; mv e c2; rm -rf c; mv c2 c; ln -s c2 c
        mkdir -p c/d; mv -T c2/d c/d; echo planted > c/d/x; rmdir c/d; mv c2/d c/d; echo planted > away
        mkdir -p new/deep; echo planted > new/deep/file; echo fine > new/deep/other; mkdir from; echo planted > from/file
        rm -r new; mkdir new; mv from new/deep; ln -s ../from new/deep; mkdir new/deep; echo fine > new/deep/other";
    let second = "cat c/d/x away nowhere new/deep/file; cat new/deep/other";
    for (layers, seen) in one_after_the_other("unborn", &rules, first, second) {
        assert_eq!(seen.stdout, "fine\n", "{layers}: {seen:?}");
    }
}

/// A writable path of a rule could once be exchanged for a path that the rule does not mean.
#[test]
fn what_can_be_changed_is_not_exchanged_for_something_else() {
    let quarters = Quarters::new("exchanged");
    let outside = quarters.outside.to_str().unwrap();
    let rules = ["--writable", "roots/sub", "--writable", "to"];
    std::os::unix::fs::symlink("there", quarters.work.join("to")).unwrap();
    for directory in ["roots/sub", "there"] {
        fs::create_dir_all(quarters.work.join(directory)).unwrap();
    }
    for layers in LAYERS {
        let run = |script: &str| {
            quarters.run(layers, "workspace-write", &[&rules[..], &["--", "sh", "-c", script]].concat())
        };
        run(&format!("mv roots r2; mkdir roots; ln -s '{outside}' roots/sub; rm to; ln -s '{outside}' to"));
        let seen = run("echo planted > roots/sub/file; echo planted > to/file; ls -l . roots");
        assert!(!quarters.outside.join("file").exists(), "{layers}: {seen:?}");
        assert_eq!(fs::read_to_string(quarters.work.join("there/file")).unwrap(), "planted\n", "{layers}");
    }
}

/// The socket was once hidden where it had been created, and not at other paths.
#[test]
fn a_folder_with_a_hidden_socket_in_it_is_not_moved() {
    let quarters = Quarters::new("moved-socket");
    let folder = std::env::temp_dir().join(format!("windlass-moved-socket-{}", std::process::id()));
    assert!(folder.starts_with("/tmp"), "sockets of others are hidden there");
    fs::create_dir(&folder).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
    let place = folder.display();
    let seen = quarters.json("all", "workspace-write", &["--", "mv", folder.to_str().unwrap(), "/tmp/else"]);
    assert_eq!(seen["denials"][0]["rule"], json!(format!("{place}/socket is in it")), "{seen}");
    drop(socket);
    fs::remove_dir_all(&folder).unwrap();
}

/// Once no command could be started under such rules.
#[test]
fn a_repository_and_a_device_can_be_hidden() {
    let quarters = Quarters::new("hidden-repository");
    for inside in ["modules/a", "worktrees/b"] {
        let inside = quarters.work.join(".git").join(inside);
        fs::create_dir_all(&inside).unwrap();
        fs::write(inside.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }
    for layers in LAYERS {
        for rule in [".git", "**/worktrees", "/dev/kmsg", "/dev/null/nothing"] {
            let more = ["--deny-read", rule, "--", "sh", "-c", "cat .git/worktrees/b/HEAD || echo hidden"];
            let seen = quarters.run(layers, "workspace-write", &more);
            let expected = if rule.starts_with("/dev") { "ref: refs/heads/main\n" } else { "hidden\n" };
            assert_eq!(seen.stdout, expected, "{layers} {rule}: {seen:?}");
        }
    }
}
