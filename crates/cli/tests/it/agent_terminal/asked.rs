//! Questions to a person at the terminal: approvals, secrets, and questions of the model and of MCP servers.

use std::path::Path;

use super::*;

pub(super) fn escalated(script: &str) -> Reply {
    call(
        "exec_command",
        json!({ "cmd": script, "sandbox_permissions": "require_escalated", "justification": "it must" }),
    )
}

#[tokio::test]
async fn approvals_are_given_and_refused_with_a_reason() {
    let stage = Stage::new(
        "approve",
        vec![
            always(escalated("echo approved-$((40 + 2))")),
            turn(|request| {
                assert!(request.last_result().contains("approved-42"), "{}", request.last_result());
                escalated("echo never")
            }),
            turn(|request| {
                assert!(request.last_result().contains("use another way"), "{}", request.last_result());
                say("As you wish.")
            }),
        ],
    );
    let person = stage.open(&["do it"]);
    person.sees("May this be done?").await;
    person.sees("to run without the sandbox: it must").await;
    person.sees("yes + Enter").await;
    person.types("yes\r").await;
    person.sees("approved-42").await;
    person.sees("echo never").await;
    person.waits("the second question", |screen| screen.matches("May this be done?").count() == 2).await;
    person.sees("yes + Enter").await;
    person.types("no, use another way\r").await;
    person.sees("As you wish.").await;
    assert_eq!(person.leaves().await, 0);
    stage.model.finish();
}

#[tokio::test]
async fn a_line_that_is_being_written_answers_no_question() {
    let gate = Gate::closed();
    let stage = Stage::new(
        "guard",
        vec![
            always(escalated("echo ran").stalled_after_events(1, &gate)),
            turn(|request| {
                assert!(request.last_result().contains("declined"), "{}", request.last_result());
                assert!(request.is_asked("yes, say that"));
                say("Good.")
            }),
        ],
    );
    let person = stage.open(&["do it"]);
    person.sees("working").await;
    person.types("yes, say").await;
    person.sees("› yes, say").await;
    gate.open();
    person.sees("first your line").await;
    person.types(" that\r").await;
    person.sees("yes + Enter").await;
    person.types("no\r").await;
    person.sees("Good.").await;
    assert_eq!(person.leaves().await, 0);
    stage.model.finish();
}

#[tokio::test]
async fn a_programs_secret_is_typed_unseen_and_reaches_only_the_program() {
    let script = "printf 'Password: '; stty -echo; read word; stty echo; echo opened with ${#word} letters";
    let stage = Stage::new(
        "secret",
        vec![
            always(call("exec_command", json!({ "cmd": script, "tty": true }))),
            turn(|request| {
                assert!(request.last_result().contains("opened with 7 letters"), "{}", request.last_result());
                say("It is open.")
            }),
        ],
    );
    let person = stage.open(&["open it"]);
    person.sees("typing is hidden").await;
    person.sees("Password:").await;
    person.types("hunter2\r").await;
    person.sees("It is open.").await;
    person.types("\x1b[A").await;
    person.sees("› open it").await;
    assert_eq!(person.leaves_a_line().await, 0);
    assert!(!person.raw().contains("hunter2"), "it is never shown");
    assert!(!everything_below(&stage.scratch.path().join("state")).contains("hunter2"), "it is kept nowhere");
    assert!(stage.model.finish().iter().all(|request| !request.text().contains("hunter2")));
}

fn everything_below(directory: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        text += &if path.is_dir() {
            everything_below(&path)
        } else {
            String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into_owned()
        };
    }
    text
}

#[tokio::test]
async fn questions_of_the_model_are_answered() {
    let options = json!([{ "label": "left", "description": "the old way" }, { "label": "right" }]);
    let questions = json!({ "questions": [
        { "id": "way", "header": "Way", "question": "Which way?", "options": options },
        { "id": "name", "question": "Which name?" },
    ]});
    let stage = Stage::new(
        "questions",
        vec![
            always(call("request_user_input", questions)),
            turn(|request| {
                let answer: serde_json::Value =
                    serde_json::from_str(&request.last_result()).expect("it is JSON");
                assert_eq!(answer["answers"]["way"]["answers"][0], "right");
                assert_eq!(answer["answers"]["name"]["answers"][0], "Ada");
                say("Right, Ada.")
            }),
        ],
    );
    let person = stage.open(&["ask me"]);
    person.sees("1. left  the old way").await;
    person.sees("1-2 or your own words").await;
    person.types("2\r").await;
    person.sees("Which name?").await;
    person.types("Ada\r").await;
    person.sees("Right, Ada.").await;
    assert_eq!(person.leaves().await, 0);
    stage.model.finish();
}

