//! The checks of `windlass doctor` for the agent: its settings, its key, and the connection to its model.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use serde_json::Value;
use windlass_testkit::model::{Model, always, say};

use crate::rig::Seen;
use crate::workbench::{More, SECRET, Workbench, seen};

/// The doctor's checks of the agent, by name: the verdict and the message.
fn doctor(bench: &Workbench, words: &[&str]) -> BTreeMap<String, (String, String)> {
    doctor_with(bench, words, &[])
}

/// The same with further variables.
fn doctor_with(
    bench: &Workbench,
    words: &[&str],
    variables: &[(&str, &str)],
) -> BTreeMap<String, (String, String)> {
    let words: Vec<&str> = ["doctor", "--json"].iter().chain(words).copied().collect();
    let mut windlass = bench.windlass(&words);
    // Machines differ in these variables, and the result must not.
    for name in
        ["SSL_CERT_FILE", "SSL_CERT_DIR", "ALL_PROXY", "all_proxy", "http_proxy", "NO_PROXY", "no_proxy"]
    {
        windlass.env_remove(name);
    }
    let seen: Seen = seen(windlass.envs(variables.iter().copied()));
    assert!(!format!("{seen:?}").contains(SECRET), "the key is shown: {seen:?}");
    let json: Value = serde_json::from_str(&seen.stdout).unwrap_or_else(|error| panic!("{error}: {seen:?}"));
    let checks = json["checks"].as_array().expect("there are checks");
    let text = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
    let of_agent = checks.iter().filter(|check| text(check, "name").starts_with("agent "));
    let pair = |check: &Value| (text(check, "name"), (text(check, "verdict"), text(check, "message")));
    of_agent.map(pair).collect()
}

fn verdicts(found: &BTreeMap<String, (String, String)>) -> Vec<(&str, &str)> {
    found.iter().map(|(name, (verdict, _))| (name.as_str(), verdict.as_str())).collect()
}

#[test]
fn without_being_asked_nothing_is_contacted() {
    let model = Model::playing(Vec::new());
    let bench = Workbench::new("provider-offline", &model, &More::default());
    let found = doctor(&bench, &[]);
    let expected = [("agent key", "ok"), ("agent model", "ok"), ("agent settings", "ok")];
    assert_eq!(verdicts(&found), expected);
    assert_eq!(found["agent key"].1, "in the variable IT_KEY");
    assert!(found["agent model"].1.starts_with("scripted of It at http://127.0.0.1:"), "{found:?}");
    assert_eq!(model.connections(), 0);
    model.finish();
}

#[test]
fn the_way_to_the_model_is_tried_when_asked_for_and_the_model_itself_only_then() {
    let model = Model::playing(vec![always(say("Hello!"))]);
    model.require_key(SECRET);
    let bench = Workbench::new("provider-network", &model, &More::default());
    let found = doctor(&bench, &["--network"]);
    assert!(found.values().all(|(verdict, _)| verdict == "ok"), "{found:?}");
    assert_eq!(found["agent models"].1, "1 model, scripted among them");
    assert!(found.contains_key("agent dns") && found.contains_key("agent tcp"), "{found:?}");
    assert!(!found.contains_key("agent live"), "{found:?}");
    assert!(model.requests().is_empty());
    let found = doctor(&bench, &["--live"]);
    assert!(found["agent live"].1.starts_with("it said \"Hello!\" in "), "{found:?}");
    model.finish();
}

#[test]
fn a_model_that_is_not_listed_is_worth_a_note() {
    let model = Model::playing(Vec::new());
    let bench = Workbench::new("provider-unlisted", &model, &More::default());
    let found = doctor(&bench, &["--network", "-m", "other"]);
    assert_eq!(found["agent models"], ("note".into(), "1 model, but not other".into()));
}

#[test]
fn what_is_wrong_is_said_at_the_step_that_fails() {
    let model = Model::playing(Vec::new());
    model.require_key("another-key");
    let bench = Workbench::new("provider-key", &model, &More::default());
    let found = doctor(&bench, &["--live"]);
    let (verdict, message) = &found["agent models"];
    assert!(verdict == "problem" && message.contains("IT_KEY"), "{found:?}");
    assert!(!found.contains_key("agent live"), "{found:?}");

    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let bench = Workbench::at("provider-refused", &format!("http://{free}/v1"), &More::default());
    let found = doctor(&bench, &["--network"]);
    let (verdict, message) = &found["agent tcp"];
    assert!(verdict == "problem" && message.contains(&free.to_string()), "{found:?}");
    assert!(!found.contains_key("agent models"), "{found:?}");

    let plain = format!("https://{}/v1", model.address());
    let bench = Workbench::at("provider-tls", &plain, &More::default());
    let found = doctor(&bench, &["--network"]);
    let (verdict, message) = &found["agent tls"];
    assert!(verdict == "problem" && message.starts_with("no encrypted connection to"), "{found:?}");
}

