//! Operations that commands may not do, and how the model learns of it. There is no person to ask.

use serde_json::json;
use windlass_testkit::model::{always, call, say, turn};

use super::stage::{BOTH, Owner, Stage, exec};

/// Only the working directory may be written.
const ONLY_HERE: &str = "sandbox_workspace_write.exclude_slash_tmp = true";

#[test]
fn a_write_beyond_the_project_is_denied_and_the_model_is_told() {
    for dialect in BOTH {
        let mut stage = Stage::speaking(
            dialect,
            vec![
                always(exec("echo here > inside; echo there > ../outside")),
                turn(|request| {
                    let result = request.last_result();
                    assert!(result.contains("Denied:") && result.contains("outside"), "{result}");
                    say("I may not")
                }),
            ],
        )
        .with(ONLY_HERE);
        stage.run(&["write"]).well();
        assert_eq!(stage.read("work/inside"), "here\n");
        assert!(!stage.home().join("outside").exists());
        stage.finish();
    }
}

/// The file would run outside of the sandbox at the next start.
#[test]
fn the_program_of_an_mcp_server_in_the_project_cannot_be_written() {
    let replace = "echo evil > tools/server.py; echo evil > e; mv e tools/server.py; rm -f tools/server.py; \
                   mv tools old; echo evil > tools/start; echo data > tools/data";
    let stage = Stage::playing(vec![always(exec(replace)), always(say("tried"))]);
    // Without this setting the server would run in an empty directory, because the project is not trusted.
    let cwd = format!("mcp_servers.own.cwd = {:?}", stage.work());
    let mut stage = stage
        .with(&cwd)
        .with("mcp_servers.own.command = \"tools/start\"")
        .with("mcp_servers.own.args = [\"tools/server.py\", \"tools/data\"]");
    stage.write("work/tools/server.py", "the user's\n");
    stage.write("work/tools/data", "");
    stage.run(&["go"]).well();
    assert_eq!(stage.read("work/tools/server.py"), "the user's\n");
    assert_eq!(stage.read("work/tools/data"), "data\n");
    assert!(!stage.work().join("tools/start").exists());
    stage.finish();
}

#[test]
fn nothing_at_all_is_written_where_everything_is_only_to_be_read() {
    let mut stage = Stage::playing(vec![
        always(exec("cat given; echo here > inside")),
        turn(|request| {
            let result = request.last_result();
            assert!(result.contains("Denied:") && result.contains("to be read"), "{result}");
            say("I may not")
        }),
    ]);
    stage.write("work/given", "to be read\n");
    stage.run(&["-s", "read-only", "write"]).well();
    assert!(!stage.work().join("inside").exists());
    stage.finish();
}

#[test]
fn the_network_is_closed_unless_it_is_opened() {
    for (open, expected) in [(false, "closed"), (true, "open")] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let script = format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo open || echo closed");
        let mut stage = Stage::playing(vec![
            always(call("exec_command", json!({ "cmd": script, "shell": "bash" }))),
            turn(move |request| {
                let result = request.last_result();
                assert!(result.ends_with(&format!("{expected}\n")), "{result}");
                say("tried")
            }),
        ])
        .with(&format!("sandbox_workspace_write.network_access = {open}"));
        stage.run(&["call"]).well();
        stage.finish();
    }
}

#[test]
fn without_the_sandbox_everything_may_be_written() {
    let mut stage =
        Stage::playing(vec![always(exec("echo there > ../outside")), always(say("done"))]).with(ONLY_HERE);
    stage.run(&["--dangerously-bypass-approvals-and-sandbox", "write"]).well();
    assert_eq!(stage.read("outside"), "there\n");
    stage.finish();
}

