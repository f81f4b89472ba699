//! `windlass exec-server` on pipes as programs use it, and everything that it must survive.

mod doors;
mod files;
mod links;
mod policies;
mod words;

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_sys::process::Process;
use windlass_testkit::wire::{Message, Wire};
use windlass_testkit::{base64, survivors};

use crate::rig::{Home, WAYS, escapees, held, nothing_survives};

/// An initialized connection to a `windlass exec-server` on pipes.
struct Exec {
    wire: Wire,
    home: Home,
    /// A token in the environment of the server and of all its descendants.
    token: String,
}

impl Exec {
    fn start(name: &str) -> Self {
        Self::start_with(name, &[])
    }

    fn start_with(name: &str, words: &[&str]) -> Self {
        let home = Home::new(&format!("exec-{name}"));
        let token = survivors::token(&format!("exec-{name}"));
        let mut command = home.windlass(&[&["exec-server", "--listen", "stdio"], words].concat());
        command.env("HOME", home.path()).env(survivors::TOKEN_VARIABLE, &token).current_dir(home.path());
        let mut wire = Wire::start(&mut command).expect("windlass starts");
        let hello = json!({ "clientName": "test", "resumeSessionId": null });
        wire.request("initialize", &hello).expect("it answers").expect("it is glad to");
        wire.notify("initialized").expect("it listens");
        Self { wire, home, token }
    }

    fn params(&self, process: &str, argv: &[&str]) -> Value {
        json!({
            "processId": process, "argv": argv, "cwd": format!("file://{}", self.home.path().display()),
            "env": { "PATH": "/usr/bin:/bin", survivors::TOKEN_VARIABLE: self.token }, "tty": false,
        })
    }

    fn begin(&mut self, params: &Value) {
        let answer = self.wire.request("process/start", params).expect("it answers");
        answer.unwrap_or_else(|refusal| panic!("{refusal} for {params}"));
    }

    /// The output of a process until it contains a text this many times, or until the process is closed.
    fn printed(&mut self, process: &str, (text, times): (&str, usize)) -> String {
        let mut seen = Vec::new();
        loop {
            let concerns = |message: &Message| {
                let about = message.notice("process/output").or_else(|| message.notice("process/closed"));
                about.is_some_and(|params| params["processId"] == process)
            };
            let message = self.wire.wait_for(concerns).expect("it goes on");
            let so_far = String::from_utf8_lossy(&seen).into_owned();
            let Some(params) = message.notice("process/output") else { return so_far };
            let chunk = params["chunk"].as_str().expect("a chunk");
            seen.extend(base64::decode(chunk.as_bytes()).expect("base64"));
            let so_far = String::from_utf8_lossy(&seen).into_owned();
            if times > 0 && so_far.matches(text).count() >= times {
                return so_far;
            }
        }
    }

    fn works(&mut self, name: &str) {
        let params = self.params(name, &["/bin/echo", "here"]);
        self.begin(&params);
        assert_eq!(self.printed(name, ("", 0)), "here\n");
    }

    fn start_escapees(&mut self, token: &str, deaf: &str) -> Vec<Process> {
        let params = self.params(token, &["/bin/sh", "-c", &escapees(token, deaf)]);
        self.begin(&params);
        self.printed(token, ("is up", WAYS.len()));
        let found = held(&survivors::bearing(&format!("{token}-")));
        assert!(found.len() > WAYS.len(), "{}", found.len());
        found
    }

    fn end(mut self) {
        self.wire.close_input();
        let status = self.wire.exit().expect("it comes to an end");
        assert!(status.success(), "{status}");
        self.leaves_nothing();
    }

    fn leaves_nothing(self) {
        nothing_survives(&held(&survivors::bearing(&self.token)), &self.token);
    }
}

#[test]
fn lines_that_are_no_messages_cost_only_themselves() {
    let mut exec = Exec::start("frames");
    for line in [&b"\xff\xfe\n"[..], b"{\n", b"\n", b"null\n", b"[]\n", b"{\"id\":1}\n"] {
        exec.wire.send_bytes(line).expect("it listens");
    }
    exec.works("after");
    exec.end();
}

