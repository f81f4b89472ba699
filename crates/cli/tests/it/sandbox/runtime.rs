//! Processes that the runtime itself starts for a confined session: the login, the shell and the helpers. None of them
//! runs outside of the session's sandbox, or gets variables that are withheld from commands.

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
        let shell = stage.path("work/x/bash");
        let ran = stage.path("outside/shell-ran");
        // Without a sandbox the planted program succeeds.
        let plain = stage.command(&[shell.clone(), "-c".to_owned(), "true".to_owned()]).status();
        assert!(plain.expect("it starts").success() && std::fs::remove_file(&ran).is_ok(), "{layers}");
        let mut served =
            serve(stage, &["--sandbox", "workspace-write", "--sandbox-layers", layers], stage.windlass());
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

/// If commands may write the home directory, they could replace the file for the next call.
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
        // Unconfined, the same file succeeds.
        let mut served = serve(stage, &[], stage.windlass());
        exec(&mut served, &json!({ "cmd": "true", "shell": "bash" }));
        std::fs::remove_file(stage.path("outside/login")).expect("the login ran, and nothing kept it");
    });
}

/// The command can write at the program's path, and puts another file there while the runtime runs.
#[test]
fn helpers_come_from_the_program_that_runs_and_not_from_its_path() {
    both(|stage, layers| {
        let program = stage.path("work/bin/windlass");
        let script = format!("mkdir -p bin; cp '{}' bin/windlass; chmod 755 bin/windlass", stage.windlass());
        let made = stage.command(&["sh", "-c", &script].map(str::to_owned)).status().expect("it starts");
        assert!(made.success());
        let words = ["--sandbox", "workspace-write", "--sandbox-layers", layers];
        let mut served = serve(stage, &words, program);
        let plant = "printf '#!/bin/sh\\ntouch %s/outside/helper-ran\\n' \"$STAGE\" > evil; chmod +x evil";
        // Without a sandbox the planted program succeeds.
        let plain = stage.command(&["sh", "-ec", &format!("{plant}; ./evil")].map(str::to_owned)).status();
        let ran = stage.path("outside/helper-ran");
        assert!(plain.expect("it starts").success() && std::fs::remove_file(&ran).is_ok(), "{layers}");
        let replace = &format!("{plant}; mv evil bin/windlass; head -c 2 bin/windlass");
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

/// A program that was installed in a writable directory does not belong to the workspace.
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

/// A shell that is not listed in /etc/shells is allowed if the user configured it, and it is confined like any other.
#[test]
fn a_configured_shell_that_is_not_listed_runs_in_the_sandbox() {
    both(|stage, layers| {
        let script = "printf '#!/bin/sh\\ntouch %s/outside/own-shell 2>/dev/null\\nexec /bin/sh \"$@\"\\n' \"$STAGE\" > ~/own-sh; \
                      chmod 755 ~/own-sh; ~/own-sh -c true; rm \"$STAGE/outside/own-shell\"";
        let made = stage.command(&["sh", "-ec", script].map(str::to_owned)).status().expect("it starts");
        assert!(made.success(), "{layers}: it writes outside where nothing confines it");
        let shell = stage.path("home/own-sh");
        let words = [&stage.windlass(), "mcp", "--sandbox", "workspace-write", "--sandbox-layers", layers];
        let mut served = Served::of(stage.command(&words.map(str::to_owned)).env("SHELL", &shell));
        served.greet();
        for arguments in [json!({ "cmd": "echo ran" }), json!({ "cmd": "echo ran", "shell": shell })] {
            let result = exec(&mut served, &arguments);
            assert_eq!(result["structuredContent"]["output"], "ran\n", "{layers} {arguments}: {result}");
        }
        assert!(!std::path::Path::new(&stage.path("outside/own-shell")).exists(), "{layers}");
    });
}

/// A rule can make the registry of cargo writable with all of `~/.cargo`; the programs and settings beside it stay
/// protected.
#[test]
fn a_rule_about_a_part_of_the_home_does_not_open_programs_and_settings_in_it() {
    both(|stage, layers| {
        let before =
            "rm -rf ~/.cargo; mkdir -p ~/.cargo/bin ~/.cargo/registry; echo mine > ~/.cargo/bin/cargo";
        let made = stage.command(&["sh", "-ec", before].map(str::to_owned)).status().expect("it starts");
        assert!(made.success());
        let attack = "touch ~/.cargo/registry/x; echo evil > ~/.cargo/bin/cargo; echo evil > ~/.cargo/bin/ls; \
                      echo evil > ~/.cargo/config.toml; echo evil > ~/.cargo/env; mv ~/.cargo/bin ~/.cargo/old; \
                      mkdir n; echo evil > n/config.toml; mv n/config.toml ~/.cargo/config.toml; true";
        let windlass = stage.windlass();
        let words = [
            windlass.as_str(),
            "run",
            "--sandbox",
            "workspace-write",
            "--sandbox-layers",
            layers,
            "--writable",
            "~/.cargo",
            "--",
            "sh",
            "-c",
            attack,
        ];
        let output = stage.command(&words.map(str::to_owned)).output().expect("it starts");
        assert!(output.status.success(), "{layers}: {output:?}");
        let found = "cd ~/.cargo; find . -type f | sort; cat bin/cargo";
        let found = stage.command(&["sh", "-ec", found].map(str::to_owned)).output().expect("it starts");
        let found = String::from_utf8_lossy(&found.stdout).into_owned();
        assert_eq!(found, "./bin/cargo\n./registry/x\nmine\n", "{layers}: {output:?}");
        let again = stage.command(&["sh", "-c", "rm -rf n"].map(str::to_owned)).status();
        assert!(again.expect("it starts").success());
    });
}