#[test]
fn going_beyond_the_sandbox_is_refused_where_nobody_can_agree() {
    for policy in ["never", "on-request"] {
        let asked = json!({ "cmd": "echo there > ../outside", "sandbox_permissions": "require_escalated",
            "justification": "I want to" });
        let mut stage = Stage::playing(vec![
            always(call("exec_command", asked)),
            turn(|request| {
                let result = request.last_result();
                assert!(result.contains("Nothing was run"), "{result}");
                say("then not")
            }),
        ])
        .with(ONLY_HERE);
        stage.run(&["-a", policy, "write"]).well();
        assert!(!stage.home().join("outside").exists());
        stage.finish();
    }
}

#[test]
fn what_rules_forbid_is_not_run_and_what_they_want_asked_about_is_not_either() {
    let rules = "[[rule]]\ncommand = [\"touch\"]\nverdict = \"forbid\"\nwhy = \"nothing is touched here\"\n\
                 [[rule]]\ncommand = [\"mkdir\"]\nverdict = \"ask\"\n";
    let mut stage = Stage::playing(vec![
        always(exec("echo first; touch file").and(exec("mkdir folder")).and(exec("echo allowed"))),
        turn(|request| {
            let results = request.results();
            assert!(results[0].contains("nothing is touched here"), "{results:?}");
            assert!(!results[0].contains("Process exited"), "{results:?}");
            assert!(!results[1].contains("Process exited"), "{results:?}");
            assert!(results[2].ends_with("allowed\n"), "{results:?}");
            say("I may not")
        }),
    ]);
    stage.write("config/windlass/rules.toml", rules);
    let ran = stage.run(&["--json", "touch"]).well();
    let commands = ran.items("command_execution");
    let statuses: Vec<_> = commands.iter().map(|item| item["status"].as_str().unwrap_or_default()).collect();
    assert_eq!(statuses.iter().filter(|status| **status == "declined").count(), 2, "{ran:?}");
    assert!(!stage.work().join("file").exists() && !stage.work().join("folder").exists());
    stage.finish();
}

#[test]
fn where_everything_is_to_be_asked_about_nothing_runs_without_a_person() {
    let mut stage = Stage::playing(vec![
        always(exec("make-something-new")),
        turn(|request| {
            let refused = request.last_result();
            assert!(!refused.contains("Process exited"), "{refused}");
            assert!(refused.contains("rules.toml (approval_policy = \"untrusted\")"), "{refused}");
            say("then not")
        }),
    ]);
    let ran = stage.run(&["--json", "-a", "untrusted", "go"]).well();
    assert_eq!(ran.items("command_execution")[0]["status"], "declined", "{ran:?}");
    stage.finish();
}

/// Neither a command nor a file tool may read the content of the file.
fn nothing_reads_the_secret(stage: Stage, words: &[&str]) {
    let mut stage = stage;
    stage.write("work/secret/key", "the secret\n");
    stage.write("work/secret/picture.png", "the secret\n");
    stage.write("work/open", "to be seen\n");
    let mut all = words.to_vec();
    all.push("look");
    stage.run(&all).well();
    for request in stage.finish() {
        assert!(!request.text().contains("the secret"), "it was read: {}", request.text());
    }
}

fn looking() -> Stage {
    let patch =
        "*** Begin Patch\n*** Update File: secret/key\n@@\n-a line that is not there\n+other\n*** End Patch";
    Stage::playing(vec![
        always(
            exec("cat secret/key open")
                .and(call("read_file", json!({ "file_path": "secret/key" })))
                .and(call("grep_files", json!({ "pattern": "secret", "path": "." })))
                .and(call("list_dir", json!({ "dir_path": "secret" })))
                .and(call("view_image", json!({ "path": "secret/picture.png" })))
                .and(windlass_testkit::model::custom("apply_patch", patch)),
        ),
        turn(|request| {
            let results = request.results();
            assert!(results[0].contains("to be seen"), "{results:?}");
            assert!(results[1].contains("may not be read"), "{results:?}");
            // The kernel denies a user other than root the read of the file, before the patch is judged.
            let refused = ["patch rejected", "Permission denied"].iter().any(|it| results[5].contains(it));
            assert!(refused, "{results:?}");
            say("looked")
        }),
    ])
}

