//! The sessions of two MCP servers of one user: each client sees its own, and people see all.

use serde_json::{Value, json};

use super::Server;
use super::secret_files::called_with;
use crate::mcp::Served;
use crate::rig::Home;

/// The server of a client with this name.
struct Client(Served);

impl Client {
    fn start(home: &Home, name: &str, words: &[&str]) -> Self {
        let mut served = Served::start(home, words);
        served.greet_as(name);
        Self(served)
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.0.ask(tool, "tools/call", &json!({ "name": tool, "arguments": arguments }));
        answer["result"].clone()
    }

    /// Starts a session that prints a line and stays, and returns its number.
    fn keep(&mut self, name: &str, lifetime: &str) -> u64 {
        let cmd = format!("echo of {name}; read -r line; echo got it");
        let until = json!({ "pattern": format!("of {name}") });
        let arguments = json!({ "cmd": cmd, "tty": true, "login": false, "lifetime": lifetime, "name": name, "until": until });
        let started = self.call("exec_command", &arguments);
        started["structuredContent"]["session"].as_u64().unwrap_or_else(|| panic!("{started}"))
    }

    /// Checks with all requests of a client that it does not see a session.
    fn does_not_see(&mut self, session: &Value) {
        for (tool, arguments) in [
            ("read_output", json!({ "session_id": session, "tail_lines": 9 })),
            ("write_stdin", json!({ "session_id": session, "chars": "x\n" })),
            ("stop_session", json!({ "session_id": session })),
            ("wait_sessions", json!({ "session_ids": [session] })),
        ] {
            let answer = self.call(tool, &arguments);
            assert_eq!(answer["isError"], true, "{tool} {session}: {answer}");
            let text = answer["content"][0]["text"].as_str().unwrap_or_default();
            assert!(text.contains("nknown session"), "{tool} {session}: {answer}");
            assert!(text.contains("windlass mcp --share"), "{tool} {session}: {answer}");
        }
        for part in ["transcript", "events", "screen"] {
            let id = session.as_str().map_or_else(|| session.to_string(), str::to_owned);
            let uri = json!({ "uri": format!("windlass://session/{id}/{part}") });
            let answer = self.0.ask("resource", "resources/read", &uri);
            assert!(answer["error"].is_object(), "{answer}");
        }
        let listed = self.call("list_sessions", &json!({}));
        let number = session.as_u64();
        let sessions = listed["structuredContent"]["sessions"].as_array().cloned().unwrap_or_default();
        let is_it = |it: &Value| number.is_some() && it["session"].as_u64() == number;
        assert!(!sessions.iter().any(is_it), "{listed}");
    }

    fn sees(&mut self, session: &Value, text: &str) {
        let read = self.call("read_output", &json!({ "session_id": session, "tail_lines": 9 }));
        let output = read["structuredContent"]["output"].as_str().unwrap_or_default();
        assert!(output.contains(text), "{session}: {read}");
    }
}

/// Ends the detached sessions of a test, also if it fails.
struct Ends<'a>(&'a Home);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        let listed =
            self.0.windlass(&["ps", "--json"]).output().map(|output| output.stdout).unwrap_or_default();
        let listed: Value = serde_json::from_slice(&listed).unwrap_or_default();
        for session in listed.as_array().into_iter().flatten() {
            drop(self.0.windlass(&["stop", &session["session"].to_string()]).output());
        }
    }
}

#[test]
fn a_client_does_not_see_the_sessions_of_another_client() {
    let home = Home::new("owners");
    let _ends = Ends(&home);
    let mut alpha = Client::start(&home, "alpha", &[]);
    let mut beta = Client::start(&home, "beta", &[]);
    for (name, lifetime) in [("mortal", "runtime"), ("pet", "detached")] {
        let number = alpha.keep(name, lifetime);
        beta.does_not_see(&json!(number));
        beta.does_not_see(&json!(name));
        alpha.sees(&json!(number), &format!("of {name}"));
    }
    // Another client has taken the name, which this one cannot know.
    let own = beta.keep("pet", "detached");
    beta.sees(&json!("pet"), "of pet");
    alpha.does_not_see(&json!(own));
    let again = alpha.call("exec_command", &json!({ "cmd": "true", "lifetime": "detached", "name": "pet" }));
    assert_eq!(again["isError"], true, "its own name is taken: {again}");
}

/// Clients choose their own names, and many instances of one program have the same name.
#[test]
fn a_client_of_the_same_name_in_another_directory_does_not_see_the_sessions() {
    let home = Home::new("owners-directories");
    let _ends = Ends(&home);
    let start = |directory: &str| {
        let directory = home.path().join(directory);
        std::fs::create_dir_all(&directory).expect("a directory");
        let mut served = Served::of(home.windlass(&["mcp"]).env("HOME", home.path()).current_dir(directory));
        served.greet_as("alpha");
        Client(served)
    };
    let (mut here, mut there, mut also_here) = (start("here"), start("there"), start("here"));
    let pet = here.keep("pet", "detached");
    there.does_not_see(&json!(pet));
    there.does_not_see(&json!("pet"));
    also_here.sees(&json!(pet), "of pet");
}

