//! Sends the same requests to Codex's own server and to windlass: the answers are the same to the word, because
//! programs look for those words.
//!
//! Requests that are answered differently on purpose are at the end, each with the reason.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windlass_testkit::codex::{self, Configuration};
use windlass_testkit::wire::Wire;

use crate::rig::Home;

/// An initialized server, and its home directory.
struct Side {
    wire: Wire,
    home: PathBuf,
}

impl Side {
    fn codex(home: &Path) -> Self {
        Configuration::WITHOUT_MODEL.write(home).expect("a configuration");
        let mut command = codex::command(home);
        command.arg("app-server").stderr(std::process::Stdio::null());
        Self::introduced(Wire::start(&mut command).expect("it starts"), home)
    }

    fn ours(home: &Home) -> Self {
        let mut command = home.windlass(&["app-server", "--sandbox", "danger-full-access"]);
        command.env("HOME", home.path()).current_dir(home.path());
        Self::introduced(Wire::start(&mut command).expect("it starts"), home.path())
    }

    fn introduced(mut wire: Wire, home: &Path) -> Self {
        let hello = json!({
            "clientInfo": { "name": "test", "version": "1" }, "capabilities": { "experimentalApi": true },
        });
        wire.request("initialize", &hello).expect("it answers").expect("it is glad to");
        wire.notify("initialized").expect("it listens");
        furnish(home);
        Self { wire, home: home.into() }
    }

    /// The part of the answer that is expected to be the same for both.
    fn answer(&mut self, method: &str, params: &Value) -> Value {
        let home = self.home.display().to_string();
        let params = serde_json::from_str(&params.to_string().replace("HOME", &home)).expect("it was JSON");
        let answer = match self.wire.request(method, &params).expect("it answers") {
            Ok(result) => {
                let kept =
                    ["exitCode", "stdout", "stderr"].map(|name| (name.to_owned(), result[name].clone()));
                json!({ "result": serde_json::Map::from_iter(kept) })
            }
            Err(refusal) => {
                // Only the list of methods necessarily differs between the two.
                let unlisted = refusal.message.split(", expected one of `initialize`").next();
                json!({ "code": refusal.code, "message": unlisted })
            }
        };
        serde_json::from_str(&answer.to_string().replace(&home, "HOME")).expect("it was JSON")
    }
}

/// Creates files that cannot be started, each for another reason.
fn furnish(home: &Path) {
    fs::create_dir_all(home.join("bin/folder")).expect("a directory");
    for (name, text, mode) in [
        ("bin/plain", "text", 0o600),
        ("plain", "text", 0o600),
        ("orphan", "#!/nowhere/interpreter\n", 0o700),
        ("text", "neither a script nor a program\n", 0o700),
    ] {
        let path = home.join(name);
        fs::write(&path, text).expect("a file");
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("it is ours");
    }
}

/// `true`, with more members.
fn exec(more: &Value) -> (&'static str, Value) {
    ("command/exec", with(json!({ "command": ["true"], "env": { "PATH": "HOME/bin:/usr/bin:/bin" } }), more))
}

fn spawn(more: &Value) -> (&'static str, Value) {
    ("process/spawn", with(json!({ "command": ["true"], "processHandle": "h", "cwd": "/" }), more))
}

/// Adds members; a member that is `"-"` is left out.
fn with(mut params: Value, more: &Value) -> Value {
    let members = params.as_object_mut().expect("an object");
    for (name, value) in more.as_object().expect("an object") {
        match value.as_str() {
            Some("-") => drop(members.remove(name)),
            _ => drop(members.insert(name.clone(), value.clone())),
        }
    }
    params
}

