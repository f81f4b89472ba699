//! Well-behaved servers that are programs: the handshake, lists, calls, changes of tools, and shutdown.

use serde_json::{Value, json};
use windlass_mcp_client::{
    CallError, Content, Greeting, RenderLimits, ResultPart, ServerSpec, Standing, ToolFilter,
};
use windlass_mcp_client::{ResourceText, Which, render};
use windlass_testkit::survivors;

use crate::rig::{Rig, object, peer, within};

#[tokio::test]
async fn a_server_says_who_it_is() {
    let rig = Rig::start("who", vec![peer("plain")]);
    let state = rig.ready().await;
    let handshake = Greeting {
        software: "peer 1.2".into(),
        protocol: "2025-06-18".into(),
        instructions: Some("be kind".into()),
        tools: 13,
        has_resources: true,
    };
    assert_eq!((state.name.as_str(), state.standing, state.notes), ("peer", Standing::Up(handshake), vec![]));
    rig.end().await;
}

#[tokio::test]
async fn all_pages_of_tools_are_listed_by_name() {
    let rig = Rig::start("pages", vec![peer("plain")]);
    rig.ready().await;
    let tools = rig.servers.tools();
    let names: Vec<&str> = tools.iter().map(|tool| tool.full_name.as_str()).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!((names.len(), &names), (13, &sorted));
    let echo = tools.iter().find(|tool| tool.name == "echo").expect("echo is there");
    assert_eq!((echo.full_name.as_str(), echo.description.as_str()), ("mcp__peer__echo", "does echo"));
    assert!(echo.read_only && !echo.parallel && echo.parameters["properties"]["text"].is_object());
    assert!(!tools[0].read_only);
    rig.end().await;
}

#[tokio::test]
async fn only_some_tools_are_offered_if_people_say_so() {
    let enabled = Some(vec!["echo".to_owned(), "pid".to_owned()]);
    let tools = ToolFilter { enabled, disabled: vec!["pid".to_owned()] };
    let rig = Rig::start("filter", vec![ServerSpec { tools, parallel: true, ..peer("plain") }]);
    rig.ready().await;
    let tools = rig.servers.tools();
    assert_eq!((tools.len(), tools[0].name.as_str(), tools[0].parallel), (1, "echo", true));
    let refused = rig.call("mcp__peer__pid", json!({})).await;
    let known = vec!["mcp__peer__echo".to_owned()];
    assert_eq!(refused, Err(CallError::NoSuchTool { name: "mcp__peer__pid".into(), known }));
    rig.end().await;
}

#[tokio::test]
async fn a_call_comes_to_text_data_and_time() {
    let rig = Rig::start("call", vec![peer("plain")]);
    let which = Which::Of { server: "peer", tool: "echo" };
    rig.ready().await;
    let outcome = within(rig.servers.call(which, object(json!({ "text": "hi" })))).await.expect("it answers");
    assert_eq!(outcome.content, [Content::Text("hi".into())]);
    assert_eq!((&outcome.structured, outcome.is_error), (&Some(json!({ "text": "hi" })), false));
    let shown = render(&outcome, RenderLimits::default());
    let ResultPart::Text(first) = &shown[0] else { panic!("{shown:?}") };
    assert!(first.starts_with("Wall time: ") && first.ends_with(" seconds\nOutput:"), "{first}");
    assert_eq!(shown[1..], [ResultPart::Text("hi".into()), ResultPart::Text("{\"text\":\"hi\"}".into())]);
    rig.end().await;
}

#[tokio::test]
async fn a_tool_that_fails_has_answered() {
    let rig = Rig::start("fail", vec![peer("plain")]);
    rig.ready().await;
    let outcome = rig.call("mcp__peer__fail", json!({})).await.expect("an answer");
    assert_eq!((outcome.is_error, outcome.content), (true, vec![Content::Text("it went wrong".into())]));
    rig.end().await;
}

#[tokio::test]
async fn calls_may_be_made_at_the_same_time() {
    let rig = Rig::start("parallel", vec![peer("plain")]);
    rig.ready().await;
    let texts: Vec<String> = (0..20).map(|number| format!("call {number}")).collect();
    let mut calls = tokio::task::JoinSet::new();
    for text in texts.clone() {
        let servers = rig.servers.clone();
        calls.spawn(async move {
            let arguments = object(json!({ "text": text }));
            let outcome = servers.call(Which::Full("mcp__peer__echo"), arguments).await.expect("it answers");
            assert_eq!(crate::rig::text(&outcome), text);
        });
    }
    within(calls.join_all()).await;
    rig.end().await;
}

