//! `--json`: the event formats that programs read.

use serde_json::{Value, json};
use windlass_testkit::model::{Reply, Usage, always, call, custom, say, think, turn};

use super::stage::{Stage, exec, fifo, session_in};

fn types(events: &[Value]) -> Vec<String> {
    let word = |event: &Value| {
        let item = event["item"]["type"].as_str().map(|kind| format!(" {kind}")).unwrap_or_default();
        format!("{}{item}", event["type"].as_str().unwrap_or_default())
    };
    events.iter().map(word).collect()
}

#[test]
fn a_turn_is_told_from_its_thread_to_its_cost() {
    let mut stage = Stage::playing(vec![always(think("hm").and(exec("echo hello"))), always(say("the end"))]);
    let ran = stage.run(&["--json", "go"]).well();
    let events = ran.events();
    assert_eq!(
        types(&events),
        [
            "thread.started",
            "turn.started",
            "item.completed reasoning",
            "item.started command_execution",
            "item.completed command_execution",
            "item.completed agent_message",
            "turn.completed"
        ]
    );
    let ids: Vec<&Value> = events.iter().filter_map(|event| event["item"].get("id")).collect();
    assert_eq!(ids, ["item_0", "item_1", "item_1", "item_2"]);
    assert_eq!(events[2]["item"]["text"], "hm");
    let begun = json!({ "id": "item_1", "type": "command_execution", "command": "echo hello",
        "aggregated_output": "", "exit_code": null, "status": "in_progress" });
    assert_eq!(events[3]["item"], begun);
    let ended = json!({ "id": "item_1", "type": "command_execution", "command": "echo hello",
        "aggregated_output": "hello\n", "exit_code": 0, "status": "completed" });
    assert_eq!(events[4]["item"], ended);
    assert_eq!(events[5]["item"]["text"], "the end");
    assert_eq!(events[6]["usage"]["input_tokens"], 2);
    stage.finish();
}

#[test]
fn a_command_is_complete_when_it_ends_even_if_that_is_calls_later() {
    let mut stage = Stage::playing(vec![
        always(call("exec_command", json!({ "cmd": "cat pipe; exit 7", "yield_time_ms": 250 }))),
        always(exec("echo meanwhile")),
        always(exec("echo go > pipe")),
        turn(|request| {
            let session = session_in(&request.results()[0]);
            call("wait_sessions", json!({ "session_ids": [session] }))
        }),
        always(say("over")),
    ]);
    fifo(&stage.work().join("pipe"));
    let ran = stage.run(&["--json", "go"]).well();
    let events = ran.events();
    let place = |kind: &str, command: &str| {
        let found =
            events.iter().position(|event| event["type"] == kind && event["item"]["command"] == command);
        found.unwrap_or_else(|| panic!("no {kind} of {command} in {ran:?}"))
    };
    let (begun, ended) =
        (place("item.started", "cat pipe; exit 7"), place("item.completed", "cat pipe; exit 7"));
    assert!(
        begun < place("item.completed", "echo meanwhile")
            && place("item.completed", "echo meanwhile") < ended
    );
    let item = &events[ended]["item"];
    assert_eq!((&item["exit_code"], &item["status"]), (&json!(7), &json!("failed")), "{item}");
    assert_eq!(item["aggregated_output"], "go\n");
    assert_eq!(events[begun]["item"]["id"], item["id"]);
    assert_eq!(ran.items("command_execution").len(), 3, "{ran:?}");
    stage.finish();
}