/// Members with wrong types, and some with wrong values.
fn wrong_members() -> Vec<(&'static str, Value)> {
    let any = || [json!(null), json!(1), json!(1.5), json!(true), json!("x"), json!([]), json!({})];
    let mut requests = Vec::new();
    let of = |member: &str, value: Value| exec(&json!({ "processId": "m", member: value }));
    for member in ["tty", "streamStdin", "streamStdoutStderr", "disableOutputCap", "disableTimeout"] {
        let values = any().into_iter().filter(|value| !value.is_boolean());
        requests.extend(values.map(|value| of(member, value)));
    }
    for member in ["outputBytesCap", "timeoutMs", "env", "size", "sandboxPolicy"] {
        // The result of a timeout of a millisecond depends on timing.
        let is_fine = |value: &Value| match member {
            "timeoutMs" => value.is_i64(),
            _ => value.is_null() || value == &json!({}),
        };
        let values = any().into_iter().filter(|value| !is_fine(value));
        requests.extend(values.map(|value| of(member, value)));
    }
    for member in ["command", "processId", "cwd", "permissionProfile"] {
        let values = any().into_iter().filter(|value| !value.is_null() && !value.is_string());
        requests.extend(values.map(|value| of(member, value)));
    }
    for value in [json!("ls"), json!(null), json!(["ls", 1]), json!(["ls", null]), json!([]), json!("-")] {
        requests.push(of("command", value));
    }
    for cap in [json!(-1), json!(0), json!(u64::MAX)] {
        requests.push(of("outputBytesCap", cap));
    }
    for time in [json!(-5), json!(1000.0), json!(i64::MAX), json!(i64::MIN), json!(1_u64 << 63)] {
        requests.push(of("timeoutMs", time));
    }
    for env in [json!({ "A": 1 }), json!({ "A": [] }), json!({ "A": true }), json!({ "A": "a\0b" })] {
        requests.push(of("env", env));
    }
    for size in [
        json!({}),
        json!({ "rows": 1 }),
        json!({ "cols": 1 }),
        json!({ "rows": -1, "cols": 1 }),
        json!({ "rows": 65536, "cols": 1 }),
        json!({ "rows": "1", "cols": 1 }),
        json!({ "rows": 1.5, "cols": 1 }),
        json!({ "rows": null, "cols": 1 }),
        json!({ "rows": 0, "cols": 1 }),
        json!({ "rows": 1, "cols": 0 }),
        json!([1]),
        json!([1, 2]),
    ] {
        requests.push(exec(&json!({ "processId": "m", "tty": true, "size": size })));
        let path = json!({ "PATH": "/usr/bin" });
        requests.push(spawn(&json!({ "tty": true, "size": size, "command": ["nowhere"], "env": path })));
        requests.push(("command/exec/resize", json!({ "processId": "no", "size": size })));
        requests.push(("process/resizePty", json!({ "processHandle": "no", "size": size })));
    }
    requests
}

/// Members that cannot be combined, in the order of the checks.
fn wrong_together() -> Vec<(&'static str, Value)> {
    let nowhere = json!({ "rows": 0, "cols": 0 });
    [
        json!({ "size": { "rows": 1, "cols": 1 } }),
        json!({ "size": nowhere }),
        json!({ "outputBytesCap": 1, "disableOutputCap": true }),
        json!({ "timeoutMs": 1, "disableTimeout": true }),
        json!({ "tty": true }),
        json!({ "tty": true, "processId": null }),
        json!({ "streamStdin": true }),
        json!({ "streamStdoutStderr": true }),
        json!({ "command": [], "permissionProfile": ":read-only", "sandboxPolicy": { "type": "readOnly" } }),
        json!({ "permissionProfile": ":read-only", "sandboxPolicy": { "type": "readOnly" } }),
        json!({ "permissionProfile": ":bogus", "size": nowhere, "timeoutMs": -1, "disableTimeout": true }),
        json!({ "permissionProfile": ":bogus", "size": nowhere, "tty": true, "timeoutMs": -1 }),
        json!({ "permissionProfile": ":bogus", "size": nowhere, "tty": true }),
        json!({ "permissionProfile": "bogus" }),
        json!({ "permissionProfile": "" }),
        json!({ "size": nowhere, "tty": true }),
    ]
    .iter()
    .map(exec)
    .collect()
}

