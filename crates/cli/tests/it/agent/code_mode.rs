//! Scripts of the model that call its other tools.

use serde_json::json;
use windlass_testkit::model::{always, call, custom, say, turn};

use super::stage::{BOTH, Owner, Stage, fifo};

#[test]
fn a_script_calls_tools_and_only_what_it_says_is_read() {
    for dialect in BOTH {
        let script = "const shown = await tools.exec_command({ cmd: 'echo 6; echo 7' });\n\
                      const numbers = String(shown).match(/\\d+\\s*$/)[0];\n\
                      text('the last is ' + numbers.trim());";
        let mut stage = Stage::speaking(
            dialect,
            vec![
                turn(move |request| {
                    assert!(request.offers("exec") && request.offers("wait"));
                    custom("exec", script)
                }),
                turn(|request| {
                    let result = request.last_result();
                    assert!(
                        result.contains("Script completed") && result.contains("the last is 7"),
                        "{result}"
                    );
                    say("seven")
                }),
            ],
        )
        .with("tools.code_mode = true");
        let ran = stage.run(&["--json", "calculate"]).well();
        assert_eq!(ran.items("command_execution").len(), 1, "{ran:?}");
        stage.finish();
    }
}

#[test]
fn a_script_that_takes_long_is_come_back_to() {
    let script = "// @exec: {\"yield_time_ms\": 100}\n\
                  text('begun'); await tools.exec_command({ cmd: 'cat pipe' }); text('ended');";
    let mut stage = Stage::playing(vec![
        always(custom("exec", script)),
        turn(|request| {
            let result = request.last_result();
            assert!(result.contains("begun") && !result.contains("ended"), "{result}");
            let cell = result.split("cell ID ").nth(1).and_then(|rest| rest.split_whitespace().next());
            let cell = cell.unwrap_or_else(|| panic!("no cell in {result}")).to_owned();
            call("wait", json!({ "cell_id": cell }))
                .and(call("exec_command", json!({ "cmd": "echo go > pipe" })))
        }),
        turn(|request| {
            let results = request.results();
            assert!(results[1].contains("ended") && !results[1].contains("begun"), "{results:?}");
            say("done")
        }),
    ])
    .with("tools.code_mode = true");
    fifo(&stage.work().join("pipe"));
    stage.run(&["go"]).well();
    stage.finish();
}

#[test]
fn a_script_that_fails_or_reaches_for_the_machine_is_answered() {
    let mut stage = Stage::playing(vec![
        always(custom("exec", "throw new Error('oh dear')")),
        turn(|request| {
            let result = request.last_result();
            assert!(result.contains("Script failed") && result.contains("oh dear"), "{result}");
            custom("exec", "text([typeof process, typeof require, typeof fetch].join())")
        }),
        turn(|request| {
            assert!(
                request.last_result().contains("undefined,undefined,undefined"),
                "{}",
                request.last_result()
            );
            say("done")
        }),
    ])
    .with("tools.code_mode = true");
    stage.run(&["go"]).well();
    stage.finish();
}

/// The descendants of this process that run scripts.
fn cells_of(agent: u32) -> Vec<u32> {
    let field = |pid: u32, name: &str| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        status.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
    };
    let is_below = |pid: u32| {
        let parent = |pid: &u32| field(*pid, "PPid:")?.parse::<u32>().ok().filter(|parent| *parent > 1);
        std::iter::successors(Some(pid), parent).any(|ancestor| ancestor == agent)
    };
    let pids = std::fs::read_dir("/proc").expect("processes can be listed").flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_cell = |pid: &u32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.starts_with(b"windlass-cell\0run-cell\0") && is_below(*pid)
    };
    let cells: Vec<u32> = pids.filter(is_cell).collect();
    for cell in &cells {
        assert_eq!(field(*cell, "Seccomp:").as_deref(), Some("2"), "its calls are filtered");
        assert_eq!(field(*cell, "NoNewPrivs:").as_deref(), Some("1"), "it gains no rights");
        let environment = std::fs::read(format!("/proc/{cell}/environ")).unwrap_or_default();
        // The sandbox itself sets the directory for tmux's sockets; the environment is otherwise empty.
        let mut variables = environment.split(|byte| *byte == 0).filter(|variable| !variable.is_empty());
        let foreign = variables.find(|variable| !variable.starts_with(b"TMUX_TMPDIR="));
        assert_eq!(foreign.map(String::from_utf8_lossy), None);
    }
    cells
}

#[test]
fn a_script_runs_in_a_confined_process_whatever_commands_may_do() {
    a_script_runs_in_a_confined_process(Owner::Myself);
}

#[test]
fn a_script_of_an_ordinary_user_runs_in_a_confined_process_whatever_commands_may_do() {
    a_script_runs_in_a_confined_process(Owner::Ordinary);
}

fn a_script_runs_in_a_confined_process(owner: Owner) {
    let ways: [&[&str]; 3] = [
        &["--sandbox-layers", "all"],
        &["--sandbox-layers", "landlock"],
        &["--dangerously-bypass-approvals-and-sandbox"],
    ];
    for words in ways {
        let script = "await tools.exec_command({ cmd: 'echo here > reached; cat go' }); text('came back');";
        let mut stage = Stage::playing(vec![
            always(custom("exec", script)),
            turn(|request| {
                let result = request.last_result();
                assert!(result.contains("came back"), "{result}");
                say("done")
            }),
        ])
        .with("tools.code_mode = true")
        .owned_by(owner);
        let (reached, go) = (stage.work().join("reached"), stage.work().join("go"));
        fifo(&reached);
        fifo(&go);
        let mut all = words.to_vec();
        all.push("script");
        let going = stage.start(&all);
        assert_eq!(std::fs::read_to_string(&reached).expect("the command says so"), "here\n");
        let cells = cells_of(going.id());
        assert_eq!(cells.len(), 1, "the script has a process of its own: {words:?}");
        // Without namespaces there is one file tree for all; the kernel decides what a script may read of it.
        if !words.contains(&"landlock") {
            let seen = format!("/proc/{}/root/etc/passwd", cells[0]);
            assert!(!std::path::Path::new(&seen).exists(), "the script's process sees files: {words:?}");
        }
        std::fs::write(&go, "go\n").expect("the command reads it");
        going.end(&mut stage).well();
        stage.finish();
    }
}