#[test]
fn what_settings_deny_is_read_by_no_command_and_no_tool() {
    for layers in ["all", "landlock"] {
        for owner in [Owner::Myself, Owner::Ordinary] {
            let stage = looking().with("sandbox.deny_read = [\"secret\"]").owned_by(owner);
            nothing_reads_the_secret(stage, &["--sandbox-layers", layers]);
        }
    }
}

/// Without this check the other tests would show nothing.
#[test]
fn what_is_not_denied_is_read_by_a_command_and_by_tools() {
    for owner in [Owner::Myself, Owner::Ordinary] {
        let look = exec("cat secret/key")
            .and(call("read_file", json!({ "file_path": "secret/key" })))
            .and(call("grep_files", json!({ "pattern": "secret", "path": "." })));
        let mut stage = Stage::playing(vec![always(look), always(say("looked"))]).owned_by(owner);
        stage.write("work/secret/key", "the secret\n");
        stage.run(&["look"]).well();
        let requests = stage.finish();
        let results = requests.last().expect("the model was asked").results();
        let read = results.iter().filter(|result| result.contains("the secret"));
        assert!(read.count() >= 2, "{owner:?}: {results:?}");
    }
}

/// As root and as an ordinary user, with and without namespaces: the same write succeeds without the sandbox and fails
/// in it.
#[test]
fn a_write_beyond_the_project_succeeds_without_the_sandbox_alone() {
    const OPEN: &[&str] = &["--dangerously-bypass-approvals-and-sandbox"];
    let ways =
        [(OPEN, true), (&["--sandbox-layers", "all"], false), (&["--sandbox-layers", "landlock"], false)];
    for owner in [Owner::Myself, Owner::Ordinary] {
        for (words, is_open) in ways {
            let script = "echo here > inside; echo there > ../outside; chmod 600 ../given; rm -f ../given";
            let turns = vec![always(exec(script)), always(say("tried"))];
            let mut stage = Stage::playing(turns).with(ONLY_HERE).owned_by(owner);
            stage.write("given", "");
            stage.run(&[words, &["write"]].concat()).well();
            assert_eq!(stage.read("work/inside"), "here\n", "{owner:?} {words:?}");
            assert_eq!(stage.home().join("outside").exists(), is_open, "{owner:?} {words:?}");
            assert_eq!(!stage.home().join("given").exists(), is_open, "{owner:?} {words:?}");
            stage.finish();
        }
    }
}

#[test]
fn what_the_command_line_denies_is_read_by_no_command_and_no_tool() {
    nothing_reads_the_secret(looking(), &["--deny-read", "**/secret"]);
    let mut stage = Stage::playing(Vec::new());
    let words = ["--dangerously-bypass-approvals-and-sandbox", "--deny-read", "secret", "look"];
    stage.run(&words).badly(2, "--deny-read does not go with");
    stage.finish();
}

#[test]
fn the_loopback_device_of_commands_is_theirs_alone() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let own = r#"perl -MIO::Socket::INET -e '
        my $server = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") or die "cannot listen";
        my $client = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $server->sockport);
        print $client ? "own open\n" : "own closed\n"' 2>&1"#;
    let script = format!(
        "{own}; (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo other open || echo other closed"
    );
    for (setting, expected) in [("\"loopback\"", "own open\nother closed\n"), ("\"off\"", "other closed\n")] {
        let script = script.clone();
        let mut stage = Stage::playing(vec![
            always(call("exec_command", json!({ "cmd": script, "shell": "bash" }))),
            turn(move |request| {
                let result = request.last_result();
                assert!(result.ends_with(expected), "{result}");
                assert_eq!(result.contains("own open"), expected.contains("own open"), "{result}");
                say("tried")
            }),
        ])
        .with(&format!("sandbox_workspace_write.network_access = {setting}"));
        stage.run(&["call"]).well();
        stage.finish();
    }
}