fn policies() -> Vec<(&'static str, Value)> {
    [
        json!({}),
        json!({ "type": null }),
        json!({ "type": "bogus" }),
        json!({ "type": "read-only" }),
        json!({ "type": "readOnly", "networkAccess": 1 }),
        json!({ "type": "readOnly", "networkAccess": null }),
        json!({ "type": "readOnly", "access": "x" }),
        json!({ "type": "readOnly", "access": { "type": "restricted" } }),
        json!({ "type": "readOnly", "access": { "type": "bogus" } }),
        json!({ "type": "workspaceWrite", "readOnlyAccess": {} }),
        json!({ "type": "workspaceWrite", "readOnlyAccess": { "type": "restricted", "readableRoots": ["/usr"] } }),
        json!({ "type": "workspaceWrite", "writableRoots": ["x"] }),
        json!({ "type": "workspaceWrite", "writableRoots": "x" }),
        json!({ "type": "workspaceWrite", "writableRoots": [1] }),
        json!({ "type": "workspaceWrite", "writableRoots": null }),
        json!({ "type": "workspaceWrite", "excludeSlashTmp": 1 }),
        json!({ "type": "workspaceWrite", "excludeTmpdirEnvVar": null }),
        json!({ "type": "externalSandbox", "networkAccess": true }),
        json!({ "type": "externalSandbox", "networkAccess": "bogus" }),
        json!({ "type": "externalSandbox" }),
        json!({ "type": "externalSandbox", "networkAccess": "enabled" }),
        json!({ "type": "dangerFullAccess", "unknown": 1 }),
    ]
    .iter()
    .map(|policy| exec(&json!({ "sandboxPolicy": policy })))
    .collect()
}

/// Programs that cannot be started, on pipes and on a terminal, in various directories.
fn starts() -> Vec<(&'static str, Value)> {
    let mut requests = Vec::new();
    for on in [json!({}), json!({ "tty": true, "processId": "t" })] {
        for program in
            ["nowhere", "/nowhere/x", "/tmp", "/etc/passwd", "", "plain", "folder", ".", "HOME/orphan"]
        {
            requests.push(exec(&with(on.clone(), &json!({ "command": [program] }))));
        }
        for program in ["./x", "../x", "./plain", "./bin", "x/y", "/a\0b"] {
            requests.push(exec(&with(on.clone(), &json!({ "command": [program] }))));
        }
        requests.push(exec(&with(on.clone(), &json!({ "command": ["true", "a\0b"] }))));
    }
    for cwd in ["/nowhere", "/etc/passwd", "/a\0b", ".", "", "~", "~/bin"] {
        requests.push(exec(&json!({ "command": ["pwd"], "cwd": cwd })));
    }
    for argument in [131_071, 131_072] {
        requests.push(exec(&json!({ "command": ["true", "x".repeat(argument)] })));
    }
    requests.push(exec(&json!({ "command": ["true"], "env": { "PATH": null } })));
    requests.push(exec(&json!({ "command": ["true"], "env": { "PATH": "" } })));
    requests
}

fn controls() -> Vec<(&'static str, Value)> {
    let write = |params: Value| ("command/exec/write", params);
    let mut requests: Vec<(&'static str, Value)> = [
        "!", "a", "ab=", "abl=", "YQ==\n", "Y Q==", "YQ", "YW==", "=", "====", "YQ=", "YQ===", "-_-_", "é",
        "YQ==", "",
    ]
    .iter()
    .map(|text| write(json!({ "processId": "no", "deltaBase64": text })))
    .collect();
    requests.extend([
        write(json!({ "processId": "no" })),
        write(json!({ "processId": "no", "closeStdin": null })),
        write(json!({ "processId": "no", "closeStdin": true })),
        write(json!({ "processId": "no", "deltaBase64": 1 })),
        write(json!({ "processId": "a\"b\\c\né\u{1}\u{7f}", "closeStdin": true })),
        write(json!({})),
        write(json!(["no"])),
        ("command/exec/resize", json!({ "processId": "no" })),
        ("command/exec/resize", json!({ "processId": "no", "size": null })),
        ("command/exec/resize", json!({ "processId": "no", "size": 1 })),
        ("command/exec/terminate", json!({ "processId": "no" })),
        ("command/exec/terminate", json!({ "processId": 1 })),
        ("command/exec/terminate", json!({})),
        ("command/exec/terminate", json!([])),
        ("process/writeStdin", json!({ "processHandle": "no" })),
        ("process/writeStdin", json!({ "processHandle": "no", "deltaBase64": "!" })),
        ("process/writeStdin", json!({ "processHandle": "no", "deltaBase64": "YQ==" })),
        ("process/writeStdin", json!({})),
        ("process/resizePty", json!({ "processHandle": "no", "size": 1 })),
        ("process/resizePty", json!({ "processHandle": "no" })),
        ("process/kill", json!({ "processHandle": "no" })),
        ("process/kill", json!({ "processHandle": "" })),
        ("process/kill", json!({})),
    ]);
    requests
}

