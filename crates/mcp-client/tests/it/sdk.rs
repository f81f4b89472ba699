//! Servers made with PyPI's `mcp` package, of both its major versions, on pipes and over HTTP.

use std::sync::Arc;

use serde_json::json;
use windlass_engine::{CommandSpec, Engine, EngineOptions, Session};
use windlass_mcp_client::{Content, ResourceText, ServerSpec, Standing, Transport};
use windlass_testkit::{HANG, peers};

use crate::http::PlainHttp;
use crate::questions::Ada;
use crate::rig::{Leash, Rig, With, python, within};

const GREETED: &str = "2025-11-25";
const SDK: &str = include_str!("servers/sdk.py");

const UNGREETED: &str = include_str!("servers/ungreeted.py");

/// Checks the behaviour that all of these servers must show.
async fn check(test: &str, spec: ServerSpec, protocol: &str) {
    let with = With { http: PlainHttp::shared(), elicitor: Some(Arc::new(Ada::default())) };
    let rig = Rig::start_with(test, vec![spec], with);
    let state = rig.ready().await;
    let Standing::Up(handshake) = &state.standing else { panic!("it should be up: {state:?}") };
    assert!(handshake.software.starts_with("sdk") && handshake.has_resources, "{handshake:?}");
    assert_eq!(handshake.protocol, protocol);
    assert_eq!(handshake.instructions.as_deref(), Some("add numbers"));
    let names: Vec<(String, bool)> =
        rig.servers.tools().into_iter().map(|tool| (tool.name, tool.read_only)).collect();
    let expected = [("add", true), ("fail", false), ("greet", false), ("picture", false)];
    assert_eq!(names, expected.map(|(name, read_only)| (name.to_owned(), read_only)));
    assert_eq!(rig.text("add", json!({ "a": 2, "b": 40 })).await, "42");
    assert_eq!(rig.text("greet", json!({})).await, "Ada");
    let failed = rig.call("mcp__peer__fail", json!({})).await.expect("an answer");
    assert!(failed.is_error && crate::rig::text(&failed).contains("Error executing tool fail"), "{failed:?}");
    let picture = rig.call("mcp__peer__picture", json!({})).await.expect("an answer");
    let expected = Content::Image { mime: "image/png".into(), data: "iVBORw==".into() };
    assert_eq!(picture.content, [expected]);
    let resources = within(rig.servers.list_resources(None)).await.expect("a list");
    assert_eq!(resources.iter().map(|resource| resource.uri.as_str()).collect::<Vec<_>>(), ["note://hello"]);
    let templates = within(rig.servers.list_templates(None)).await.expect("a list");
    assert_eq!(templates[0].uri_template, "note://number/{number}");
    let note = within(rig.servers.read_resource("peer", "note://number/7")).await.expect("its content");
    assert_eq!(note[0].text, ResourceText::Text("note 7".into()));
    assert_eq!(rig.servers.states()[0].notes, [""; 0]);
    rig.end().await;
}

fn program(version: &str) -> ServerSpec {
    python("peer", peers::python(version), &["-c", SDK, "stdio"])
}

/// A server over HTTP, run by an engine of its own.
struct Site {
    _leash: Leash,
    engine: Engine,
    url: String,
}

impl Site {
    async fn start(version: &str, mode: &str) -> Self {
        let engine = Engine::new(EngineOptions::default()).expect("an engine");
        let leash = Leash(engine.clone());
        let python = peers::python(version);
        let mut spec =
            CommandSpec::new([python.as_os_str(), "-c".as_ref(), SDK.as_ref(), mode.as_ref()], "/");
        spec.environment = std::env::vars_os().collect();
        let session = engine.start(spec).expect("it starts");
        let url = format!("{}/mcp", within(address(&session)).await);
        Self { _leash: leash, engine, url }
    }

    fn spec(&self) -> ServerSpec {
        let transport = Transport::Http { url: self.url.clone(), bearer: None, headers: Vec::new() };
        ServerSpec { startup_timeout: HANG, tool_timeout: HANG, ..ServerSpec::new("peer", transport) }
    }

    async fn end(self) {
        within(self.engine.shutdown()).await;
    }
}

/// The address on which it says that it listens.
async fn address(session: &Session) -> String {
    let mut output = session.watch_output();
    loop {
        let mut printed = Vec::new();
        let journal = session.journal();
        journal.read_into(
            windlass_engine::Span::new(windlass_engine::Offset::ZERO, journal.end()),
            1 << 20,
            &mut printed,
        );
        let printed = String::from_utf8_lossy(&printed).into_owned();
        if let Some((_, rest)) = printed.split_once("running on ") {
            return rest.split_whitespace().next().expect("an address").to_owned();
        }
        assert!(session.receipt().is_none(), "it ended: {printed}");
        output.changed().await.expect("it runs");
    }
}

#[tokio::test]
async fn version_one_on_pipes() {
    check("sdk-1", program("mcp1"), GREETED).await;
}

#[tokio::test]
async fn version_two_on_pipes() {
    check("sdk-2", program("mcp2"), GREETED).await;
}

#[tokio::test]
async fn version_two_on_pipes_without_a_greeting() {
    let inner = peers::python("mcp2");
    let inner = inner.to_str().expect("a plain path");
    let spec = python("peer", inner, &["-c", UNGREETED, inner, "-c", SDK, "stdio"]);
    check("sdk-2-stateless", spec, "2026-07-28").await;
}

#[tokio::test]
async fn version_one_on_the_web() {
    let site = Site::start("mcp1", "http").await;
    check("sdk-1-web", site.spec(), GREETED).await;
    site.end().await;
}

#[tokio::test]
async fn version_two_on_the_web() {
    let site = Site::start("mcp2", "http").await;
    check("sdk-2-web", site.spec(), GREETED).await;
    site.end().await;
}
