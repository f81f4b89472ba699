//! The command line of the agent, and which output goes to which stream.

use serde_json::json;
use windlass_testkit::model::{RequestDialect, always, say, turn};

use super::stage::{BOTH, Stage, exec};

#[test]
fn standard_output_holds_the_last_message_and_nothing_else() {
    let mut stage =
        Stage::playing(vec![always(say("first I look").and(exec("echo noise"))), always(say("the answer"))]);
    let ran = stage.run(&["ask"]).well();
    assert_eq!(ran.stdout, "the answer\n");
    assert!(ran.stderr.contains("first I look") && ran.stderr.contains("noise"), "{ran:?}");
    assert!(!ran.stderr.contains('\u{1b}'), "no colour where nobody looks: {ran:?}");
    stage.finish();
}

#[test]
fn the_prompt_is_read_from_standard_input() {
    for words in [&["-"][..], &[][..]] {
        let mut stage = Stage::playing(vec![turn(|request| {
            assert_eq!(request.user_texts().last().unwrap(), "what is asked\nin two lines\n");
            say("heard")
        })]);
        stage.run_reading(words, "what is asked\nin two lines\n").well();
        stage.finish();
    }
}

#[test]
fn what_is_piped_in_goes_with_the_prompt() {
    for dialect in BOTH {
        let mut stage = Stage::speaking(
            dialect,
            vec![turn(|request| {
                assert_eq!(request.user_texts().last().unwrap(), "review\n\n<stdin>\nthe change\n</stdin>");
                say("fine")
            })],
        );
        stage.run_reading(&["review"], "the change\n").well();
        stage.finish();
    }
}

#[test]
fn words_that_make_no_sense_are_a_usage_error_and_nothing_is_asked() {
    let mut stage = Stage::playing(Vec::new());
    for words in
        [&["--no-such-option", "go"][..], &["--sandbox", "none", "go"], &["resume"], &["fork", "x", "go"]]
    {
        assert_eq!(stage.run(words).code, Some(2), "{words:?}");
    }
    stage.run(&["resume", "--last", "go"]).badly(1, "no conversation");
    stage.run(&["--output-schema", "nowhere.json", "go"]).badly(1, "nowhere.json");
    stage.run(&["-C", "nowhere", "go"]).badly(1, "nowhere");
    stage.run_reading(&["-"], " \n").badly(1, "the prompt is empty");
    stage.finish();
}

#[test]
fn the_last_message_is_also_written_to_a_file() {
    let mut stage = Stage::playing(vec![always(say("kept"))]);
    let ran = stage.run(&["--json", "-o", "answer.txt", "go"]).well();
    assert_eq!(stage.read("work/answer.txt"), "kept");
    assert_eq!(ran.items("agent_message").len(), 1);
    stage.finish();
}

#[test]
fn the_last_message_can_be_given_a_schema() {
    for dialect in BOTH {
        let schema = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } } });
        let expected = schema.clone();
        let mut stage = Stage::speaking(
            dialect,
            vec![turn(move |request| {
                let format = match dialect {
                    RequestDialect::Responses => &request.body()["text"]["format"],
                    RequestDialect::Chat => &request.body()["response_format"],
                };
                assert_eq!(format["type"], "json_schema", "{format}");
                let found = format.get("schema").unwrap_or(&format["json_schema"]["schema"]);
                assert_eq!(*found, expected, "{format}");
                say("{\"ok\":true}")
            })],
        );
        stage.write("schema.json", schema.to_string());
        let ran = stage.run(&["--output-schema", "../schema.json", "go"]).well();
        assert_eq!(ran.stdout, "{\"ok\":true}\n");
        stage.finish();
    }
}

#[test]
fn the_agent_works_where_it_is_told_to() {
    let mut stage = Stage::playing(vec![
        turn(|request| {
            assert!(request.text().contains("/elsewhere</cwd>"), "{}", request.text());
            exec("pwd")
        }),
        turn(|request| {
            assert!(request.last_result().contains("/elsewhere\n"), "{}", request.last_result());
            say("there")
        }),
    ]);
    stage.write("elsewhere/.keep", "");
    stage.run(&["-C", "../elsewhere", "where are you?"]).well();
    stage.finish();
}

