//! Files that the agent itself reads and writes, outside of the sandbox, in places that commands can write.

use std::fs;
use std::os::unix::fs::symlink;

use windlass_testkit::model::{Reply, always, custom, say, turn};

use super::stage::{Owner, Ran, Stage, exec};

/// Nothing but the working directory may be written.
const ONLY_HERE: &str = "sandbox_workspace_write.exclude_slash_tmp = true";
const OPEN: &[&str] = &["--dangerously-bypass-approvals-and-sandbox"];
const CONFINED: [&[&str]; 2] = [&["--sandbox-layers", "all"], &["--sandbox-layers", "landlock"]];

/// One command before the answer, as root and as an ordinary user, in both kinds of sandbox.
fn each_way(script: &str, options: &[&str], prepare: impl Fn(&Stage), check: impl Fn(&Stage, &str)) {
    for owner in [Owner::Myself, Owner::Ordinary] {
        for words in CONFINED {
            let turns = vec![always(exec(script)), always(say("the answer"))];
            let mut stage = Stage::playing(turns).with(ONLY_HERE).owned_by(owner);
            prepare(&stage);
            stage.run(&[words, options, &["go"]].concat()).well();
            check(&stage, &format!("{owner:?} {words:?}"));
            stage.finish();
        }
    }
}

#[test]
fn the_last_message_is_not_written_through_a_link_that_a_command_makes() {
    each_way(
        "ln -sf ../victim answer",
        &["-o", "answer"],
        |stage| drop(stage.write("victim", "the user's\n")),
        |stage, way| {
            assert_eq!(stage.read("victim"), "the user's\n", "{way}");
            let answer = stage.work().join("answer");
            assert!(!answer.is_symlink(), "{way}");
            assert_eq!(stage.read("work/answer"), "the answer", "{way}");
        },
    );
}

#[test]
fn the_last_message_is_not_written_through_a_link_in_the_place_of_an_older_one() {
    each_way(
        "rm answer; ln -s ../victim answer",
        &["-o", "answer"],
        |stage| {
            stage.write("victim", "the user's\n");
            stage.write("work/answer", "an older and longer answer\n");
        },
        |stage, way| {
            assert_eq!(stage.read("victim"), "the user's\n", "{way}");
            assert_eq!(stage.read("work/answer"), "the answer", "{way}");
        },
    );
}

#[test]
fn the_last_message_is_not_written_through_a_directory_that_a_command_exchanges() {
    each_way(
        "mv out old && ln -s ../elsewhere out",
        &["-o", "out/answer"],
        |stage| {
            stage.write("elsewhere/kept", "");
            stage.write("work/out/kept", "");
        },
        |stage, way| {
            assert!(!stage.home().join("elsewhere/answer").exists(), "{way}");
            assert_eq!(stage.read("work/old/answer"), "the answer", "{way}");
        },
    );
}

#[test]
fn a_link_that_an_earlier_command_left_for_the_last_message_is_refused_before_the_model_is_asked() {
    for (link, option) in [("answer", "answer"), ("missing", "missing"), ("out", "out/answer")] {
        let mut stage = Stage::playing(Vec::new()).with(ONLY_HERE);
        stage.write("victim", "the user's\n");
        stage.write("elsewhere/kept", "");
        let target = match link {
            "answer" => "../victim",
            "missing" => "../not-there",
            _ => "../elsewhere",
        };
        symlink(target, stage.work().join(link)).expect("a link can be made");
        stage.run(&["-o", option, "go"]).badly(2, "a command can make this link");
        assert_eq!(stage.read("victim"), "the user's\n");
        stage.finish();
    }
}

#[test]
fn a_link_to_a_place_where_commands_may_write_serves_for_the_last_message() {
    let mut stage = Stage::playing(vec![always(say("the answer"))]).with(ONLY_HERE);
    stage.write("work/today/answer", "an older and longer answer");
    symlink("today/answer", stage.work().join("answer")).expect("a link can be made");
    stage.run(&["-o", "answer", "go"]).well();
    assert!(stage.work().join("answer").is_symlink());
    assert_eq!(stage.read("work/today/answer"), "the answer");
    stage.finish();
}

#[test]
fn the_last_message_goes_to_a_device_or_a_stream_as_well() {
    let mut stage = Stage::playing(vec![always(say("the answer")), always(say("another"))]).with(ONLY_HERE);
    stage.run(&["-o", "/dev/null", "go"]).well();
    let ran = stage.run(&["--json", "-o", "/dev/stderr", "go"]).well();
    assert!(ran.stderr.contains("another"), "{ran:?}");
    stage.finish();
}

#[test]
fn the_last_message_replaces_an_older_one_only_when_it_is_there() {
    let look = "cat answer";
    let mut stage = Stage::playing(vec![
        always(exec(look)),
        turn(|request| {
            assert!(request.last_result().contains("an older one"), "{}", request.last_result());
            say("new")
        }),
    ]);
    stage.write("work/answer", "an older one\n");
    stage.run(&["-o", "answer", "go"]).well();
    assert_eq!(stage.read("work/answer"), "new");
    stage.finish();
}

/// The state directory lies in the workspace.
fn with_state_inside(words: &[&str], turns: &[Reply], owner: Owner) -> (Stage, Ran) {
    let turns = turns.iter().cloned().map(always).collect();
    let mut stage = Stage::playing(turns).with(ONLY_HERE).owned_by(owner);
    stage.write("work/state/agent/kept.jsonl", "{}\n");
    stage.write("work/state/empty/kept", "");
    stage.write("work/state/programs/kept", "");
    let mut command = stage.command(words);
    command.env("WINDLASS_STATE_DIR", stage.work().join("state"));
    let ran = stage.start_command(&mut command).end(&mut stage).well();
    (stage, ran)
}