/// Permissions from a client that let commands change a project, without the network.
fn project_only(more: &[Value]) -> Value {
    let special = |kind: &str| json!({ "type": "special", "value": { "kind": kind } });
    let mut entries = vec![
        json!({ "path": special("root"), "access": "read" }),
        json!({ "path": special("project_roots"), "access": "write" }),
    ];
    entries.extend_from_slice(more);
    let files = json!({ "type": "restricted", "entries": entries });
    json!({ "permissions": { "type": "managed", "file_system": files, "network": "restricted" } })
}

#[test]
fn a_process_is_kept_from_what_its_client_says() {
    let mut exec = Exec::start("sandbox");
    let outside = windlass_testkit::Scratch::below(std::path::Path::new("/var/tmp"), "exec-outside");
    let place = outside.path().display();
    // Commands may not write to the directory with the server's records, which is the home directory itself here.
    let project = exec.home.path().join("project");
    std::fs::create_dir_all(project.join("kept")).expect("it can be made");
    let secret = project.join("secret");
    std::fs::write(&secret, "hush").expect("it can be written");
    let script =
        format!("echo in > in; cat in; echo out > '{place}/out'; cat secret; mkdir sub; echo no > kept/x");
    let mut params = exec.params("kept", &["/bin/sh", "-c", &script]);
    params["cwd"] = json!(format!("file://{}", project.display()));
    let below = json!({ "type": "special", "value": { "kind": "project_roots", "subpath": "kept" } });
    let hidden = json!({ "type": "path", "path": format!("file://{}", secret.display()) });
    params["sandbox"] = project_only(&[
        json!({ "path": below, "access": "read" }),
        json!({ "path": hidden, "access": "none" }),
    ]);
    let answer = exec.wire.request("process/start", &params).expect("it answers").expect("it starts");
    assert_eq!(answer["sandboxType"], "linuxSeccomp");
    let exited = |message: &Message| message.notice("process/exited").is_some();
    let message = exec.wire.wait_for(exited).expect("it ends");
    assert_eq!(
        message.notice("process/exited").map(|params| params["sandboxDenied"].clone()),
        Some(json!(true))
    );
    let said = exec.wire.request("process/read", &json!({ "processId": "kept" })).expect("it answers");
    let chunks = said.expect("it is known")["chunks"].as_array().cloned().unwrap_or_default();
    let text: Vec<u8> = chunks
        .iter()
        .flat_map(|chunk| base64::decode(chunk["chunk"].as_str().unwrap_or("").as_bytes()).expect("base64"))
        .collect();
    assert!(!String::from_utf8_lossy(&text).contains("hush"), "{}", String::from_utf8_lossy(&text));
    assert!(project.join("sub").is_dir() && !project.join("kept/x").exists());
    assert_eq!(outside.names(), Vec::<String>::new());
    exec.end();
}

/// A permission that cannot be enforced is rejected with the reason, and nothing runs.
#[test]
fn what_has_no_equal_here_is_refused() {
    let mut exec = Exec::start("no-equal");
    let managed = |files: Value, network: &str| json!({ "permissions": { "type": "managed", "file_system": files, "network": network } });
    let restricted = |entries: Value| json!({ "type": "restricted", "entries": entries });
    let root = json!({ "type": "special", "value": { "kind": "root" } });
    let unknown = json!({ "type": "special", "value": { "kind": "unknown", "path": ":elsewhere" } });
    let glob = json!({ "type": "glob_pattern", "pattern": "/**/*.rs" });
    for (member, value, expected) in [
        (
            "sandbox",
            managed(restricted(json!([])), "restricted"),
            "everything can be read that is not denied",
        ),
        ("sandbox", managed(json!({ "type": "unrestricted" }), "restricted"), "lists what may be changed"),
        (
            "sandbox",
            managed(restricted(json!([{ "path": root, "access": "write" }])), "enabled"),
            "let the root be written",
        ),
        ("sandbox", project_only(&[json!({ "path": unknown, "access": "read" })]), "`:elsewhere`"),
        ("sandbox", project_only(&[json!({ "path": glob, "access": "write" })]), "can only be denied"),
        ("enforceManagedNetwork", json!(true), "only together with its files"),
        ("managedNetwork", json!({ "loopbackPorts": [3128] }), "no port of this machine"),
        ("networkProxy", json!({}), "no proxy is started"),
    ] {
        let mut params = exec.params("p", &["/bin/touch", "ran"]);
        params[member] = value;
        let refused =
            exec.wire.request("process/start", &params).expect("it answers").expect_err("it is refused");
        assert!(refused.to_string().contains(expected), "{member}: {refused}");
    }
    assert!(!exec.home.path().join("ran").exists());
    exec.end();
}