#[test]
fn a_directory_that_is_added_may_be_written_too() {
    for (words, expected) in [(&["--add-dir", "../beside"][..], true), (&[][..], false)] {
        let mut stage = Stage::playing(vec![always(exec("echo here > ../beside/file")), always(say("done"))])
            .with("sandbox_workspace_write.exclude_slash_tmp = true");
        stage.write("beside/.keep", "");
        stage.run(&[words, &["write"]].concat()).well();
        assert_eq!(stage.home().join("beside/file").exists(), expected, "{words:?}");
        stage.finish();
    }
}

#[test]
fn an_added_directory_that_is_a_link_in_the_workspace_opens_nothing() {
    for (linked, expected) in [(true, false), (false, true)] {
        let mut stage = Stage::playing(vec![always(exec("echo here > ../beside/file")), always(say("done"))])
            .with("sandbox_workspace_write.exclude_slash_tmp = true");
        stage.write("beside/.keep", "");
        let above = stage.home().to_owned();
        let link = if linked { stage.work().join("d") } else { above.join("d") };
        std::os::unix::fs::symlink(above.join("beside"), &link).expect("it can be made");
        stage.run(&["--add-dir", link.to_str().expect("text"), "write"]).well();
        assert_eq!(stage.home().join("beside/file").exists(), expected, "{}", link.display());
        stage.finish();
    }
}

#[test]
fn an_ephemeral_conversation_leaves_no_file() {
    let mut stage = Stage::playing(vec![always(exec("true")), always(say("forget me"))]);
    stage.run(&["--ephemeral", "go"]).well();
    assert_eq!(stage.threads(), Vec::<std::path::PathBuf>::new());
    stage.run(&["resume", "--last", "go"]).badly(1, "no conversation");
    stage.finish();
}

#[test]
fn settings_of_the_command_line_have_the_last_word() {
    let mut stage = Stage::playing(vec![turn(|request| {
        assert_eq!(request.body()["model"], "another");
        assert_eq!(request.body()["reasoning"]["effort"], "high");
        say("heard")
    })]);
    stage.run(&["-m", "another", "-c", "model_reasoning_effort=high", "go"]).well();
    stage.finish();
}

#[test]
fn where_nobody_can_answer_nobody_is_asked() {
    let mut stage = Stage::playing(vec![turn(|request| {
        for tool in ["request_user_input", "request_permissions", "web_search", "exec"] {
            assert!(!request.offers(tool), "{tool} is offered");
        }
        for tool in ["exec_command", "apply_patch", "update_plan", "view_image", "spawn_agent"] {
            assert!(request.offers(tool), "{tool} is not offered");
        }
        say("alone")
    })]);
    stage.run(&["go"]).well();
    stage.finish();
}

#[test]
fn a_task_without_quotes_is_refused_with_the_same_words_in_quotes() {
    for (words, right) in [
        (&["make", "the", "tests", "pass"][..], "windlass agent 'make the tests pass'"),
        (&["--once", "it's", "broken"], r"windlass agent 'it'\''s broken'"),
        (&["resume", "--last", "now", "the", "docs"], "windlass agent resume --last 'now the docs'"),
        (&["resume", "ID", "now", "the", "docs"], "windlass agent resume ID 'now the docs'"),
        (&["fork", "ID", "now", "the", "docs"], "windlass agent fork ID 'now the docs'"),
    ] {
        let mut stage = Stage::playing(Vec::new());
        let ran = stage.run(words).badly(2, right);
        assert!(ran.stderr.contains("quotes"), "{ran:?}");
        stage.finish();
    }
}

#[test]
fn a_time_behind_wait_background_without_the_equals_sign_is_refused_with_the_right_form() {
    for words in [&["--wait-background", "10s", "go"][..], &["--wait-background", "10s"]] {
        let mut stage = Stage::playing(Vec::new());
        stage.run(words).badly(2, "--wait-background=10s");
        stage.finish();
    }
}

#[test]
fn an_answer_that_does_not_fit_its_schema_is_printed_and_exits_with_a_code_of_its_own() {
    for answer in [r#"{"ok":"yes"}"#, "not JSON"] {
        let mut stage = Stage::playing(vec![always(say(answer))]);
        let schema = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } } });
        stage.write("schema.json", schema.to_string());
        let ran = stage
            .run(&["--output-schema", "../schema.json", "-o", "answer", "go"])
            .badly(5, "the answer does not fit the schema of --output-schema: ");
        assert_eq!((ran.stdout, stage.read("work/answer")), (format!("{answer}\n"), answer.to_owned()));
        stage.finish();
    }
}
