//! Agents and their sub-agents.

use serde_json::{Value, json};
use windlass_agent::{Background, EventKind, Status};
use windlass_llm::Request;

use super::stage::{Saying, Setting, Stage, calls, has_heard, heard, outputs, run, say};

/// One script for all sub-agents, and another for the root agent.
fn casting(
    child: impl Fn(&Request) -> Saying + Send + 'static,
    mut root: Vec<Saying>,
) -> impl FnMut(&Request) -> Saying + Send {
    root.reverse();
    move |request| {
        if request.thread == request.cache_key {
            return root.pop().unwrap_or_else(|| say("the script is over"));
        }
        child(request)
    }
}

/// A root agent that starts one sub-agent and says something else once it has the news, be that soon or late.
fn starting_one(
    child: impl Fn(&Request) -> Saying + Send + 'static,
    last: &'static str,
) -> impl FnMut(&Request) -> Saying + Send {
    move |request| match (request.thread == request.cache_key, outputs(request).len()) {
        (false, _) => child(request),
        (true, 0) => calls(&[("1", "spawn_agent", spawn("count"))]),
        (true, _) if has_heard(request, "<subagent_notification>") => say(last),
        (true, _) => say("started it"),
    }
}

fn spawn(message: &str) -> Value {
    json!({ "message": message })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sub_agent_reports_once_and_the_parent_waits_for_it() {
    let mut stage = Stage::answering(starting_one(|_| say("42"), "it says 42"));
    assert_eq!(stage.work("go").await, Status::Completed(Some("it says 42".into())));
    let last = stage.asked(stage.requests() - 1);
    let told: Vec<String> =
        heard(&last).into_iter().filter(|text| text.contains("<subagent_notification>")).collect();
    assert_eq!(told.len(), 1);
    assert!(told[0].contains(r#""status":{"completed":"42"}"#), "{}", told[0]);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_answers_with_the_news_and_they_are_not_told_again() {
    let root = vec![
        calls(&[("1", "spawn_agent", spawn("count"))]),
        calls(&[("2", "wait_agent", json!({}))]),
        say("done"),
    ];
    let mut stage = Stage::answering(casting(|_| say("42"), root));
    assert_eq!(stage.work("go").await, Status::Completed(Some("done".into())));
    let last = stage.asked(stage.requests() - 1);
    let answer: Value = serde_json::from_str(&outputs(&last)[1]).unwrap();
    assert_eq!(answer["timed_out"], false);
    let statuses: Vec<&Value> = answer["status"].as_object().unwrap().values().collect();
    // Also where the news came before the wait began: there is nothing left to wait for.
    assert_eq!(statuses, [&json!({ "completed": "42" })]);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_does_not_wait_for_sub_agents_and_names_them() {
    let child = |_: &Request| calls(&[("c", "exec_command", run("exec sleep 1000"))]);
    let root = vec![calls(&[("1", "spawn_agent", spawn("run for ever"))]), say("started it")];
    let setting = Setting { change: |config| config.background = Background::End, ..Setting::default() };
    let mut stage = Stage::set(setting, casting(child, root));
    assert_eq!(stage.work("go").await, Status::Completed(Some("started it".into())));
    let named = EventKind::LeftRunning(vec!["agent Alder".into()]);
    assert!(stage.seen.iter().any(|event| event.kind == named), "{:?}", stage.seen);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sub_agent_that_fails_does_not_fail_its_parent() {
    let child = |_: &Request| vec![Err(windlass_llm::Failure::lasting("no such model"))];
    let mut stage = Stage::answering(starting_one(child, "it failed"));
    assert_eq!(stage.work("go").await, Status::Completed(Some("it failed".into())));
    assert!(has_heard(&stage.asked(stage.requests() - 1), "no such model"));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_number_and_depth_are_told() {
    let spawns: Vec<(String, &str, Value)> =
        (0..3).map(|number| (number.to_string(), "spawn_agent", spawn("x"))).collect();
    let spawns: Vec<(&str, &str, Value)> =
        spawns.iter().map(|(id, name, value)| (id.as_str(), *name, value.clone())).collect();
    let setting = Setting { change: |config| config.team.most_open = 2, ..Setting::default() };
    let mut stage = Stage::set(setting, casting(|_| say("ok"), vec![calls(&spawns), say("a"), say("b")]));
    stage.work("go").await;
    let last = stage.asked(stage.requests() - 1);
    let refused = outputs(&last).iter().filter(|text| text.contains("agent thread limit reached")).count();
    assert_eq!(refused, 1, "{:?}", outputs(&last));
    let child =
        stage.model.asked.lock().unwrap().iter().find(|it| it.thread != it.cache_key).cloned().unwrap();
    assert!(!format!("{:?}", child.tools).contains("spawn_agent"));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_ends_what_a_sub_agent_runs_and_resuming_brings_its_history_back() {
    let child = |request: &Request| {
        if has_heard(request, "again") {
            return say("I remember");
        }
        calls(&[("c", "exec_command", run("echo up > up; exec sleep 1000"))])
    };
    let root = vec![
        calls(&[("1", "spawn_agent", spawn("run for ever"))]),
        calls(&[("2", "exec_command", run("until test -s up; do :; done"))]),
        calls(&[("3", "close_agent", json!({ "target": "Alder" }))]),
        calls(&[("4", "resume_agent", json!({ "id": "Alder" }))]),
        calls(&[("5", "send_input", json!({ "id": "Alder", "message": "again" }))]),
        calls(&[("6", "wait_agent", json!({ "ids": ["Alder"] }))]),
        calls(&[("7", "list_agents", json!({}))]),
        say("done"),
    ];
    let mut stage = Stage::answering(casting(child, root));
    assert_eq!(stage.work("go").await, Status::Completed(Some("done".into())));
    let last = stage.asked(stage.requests() - 1);
    let outputs = outputs(&last);
    assert!(outputs[2].contains(r#"{"previous_status":"running"}"#), "{}", outputs[2]);
    assert!(outputs[3].contains("pending_init"), "{}", outputs[3]);
    assert!(outputs[5].contains("I remember"), "{}", outputs[5]);
    assert!(outputs[6].contains("/lead/Alder"), "{}", outputs[6]);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sub_agent_that_is_resumed_keeps_its_model_and_its_effort() {
    let root = vec![
        calls(&[(
            "1",
            "spawn_agent",
            json!({ "message": "first", "model": "another", "reasoning_effort": "high" }),
        )]),
        calls(&[("2", "wait_agent", json!({ "ids": ["Alder"] }))]),
        calls(&[("3", "close_agent", json!({ "id": "Alder" }))]),
        calls(&[("4", "resume_agent", json!({ "id": "Alder" }))]),
        calls(&[("5", "send_input", json!({ "id": "Alder", "message": "again" }))]),
        calls(&[("6", "wait_agent", json!({ "ids": ["Alder"] }))]),
        say("done"),
    ];
    let mut stage = Stage::answering(casting(|_| say("ok"), root));
    assert_eq!(stage.work("go").await, Status::Completed(Some("done".into())));
    let asked = stage.model.asked.lock().unwrap().clone();
    let child: Vec<(&str, Option<&str>)> = asked
        .iter()
        .filter(|request| request.thread != request.cache_key)
        .map(|request| (request.model.as_str(), request.effort.as_deref()))
        .collect();
    assert_eq!(child, [("another", Some("high")), ("another", Some("high"))]);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupting_a_sub_agent_ends_its_command_and_it_hears_the_new_words() {
    let child = |request: &Request| {
        if has_heard(request, "stop that") {
            return say("stopped");
        }
        calls(&[(
            "c",
            "exec_command",
            json!({ "cmd": "echo up > up; exec sleep 1000", "yield_time_ms": 30000 }),
        )])
    };
    let root = vec![
        calls(&[("1", "spawn_agent", spawn("run"))]),
        calls(&[("2", "exec_command", run("until test -s up; do :; done"))]),
        calls(&[(
            "3",
            "send_input",
            json!({ "target": "Alder", "message": "stop that", "interrupt": true }),
        )]),
        calls(&[("4", "wait_agent", json!({ "targets": ["Alder"] }))]),
        say("done"),
    ];
    let mut stage = Stage::answering(casting(child, root));
    assert_eq!(stage.work("go").await, Status::Completed(Some("done".into())));
    let last = stage.asked(stage.requests() - 1);
    assert!(outputs(&last)[3].contains(r#"{"completed":"stopped"}"#), "{:?}", outputs(&last));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forked_context_tells_the_words_and_no_tools() {
    let root = vec![
        calls(&[("1", "exec_command", run("echo hidden"))]),
        calls(&[("2", "spawn_agent", json!({ "message": "go on", "fork_context": true }))]),
        say("a"),
        say("b"),
    ];
    let mut stage = Stage::answering(casting(|_| say("ok"), root));
    stage.work("the task itself").await;
    let child =
        stage.model.asked.lock().unwrap().iter().find(|it| it.thread != it.cache_key).cloned().unwrap();
    assert_eq!(heard(&child), ["the task itself", "go on"]);
    assert!(outputs(&child).is_empty());
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_sub_agents_at_once_hold() {
    let child = |request: &Request| {
        if outputs(request).is_empty() {
            calls(&[("c", "exec_command", run("echo here"))])
        } else {
            say("here")
        }
    };
    let names: Vec<String> = (0..50).map(|number| number.to_string()).collect();
    let spawns: Vec<(&str, &str, Value)> =
        names.iter().map(|name| (name.as_str(), "spawn_agent", spawn("say where you are"))).collect();
    let mut first = Some(calls(&spawns));
    let script = move |request: &Request| {
        if request.thread != request.cache_key {
            return child(request);
        }
        first.take().unwrap_or_else(|| say("so far"))
    };
    let setting = Setting { change: |config| config.team.most_open = 50, ..Setting::default() };
    let mut stage = Stage::set(setting, script);
    stage.work("go").await;
    let reported = stage.seen.iter().filter(|event| event.agent != stage.root);
    let reported = reported.filter(|event| event.kind == EventKind::Message("here".into())).count();
    assert_eq!(reported, 50);
    stage.end().await;
}