#[test]
fn a_plan_is_begun_updated_and_completed_as_one_item() {
    let plan = |first: &str, second: &str| {
        let steps = json!([{ "step": "dig", "status": first }, { "step": "fill", "status": second }]);
        call("update_plan", json!({ "explanation": "a hole", "plan": steps }))
    };
    let mut stage = Stage::playing(vec![
        always(plan("in_progress", "pending")),
        always(plan("completed", "in_progress")),
        turn(move |request| {
            assert_eq!(request.last_result(), "Plan updated");
            plan("in_progress", "in_progress")
        }),
        turn(|request| {
            assert!(request.last_result().contains("at most one"), "{}", request.last_result());
            say("dug")
        }),
    ]);
    let ran = stage.run(&["--json", "dig"]).well();
    let events = ran.events();
    let plans: Vec<&Value> = events.iter().filter(|event| event["item"]["type"] == "todo_list").collect();
    let kinds: Vec<&Value> = plans.iter().map(|event| &event["type"]).collect();
    assert_eq!(kinds, ["item.started", "item.updated", "item.completed"]);
    assert!(plans.iter().all(|event| event["item"]["id"] == "item_0"), "{ran:?}");
    let done = json!([{ "text": "dig", "completed": true }, { "text": "fill", "completed": false }]);
    assert_eq!(plans[2]["item"]["items"], done);
    assert_eq!(types(&events[events.len() - 2..]), ["item.completed todo_list", "turn.completed"]);
    stage.finish();
}

#[test]
fn a_search_of_the_provider_is_passed_on_and_kept() {
    let search = json!({ "type": "web_search_call", "id": "ws_1", "status": "completed",
        "action": { "type": "search", "query": "windlass" } });
    let mut stage = Stage::playing(vec![
        turn(move |request| {
            let tools = request.body()["tools"].as_array().unwrap();
            assert!(tools.iter().any(|tool| tool["type"] == "web_search"), "{tools:?}");
            Reply::item(search).and(exec("true"))
        }),
        turn(|request| {
            assert!(request.text().contains("web_search_call"), "{}", request.text());
            say("found")
        }),
    ])
    .with("web_search = \"live\"");
    let ran = stage.run(&["--json", "search"]).well();
    let searches = ran.items("web_search");
    assert_eq!((searches.len(), &searches[0]["query"]), (1, &json!("windlass")), "{ran:?}");
    stage.finish();
}

#[test]
fn a_patch_that_fails_is_no_change() {
    let mut stage = Stage::playing(vec![
        always(custom("apply_patch", "*** Begin Patch\n*** Delete File: nowhere\n*** End Patch")),
        always(say("it is not there")),
    ]);
    let ran = stage.run(&["--json", "delete"]).well();
    let changes = ran.items("file_change");
    assert!(changes.iter().all(|change| change["status"] == "failed"), "{ran:?}");
    stage.finish();
}

#[test]
fn a_turn_that_fails_says_so_last() {
    let mut stage = Stage::playing(vec![always(exec("true")), always(Reply::refusal(400, "no more"))]);
    let ran = stage.run(&["--json", "go"]).badly(1, "no more");
    let last = ran.events().pop().expect("an event");
    assert_eq!(last["type"], "turn.failed");
    assert!(last["error"]["message"].as_str().unwrap().contains("no more"), "{ran:?}");
    stage.finish();
}

#[test]
fn what_a_turn_cost_is_told_where_prices_are_known() {
    let usage = Usage { input: 3_000_000, cached: 1_000_000, output: 500_000, reasoning: 0 };
    let mut stage = Stage::playing(vec![always(say("dear").costing(usage))])
        .with("model_prices.scripted.input = 2.0")
        .with("model_prices.scripted.cached_input = 0.5")
        .with("model_prices.scripted.output = 8.0");
    let ran = stage.run(&["--json", "go"]).well();
    let cost = ran.events_of("turn.completed")[0]["cost_usd"].as_f64().expect("a cost");
    assert!((cost - 8.5).abs() < 0.001, "{cost}");
    stage.finish();
}

#[test]
fn the_event_that_ends_the_turn_is_the_last_one_also_when_a_command_is_ended_with_the_agent() {
    let start = json!({ "cmd": "echo ready; cat other", "until": { "pattern": "ready" } });
    let mut stage = Stage::playing(vec![always(call("exec_command", start)), always(say("the end"))]);
    fifo(&stage.work().join("other"));
    let ran = stage.run(&["--json", "go"]).well();
    let types = types(&ran.events());
    assert_eq!(
        types[types.len() - 4..],
        ["item.completed agent_message", "error", "item.completed command_execution", "turn.completed"],
        "{ran:?}"
    );
    stage.finish();
}
