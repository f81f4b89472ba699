//! Servers over HTTP: single responses and streams, sessions that are lost, and servers that reject requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use windlass_mcp_client::{Bearer, Secret, ServerSpec, Standing, Transport, Which};
use windlass_testkit::HANG;

use crate::http::PlainHttp;
use crate::rig::{Rig, With, object, within};

/// A request as the server received it.
#[derive(Clone, Debug)]
struct Seen {
    method: String,
    headers: HashMap<String, String>,
    body: Value,
}

impl Seen {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// The method of its message, or the HTTP method if it has no message.
    fn what(&self) -> &str {
        self.body["method"].as_str().unwrap_or(&self.method)
    }
}

/// A response: status, type, session and body. `None`: no response is ever sent.
type Reply = Option<(u16, &'static str, Option<&'static str>, String)>;

/// A server whose responses a function computes.
struct Fake {
    url: String,
    seen: watch::Receiver<Vec<Seen>>,
    _served: JoinSet<()>,
}

impl Fake {
    async fn start(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("it has an address"));
        let (told, seen) = watch::channel(Vec::new());
        let (answer, told) = (Arc::new(answer), Arc::new(told));
        let mut served = JoinSet::new();
        served.spawn(async move {
            let mut visits = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, told) = (Arc::clone(&answer), Arc::clone(&told));
                let service =
                    service_fn(move |request| visit(request, Arc::clone(&answer), Arc::clone(&told)));
                let connection = hyper::server::conn::http1::Builder::new();
                let served = connection.serve_connection(TokioIo::new(stream), service);
                visits.spawn(async move { drop(served.await) });
            }
        });
        Self { url, seen, _served: served }
    }

    fn spec(&self) -> ServerSpec {
        let transport = Transport::Http { url: self.url.clone(), bearer: None, headers: Vec::new() };
        ServerSpec { startup_timeout: HANG, tool_timeout: HANG, ..ServerSpec::new("peer", transport) }
    }

    fn whats(&self) -> Vec<String> {
        self.seen.borrow().iter().map(|seen| seen.what().to_owned()).collect()
    }

    /// Waits for the last request of this method.
    async fn asked(&self, what: &str) -> Seen {
        let mut seen = self.seen.clone();
        let found = within(seen.wait_for(|all| all.iter().any(|seen| seen.what() == what))).await;
        let all = found.expect("the server runs").clone();
        all.into_iter().rfind(|seen| seen.what() == what).expect("it was seen")
    }
}

