//! Sub-agents: starting, notices, waiting, closing and reopening.

use std::fs;

use serde_json::{Value, json};
use windlass_testkit::model::{Gate, ModelTurn, Reply, RequestDialect, Role, always, call, role, say, turn};

use super::stage::{Stage, exec, field, fifo};

const ROOT: &str = "the root's task";
const CHILD: &str = "the child's task";

fn spawn() -> Reply {
    call("spawn_agent", json!({ "message": CHILD }))
}

/// A child and its root; a request belongs to the child if the user's message says so.
fn cast(child: Vec<ModelTurn>, root: Vec<ModelTurn>) -> Vec<Role> {
    vec![role(CHILD, child), role(ROOT, root)]
}

#[test]
fn a_sub_agent_works_and_its_last_words_are_waited_for() {
    let mut stage = Stage::casting(cast(
        vec![always(exec("echo of the child > child")), always(say("the child is done"))],
        vec![
            always(spawn()),
            turn(|request| {
                let id = field(&request.last_result(), "agent_id");
                assert!(!field(&request.last_result(), "nickname").is_empty());
                call("wait_agent", json!({ "targets": [id] }))
            }),
            turn(|request| {
                let answer: Value = serde_json::from_str(&request.last_result()).unwrap();
                let statuses: Vec<&Value> = answer["status"].as_object().unwrap().values().collect();
                assert_eq!(statuses, [&json!({ "completed": "the child is done" })], "{answer}");
                assert_eq!(answer["timed_out"], false);
                // A result that was in an answer is not repeated in a notice.
                assert!(!request.is_asked("<subagent_notification>"), "{}", request.text());
                say("so am I")
            }),
        ],
    ));
    let ran = stage.run(&["--json", ROOT]).well();
    assert_eq!(stage.read("work/child"), "of the child\n");
    let tools: Vec<Value> = ran.items("collab_tool_call");
    assert_eq!(
        tools.iter().map(|item| item["tool"].as_str().unwrap()).collect::<Vec<_>>(),
        ["spawn_agent", "wait"]
    );
    assert_eq!(tools[0]["prompt"], CHILD);
    let child = tools[0]["receiver_thread_ids"][0].as_str().expect("a receiver");
    assert_eq!(tools[0]["sender_thread_id"], ran.thread());
    assert_eq!(
        tools[1]["agents_states"][child],
        json!({ "status": "completed", "message": "the child is done" })
    );
    // Events of the child carry its name.
    let wrapped = ran.events_of("agent.event");
    assert!(wrapped.iter().all(|event| event["thread_id"] == child), "{ran:?}");
    assert!(wrapped.iter().any(|event| event["event"]["item"]["type"] == "command_execution"), "{ran:?}");
    assert_eq!(ran.items("command_execution").len(), 0, "{ran:?}");
    assert_eq!(stage.threads().len(), 2);
    for request in stage.finish() {
        // Both share a cache, and children get no tool to start children.
        assert_eq!(request.offers("spawn_agent"), request.is_asked(ROOT));
        assert_eq!(request.body()["prompt_cache_key"], ran.thread());
    }
}

#[test]
fn sub_agents_work_in_the_other_dialect_too() {
    let model = vec![
        Role::knowing("child", |request| request.is_asked(CHILD), vec![always(say("the child is done"))]),
        role(ROOT, vec![always(spawn()), always(call("wait_agent", json!({}))), always(say("so am I"))]),
    ];
    let mut stage = Stage::casting_in(RequestDialect::Chat, model);
    assert_eq!(stage.run(&[ROOT]).well().stdout, "so am I\n");
    stage.finish();
}

#[test]
fn with_wait_background_an_agent_is_woken_by_its_sub_agents_end_exactly_once() {
    let gate = Gate::closed();
    let held = say("the child is done").stalled_after_events(2, &gate);
    let mut stage = Stage::casting(cast(
        vec![always(held)],
        vec![
            always(spawn()),
            turn(move |_| {
                gate.open();
                say("I have nothing to do meanwhile")
            }),
            turn(|request| {
                let texts = request.user_texts();
                let told: Vec<_> =
                    texts.iter().filter(|text| text.contains("<subagent_notification>")).collect();
                assert_eq!(told.len(), 1, "{texts:?}");
                assert!(told[0].contains("the child is done"), "{told:?}");
                say("the end")
            }),
        ],
    ));
    assert_eq!(stage.run(&["--wait-background", ROOT]).well().stdout, "the end\n");
    stage.finish();
}

