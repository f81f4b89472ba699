//! Patches, in all forms in which models send them.

use serde_json::json;
use windlass_testkit::model::{RequestDialect, always, call, custom, say, turn};

use super::stage::{BOTH, Stage, exec};

const PATCH: &str = "*** Begin Patch\n*** Update File: greeting.txt\n@@\n-hello\n+goodbye\n*** Add File: new/note.txt\n+added\n*** End Patch";

#[test]
fn a_patch_as_free_text_changes_files_and_is_told_as_a_change() {
    for dialect in BOTH {
        let mut stage = Stage::speaking(
            dialect,
            vec![
                always(custom("apply_patch", PATCH)),
                turn(|request| {
                    let result = request.last_result();
                    let expected = "Success. Updated the following files:\nA new/note.txt\nM greeting.txt\n";
                    assert!(result.starts_with("Exit code: 0") && result.ends_with(expected), "{result}");
                    say("changed")
                }),
            ],
        );
        stage.write("work/greeting.txt", "hello\n");
        let ran = stage.run(&["--json", "change it"]).well();
        assert_eq!(stage.read("work/greeting.txt"), "goodbye\n");
        assert_eq!(stage.read("work/new/note.txt"), "added\n");
        let changes = ran.items("file_change");
        assert_eq!((changes.len(), &changes[0]["status"]), (1, &json!("completed")), "{ran:?}");
        let kinds: Vec<_> =
            changes[0]["changes"].as_array().unwrap().iter().map(|change| &change["kind"]).collect();
        assert!(kinds.contains(&&json!("add")) && kinds.contains(&&json!("update")), "{ran:?}");
        assert!(changes[0]["changes"][0]["path"].as_str().unwrap().starts_with('/'), "{ran:?}");
        stage.finish();
    }
}

#[test]
fn a_patch_as_arguments_is_taken_under_either_name() {
    for dialect in [RequestDialect::Responses, RequestDialect::Chat] {
        for name in ["input", "patch"] {
            let mut stage = Stage::speaking(
                dialect,
                vec![always(call("apply_patch", json!({ name: PATCH }))), always(say("changed"))],
            );
            stage.write("work/greeting.txt", "hello\n");
            stage.run(&["change it"]).well();
            assert_eq!(stage.read("work/greeting.txt"), "goodbye\n");
            stage.finish();
        }
    }
}

#[test]
fn a_patch_in_the_clothes_of_a_command_is_applied_in_the_directory_it_names() {
    let mut stage = Stage::playing(vec![
        always(exec(&format!("cd below && apply_patch <<'EOF'\n{PATCH}\nEOF"))),
        turn(|request| {
            assert!(request.last_result().contains("Success."), "{}", request.last_result());
            say("changed")
        }),
    ]);
    stage.write("work/below/greeting.txt", "hello\n");
    let ran = stage.run(&["--json", "change it"]).well();
    assert_eq!(stage.read("work/below/new/note.txt"), "added\n");
    assert_eq!((ran.items("file_change").len(), ran.items("command_execution").len()), (1, 0), "{ran:?}");
    stage.finish();
}

#[test]
fn a_patch_that_does_not_fit_changes_nothing_and_says_why() {
    let mut stage = Stage::playing(vec![
        always(custom("apply_patch", PATCH)),
        turn(|request| {
            let result = request.last_result();
            assert!(
                result.contains("Exit code: 1") && result.contains("Failed to find expected lines"),
                "{result}"
            );
            say("it does not fit")
        }),
    ]);
    stage.write("work/greeting.txt", "other\n");
    stage.run(&["change it"]).well();
    assert_eq!(stage.read("work/greeting.txt"), "other\n");
    assert!(!stage.work().join("new").exists(), "nothing of the patch is applied");
    stage.finish();
}

#[test]
fn a_patch_beyond_the_project_is_refused() {
    for (setting, expected) in [
        ("sandbox_mode = \"read-only\"", "writing is blocked by read-only sandbox"),
        ("sandbox_workspace_write.exclude_slash_tmp = true", "writing outside of the project"),
    ] {
        let patch = "*** Begin Patch\n*** Add File: ../beside.txt\n+escaped\n*** End Patch";
        let mut stage = Stage::playing(vec![
            always(custom("apply_patch", patch)),
            turn(move |request| {
                let result = request.last_result();
                assert!(result.contains(expected), "{result}");
                say("refused")
            }),
        ])
        .with(setting);
        stage.run(&["escape"]).well();
        assert!(!stage.home().join("beside.txt").exists(), "nothing was written");
        stage.finish();
    }
}
