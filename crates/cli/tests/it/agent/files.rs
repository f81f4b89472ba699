//! Reading files without commands.

use serde_json::{Value, json};
use windlass_testkit::model::{RequestDialect, always, call, say, turn};

use super::stage::{BOTH, Stage};

#[test]
fn files_are_read_listed_and_searched() {
    for dialect in BOTH {
        let mut stage = Stage::speaking(
            dialect,
            vec![
                always(
                    call("read_file", json!({ "file_path": "src/lib.rs", "offset": 2, "limit": 1 }))
                        .and(call("list_dir", json!({ "dir_path": "." })))
                        .and(call("grep_files", json!({ "pattern": "fn inner" }))),
                ),
                turn(|request| {
                    let results = request.results();
                    assert!(results[0].contains("L2:     fn inner() {"), "{results:?}");
                    assert!(!results[0].contains("L1:") && !results[0].contains("L3:"), "{results:?}");
                    assert!(results[1].contains("src/") && results[1].contains("lib.rs"), "{results:?}");
                    assert!(results[2].contains("src/lib.rs"), "{results:?}");
                    say("looked")
                }),
            ],
        );
        stage.write("work/src/lib.rs", "mod outer {\n    fn inner() {\n        body();\n    }\n}\n");
        stage.run(&["look"]).well();
        stage.finish();
    }
}

#[test]
fn a_block_is_read_by_its_indentation() {
    let mut stage = Stage::playing(vec![
        always(call(
            "read_file",
            json!({ "file_path": "a.py", "mode": "indentation", "indentation": { "anchor_line": 5, "max_levels": 1 } }),
        )),
        turn(|request| {
            let result = request.last_result();
            assert!(result.contains("def second") && result.contains("return 2"), "{result}");
            assert!(!result.contains("return 1"), "{result}");
            say("read")
        }),
    ]);
    stage.write("work/a.py", "def first():\n    return 1\n\ndef second():\n    return 2\n");
    stage.run(&["read"]).well();
    stage.finish();
}

/// The smallest picture: one pixel.
const PICTURE: &[u8] = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU\x00\x00\x00\x0aIDATx\xdach\x00\x00\x00\x82\x00\x81\xdaE\x08;\x00\x00\x00\x00IEND\xaeB`\x82";

#[test]
fn a_picture_is_shown_to_the_model_and_a_text_is_not_one() {
    for dialect in BOTH {
        let mut stage = Stage::speaking(
            dialect,
            vec![
                always(
                    call("view_image", json!({ "path": "point.png" }))
                        .and(call("view_image", json!({ "path": "a.png" }))),
                ),
                turn(|request| {
                    assert!(request.text().contains("data:image/png;base64,"), "{}", request.text());
                    assert_eq!(request.text().matches("data:image").count(), 1, "{}", request.text());
                    say("a point")
                }),
            ],
        );
        stage.write("work/point.png", PICTURE);
        stage.write("work/a.png", "no picture");
        stage.run(&["look"]).well();
        stage.finish();
    }
}

#[test]
fn pictures_of_the_command_line_go_with_the_task() {
    for dialect in BOTH {
        let mut stage = Stage::speaking(
            dialect,
            vec![turn(move |request| {
                let list = if dialect == RequestDialect::Chat { "messages" } else { "input" };
                let last: &Value = request.body()[list].as_array().unwrap().last().unwrap();
                assert!(last.to_string().contains("data:image/png;base64,"), "{last}");
                assert!(last.to_string().contains("what is this?"), "{last}");
                say("a point")
            })],
        );
        stage.write("work/point.png", PICTURE);
        stage.run(&["-i", "point.png", "what is this?"]).well();
        stage.finish();
    }
}

#[test]
fn a_picture_that_is_none_is_said_before_anything_is_asked() {
    let mut stage = Stage::playing(Vec::new());
    stage.write("work/a.png", "no picture");
    stage.run(&["-i", "a.png", "what is this?"]).badly(1, "a.png");
    stage.run(&["-i", "nowhere.png", "what is this?"]).badly(1, "nowhere.png");
    stage.finish();
}

#[test]
fn what_the_sandbox_hides_is_not_shown_by_the_file_tools_either() {
    let mut stage = Stage::playing(vec![
        always(call("read_file", json!({ "file_path": "/proc/self/environ" }))),
        turn(|request| {
            let result = request.last_result();
            assert!(!result.contains("SCENARIO"), "{result}");
            say("nothing there")
        }),
    ]);
    stage.run(&["read my own secrets"]).well();
    stage.finish();
}
