//! Two simultaneous commands: one changes git's configuration as git does, and the other tries to open the file that
//! the first one's supervisor is about to move to its place; or one creates links in a directory that the other moves
//! into a repository. Each command has a supervisor of its own.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::stage::{Owner, Stage};

pub(super) const RACES: &str = include_str!("settings_races.c");
const LINK_RACES: &str = include_str!("link_races.c");

/// Whether the intruder had a file of the supervisor, and the final content of the configuration.
fn outcome(stage: &Stage, layers: Option<&str>, beside: &str) -> (bool, String) {
    let windlass = stage.windlass();
    let words = |words: &[&str]| -> Vec<String> {
        let confined = layers.map(|layers| {
            [&windlass, "run", "--sandbox", "workspace-write", "--sandbox-layers", layers, "--"]
                .map(str::to_owned)
        });
        confined.into_iter().flatten().chain(words.iter().map(|&word| word.to_owned())).collect()
    };
    let program = stage.path("settings_races");
    let mut intruder = stage.command(&words(&[&program, "intrude"]));
    let mut intruder = intruder.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(intruder.stdout.take().expect("its output is piped")).lines();
    assert_eq!(lines.next().expect("it says so").expect("it is text"), "ready");
    let beside = beside.replace("{program}", &program);
    let wrote = stage.command(&words(&["sh", "-ec", &beside])).status().expect("it starts");
    assert!(wrote.success(), "{layers:?}");
    let plainly = |script: &str| {
        let output = stage.command(&["sh", "-ec", script].map(str::to_owned)).output().expect("it starts");
        assert!(output.status.success(), "{script}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    plainly(": > stop");
    let said = lines.next().expect("it says so").expect("it is text");
    intruder.wait().expect("it ends");
    (said == "GOT", plainly("rm -f stop bait linked moved; cat .git/config; rm -f .git/.windlass-*"))
}

#[test]
fn no_command_gets_hold_of_a_configuration_that_another_one_writes() {
    for (name, owner) in [("beside", Owner::Myself), ("beside-user", Owner::ordinary())] {
        let stage = Stage::new(name, owner);
        stage.compile_also("settings_races", RACES);
        let before = std::fs::read_to_string(stage.path("work/.git/config")).expect("it can be read");
        for layers in ["all", "landlock"] {
            let (got, after) = outcome(&stage, Some(layers), "{program} write");
            assert!(!got, "{layers} {owner:?}");
            assert_eq!(after, before, "{layers} {owner:?}");
        }
        // Without a sandbox the intruder gets a file with such a name.
        let waits = ": > .git/.windlass-x; while test -e .git/.windlass-x; do :; done";
        assert!(outcome(&stage, None, waits).0, "{owner:?}: the intruder does nothing");
    }
}

/// The links that are in git directories after two commands have raced.
fn links_of_race(stage: &Stage, layers: Option<&str>, mode: &str) -> String {
    let windlass = stage.windlass();
    let words = |words: &[&str]| -> Vec<String> {
        let confined = layers.map(|layers| {
            [&windlass, "run", "--sandbox", "workspace-write", "--sandbox-layers", layers, "--"]
                .map(str::to_owned)
        });
        confined.into_iter().flatten().chain(words.iter().map(|&word| word.to_owned())).collect()
    };
    let plainly = |script: &str| {
        let output = stage.command(&["sh", "-ec", script].map(str::to_owned)).output().expect("it starts");
        assert!(output.status.success(), "{script}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    plainly("mkdir -p .git/in repositories");
    let program = stage.path("link_races");
    let mut maker = stage.command(&words(&[&program, "make"]));
    let mut maker = maker.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let moved =
        stage.command(&words(&[&program, mode, "60"])).stderr(Stdio::null()).status().expect("it starts");
    plainly(": > stop");
    maker.wait().expect("it ends");
    assert!(moved.success(), "{layers:?} {mode}");
    plainly("find .git repositories -type l; rm -rf stop l d repositories .git/in")
}

#[test]
fn no_command_puts_links_into_a_directory_that_another_one_makes_part_of_a_repository() {
    for (name, owner) in [("links-beside", Owner::Myself), ("links-beside-user", Owner::ordinary())] {
        let stage = Stage::new(name, owner);
        stage.compile_also("link_races", LINK_RACES);
        for mode in ["move", "become"] {
            for layers in ["all", "landlock"] {
                assert_eq!(links_of_race(&stage, Some(layers), mode), "", "{mode} {layers} {owner:?}");
            }
            // Without a sandbox there must be some.
            assert_ne!(links_of_race(&stage, None, mode), "", "{mode} {owner:?}: it is no race");
        }
    }
}