#[tokio::test]
async fn a_call_before_the_server_is_up_waits_for_it() {
    let rig = Rig::start("early", vec![peer("plain")]);
    let which = Which::Of { server: "peer", tool: "echo" };
    // Its tools are not known yet, and the error says so. A request for its resources waits until the server is up.
    let early = within(rig.servers.call(which, object(json!({})))).await;
    assert!(matches!(early, Err(CallError::NoSuchTool { .. })), "{early:?}");
    let resources = within(rig.servers.list_resources(Some("peer"))).await.expect("it is waited for");
    assert_eq!(resources.len(), 1);
    rig.end().await;
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    let rig = Rig::start("resources", vec![peer("plain")]);
    rig.ready().await;
    let resources = within(rig.servers.list_resources(None)).await.expect("a list");
    assert_eq!((resources[0].server.as_str(), resources[0].uri.as_str()), ("peer", "note:///a"));
    assert_eq!(resources[0].raw["mimeType"], "text/plain");
    let templates = within(rig.servers.list_templates(Some("peer"))).await.expect("a list");
    assert_eq!(templates[0].uri_template, "note:///{name}");
    let read = within(rig.servers.read_resource("peer", "note:///a")).await.expect("its content");
    assert_eq!((&read[0].text, read.len()), (&ResourceText::Text("hello".into()), 1));
    let refused = within(rig.servers.read_resource("peer", "note:///b")).await.expect_err("there is no b");
    assert_eq!(
        refused.to_string(),
        "the MCP server `peer` refused the reading of note:///b: no such note (code -32002)"
    );
    let nobody = within(rig.servers.read_resource("nobody", "note:///b")).await.expect_err("nobody is there");
    assert_eq!(nobody.to_string(), "there is no MCP server `nobody`; there are: peer");
    rig.end().await;
}

#[tokio::test]
async fn tools_that_come_later_are_offered_too() {
    let rig = Rig::start("grow", vec![peer("plain")]);
    rig.ready().await;
    assert_eq!(rig.text("grow", json!({})).await, "grown");
    rig.until(|servers| servers.tools().iter().any(|tool| tool.name == "extra")).await;
    assert_eq!(rig.text("extra", json!({})).await, "extra");
    rig.end().await;
}

#[tokio::test]
async fn a_program_sees_what_is_harmless_and_what_it_was_given() {
    let rig = Rig::start("surroundings", vec![peer("plain")]);
    rig.ready().await;
    let seen: Value = serde_json::from_str(&rig.text("surroundings", json!({})).await).expect("JSON");
    let environment = &seen["environment"];
    assert_eq!(environment["GIVEN"], "given");
    assert_eq!(environment[survivors::TOKEN_VARIABLE], rig.token.as_str());
    assert!(environment["PATH"].is_string() && environment["UNWANTED"].is_null(), "{environment}");
    assert_eq!(seen["directory"], rig.scratch.path().to_str().expect("a plain path"));
    rig.end().await;
}

#[tokio::test]
async fn large_arguments_and_large_answers_arrive_whole() {
    let rig = Rig::start("large", vec![peer("plain")]);
    rig.ready().await;
    let long = "ab€ ".repeat(1 << 20);
    assert_eq!(rig.text("echo", json!({ "text": &long })).await, long);
    let huge = rig.call("mcp__peer__huge", json!({ "size": 8 << 20 })).await.expect("an answer");
    let shown = render(&huge, RenderLimits { text: 1000, images: 0 });
    let ResultPart::Text(shown) = &shown[1] else { panic!("text") };
    assert_eq!(*shown, format!("{0}…{1} bytes truncated…{0}", "x".repeat(500), (8 << 20) - 1000));
    rig.end().await;
}

#[tokio::test]
async fn servers_that_are_off_are_neither_started_nor_called() {
    let off = ServerSpec { enabled: false, required: true, ..peer("plain") };
    let rig = Rig::start("off", vec![off]);
    assert_eq!(rig.ready().await.standing, Standing::Off);
    assert_eq!(survivors::bearing(&rig.token), [""; 0]);
    let error = within(rig.servers.list_resources(Some("peer"))).await.expect_err("it is off");
    assert_eq!(error.to_string(), "there is no MCP server `peer`; there are none");
    rig.end().await;
}

#[tokio::test]
async fn tools_of_several_servers_come_in_the_order_of_the_servers() {
    let named = |name: &str| {
        let tools = ToolFilter { enabled: Some(vec!["pid".into(), "echo".into()]), ..ToolFilter::default() };
        ServerSpec { name: name.to_owned(), tools, ..peer("plain") }
    };
    let rig = Rig::start("several", vec![named("two b"), named("one"), named("two.b")]);
    within(rig.servers.ready()).await;
    let names: Vec<String> = rig.servers.tools().into_iter().map(|tool| tool.full_name).collect();
    let prefixes: Vec<&str> = names.iter().map(|name| &name[..name.len().min(16)]).collect();
    let expected = [
        "mcp__two_b__echo",
        "mcp__two_b__pid_",
        "mcp__one__echo",
        "mcp__one__pid",
        "mcp__two_b__echo",
        "mcp__two_b__pid_",
    ];
    assert_eq!(prefixes, expected, "{names:?}");
    let first = rig.call(&names[1], json!({})).await.expect("a pid");
    let second = rig.call(&names[5], json!({})).await.expect("a pid");
    assert_ne!(first.content, second.content, "each name leads to its own server");
    rig.end().await;
}
