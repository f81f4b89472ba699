//! `windlass doctor`: its report about this machine, and about one with problems.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_testkit::survivors;

use crate::rig::{Home, Seen, held, nothing_survives};

/// Runs the doctor with this home directory.
fn doctor(home: &Home, words: &[&str], environment: &[(&str, &str)]) -> Seen {
    let words: Vec<&str> = ["doctor"].iter().chain(words).copied().collect();
    let mut command = home.windlass(&words);
    command.env_clear().env("HOME", home.path()).env("SHELL", "/bin/sh").env("PATH", "/nowhere");
    command.envs(environment.iter().copied());
    let output = command.output().expect("windlass starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it prints text");
    let code = output.status.code().expect("windlass exits by itself");
    Seen { code, stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// The checks by name.
fn checks(seen: &Seen) -> BTreeMap<String, Value> {
    let json: Value = serde_json::from_str(&seen.stdout).expect("it prints JSON");
    let checks = json["checks"].as_array().expect("there are checks").clone();
    let problems = checks.iter().filter(|check| check["verdict"] == "problem").count();
    assert_eq!(json["problems"], problems);
    assert_eq!(seen.code, i32::from(problems > 0), "{seen:?}");
    checks.into_iter().map(|check| (check["name"].as_str().expect("a name").to_owned(), check)).collect()
}

#[test]
fn this_machine_is_well_and_every_check_has_one_line() {
    let home = Home::new("doctor");
    let seen = doctor(&home, &[], &[]);
    assert_eq!((seen.code, seen.stderr.as_str()), (0, ""), "{seen:?}");
    for line in seen.stdout.lines() {
        assert!(["ok ", "note "].iter().any(|word| line.starts_with(word)), "{line}");
    }
    for name in ["kernel", "pidfd", "process marks", "subreaper", "terminals", "state directory", "shell"] {
        assert!(
            seen.stdout.lines().any(|line| line.starts_with("ok ") && line.contains(name)),
            "{name}\n{seen:?}"
        );
    }
    assert!(!seen.stdout.contains('\x1b'), "no colour where there is no terminal");
}

/// Windlass hides its own processes from others of the same user, and once inspected itself here.
#[test]
fn an_ordinary_user_is_told_that_the_kernel_says_what_commands_wait_for() {
    let home = Home::new("doctor-ordinary");
    let mut command = home.windlass(&["doctor", "--json"]);
    if rustix::process::geteuid().is_root() {
        let program = command.get_program().to_owned();
        command = std::process::Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(program)
            .args(["doctor", "--json"]);
        std::os::unix::fs::chown(home.path(), Some(65534), Some(65534)).expect("root may give it away");
        command.env("WINDLASS_STATE_DIR", home.path());
    }
    let output = command.env("HOME", home.path()).output().expect("windlass starts");
    let told: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    let checks = told["checks"].as_array().expect("there are checks");
    let evidence = checks.iter().find(|check| check["name"] == "kernel evidence").expect("it is checked");
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let expected = if matches!(scope.trim(), "2" | "3") { "note" } else { "ok" };
    assert_eq!(evidence["verdict"], expected, "{evidence}");
}

#[test]
fn json_has_a_name_a_verdict_and_words_for_every_check() {
    let home = Home::new("doctor-json");
    let checks = checks(&doctor(&home, &["--json"], &[]));
    for (name, check) in &checks {
        assert!(["ok", "note", "problem"].iter().any(|verdict| check["verdict"] == *verdict), "{check}");
        assert!(check["message"].as_str().is_some_and(|message| !message.is_empty()), "{name}");
        assert!(check["advice"].is_null() || check["advice"].is_string(), "{name}");
    }
    let looked_at = [
        "kernel",
        "pidfd",
        "process marks",
        "subreaper",
        "guardian",
        "kernel evidence",
        "process table",
        "terminals",
        "open files",
        "memory limits",
        "process limits",
        "other limits",
        "state directory",
        "shell",
        "login environment",
        "user namespaces",
        "landlock",
        "seccomp",
        "cgroup v2",
        "MCP clients",
    ];
    for name in looked_at {
        assert!(checks.contains_key(name), "{name} is not in {:?}", checks.keys());
    }
}

#[test]
fn looking_leaves_nothing_behind() {
    let home = Home::new("doctor-nothing");
    doctor(&home, &[], &[]);
    assert_eq!(home.path().read_dir().unwrap().count(), 0);
    let state = home.path().join("state");
    std::fs::create_dir(&state).unwrap();
    let seen = doctor(&home, &[], &[("WINDLASS_STATE_DIR", state.to_str().unwrap())]);
    assert_eq!((seen.code, state.read_dir().unwrap().count()), (0, 0), "{seen:?}");
}

#[test]
fn a_state_directory_that_cannot_be_written_is_a_named_problem() {
    let home = Home::new("doctor-state");
    let file = home.path().join("file");
    std::fs::write(&file, "").unwrap();
    for place in [file.clone(), file.join("below")] {
        let place = place.to_str().unwrap();
        let seen = doctor(&home, &["--json"], &[("WINDLASS_STATE_DIR", place)]);
        let check = &checks(&seen)["state directory"];
        assert_eq!(check["verdict"], "problem", "{check}");
        assert!(check["message"].as_str().unwrap().contains("/file"), "{check}");
        assert!(check["advice"].as_str().unwrap().contains("WINDLASS_STATE_DIR"), "{check}");
    }
    let seen = doctor(&home, &[], &[("HOME", "")]);
    assert!(seen.code == 1 && seen.stdout.contains("problem  state directory    there is none"), "{seen:?}");
}

#[test]
fn a_shell_that_is_not_there_is_a_problem() {
    let home = Home::new("doctor-shell");
    let checks = checks(&doctor(&home, &["--json"], &[("SHELL", "/no/such/shell")]));
    assert_eq!(checks["shell"]["verdict"], "problem");
    assert!(checks["shell"]["message"].as_str().unwrap().contains("/no/such/shell"));
}

/// The login shell's start file never ends; the shell is ended with its children, and the check is a note.
#[test]
fn a_login_shell_that_hangs_is_ended_with_what_it_started() {
    let home = Home::new("doctor-hang");
    let token = survivors::token("doctor-hang");
    let script = format!("echo {token} >/dev/null; sleep 1000; exit 0\n");
    std::fs::write(home.path().join(".profile"), script).unwrap();
    let variable = [(survivors::TOKEN_VARIABLE, token.as_str())];
    let checks = checks(&doctor(&home, &["--json"], &variable));
    let check = &checks["login environment"];
    assert_eq!(check["verdict"], "note", "{check}");
    assert!(check["message"].as_str().unwrap().contains("not up within"), "{check}");
    nothing_survives(&held(&survivors::bearing(&token)), &token);
}

#[test]
fn a_client_is_told_of_with_what_it_says_about_windlass() {
    let home = Home::new("doctor-clients");
    let configure = |text: &str| std::fs::write(home.path().join(".claude.json"), text).unwrap();
    let check = || checks(&doctor(&home, &["--json"], &[]))["Claude Code"].clone();
    configure("{}\n");
    let without = check();
    assert_eq!(without["verdict"], "note");
    assert!(without["advice"].as_str().unwrap().contains("windlass mcp install claude"), "{without}");
    configure("{\"mcpServers\": {\"windlass\": {\"command\": \"windlass\"}}}");
    assert_eq!(check()["verdict"], "ok");
    configure("{");
    let broken = check();
    assert_eq!(broken["verdict"], "note");
    assert!(
        broken["message"].as_str().unwrap().contains("~/.claude.json is not understood, line 1"),
        "{broken}"
    );
}

#[test]
fn rules_files_with_a_fault_are_named_with_line_and_advice() {
    let home = Home::new("doctor-rules");
    let file = |name: &str, text: &str| {
        let path = home.path().join(name);
        std::fs::create_dir_all(path.parent().expect("it lies in a directory")).expect("it can be made");
        std::fs::write(path, text).expect("it can be written");
    };
    file(".config/windlass/rules.toml", "default = \"ask\"\nnonsense = 1\n");
    file(".windlass/rules.toml", "\n\nnonsense = 2\n");
    let words = ["doctor", "--json"];
    let mut command = home.windlass(&words);
    command.env_clear().env("HOME", home.path()).env("SHELL", "/bin/sh").env("PATH", "/nowhere");
    let output = command.current_dir(home.path()).output().expect("windlass starts");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    let found: Vec<&Value> =
        told["checks"].as_array().expect("checks").iter().filter(|check| check["name"] == "rules").collect();
    assert_eq!(found.len(), 2, "{told}");
    for (check, place) in found.iter().zip([".config/windlass/rules.toml:2", ".windlass/rules.toml:3"]) {
        assert_eq!(check["verdict"], "problem", "{check}");
        assert!(check["message"].as_str().is_some_and(|message| message.contains(place)), "{check}");
        assert!(check["advice"].as_str().is_some_and(|advice| advice.contains("windlass rules")), "{check}");
    }
}