#[test]
fn commands_and_patches_cannot_change_what_windlass_keeps_wherever_it_lies() {
    let script = "touch state/empty/x state/programs/x; echo '{}' >> state/agent/kept.jsonl; mkdir state/runtimes/x; \
                  mv state moved; true";
    let patch = "*** Begin Patch\n*** Add File: state/agent/y\n+added\n*** End Patch";
    let turns = [exec(script), custom("apply_patch", patch), say("tried")];
    for owner in [Owner::Myself, Owner::Ordinary] {
        let open =
            [custom("apply_patch", patch), exec("touch state/empty/x; mkdir state/runtimes/x"), say("did")];
        let (stage, _) = with_state_inside(&[OPEN, &["go"]].concat(), &open, owner);
        for path in ["empty/x", "runtimes/x", "agent/y"] {
            assert!(stage.work().join("state").join(path).exists(), "{owner:?} {path}");
        }
        stage.finish();
        for words in CONFINED {
            let (stage, ran) = with_state_inside(&[words, &["go"]].concat(), &turns, owner);
            for path in ["empty/x", "programs/x", "runtimes/x", "agent/y"] {
                let path = stage.work().join("state").join(path);
                assert!(!path.exists(), "{owner:?} {words:?}: {} {ran:?}", path.display());
            }
            assert_eq!(stage.read("work/state/agent/kept.jsonl"), "{}\n", "{owner:?} {words:?}");
            stage.finish();
        }
    }
}

#[test]
fn each_start_has_an_empty_directory_of_its_own_for_programs_of_a_project_that_is_not_trusted() {
    let turns = vec![always(say("one")), always(say("two"))];
    let mut stage = Stage::playing(turns);
    let seen = stage.home().join("seen");
    let script = format!("(pwd; ls -A; stat -c %a .) >> {}", seen.display());
    stage = stage
        .with("mcp_servers.a.command = \"/bin/sh\"")
        .with(&format!("mcp_servers.a.args = [\"-c\", {script:?}]"));
    stage.write("state/empty/planted.py", "");
    stage.write("state/programs/planted.py", "");
    stage.run(&["go"]).well();
    stage.run(&["go"]).well();
    let seen = stage.read("seen");
    let lines: Vec<&str> = seen.lines().collect();
    assert_eq!(lines.len(), 4, "{seen}");
    assert_eq!((lines[1], lines[3]), ("700", "700"), "{seen}");
    assert_ne!(lines[0], lines[2]);
    for directory in [lines[0], lines[2]] {
        assert!(directory.starts_with(&*stage.home().join("state/programs").to_string_lossy()), "{seen}");
        assert!(!fs::exists(directory).expect("it can be looked for"), "{directory} is left behind");
    }
    stage.finish();
}

const SECRET: &str = "PASSWORD=hidden-from-the-model";

/// A trusted project with a file that the rules hide.
fn trusted(turns: usize) -> Stage {
    let script = "ln -sf .env AGENTS.md";
    let mut all = vec![always(exec(script)), always(say("done"))];
    all.extend((0..turns).map(|_| always(say("looked"))));
    let mut stage = Stage::playing(all).with("sandbox.deny_read = [\"**/.env\"]").with(ONLY_HERE);
    stage.write("work/.git/HEAD", "ref: refs/heads/main\n");
    stage.write("work/.env", SECRET);
    stage.write("work/sub/kept", "");
    stage.run(&["trust"]).well();
    let told = stage.read("config/windlass/config.toml");
    stage.take_settings(&told);
    stage
}

fn nothing_was_sent(stage: Stage) {
    for request in stage.finish() {
        assert!(!request.text().contains("hidden-from-the-model"), "{}", request.text());
    }
}

#[test]
fn instructions_that_lead_to_a_denied_file_are_not_sent() {
    let mut stage = trusted(2);
    stage.run(&["go"]).well();
    let ran = stage.run(&["go"]).well();
    assert!(ran.stderr.contains("AGENTS.md") && ran.stderr.contains("may not be read"), "{ran:?}");
    symlink("../.env", stage.work().join("sub/AGENTS.override.md")).expect("a link can be made");
    fs::remove_file(stage.work().join("AGENTS.md")).expect("the link can be removed");
    // Patterns of the settings count from the working directory.
    let denied = stage.work().join(".env").to_string_lossy().into_owned();
    let ran = stage.run(&["-C", "sub", "--deny-read", &denied, "go"]).well();
    assert!(ran.stderr.contains("AGENTS.override.md"), "{ran:?}");
    nothing_was_sent(stage);
}

#[test]
fn a_skill_that_leads_to_a_denied_file_is_not_sent() {
    let mut stage = trusted(1);
    stage.write("work/.env", format!("---\nname: leak\ndescription: {SECRET}\n---\n{SECRET}\n"));
    stage.write("work/.agents/skills/leak/kept", "");
    symlink("../../../.env", stage.work().join(".agents/skills/leak/SKILL.md")).expect("a link can be made");
    stage.run(&["go"]).well();
    let ran = stage.run(&["use $leak"]).well();
    assert!(ran.stderr.contains("SKILL.md") && ran.stderr.contains("may not be read"), "{ran:?}");
    nothing_was_sent(stage);
}

#[test]
fn a_file_with_base_instructions_that_leads_to_a_denied_file_is_not_sent() {
    let stage = trusted(0);
    let setting = format!("model_instructions_file = {:?}", stage.work().join("AGENTS.md"));
    let mut stage = stage;
    stage.write("work/AGENTS.md", "be brief\n");
    stage.run(&["-c", &setting, "go"]).well();
    stage.run(&["-c", &setting, "go"]).badly(1, "may not be read");
    nothing_was_sent(stage);
}