fn processes() -> Vec<(&'static str, Value)> {
    let mut requests: Vec<(&'static str, Value)> = [
        json!({ "command": "-" }),
        json!({ "processHandle": "-" }),
        json!({ "cwd": "-" }),
        json!({ "cwd": null }),
        json!({ "cwd": "" }),
        json!({ "cwd": "x" }),
        json!({ "cwd": "~" }),
        json!({ "cwd": "/nowhere" }),
        json!({ "processHandle": "" }),
        json!({ "processHandle": "", "command": [] }),
        json!({ "command": [] }),
        json!({ "command": ["nowhere"] }),
        json!({ "command": ["nowhere"], "tty": true, "env": { "PATH": "/usr/bin" } }),
        json!({ "size": { "rows": 1, "cols": 1 } }),
        json!({ "tty": true, "size": { "rows": 0, "cols": 1 } }),
        json!({ "tty": true, "size": 1 }),
        json!({ "timeoutMs": -1 }),
        json!({ "timeoutMs": "x" }),
        json!({ "outputBytesCap": -1 }),
        json!({ "outputBytesCap": "x" }),
    ]
    .iter()
    .map(spawn)
    .collect();
    requests.push(("process/spawn", json!([])));
    requests
}

fn envelopes() -> Vec<(&'static str, Value)> {
    let hello = json!({ "clientInfo": { "name": "test", "version": "1" } });
    vec![
        ("bogus/method", json!({})),
        ("initialized", json!({})),
        ("initialize", hello),
        ("initialize", json!({})),
        ("command/exec", json!(null)),
        ("command/exec", json!([])),
        ("command/exec", json!([1])),
        ("command/exec", json!("x")),
        ("command/exec", json!(3)),
        ("command/exec", json!(true)),
    ]
}

/// Cases in which the original is wrong, and the behaviour of windlass.
fn better() -> Vec<(&'static str, (&'static str, Value))> {
    let terminal = |more: &Value| exec(&with(json!({ "tty": true, "processId": "t" }), more));
    vec![
        ("it runs in the home directory", terminal(&json!({ "cwd": "/nowhere" }))),
        ("it runs in the home directory", terminal(&json!({ "cwd": "/etc/passwd" }))),
        ("it exits with 1", terminal(&json!({ "command": ["true", "x".repeat(200_000)] }))),
        ("it exits with 1", terminal(&json!({ "command": ["./text"] }))),
        ("it finds no program without a PATH", terminal(&json!({ "env": { "PATH": null } }))),
    ]
}

#[test]
fn whatever_is_refused_is_refused_in_the_words_that_codex_uses() {
    let (theirs, ours) = (Home::new("words-codex"), Home::new("words"));
    let (mut theirs, mut ours) = (Side::codex(theirs.path()), Side::ours(&ours));
    let requests =
        [wrong_members(), wrong_together(), policies(), starts(), controls(), processes(), envelopes()]
            .concat();
    let mut differences = Vec::new();
    for (method, params) in &requests {
        let (there, here) = (theirs.answer(method, params), ours.answer(method, params));
        if there != here {
            let params: String = params.to_string().chars().take(300).collect();
            differences.push(format!("{method} {params}\n  there {there}\n  here  {here}\n"));
        }
    }
    for (reason, (method, params)) in better() {
        let (there, here) = (theirs.answer(method, &params), ours.answer(method, &params));
        assert_ne!(there, here, "no longer true: {reason}");
    }
    assert!(differences.is_empty(), "{} of {}:\n{}", differences.len(), requests.len(), differences.concat());
}
