//! Tools of an MCP server over HTTP in the agent; the server is windlass itself.

use serde_json::{Value, json};
use windlass_sys::signal::Signal;
use windlass_testkit::model::{Model, Request, always, call, say, turn};

use crate::rig::{Home, Running};
use crate::workbench::{More, Workbench, seen};

/// An MCP server; it ends with the test.
struct Server {
    running: Running,
    url: String,
    token: String,
    _home: Home,
}

impl Server {
    fn start(name: &str) -> Self {
        let home = Home::new(&format!("{name}-server"));
        let mut running = home.start(&["mcp", "--http", "127.0.0.1:0", "--json"]);
        let said: Value = serde_json::from_str(&running.line()).expect("it says where it is");
        let text = |key: &str| said[key].as_str().expect("a text").to_owned();
        Self { url: text("url"), token: text("token"), running, _home: home }
    }

    fn tables(&self) -> String {
        format!("[mcp_servers.other]\nurl = {:?}\nbearer_token_env_var = \"OTHER_TOKEN\"\n", self.url)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.running.signal(Signal::TERM);
        // The server gets a signal to end; another test checks that it obeys.
        let _ = self.running.child.wait();
    }
}

#[test]
fn a_tool_is_called_over_http_and_its_answer_reaches_the_model() {
    let server = Server::start("borrowed");
    let model = Model::playing(vec![
        turn(|request: &Request| {
            let tool = request.tool_of("other", "exec_command");
            call(tool, json!({ "cmd": "echo over-the-$((40+2))" }))
        }),
        turn(|request: &Request| say(&format!("it said {}", request.last_result()))),
    ]);
    let bench = Workbench::new("borrowed", &model, &More { tables: &server.tables(), ..More::default() });
    let mut agent = bench.windlass(&["agent", "use the other server"]);
    let seen = seen(agent.env("OTHER_TOKEN", &server.token));
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(seen.stdout.contains("over-the-42"), "{seen:?}");
    model.finish();
}

#[test]
fn a_server_that_does_not_let_us_in_is_said_and_the_work_goes_on() {
    let server = Server::start("borrowed-refused");
    let model = Model::playing(vec![always(say("without it"))]);
    let more = More { tables: &server.tables(), ..More::default() };
    let bench = Workbench::new("borrowed-refused", &model, &more);
    let mut agent = bench.windlass(&["agent", "use the other server"]);
    let seen = seen(agent.env("OTHER_TOKEN", "wrong-token-0123456789"));
    assert_eq!((seen.code, seen.stdout.as_str()), (0, "without it\n"), "{seen:?}");
    assert!(seen.stderr.contains("did not let us in (status 401)"), "{seen:?}");
    assert!(seen.stderr.contains("OTHER_TOKEN") && !seen.stderr.contains("wrong-token"), "{seen:?}");
    model.finish();
}

#[test]
fn nobody_at_the_address_is_said_with_the_address() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let tables = format!("[mcp_servers.other]\nurl = \"http://{free}/mcp\"\nrequired = true\n");
    let model = Model::playing(Vec::new());
    let bench = Workbench::new("borrowed-nobody", &model, &More { tables: &tables, ..More::default() });
    let seen = bench.agent(&["use the other server"]);
    assert_eq!(seen.code, 1, "{seen:?}");
    assert!(seen.stderr.contains(&format!("cannot connect to {free}")), "{seen:?}");
    model.finish();
}
