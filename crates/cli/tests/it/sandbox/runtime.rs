//! What the runtime itself does for a confined session: the login, the shell and the helpers. None of it runs outside the
//! session's sandbox, nor gets what is withheld from commands.

use serde_json::{Value, json};

use super::stage::{Owner, Stage};
use crate::mcp::Served;

const LAYERS: [&str; 2] = ["all", "landlock"];

/// A server on the stage, with a secret in its environment.
fn serve(stage: &Stage, words: &[&str], program: String) -> Served {
    let words = ["mcp"].iter().chain(words).map(|&word| word.to_owned());
    let words: Vec<String> = [program].into_iter().chain(words).collect();
    let mut served =
        Served::of(stage.command(&words).env("GH_TOKEN", "withheld-secret").env("SHELL", "/bin/bash"));
    served.greet();
    served
}

fn exec(served: &mut Served, arguments: &Value) -> Value {
    served.ask("exec", "tools/call", &json!({ "name": "exec_command", "arguments": arguments }))["result"]
        .clone()
}

fn both(check: impl Fn(&Stage, &str)) {
    for (name, owner) in [("runtime", Owner::Myself), ("runtime-user", Owner::ordinary())] {
        let stage = Stage::new(name, owner);
        for layers in LAYERS {
            check(&stage, layers);
        }
    }
}

#[test]
fn a_shell_in_the_workspace_is_not_run() {
    both(|stage, layers| {
        let script = "mkdir -p x; printf '#!/bin/sh\\nid > %s/outside/shell-ran\\n' \"$STAGE\" > x/bash; chmod +x x/bash";
        let made = stage.command(&["sh", "-c", script].map(str::to_owned)).status().expect("it starts");
        assert!(made.success());
        let mut served =
            serve(stage, &["--sandbox", "workspace-write", "--sandbox-layers", layers], stage.windlass());
        let shell = stage.path("work/x/bash");
        let result = exec(&mut served, &json!({ "cmd": "true", "shell": shell }));
        assert_eq!(result["isError"], true, "{layers}: {result}");
        assert!(result.to_string().contains("/etc/shells"), "{layers}: {result}");
        assert!(!std::path::Path::new(&stage.path("outside/shell-ran")).exists(), "{layers}");
    });
}

#[test]
fn the_first_reply_of_a_confined_client_names_the_variables_that_commands_do_not_get() {
    let stage = Stage::new("withheld-told", Owner::Myself);
    let remark = "commands do not get these variables: GH_TOKEN";
    let mut served = serve(&stage, &["--sandbox", "workspace-write"], stage.windlass());
    let first = exec(&mut served, &json!({ "cmd": "true" })).to_string();
    let second = exec(&mut served, &json!({ "cmd": "true" })).to_string();
    assert!(first.contains(remark), "{first}");
    assert!(!second.contains(remark), "once is enough: {second}");
}

/// With a home that commands may write, the file could be another one for the next call.
#[test]
fn start_up_files_run_in_the_sandbox_and_without_withheld_variables() {
    both(|stage, layers| {
        let profile = "touch \"$STAGE/outside/login\" 2>/dev/null; export SEEN=\"token=$GH_TOKEN \
                       filtered=$(grep -c '^Seccomp:.*2' /proc/self/status)\"";
        let script = format!("printf '%s\\n' '{profile}' > \"$HOME/.bash_profile\"");
        let made = stage.command(&["sh", "-c", &script].map(str::to_owned)).status().expect("it starts");
        assert!(made.success());
        let words = ["--sandbox", "workspace-write", "--sandbox-layers", layers];
        let mut served = serve(stage, &words, stage.windlass());
        let result = exec(&mut served, &json!({ "cmd": "echo \"$SEEN\"; true", "shell": "bash" }));
        assert_eq!(result["structuredContent"]["output"], "token= filtered=1\n", "{layers}: {result}");
        assert!(!std::path::Path::new(&stage.path("outside/login")).exists(), "{layers}");
        // Unconfined the same file gets through.
        let mut served = serve(stage, &[], stage.windlass());
        exec(&mut served, &json!({ "cmd": "true", "shell": "bash" }));
        std::fs::remove_file(stage.path("outside/login")).expect("the login ran, and nothing kept it");
    });
}

/// The place of the program can be written by the command, which puts another file there while the runtime runs.
#[test]
fn helpers_come_from_the_program_that_runs_and_not_from_its_path() {
    both(|stage, layers| {
        let program = stage.path("work/bin/windlass");
        let script = format!("mkdir -p bin; cp '{}' bin/windlass; chmod 755 bin/windlass", stage.windlass());
        let made = stage.command(&["sh", "-c", &script].map(str::to_owned)).status().expect("it starts");
        assert!(made.success());
        let words = ["--sandbox", "workspace-write", "--sandbox-layers", layers];
        let mut served = serve(stage, &words, program);
        let replace = "printf '#!/bin/sh\\ntouch %s/outside/helper-ran\\n' \"$STAGE\" > evil; chmod +x evil; \
                       mv evil bin/windlass; head -c 2 bin/windlass";
        let result = exec(&mut served, &json!({ "cmd": replace, "shell": "sh", "login": false }));
        assert_eq!(result["structuredContent"]["output"], "#!", "{layers}: it was replaced: {result}");
        for lifetime in ["runtime", "detached"] {
            let result =
                exec(&mut served, &json!({ "cmd": "echo runs", "login": false, "lifetime": lifetime }));
            assert_eq!(result["structuredContent"]["output"], "runs\n", "{layers} {lifetime}: {result}");
        }
        assert!(!std::path::Path::new(&stage.path("outside/helper-ran")).exists(), "{layers}");
    });
}

/// A program that was installed in a writable place is not the workspace's.
#[test]
fn the_program_in_a_writable_place_cannot_be_replaced() {
    both(|stage, layers| {
        let program = stage.path("home/tools/windlass");
        let script = format!(
            "mkdir -p ~/tools; cp '{}' ~/tools/windlass; chmod 755 ~/tools/windlass",
            stage.windlass()
        );
        let made = stage.command(&["sh", "-c", &script].map(str::to_owned)).status().expect("it starts");
        assert!(made.success());
        let tools = stage.path("home/tools");
        let words = ["--sandbox", "workspace-write", "--sandbox-layers", layers, "--writable", &tools];
        let mut served = serve(stage, &words, program);
        let replace = "echo evil > e; cat e > ~/tools/windlass; mv -f e ~/tools/windlass; rm -f ~/tools/windlass; \
                       mv ~/tools/windlass ~/tools/old; touch ~/tools/other && head -c 4 ~/tools/windlass | tail -c 3 >&3";
        let replace = format!("exec 3>&1 2>/dev/null; {replace}");
        let result = exec(&mut served, &json!({ "cmd": replace, "shell": "sh", "login": false }));
        let output = result["structuredContent"]["output"].as_str().unwrap_or_default().to_owned();
        assert!(output.ends_with("ELF"), "{layers}: {result}");
    });
}
