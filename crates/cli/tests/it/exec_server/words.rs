//! Sends the same requests to Codex's own exec-server and to windlass: the errors are the same, except for the
//! description of a number of the wrong type and the internal names of parameter types.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};
use windlass_testkit::codex::{self, Configuration};
use windlass_testkit::wire::Wire;

use super::Exec;
use crate::rig::Home;

/// A request of each known kind; those that can fail do.
fn requests() -> Vec<(&'static str, Value)> {
    let policy = json!({
        "inherit": "none", "ignoreDefaultExcludes": true, "exclude": [], "set": {}, "includeOnly": [],
    });
    let walk = json!({
        "maxDepth": 1, "maxDirectories": 1, "maxEntries": 1, "followDirectorySymlinks": false,
        "pruneHiddenDirectories": false,
    });
    let none = "file://HOME/none";
    vec![
        (
            "process/start",
            json!({
                "processId": "p", "argv": ["/nowhere/x"], "cwd": "file:///", "env": {}, "tty": false,
                "pipeStdin": false, "arg0": null, "envPolicy": policy,
            }),
        ),
        ("process/read", json!({ "processId": "no", "afterSeq": 0, "maxBytes": 1, "waitMs": 0 })),
        ("process/write", json!({ "processId": "no", "chunk": "YQ==", "writeId": "w" })),
        ("process/signal", json!({ "processId": "no", "signal": "interrupt" })),
        ("process/terminate", json!({ "processId": "no" })),
        ("fs/readFile", json!({ "path": none, "sandbox": null })),
        ("fs/writeFile", json!({ "path": "file://HOME/folder", "dataBase64": "YQ==" })),
        ("fs/createDirectory", json!({ "path": "file://HOME/file/x", "recursive": true })),
        ("fs/getMetadata", json!({ "path": none })),
        ("fs/canonicalize", json!({ "path": none })),
        ("fs/readDirectory", json!({ "path": none })),
        ("fs/walk", json!({ "path": none, "options": walk })),
        ("fs/remove", json!({ "path": none, "recursive": false, "force": false })),
        ("fs/copy", json!({ "sourcePath": none, "destinationPath": "file://HOME/x", "recursive": false })),
        ("fs/open", json!({ "handleId": "h", "path": none })),
        ("fs/readBlock", json!({ "handleId": "h", "offset": 0, "len": 1 })),
        ("fs/close", json!({ "handleId": "h" })),
    ]
}

/// Values of all types, to replace another one.
fn anything() -> Vec<Value> {
    let numbers = [json!(1), json!(1.5), json!(-1), json!(1e30), json!(1_u64 << 63)];
    let others =
        [json!(null), json!(true), json!("x"), json!([]), json!({}), json!(["a"]), json!({ "a": 1 })];
    numbers.into_iter().chain(others).collect()
}

/// The object without each of its members, and with each of [`anything`] in place of each member, recursively.
fn variants(object: &Map<String, Value>) -> Vec<Value> {
    let mut all = Vec::new();
    for (name, member) in object {
        let mut other = object.clone();
        other.remove(name);
        all.push(Value::Object(other));
        let within = member.as_object().map(variants).unwrap_or_default();
        for value in anything().into_iter().chain(within) {
            let mut other = object.clone();
            other.insert(name.clone(), value);
            all.push(Value::Object(other));
        }
    }
    all
}

/// The part of an error message that both servers are expected to have in common.
fn in_common(message: &str) -> String {
    let (given, expected) = message.split_once(", expected ").unwrap_or((message, ""));
    let is_number = |kind: &str| given.starts_with(&format!("invalid {kind} `")) || given == "invalid number";
    let is_number = ["type: integer", "type: floating point", "value: integer"].into_iter().any(is_number)
        || given == "invalid type: number";
    match expected.split_whitespace().next() {
        _ if is_number && ["u64", "usize", ""].contains(&expected) => "invalid number".to_owned(),
        Some("struct") if is_number => "a number, expected struct".to_owned(),
        Some("struct") => format!("{given}, expected struct"),
        Some("internally") => format!("{given}, expected internally tagged enum"),
        Some("usize") => format!("{given}, expected u64"),
        Some(_) if is_number => format!("a number, expected {expected}"),
        _ => message.to_owned(),
    }
}

/// The part of the answer that is expected to be the same for both.
fn answer(wire: &mut Wire, home: &Path, (method, params): (&str, &Value)) -> Value {
    let home = home.display().to_string();
    let params = serde_json::from_str(&params.to_string().replace("HOME", &home)).expect("it was JSON");
    match wire.request(method, &params).expect("it answers") {
        Ok(_) => json!("done"),
        Err(refusal) => json!([refusal.code, in_common(&refusal.message.replace(&home, "HOME"))]),
    }
}

/// Whether windlass supports more than the original here, so that the answers differ.
fn is_more(method: &str, params: &Value) -> bool {
    // Windlass supports more signals, and longer walks.
    let is_far = |member: &Value| member.as_u64().is_some_and(|number| number > 50_000);
    match method {
        "process/signal" => {
            params.get("signal").is_some_and(|signal| signal.is_string() || signal.is_object())
        }
        "fs/walk" => params["options"].as_object().is_some_and(|options| options.values().any(is_far)),
        _ => false,
    }
}

#[test]
fn refusals_are_those_of_codex() {
    let (theirs, ours) = (Home::new("exec-words-codex"), Exec::start("words"));
    Configuration::WITHOUT_MODEL.write(theirs.path()).expect("a configuration");
    let mut codex = codex::command(theirs.path());
    codex.args(["exec-server", "--listen", "stdio"]).stderr(std::process::Stdio::null());
    let mut codex = Wire::start(&mut codex).expect("it starts");
    let hello = json!({ "clientName": "test", "resumeSessionId": null });
    codex.request("initialize", &hello).expect("it answers").expect("it is glad to");
    codex.notify("initialized").expect("it listens");
    let mut ours = ours;
    for home in [theirs.path(), ours.home.path()] {
        fs::create_dir(home.join("folder")).expect("a folder");
        fs::write(home.join("file"), "hello").expect("a file");
    }

    let (mut count, mut differences) = (0, Vec::new());
    for (method, params) in requests() {
        let members = params.as_object().expect("an object");
        let all = anything().into_iter().chain(variants(members)).chain([params.clone()]);
        for params in all.filter(|params| !is_more(method, params)) {
            let said = answer(&mut codex, theirs.path(), (method, &params));
            let seen = answer(&mut ours.wire, ours.home.path(), (method, &params));
            count += 1;
            if said != seen {
                differences.push(format!("{method} {params}\n  there: {said}\n  here:  {seen}"));
            }
        }
    }
    assert!(differences.is_empty(), "{} of {count}\n{}", differences.len(), differences.join("\n"));
    assert!(count > 800, "{count}");
    drop(codex.end());
    ours.end();
}
