//! Keys that were typed before a question could be read do not answer it, and a line reports their fate.

use super::asked::escalated;
use super::*;

/// A command that waits for approval while a line is being written: the question is open and does not have the
/// keyboard.
async fn asked_behind_a_line(name: &str) -> (Stage, Person) {
    let gate = Gate::closed();
    let script = "touch approved; echo ran";
    let stage = Stage::new(
        name,
        vec![
            always(escalated(script).stalled_after_events(1, &gate)),
            turn(|request| {
                assert!(request.last_result().contains("declined"), "{}", request.last_result());
                say("Nothing was run.")
            }),
        ],
    );
    let person = stage.open(&["do it"]);
    person.sees("working").await;
    person.types("x").await;
    person.sees("› x").await;
    gate.open();
    person.sees("first your line").await;
    (stage, person)
}

/// Types the whole text at once after the key that gives the keyboard to the question; no part of it may be an answer.
async fn check(name: &str, ahead: &str, told: &str) {
    let (stage, person) = asked_behind_a_line(name).await;
    person.types(&format!("\x7f{ahead}")).await;
    person.sees(told).await;
    assert!(!stage.work("approved").exists(), "{}", person.screen());
    person.sees("yes + Enter").await;
    person.types("no\r").await;
    person.sees("Nothing was run.").await;
    assert_eq!(person.leaves().await, 0);
    assert!(!stage.work("approved").exists());
    stage.model.finish();
}

#[tokio::test]
async fn typing_while_the_question_opens_approves_nothing_and_is_reported() {
    check("ahead", "yes\r", "dropped, typed before the question: yes⏎").await;
}

#[tokio::test]
async fn single_letters_typed_while_the_question_opens_approve_nothing() {
    check("ahead-letters", "yay", "dropped, typed before the question: yay").await;
}

#[tokio::test]
async fn a_paste_while_the_question_opens_approves_nothing() {
    check("ahead-paste", "\x1b[200~yes\r\x1b[201~\r", "dropped, typed before the question: yes⏎⏎").await;
}

#[tokio::test]
async fn characters_of_several_bytes_typed_while_the_question_opens_are_dropped_whole() {
    check("ahead-bytes", "jaé字\r", "dropped, typed before the question: jaé字⏎").await;
}

#[tokio::test]
async fn a_question_is_answered_by_a_whole_word_only() {
    let stage = Stage::new(
        "words",
        vec![
            always(escalated("touch approved; echo ran-$((40 + 2))")),
            turn(|request| {
                assert!(request.last_result().contains("ran-42"), "{}", request.last_result());
                say("Done.")
            }),
        ],
    );
    let person = stage.open(&["do it"]);
    person.sees("yes + Enter").await;
    for other in ["y", "a", "yes please", "YE S", "so always"] {
        person.types(&format!("{other}\r")).await;
        person.sees(&format!("\"{other}\" is no answer")).await;
        assert!(!stage.work("approved").exists(), "{other}");
    }
    person.types("yes\r").await;
    person.sees("Done.").await;
    assert_eq!(person.leaves().await, 0);
    stage.model.finish();
}

#[tokio::test]
async fn a_terminal_in_line_mode_drops_lines_and_parts_of_lines_that_are_older_than_the_question() {
    let gate = Gate::closed();
    let stage = Stage::new(
        "ahead-dumb",
        vec![
            always(escalated("touch approved").stalled_after_events(1, &gate)),
            turn(|request| {
                assert!(request.last_result().contains("declined"), "{}", request.last_result());
                say("Nothing was run.")
            }),
        ],
    );
    let person = stage.open_with(&["do it"], &[("TERM", "dumb")]);
    // The terminal buffers the beginning of a line until the line ends.
    person.types("ye").await;
    person.sees("ye").await;
    gate.open();
    person.sees("yes + Enter").await;
    person.types("s\n").await;
    person.sees("\"s\" is no answer").await;
    assert!(!stage.work("approved").exists());
    person.types("no\n").await;
    person.sees("Nothing was run.").await;
    assert_eq!(person.leaves().await, 0);
    stage.model.finish();
}

/// Text that was typed behind `/clear` was dropped, or was sent as a message by an Enter that was typed with it.
#[tokio::test]
async fn what_is_typed_ahead_of_a_new_conversation_stays_in_its_line_unsent() {
    for (name, command, ahead, line) in [
        ("clear-text", "/clear", "half a tho", "› half a tho"),
        ("clear-enter", "/clear", "half a tho\r", "› half a tho"),
        ("clear-lines", "/new", "half\ra tho\r", "› half\n  a tho"),
    ] {
        let stage = Stage::new(
            name,
            vec![
                always(say("Hello.")),
                turn(|request| {
                    assert!(!request.is_asked("first words"), "it is a new conversation");
                    assert_eq!(request.text().matches("a thought").count(), 1, "{}", request.text());
                    say("Thought about.")
                }),
            ],
        );
        let person = stage.open(&["first words"]);
        person.sees("Hello.").await;
        person.sees("ready").await;
        // In one write, so that the text arrives before the conversation can have ended.
        person.types(&format!("{command}\r{ahead}")).await;
        person.sees("go on with").await;
        person.sees(line).await;
        person.sees("ready").await;
        person.types("ught\r").await;
        person.sees("Thought about.").await;
        assert_eq!(person.leaves().await, 0);
        stage.model.finish();
    }
}

/// Between the two conversations the terminal was in line mode: it echoed the keys, and read Enter as another key.
#[tokio::test]
async fn what_is_typed_while_an_old_conversation_ends_stays_in_the_line_of_the_new_one() {
    let stage = Stage::new(
        "clear-late",
        vec![
            always(run(
                "trap 'until test -e go; do sleep 0.02; done; exit' TERM; echo up; while :; do sleep 0.02; done",
            )),
            turn(|request| {
                assert!(request.is_asked("a thought") && !request.is_asked("first words"));
                say("Thought about.")
            }),
        ],
    );
    let person = stage.open(&["first words"]);
    person.sees("up").await;
    person.types("/clear\r").await;
    person.waits("the line to be empty", |screen| !screen.contains("› /clear")).await;
    person.types("a tho\r").await;
    std::fs::write(stage.work("go"), "").expect("a file can be written");
    person.sees("go on with").await;
    person.sees("› a tho").await;
    person.sees("ready").await;
    person.types("ught\r").await;
    person.sees("Thought about.").await;
    assert_eq!(person.leaves().await, 0);
    stage.model.finish();
}

#[tokio::test]
async fn a_terminal_in_line_mode_names_the_lines_that_a_new_conversation_was_not_told() {
    let stage = Stage::new(
        "clear-dumb",
        vec![
            always(say("Hello.")),
            turn(|request| {
                assert!(request.is_asked("half\na thought"), "{}", request.text());
                say("Thought about.")
            }),
        ],
    );
    let person = stage.open_with(&["first words"], &[("TERM", "dumb")]);
    person.sees("Hello.").await;
    person.types("/clear\nhalf\n").await;
    person.sees("Enter sends it: half").await;
    person.types("a thought\n").await;
    person.sees("Thought about.").await;
    assert_eq!(person.leaves().await, 0);
    stage.model.finish();
}