#[test]
fn a_network_that_is_managed_is_the_processs_own() {
    let mut exec = Exec::start("network");
    let script = "grep -c lo: /proc/net/dev; grep -v -c lo: /proc/net/dev";
    for (process, managed) in [("off", json!(null)), ("own", json!({ "allowLocalBinding": true }))] {
        let mut params = exec.params(process, &["/bin/sh", "-c", script]);
        params["sandbox"] = project_only(&[]);
        params["enforceManagedNetwork"] = json!(true);
        params["managedNetwork"] = managed;
        exec.begin(&params);
        // The other two lines are the heading.
        assert_eq!(exec.printed(process, ("", 0)), "1\n2\n", "{process}");
    }
    exec.end();
}

#[test]
fn a_thousand_starts_in_one_burst_all_run() {
    let mut exec = Exec::start("burst");
    for number in 0..1000 {
        let params = exec.params(&number.to_string(), &["/bin/true"]);
        exec.wire.ask("process/start", &params).expect("it listens");
    }
    let (mut answers, mut closed) = (0, 0);
    while answers < 1000 || closed < 1000 {
        match exec.wire.next_message().expect("it goes on") {
            Message::Answer { result, .. } => {
                result.expect("it can be started");
                answers += 1;
            }
            Message::Notice { method, .. } => closed += usize::from(method == "process/closed"),
        }
    }
    assert_eq!((answers, closed), (1000, 1000));
    exec.end();
}

#[test]
fn a_process_that_reads_nothing_can_be_ended_and_holds_up_nobody() {
    let mut exec = Exec::start("non-reader");
    let mut params = exec.params("s", &["/bin/sleep", "1000"]);
    params["pipeStdin"] = json!(true);
    exec.begin(&params);
    let chunk = base64::encode(&vec![b'x'; 64 * 1024]);
    for number in 0..200 {
        let write = json!({ "processId": "s", "chunk": chunk, "writeId": number.to_string() });
        exec.wire.ask("process/write", &write).expect("it listens");
    }
    exec.works("meanwhile");
    let ended = exec.wire.request("process/terminate", &json!({ "processId": "s" })).expect("it answers");
    assert_eq!(ended.expect("it can be ended")["running"], true);
    exec.printed("s", ("", 0));
    exec.end();
}

#[test]
fn terminate_and_the_end_of_the_client_end_the_whole_tree() {
    let mut exec = Exec::start("trees");
    let (one, other) = (survivors::token("exec-one"), survivors::token("exec-other"));
    let ended = exec.start_escapees(&one, "HUP");
    let left = exec.start_escapees(&other, "TERM HUP");
    let answer = exec.wire.request("process/terminate", &json!({ "processId": one })).expect("it answers");
    answer.expect("it can be ended");
    nothing_survives(&ended, &format!("{one}-"));
    exec.end();
    nothing_survives(&left, &format!("{other}-"));
}

#[test]
fn signals_to_the_server_leave_nothing() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::KILL] {
        let mut exec = Exec::start("signals");
        let token = survivors::token("exec-signals");
        let left = exec.start_escapees(&token, "TERM HUP INT");
        exec.wire.signal(signal).expect("it can be signalled");
        exec.wire.exit().expect("it comes to an end");
        nothing_survives(&left, &format!("{token}-"));
        exec.leaves_nothing();
    }
}

#[test]
fn a_client_that_only_closes_its_reading_end_is_gone_as_well() {
    let mut exec = Exec::start("half");
    let token = survivors::token("exec-half");
    let left = exec.start_escapees(&token, "HUP");
    exec.wire.close_output();
    exec.wire.exit().expect("it comes to an end");
    nothing_survives(&left, &format!("{token}-"));
    exec.leaves_nothing();
}