#[test]
fn a_sub_agent_is_told_more_and_closed_and_reopened_with_what_it_knew() {
    let mut stage = Stage::casting(cast(
        vec![
            always(say("one")),
            turn(|request| {
                assert!(request.is_asked("and two?"));
                say("two")
            }),
            turn(|request| {
                assert!(
                    request.is_asked(CHILD) && request.is_asked("and two?") && request.is_asked("and three?")
                );
                say("three")
            }),
        ],
        vec![
            always(spawn()),
            always(call("wait_agent", json!({}))),
            turn(|request| {
                let id = field(&request.results()[0], "agent_id");
                call("send_input", json!({ "target": id, "message": "and two?" }))
            }),
            always(call("wait_agent", json!({}))),
            turn(|request| {
                assert!(request.last_result().contains("two"), "{}", request.last_result());
                let nickname = field(&request.results()[0], "nickname");
                call("close_agent", json!({ "target": nickname })).and(call("list_agents", json!({})))
            }),
            turn(|request| {
                let results = request.results();
                assert!(results[4].contains("previous_status") && results[4].contains("two"), "{results:?}");
                let listed: Value = serde_json::from_str(&results[5]).unwrap();
                assert_eq!(listed["agents"][0]["task"], CHILD, "{listed}");
                assert_eq!(listed["agents"][0]["path"], format!("/lead/{}", field(&results[0], "nickname")));
                let id = field(&results[0], "agent_id");
                call("send_input", json!({ "target": id, "message": "lost" }))
            }),
            turn(|request| {
                assert!(request.last_result().contains("not found"), "{}", request.last_result());
                let id = field(&request.results()[0], "agent_id");
                call("resume_agent", json!({ "id": id }))
            }),
            turn(|request| {
                assert!(request.last_result().contains("pending_init"), "{}", request.last_result());
                let id = field(&request.results()[0], "agent_id");
                call("send_input", json!({ "target": id, "message": "and three?" }))
            }),
            always(call("wait_agent", json!({}))),
            turn(|request| {
                assert!(request.last_result().contains("three"), "{}", request.last_result());
                say("the end")
            }),
        ],
    ));
    stage.run(&[ROOT]).well();
    stage.finish();
}

#[test]
fn an_interrupt_takes_a_sub_agent_from_its_command_to_new_words() {
    let mut stage = Stage::casting(cast(
        vec![
            always(exec("echo here > pipe; exec cat other")),
            turn(|request| {
                assert!(request.last_result().contains("aborted by user"), "{}", request.last_result());
                assert!(request.is_asked("<turn_aborted>") && request.is_asked("do this instead"));
                say("done instead")
            }),
        ],
        vec![
            always(spawn()),
            always(exec("cat pipe")),
            turn(|request| {
                let id = field(&request.results()[0], "agent_id");
                call("send_input", json!({ "target": id, "message": "do this instead", "interrupt": true }))
            }),
            always(call("wait_agent", json!({}))),
            turn(|request| {
                assert!(request.last_result().contains("done instead"), "{}", request.last_result());
                say("the end")
            }),
        ],
    ));
    fifo(&stage.work().join("pipe"));
    fifo(&stage.work().join("other"));
    stage.run(&[ROOT]).well();
    stage.finish();
}

#[test]
fn a_sub_agent_that_fails_does_not_fail_its_parent() {
    let mut stage = Stage::casting(cast(
        vec![always(Reply::refusal(400, "not for children"))],
        vec![
            always(spawn()),
            always(call("wait_agent", json!({}))),
            turn(|request| {
                let result = request.last_result();
                assert!(result.contains("errored") && result.contains("not for children"), "{result}");
                say("then I do it")
            }),
        ],
    ));
    assert_eq!(stage.run(&[ROOT]).well().stdout, "then I do it\n");
    stage.finish();
}

#[test]
fn no_more_sub_agents_than_allowed_are_open_and_closing_one_makes_room() {
    let spawn = |task: &str| call("spawn_agent", json!({ "message": task }));
    let mut stage = Stage::casting(vec![
        role("first task", vec![always(say("first"))]),
        role("third task", vec![always(say("third"))]),
        role(
            ROOT,
            vec![
                always(spawn("first task")),
                always(spawn("second task")),
                turn(move |request| {
                    assert!(
                        request.last_result().contains("agent thread limit reached"),
                        "{}",
                        request.last_result()
                    );
                    call("wait_agent", json!({}))
                }),
                turn(|request| {
                    let id = field(&request.results()[0], "agent_id");
                    call("close_agent", json!({ "target": id }))
                }),
                always(spawn("third task")),
                always(call("wait_agent", json!({}))),
                always(say("the end")),
            ],
        ),
    ])
    .with("agents.max_threads = 1");
    let ran = stage.run(&["--json", ROOT]).well();
    let statuses: Vec<Value> =
        ran.items("collab_tool_call").iter().map(|item| item["status"].clone()).collect();
    assert_eq!(statuses.iter().filter(|status| **status == "failed").count(), 1, "{ran:?}");
    stage.finish();
}

#[test]
fn sub_agents_have_their_own_as_deep_as_is_allowed() {
    let spawn = |task: &str| call("spawn_agent", json!({ "message": task }));
    let mut stage = Stage::casting(vec![
        role(
            "grandchild's task",
            vec![
                turn(|request| {
                    assert!(!request.offers("spawn_agent"));
                    call("spawn_agent", json!({ "message": "deeper" }))
                }),
                turn(|request| {
                    assert!(request.last_result().contains("there is no tool"), "{}", request.last_result());
                    say("grandchild")
                }),
            ],
        ),
        role(
            "middle task",
            vec![
                always(spawn("grandchild's task")),
                always(call("wait_agent", json!({}))),
                always(say("middle")),
            ],
        ),
        role(
            ROOT,
            vec![always(spawn("middle task")), always(call("wait_agent", json!({}))), always(say("the end"))],
        ),
    ])
    .with("agents.max_depth = 2");
    stage.run(&[ROOT]).well();
    assert_eq!(stage.threads().len(), 3);
    stage.finish();
}