/// The server is windlass itself, with the tools that conformance suites require.
#[tokio::test]
async fn questions_of_other_peoples_tools_are_answered() {
    let ask = |request: &windlass_testkit::model::Request| {
        call(request.tool_of("forms", "test_elicitation"), json!({ "message": "Who are you?" }))
    };
    let stage = Stage::new(
        "forms",
        vec![
            turn(ask),
            turn(move |request| {
                let said = request.last_result();
                assert!(said.contains("accept") && said.contains("ada@example.org"), "{said}");
                ask(request)
            }),
            turn(|request| {
                assert!(request.last_result().contains("decline"), "{}", request.last_result());
                say("Thank you.")
            }),
        ],
    );
    let command = format!("mcp_servers.forms.command={WINDLASS:?}");
    let arguments = "mcp_servers.forms.args=[\"mcp\", \"--conformance-fixtures\"]";
    let person = stage.open(&["-c", &command, "-c", arguments, "introduce me"]);
    person.sees("The MCP server forms asks: Who are you?").await;
    person.sees("your own words, then Enter").await;
    person.types("\r").await;
    person.sees("is needed.").await;
    person.sees("your own words, then Enter").await;
    person.types("ada@example.org\r").await;
    person.sees("username: User's response").await;
    person.sees("your own words, then Enter").await;
    person.types("Ada\r").await;
    person.waits("the second form", |screen| screen.matches("Who are you?").count() == 2).await;
    person.sees("Esc declines").await;
    person.types("\x1b").await;
    person.sees("Thank you.").await;
    assert_eq!(person.leaves().await, 0);
    stage.model.finish();
}

/// A request to leave the sandbox, with these further arguments.
fn escalated_with(more: &serde_json::Value) -> Reply {
    let mut arguments = json!({ "cmd": "echo x >> ran", "sandbox_permissions": "require_escalated", "justification": "it must" });
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call("exec_command", arguments)
}

#[tokio::test]
async fn always_holds_for_the_same_command_in_the_same_circumstances_only() {
    let other = json!({ "env": { "PATH": "/tmp/evil:/usr/bin:/bin" } });
    let stage = Stage::new(
        "always",
        vec![
            always(escalated_with(&json!({}))),
            always(escalated_with(&json!({}))),
            always(escalated_with(&other)),
            turn(|request| {
                assert!(request.last_result().contains("declined"), "{}", request.last_result());
                say("Twice.")
            }),
        ],
    );
    let person = stage.open(&["do it"]);
    person.sees("always + Enter").await;
    person.types("always\r").await;
    person.sees("runs others").await;
    person.sees("PATH=/tmp/evil:/usr/bin:/bin").await;
    person.sees("sandbox      │ none").await;
    assert_eq!(std::fs::read_to_string(stage.work("ran")).expect("it ran"), "x\nx\n");
    person.sees("always + Enter").await;
    person.types("no\r").await;
    person.sees("Twice.").await;
    assert_eq!(person.screen().matches("May this be done?").count(), 2, "{}", person.screen());
    assert_eq!(person.leaves().await, 0);
    stage.model.finish();
}

#[tokio::test]
async fn a_command_at_the_terminal_shows_what_it_hides() {
    let stage = Stage::new(
        "unhidden",
        vec![always(escalated("echo a\n  rm -rf b # \u{1b}[2J\u{202e}txt")), always(say("Good."))],
    );
    let person = stage.open(&["do it"]);
    person.sees("  command      │ echo a\n               │   rm -rf b # <U+001B>[2J<U+202E>txt").await;
    person.sees("yes + Enter").await;
    person.types("no\r").await;
    person.sees("Good.").await;
    assert_eq!(person.leaves().await, 0);
}