#[test]
fn a_missing_key_and_a_misspelt_setting_are_problems_with_their_place() {
    let model = Model::playing(Vec::new());
    let bench = Workbench::new("provider-faults", &model, &More::default());
    let mut command = bench.windlass(&["doctor"]);
    let told = seen(command.env_remove("IT_KEY"));
    assert_eq!(told.code, 1, "{told:?}");
    let line = told.stdout.lines().find(|line| line.contains("agent key")).unwrap_or_default();
    assert!(line.starts_with("problem") && line.contains("IT_KEY is not set"), "{told:?}");

    bench.write(".config/windlass/config.toml", "# mine\nmodle = \"x\"\n");
    let found = doctor(&bench, &[]);
    let (verdict, message) = &found["agent settings"];
    assert_eq!(verdict, "problem");
    assert!(message.contains("config.toml:2: `modle` is not known; did you mean `model`?"), "{message}");
}

#[test]
fn where_nothing_is_configured_nothing_is_missing() {
    let model = Model::playing(Vec::new());
    let bench = Workbench::new("provider-none", &model, &More::default());
    bench.write(".config/windlass/config.toml", "");
    let found = doctor(&bench, &[]);
    let expected = [("agent key", "note"), ("agent model", "note"), ("agent settings", "ok")];
    assert_eq!(verdicts(&found), expected, "{found:?}");
}

/// A SOCKS 5 proxy for one connection: it connects to this address, and returns the name for which the client asked.
fn socks_proxy(to: SocketAddr) -> (SocketAddr, JoinHandle<io::Result<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let served = thread::spawn(move || {
        let (mut client, _) = listener.accept()?;
        client.read_exact(&mut [0; 3])?;
        client.write_all(&[5, 0])?;
        let mut head = [0; 5];
        client.read_exact(&mut head)?;
        let mut name = vec![0; usize::from(head[4]) + 2];
        client.read_exact(&mut name)?;
        name.truncate(head[4].into());
        let server = TcpStream::connect(to)?;
        client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])?;
        let (mut from_server, mut to_server) = (server.try_clone()?, server);
        let mut to_client = client.try_clone()?;
        thread::spawn(move || {
            let _ = io::copy(&mut from_server, &mut to_client);
            let _ = to_client.shutdown(Shutdown::Both);
        });
        let _ = io::copy(&mut client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Both);
        Ok(String::from_utf8_lossy(&name).into_owned())
    });
    (address, served)
}

#[test]
fn the_environment_may_name_a_socks_proxy_for_everything() {
    let model = Model::playing(Vec::new());
    model.require_key(SECRET);
    let bench = Workbench::at("provider-socks", "http://models.invalid/v1", &More::default());
    let (proxy, served) = socks_proxy(model.address());
    let proxy = format!("socks5h://{proxy}");
    let found = doctor_with(&bench, &["--network"], &[("ALL_PROXY", &proxy), ("NO_PROXY", "10.0.0.0/8")]);
    assert_eq!(found["agent proxy"].0, "ok", "{found:?}");
    assert_eq!(found["agent models"].1, "1 model, scripted among them", "{found:?}");
    assert_eq!(served.join().unwrap().unwrap(), "models.invalid");
    model.finish();
}

#[test]
fn certificates_that_the_environment_names_replace_those_of_the_machine() {
    let model = Model::playing(Vec::new());
    let url = format!("https://localhost:{}/v1", model.address().port());
    let bench = Workbench::at("provider-certificates", &url, &More::default());
    for variable in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
        let found = doctor_with(&bench, &["--network"], &[(variable, "/nowhere/ca")]);
        let (verdict, message) = &found["agent tls"];
        assert_eq!(verdict, "problem", "{found:?}");
        assert!(
            message.starts_with("there is no usable certificate in /nowhere/ca"),
            "{variable}: {message}"
        );
    }
}