#[test]
fn a_fork_of_the_conversation_knows_the_words_and_not_the_calls() {
    let mut stage = Stage::casting(vec![
        Role::knowing(
            "child",
            |request| request.is_asked(CHILD),
            vec![turn(|request| {
                assert!(request.is_asked(ROOT), "{}", request.text());
                assert!(request.results().is_empty(), "{}", request.text());
                say("I know")
            })],
        ),
        role(
            ROOT,
            vec![
                always(exec("true")),
                always(call(
                    "spawn_agent",
                    json!({ "message": CHILD, "fork_context": true, "agent_type": "explorer" }),
                )),
                always(call("wait_agent", json!({}))),
                always(say("the end")),
            ],
        ),
    ]);
    stage.run(&[ROOT]).well();
    stage.finish();
}

#[test]
fn a_task_that_is_done_ends_the_sub_agents_that_still_work() {
    let mut stage = Stage::casting(cast(
        vec![always(exec("echo here > pipe; exec cat other"))],
        vec![always(spawn()), always(exec("cat pipe")), always(Reply::refusal(400, "the root fails"))],
    ));
    fifo(&stage.work().join("pipe"));
    fifo(&stage.work().join("other"));
    stage.run(&[ROOT]).badly(1, "the root fails");
    for path in stage.threads() {
        let text = fs::read_to_string(path).expect("a thread file");
        assert!(text.ends_with('\n'), "{text}");
    }
    stage.finish();
}

#[test]
fn nonsense_about_sub_agents_is_answered() {
    let mut stage = Stage::playing(vec![
        always(
            call("wait_agent", json!({}))
                .and(call("wait_agent", json!({ "targets": ["nobody"] })))
                .and(call("spawn_agent", json!({ "message": " " })))
                .and(call("spawn_agent", json!({ "message": "x", "agent_type": "plumber" })))
                .and(call("send_input", json!({ "message": "x" })))
                .and(call("resume_agent", json!({ "id": "nobody" }))),
        ),
        turn(|request| {
            let expected = [
                "no sub-agents",
                "not found",
                "empty",
                "there is no agent_type `plumber`",
                "missing",
                "not found",
            ];
            for (result, expected) in request.results().iter().zip(expected) {
                assert!(result.contains(expected), "{result}: {expected}");
            }
            say("the end")
        }),
    ]);
    stage.run(&[ROOT]).well();
    stage.finish();
}

#[test]
fn the_sub_agents_of_an_earlier_program_are_reopened_by_the_next() {
    let mut stage = Stage::casting(cast(
        vec![
            always(say("one")),
            turn(|request| {
                assert!(request.is_asked("and two?"), "{}", request.text());
                say("two")
            }),
        ],
        vec![
            always(spawn()),
            always(call("wait_agent", json!({}))),
            always(say("for today")),
            turn(|request| {
                let id = field(&request.results()[0], "agent_id");
                call("resume_agent", json!({ "id": id }))
            }),
            turn(|request| {
                let id = field(&request.results()[0], "agent_id");
                call("send_input", json!({ "id": id, "message": "and two?" }))
            }),
            always(call("wait_agent", json!({}))),
            turn(|request| {
                assert!(request.last_result().contains("two"), "{}", request.last_result());
                say("the end")
            }),
        ],
    ));
    stage.run(&[ROOT]).well();
    stage.run(&["resume", "--last", "go on"]).well();
    assert_eq!(stage.threads().len(), 2);
    stage.finish();
}

#[test]
fn a_sub_agent_that_is_reopened_and_told_nothing_keeps_nobody() {
    let mut stage = Stage::casting(cast(
        vec![always(say("one"))],
        vec![
            always(spawn()),
            always(call("wait_agent", json!({}))),
            turn(|request| {
                let id = field(&request.results()[0], "agent_id");
                call("close_agent", json!({ "target": id }))
            }),
            turn(|request| {
                let id = field(&request.results()[0], "agent_id");
                call("resume_agent", json!({ "id": id }))
            }),
            always(say("never mind")),
        ],
    ));
    stage.run(&[ROOT]).well();
    stage.finish();
}

#[test]
fn waiting_where_nobody_works_says_at_once_how_all_are() {
    let mut stage = Stage::casting(cast(
        vec![always(say("one"))],
        vec![
            always(spawn()),
            always(call("wait_agent", json!({}))),
            always(call("wait_agent", json!({ "timeout_ms": 3_600_000 }))),
            turn(|request| {
                let answer: Value = serde_json::from_str(&request.last_result()).unwrap();
                let id = field(&request.results()[0], "agent_id");
                assert_eq!(answer["status"][&id], json!({ "completed": "one" }), "{answer}");
                say("the end")
            }),
        ],
    ));
    stage.run(&[ROOT]).well();
    stage.finish();
}