#[test]
fn a_client_with_another_token_over_http_does_not_see_the_sessions() {
    let home = Home::new("owners-tokens");
    let _ends = Ends(&home);
    let tokens = ["alpha-".repeat(8), "beta-".repeat(8)];
    let servers: Vec<_> = tokens
        .iter()
        .map(|token| {
            let file = home.secret(&token[..4], token);
            Server::start(&home, &["mcp", "--no-rules", "--http", "127.0.0.1:0", "--token-file", &file])
        })
        .collect();
    let call = |which: usize, tool: &str, arguments: Value| {
        called_with(&servers[which].url, &tokens[which], tool, &arguments)
    };
    let cmd = "echo of pet; read -r line";
    let until = json!({ "pattern": "of pet" });
    let kept = json!({ "cmd": cmd, "tty": true, "login": false, "lifetime": "detached", "name": "pet", "until": until });
    let started = call(0, "exec_command", kept);
    assert!(started.contains("of pet"), "{started}");
    let read = json!({ "session_id": "pet", "tail_lines": 9 });
    let seen = call(0, "read_output", read.clone());
    assert!(seen.contains("of pet"), "its owner reads it: {seen}");
    for (tool, arguments) in [
        ("read_output", read),
        ("write_stdin", json!({ "session_id": "pet", "chars": "x\n" })),
        ("stop_session", json!({ "session_id": "pet" })),
    ] {
        let answer = call(1, tool, arguments);
        assert!(answer.contains("nknown session") && !answer.contains("of pet"), "{tool}: {answer}");
    }
    let listed = call(1, "list_sessions", json!({}));
    assert!(!listed.contains("of pet") && !listed.contains("\"pet\""), "{listed}");
    let forged = called_with(&servers[0].url, &tokens[1], "list_sessions", &json!({}));
    assert!(forged.starts_with("HTTP/1.1 401 "), "{forged}");
}

#[test]
fn the_next_server_of_a_client_goes_on_with_its_sessions() {
    let home = Home::new("owners-next");
    let _ends = Ends(&home);
    let mut first = Client::start(&home, "alpha", &[]);
    let (mortal, pet) = (first.keep("mortal", "runtime"), first.keep("pet", "detached"));
    drop(first.0.input.take());
    assert_eq!(first.0.exit_code(), Some(0));
    let mut next = Client::start(&home, "alpha", &[]);
    next.sees(&json!(mortal), "of mortal");
    next.sees(&json!(pet), "of pet");
    let mut other = Client::start(&home, "beta", &[]);
    other.does_not_see(&json!(mortal));
    other.does_not_see(&json!(pet));
}

/// A server with the sharing option lists, reads and stops sessions that other runtimes run.
#[test]
fn a_server_that_shares_lists_reads_and_stops_running_sessions_of_others() {
    let home = Home::new("owners-running");
    let _ends = Ends(&home);
    let mut alpha = Client::start(&home, "alpha", &[]);
    let mortal = alpha.keep("mortal", "runtime");
    let script = "echo of a person; exec sleep 1000";
    let detached = ["run", "--detach", "--json", "--name", "web", "--", "sh", "-c", script];
    let web = home.json(&detached)["session"].clone();
    let mut running = home.start(&["run", "--name", "front", "--", "sh", "-c", script]);
    running.printed("of a person");
    let mut shared = Client::start(&home, "beta", &["--share"]);
    let listed = shared.call("list_sessions", &json!({}));
    let text = listed["content"][0]["text"].as_str().unwrap_or_default();
    for line in [format!("{mortal} mortal: running, of another"), format!("{web} web: running, of another")] {
        assert!(text.contains(&line), "{line} in {text}");
    }
    assert!(text.contains(" front: running, of another"), "{text}");
    let sessions = listed["structuredContent"]["sessions"].as_array().cloned().unwrap_or_default();
    let owner =
        |number: &Value| sessions.iter().find(|it| it["session"] == *number).map(|it| it["owner"].clone());
    assert_eq!((sessions.len(), owner(&web)), (3, Some(Value::Null)), "{listed}");
    for session in [json!(mortal), json!("web"), json!("front")] {
        shared.sees(&session, "of ");
        let written = shared.call("write_stdin", &json!({ "session_id": session, "chars": "x" }));
        assert_eq!(written["isError"], true, "{written}");
        assert!(written.to_string().contains("is run by another windlass"), "{written}");
    }
    // The other server goes on without its session.
    for name in [json!(mortal), json!("web"), json!("front")] {
        let stopped = shared.call("stop_session", &json!({ "session_id": name }));
        assert_eq!(stopped["isError"], false, "{name}: {stopped}");
        assert!(stopped["structuredContent"]["receipt"].is_object(), "{name}: {stopped}");
    }
    assert_eq!(running.exit_code(), Some(143));
    alpha.sees(&json!(mortal), "of mortal");
    // Without the option, none of this is visible.
    alpha.does_not_see(&web);
}

#[test]
fn people_see_all_sessions_and_a_server_that_shares_does_too() {
    let home = Home::new("owners-share");
    let _ends = Ends(&home);
    let mut alpha = Client::start(&home, "alpha", &[]);
    let pet = alpha.keep("pet", "detached");
    let person = home.json(&["run", "--json", "--", "echo", "of a person"])["session"].clone();
    alpha.does_not_see(&person);
    let mut shared = Client::start(&home, "beta", &["--share"]);
    shared.sees(&json!(pet), "of pet");
    shared.sees(&json!("pet"), "of pet");
    shared.sees(&person, "of a person");
    let listed = home.json(&["ps", "--json", "--all"]);
    let owner = |number: &Value| {
        let found = listed.as_array().into_iter().flatten().find(|it| it["session"] == *number);
        found.map(|it| it["owner"].clone()).unwrap_or_else(|| panic!("{number} in {listed}"))
    };
    assert!(owner(&json!(pet)).as_str().is_some_and(|owner| owner.starts_with("alpha\t")), "{listed}");
    assert_eq!(owner(&person), Value::Null);
    assert!(home.seen(&["log", &pet.to_string()]).stdout.contains("of pet"));
}