async fn visit(
    request: Request<hyper::body::Incoming>,
    answer: Arc<impl Fn(&Seen) -> Reply>,
    told: Arc<watch::Sender<Vec<Seen>>>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let text = |value: &hyper::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = head.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let seen = Seen { method: head.method.to_string(), headers, body };
    let reply = answer(&seen);
    told.send_modify(|all| all.push(seen));
    let Some((status, kind, session, body)) = reply else { return std::future::pending().await };
    let mut response = Response::builder().status(status).header("Content-Type", kind);
    if let Some(session) = session {
        response = response.header("Mcp-Session-Id", session);
    }
    Ok(response.body(Full::new(Bytes::from(body))).expect("a response"))
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream; charset=utf-8";

fn accepted() -> Reply {
    Some((202, JSON, None, String::new()))
}

fn result(seen: &Seen, result: &Value) -> Reply {
    Some((200, JSON, None, message(seen, result)))
}

fn message(seen: &Seen, result: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": seen.body["id"], "result": result }).to_string()
}

fn handshake(seen: &Seen) -> Value {
    let version = &seen.body["params"]["protocolVersion"];
    json!({ "protocolVersion": version, "capabilities": { "tools": {} }, "serverInfo": { "name": "fake" } })
}

fn tools() -> Value {
    json!({ "tools": [{ "name": "echo", "inputSchema": { "type": "object" } }] })
}

fn said(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// The response of a well-behaved server, in a session of this name.
fn usual(seen: &Seen, session: Option<&'static str>) -> Reply {
    match seen.what() {
        "initialize" => Some((200, JSON, session, message(seen, &handshake(seen)))),
        "tools/list" => result(seen, &tools()),
        "tools/call" => result(seen, &said("done")),
        "GET" => Some((405, JSON, None, String::new())),
        "DELETE" => Some((200, JSON, None, String::new())),
        _ => accepted(),
    }
}

fn rig(test: &str, spec: ServerSpec) -> Rig {
    Rig::start_with(test, vec![spec], With { http: PlainHttp::shared(), ..With::default() })
}

#[tokio::test]
async fn answers_at_once_are_taken_and_the_session_is_kept_and_ended() {
    let fake = Fake::start(|seen| usual(seen, Some("s-1"))).await;
    let rig = rig("json", fake.spec());
    assert!(matches!(rig.ready().await.standing, Standing::Up(_)));
    assert_eq!(rig.text("echo", json!({})).await, "done");
    let first = fake.asked("initialize").await;
    assert_eq!((first.header("mcp-session-id"), first.header("mcp-protocol-version")), ("", ""));
    assert_eq!(first.header("accept"), "application/json, text/event-stream");
    let call = fake.asked("tools/call").await;
    assert_eq!(call.header("mcp-session-id"), "s-1");
    assert_eq!(call.header("mcp-protocol-version"), "2025-11-25");
    assert_eq!(call.header("mcp-method"), "", "only later revisions want it");
    rig.end().await;
    assert_eq!(fake.asked("DELETE").await.header("mcp-session-id"), "s-1");
}

#[tokio::test]
async fn answers_in_streams_are_taken_with_what_else_is_in_them() {
    let fake = Fake::start(|seen| match seen.what() {
        "tools/call" => {
            let progress = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": {} });
            let question = json!({ "jsonrpc": "2.0", "id": 7, "method": "roots/list" });
            let answer = message(seen, &said("streamed"));
            let body = format!(
                ": hello\n\nid: 1\ndata: {progress}\n\ndata: {question}\n\ndata: oops\n\ndata: {answer}\n\n"
            );
            Some((200, EVENTS, None, body))
        }
        _ => usual(seen, None),
    })
    .await;
    let rig = rig("stream", fake.spec());
    rig.ready().await;
    assert_eq!(rig.text("echo", json!({})).await, "streamed");
    let answer = fake.asked("POST").await;
    assert_eq!(answer.body["id"], 7);
    assert_eq!(answer.body["result"]["roots"][0]["uri"], "file:///srv/tree");
    let notes = rig.servers.states()[0].notes.join("\n");
    assert!(notes.contains("it sent `oops` as an event: not JSON"), "{notes}");
    rig.end().await;
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_taken_up_again() {
    let asked = Mutex::new(Value::Null);
    let fake = Fake::start(move |seen| match (seen.what(), seen.header("last-event-id")) {
        ("tools/call", _) => {
            *asked.lock().expect("nobody panicked") = seen.body["id"].clone();
            Some((200, EVENTS, None, "id: e1\nretry: 1\ndata:\n\n".to_owned()))
        }
        ("GET", "e1") => {
            let id = asked.lock().expect("nobody panicked").clone();
            let answer = json!({ "jsonrpc": "2.0", "id": id, "result": said("later") });
            Some((200, EVENTS, None, format!("id: e2\ndata: {answer}\n\n")))
        }
        _ => usual(seen, Some("s-1")),
    })
    .await;
    let rig = rig("resume", fake.spec());
    rig.ready().await;
    assert_eq!(rig.text("echo", json!({})).await, "later");
    rig.end().await;
}

#[tokio::test]
async fn a_stream_that_ends_without_an_answer_is_said() {
    let fake = Fake::start(|seen| match seen.what() {
        "tools/call" => Some((200, EVENTS, None, "data: {}\n\n".to_owned())),
        _ => usual(seen, None),
    })
    .await;
    let rig = rig("cut", fake.spec());
    rig.ready().await;
    let error = rig.error("echo", json!({})).await;
    let expected =
        "the MCP server `peer` ended before it answered: the connection ended before the answer came";
    assert_eq!(error, expected);
    rig.end().await;
}

#[tokio::test]
async fn a_lost_session_is_replaced_and_the_call_made_again() {
    let greeted = Mutex::new(0);
    let fake = Fake::start(move |seen| {
        let mut greeted = greeted.lock().expect("nobody panicked");
        match seen.what() {
            "initialize" => {
                *greeted += 1;
                usual(seen, Some(if *greeted == 1 { "old" } else { "young" }))
            }
            "tools/call" if seen.header("mcp-session-id") == "old" => Some((404, JSON, None, String::new())),
            _ => usual(seen, None),
        }
    })
    .await;
    let rig = rig("lost", fake.spec());
    rig.ready().await;
    assert_eq!(rig.text("echo", json!({})).await, "done");
    let calls = fake.whats().iter().filter(|what| *what == "tools/call").count();
    let greetings = fake.whats().iter().filter(|what| *what == "initialize").count();
    assert_eq!((calls, greetings), (2, 2));
    assert_eq!(fake.asked("tools/call").await.header("mcp-session-id"), "young");
    rig.end().await;
}

#[tokio::test]
async fn a_session_that_is_lost_again_and_again_is_given_up() {
    let fake = Fake::start(|seen| match seen.what() {
        "tools/call" => Some((404, JSON, None, String::new())),
        _ => usual(seen, Some("s")),
    })
    .await;
    let rig = rig("lost-again", fake.spec());
    rig.ready().await;
    let error = rig.error("echo", json!({})).await;
    assert!(error.contains("it forgot our session"), "{error}");
    let calls = fake.whats().iter().filter(|what| *what == "tools/call").count();
    assert_eq!(calls, 2);
    rig.end().await;
}

#[tokio::test]
async fn who_is_not_let_in_learns_which_setting_is_missing() {
    let fake = Fake::start(|_| Some((401, JSON, None, "{\"error\":\"unauthorized\"}".to_owned()))).await;
    let place = fake.url.clone();
    let rig_without = rig("closed", fake.spec());
    let expected = format!(
        "{place} did not let us in (status 401): put a token into a variable and name that with \
         `bearer_token_env_var` in [mcp_servers.peer]"
    );
    assert_eq!(rig_without.reason().await, expected);
    rig_without.end().await;
    let bearer = Some(Bearer { variable: "PEER_TOKEN".into(), token: Secret::new("t-1") });
    let transport = Transport::Http { url: fake.url.clone(), bearer, headers: Vec::new() };
    let rig_with = rig("refused", ServerSpec::new("peer", transport));
    let expected = format!(
        "{place} did not let us in (status 401): it refused the token in the variable `PEER_TOKEN`, which \
         `bearer_token_env_var` of [mcp_servers.peer] names"
    );
    assert_eq!(rig_with.reason().await, expected);
    assert_eq!(fake.asked("initialize").await.header("authorization"), "Bearer t-1");
    rig_with.end().await;
}

#[tokio::test]
async fn configured_headers_go_with_every_request() {
    let fake = Fake::start(|seen| usual(seen, None)).await;
    let headers = vec![("X-Team".to_owned(), Secret::new("blue"))];
    let transport = Transport::Http { url: fake.url.clone(), bearer: None, headers };
    let rig = rig("headers", ServerSpec::new("peer", transport));
    rig.ready().await;
    for what in ["initialize", "notifications/initialized", "tools/list"] {
        assert_eq!(fake.asked(what).await.header("x-team"), "blue", "{what}");
    }
    rig.end().await;
}

#[tokio::test]
async fn what_is_no_such_server_is_said() {
    let table: [(Reply, &str); 4] = [
        (Some((500, "text/plain", None, "boom".into())), "answered with status 500: `boom`"),
        (Some((200, "text/html", None, "<html>".into())), "makes no sense: `<html>` of type `text/html`"),
        (Some((200, JSON, None, "{".into())), "makes no sense: `{`: not JSON"),
        (Some((202, JSON, None, String::new())), "an answer without content (status 202)"),
    ];
    for (reply, expected) in table {
        let fake = Fake::start(move |_| reply.clone()).await;
        let rig = rig("no-server", fake.spec());
        let reason = rig.reason().await;
        assert!(reason.contains(expected), "{reason}");
        rig.end().await;
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_named_without_its_query() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it has an address");
    drop(listener);
    let url = format!("http://{address}/mcp?key=hush");
    let transport = Transport::Http { url, bearer: None, headers: Vec::new() };
    let rig = rig("nobody", ServerSpec::new("peer", transport));
    let reason = rig.reason().await;
    assert!(reason.starts_with(&format!("http://{address}/mcp cannot be reached: ")), "{reason}");
    assert!(!reason.contains("hush"), "{reason}");
    rig.end().await;
}

#[tokio::test]
async fn a_call_that_is_dropped_is_taken_back_there_too() {
    let fake =
        Fake::start(|seen| if seen.what() == "tools/call" { None } else { usual(seen, Some("s")) }).await;
    let rig = rig("dropped-web", fake.spec());
    rig.ready().await;
    let servers = rig.servers.clone();
    let call =
        tokio::spawn(async move { servers.call(Which::Full("mcp__peer__echo"), object(json!({}))).await });
    let asked = fake.asked("tools/call").await;
    call.abort();
    let taken_back = fake.asked("notifications/cancelled").await;
    assert_eq!(taken_back.body["params"]["requestId"], asked.body["id"]);
    rig.end().await;
}

#[tokio::test]
async fn changes_are_heard_on_the_stream_for_them() {
    let listened = Mutex::new(0);
    let fake = Fake::start(move |seen| match seen.what() {
        "GET" => {
            let mut listened = listened.lock().expect("nobody panicked");
            *listened += 1;
            let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
            let body = format!("retry: 1\ndata: {changed}\n\n");
            (*listened == 1).then_some((200, EVENTS, None, body))
        }
        "tools/list" if seen.body["id"].as_u64() > Some(2) => {
            result(seen, &json!({ "tools": [{ "name": "later" }] }))
        }
        _ => usual(seen, None),
    })
    .await;
    let rig = rig("changes", fake.spec());
    rig.until(|servers| servers.tools().iter().any(|tool| tool.name == "later")).await;
    rig.end().await;
}

/// A server of the revision without sessions.
fn stateless(seen: &Seen) -> Reply {
    let refuse = |status, code: i64, message: &str| {
        let error = json!({ "code": code, "message": message });
        let body = json!({ "jsonrpc": "2.0", "id": seen.body["id"], "error": error });
        Some((status, JSON, None, body.to_string()))
    };
    let meta = &seen.body["params"]["_meta"];
    let complete = |fields: Value| {
        let mut fields = object(fields);
        fields.insert("resultType".into(), "complete".into());
        result(seen, &Value::Object(fields))
    };
    match seen.what() {
        "initialize" => refuse(400, -32022, "unsupported protocol version"),
        what if seen.header("mcp-method") != what => refuse(400, -32020, "the header says something else"),
        _ if meta["io.modelcontextprotocol/protocolVersion"] != "2026-07-28" => {
            refuse(400, -32602, "no revision")
        }
        "server/discover" => {
            let capabilities = json!({ "tools": { "listChanged": true } });
            complete(json!({ "supportedVersions": ["2026-07-28"], "capabilities": capabilities }))
        }
        "tools/list" => complete(tools()),
        "tools/call" if seen.header("mcp-name") == "echo" => complete(said("stateless")),
        "subscriptions/listen" => None,
        _ => refuse(404, -32601, "method not found"),
    }
}

#[tokio::test]
async fn a_server_without_sessions_is_discovered() {
    let fake = Fake::start(stateless).await;
    let rig = rig("web-stateless", fake.spec());
    let Standing::Up(handshake) = rig.ready().await.standing else { panic!("it should be up") };
    assert_eq!(handshake.protocol, "2026-07-28");
    assert_eq!(rig.text("echo", json!({})).await, "stateless");
    let listening = fake.asked("subscriptions/listen").await;
    assert_eq!(listening.body["params"]["notifications"], json!({ "toolsListChanged": true }));
    rig.end().await;
    assert!(!fake.whats().iter().any(|what| what == "DELETE" || what == "GET"), "{:?}", fake.whats());
}
