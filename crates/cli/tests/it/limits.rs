//! Limits and `windlass top`, as people type them and as scripts read them.

use std::path::Path;

use serde_json::{Value, json};
use windlass_sys::guardian::wait_until_gone;
use windlass_sys::signal::Signal;
use windlass_testkit::{HANG, puppet};

use crate::rig::{Home, held};

/// A puppet program under limits; its result as a JSON object.
fn limited(home: &Home, limits: &[&str], words: &[&str]) -> Value {
    let puppet = puppet().to_str().expect("a path is text");
    home.json(&[&["run", "--json"], limits, &["--", puppet], words].concat())
}

#[test]
fn each_limit_that_is_crossed_is_named_with_its_value_and_the_peak() {
    let home = Home::new("limits");
    let written = home.path().join("written");
    std::fs::create_dir(&written).unwrap();
    let written = written.to_str().unwrap();
    let cases: [(&[&str], &[&str], &str, Value); 7] = [
        (&["--memory", "96M"], &["hog", "2048"], "memory", json!(96 << 20)),
        (&["--processes", "30"], &["bomb", "10"], "processes", json!(30)),
        (&["--cpu-time", "300ms"], &["burn", "60"], "cpu-time", json!(0.3)),
        (&["--files", "64"], &["files", "5000"], "files", json!(64)),
        (&["--output", "1M"], &["fill", "x", "1000000000"], "output", json!(1 << 20)),
        (&["--output-rate", "2M"], &["fill", "x", "1000000000"], "output-rate", json!(2 << 20)),
        (&["--disk", "16M"], &["write", written, "1024"], "disk", json!(16 << 20)),
    ];
    for (limits, words, resource, value) in cases {
        let told = limited(&home, limits, words);
        let limit = &told["limit"];
        assert_eq!((&limit["resource"], &limit["limit"]), (&json!(resource), &value), "{told:#}");
        assert_eq!(limit["scope"], "session", "{told:#}");
        assert!(limit["peak"].as_f64() >= value.as_f64().map(|value| value * 0.9), "{told:#}");
        assert!(told["cause"].as_str().is_some_and(|cause| cause.contains("limit of")), "{told:#}");
        let name = resource.replace('-', "_");
        assert!(told["peaks"][&name].is_number(), "{told:#}");
        let enforced = told["enforced"].as_array().expect("what was in force");
        assert!(enforced.iter().any(|it| it["resource"] == resource && it["scope"] == "session"), "{told:#}");
        assert_eq!(told["state"], "limit");
    }
    assert_eq!(home.seen(&["ps"]).stdout.matches("  limit  ").count(), 7);
}

#[test]
fn people_are_told_in_one_line() {
    let home = Home::new("limits-told");
    let seen = home.seen(&["run", "--output", "1K", "--", "sh", "-c", "yes"]);
    assert!(seen.stderr.contains("was killed: output limit of 1 KiB, peak "), "{}", seen.stderr);
}

#[test]
fn what_cannot_be_a_limit_is_refused_by_name() {
    let home = Home::new("limits-wrong");
    for (words, said) in [
        (["run", "--memory", "lots", "true"], "`lots` is not a size"),
        (["run", "--processes", "0", "true"], "`0` allows nothing"),
        (["app-server", "--total", "ram=1G", "--stdio"], "there is no limit `ram`"),
    ] {
        let seen = home.seen(&words);
        assert!(seen.code == 2 && seen.stderr.contains(said), "{seen:?}");
    }
}

#[test]
fn a_killed_windlass_leaves_no_control_group_for_ever() {
    let home = Home::new("limits-killed");
    let mut running = home.start(&["run", "--memory", "1G", "--processes", "50", "echo up; exec sleep 1000"]);
    running.printed("up");
    let runtime = running.child.id();
    let root = held(&[home.json(&["ps", "--json"])[0]["root_pid"].to_string()]);
    running.signal(Signal::KILL);
    running.exit_code();
    wait_until_gone(&root, HANG);
    // The next windlass removes the groups that the dead one could not, if its guardian has not done so already.
    assert_eq!(home.seen(&["run", "--memory", "1G", "--", "true"]).code, 0);
    assert_eq!(groups_of(runtime), Vec::<String>::new());
}

/// Control groups that a runtime made.
fn groups_of(runtime: u32) -> Vec<String> {
    let mut found = Vec::new();
    find_groups(Path::new("/sys/fs/cgroup"), &format!("windlass-{runtime}-"), &mut found);
    found
}

fn find_groups(directory: &Path, name: &str, found: &mut Vec<String>) {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        if entry.file_name().to_string_lossy().starts_with(name) {
            found.push(entry.path().display().to_string());
        }
        find_groups(&entry.path(), name, found);
    }
}

#[test]
fn top_shows_what_every_running_session_uses() {
    let home = Home::new("top");
    let busy = "echo up; sleep 1000 & while :; do :; done";
    let mut web = home.start(&["run", "--name", "web", "--memory", "1G", busy]);
    let mut idle = home.start(&["run", "echo up; exec sleep 1000"]);
    web.printed("up");
    idle.printed("up");
    let rows = home.json(&["top", "--json"]);
    let rows = rows.as_array().expect("an array");
    assert_eq!(rows.len(), 2, "{rows:#?}");
    let by_name = |name: Value| rows.iter().find(|row| row["name"] == name).expect("it is listed");
    let (web_row, idle_row) = (by_name(json!("web")), by_name(Value::Null));
    assert_eq!(web_row["limits"], json!({"memory": 1 << 30}));
    assert_eq!((&web_row["state"], &web_row["processes"]), (&json!("running"), &json!(2)), "{web_row:#}");
    assert!(web_row["memory_bytes"].as_u64() > Some(0), "{web_row:#}");
    assert!(web_row["cpu_percent"].as_f64() > idle_row["cpu_percent"].as_f64(), "{rows:#?}");
    assert_eq!((&idle_row["limits"], &idle_row["processes"]), (&json!({}), &json!(1)));
    let table = home.seen(&["top", "--once"]).stdout;
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines.len() == 3 && lines[0].starts_with("ID") && lines[0].ends_with("COMMAND"), "{table}");
    assert!(
        lines[1].contains("web") && lines[1].contains("memory 1 GiB"),
        "the busiest comes first\n{table}"
    );
    assert!(!table.contains('\x1b'), "no escape sequences where there is no terminal");
    for running in [web, idle] {
        running.signal(Signal::TERM);
        running.exit_code();
    }
    assert_eq!(home.json(&["top", "--json"]), json!([]));
}

#[test]
fn the_doctor_says_by_what_limits_are_kept() {
    let home = Home::new("limits-doctor");
    let said = home.seen(&["doctor"]).stdout;
    for name in ["memory limits", "process limits", "other limits"] {
        assert!(said.lines().any(|line| line.contains(name)), "{name}\n{said}");
    }
}

#[test]
fn an_inherited_limit_that_ends_a_command_is_named() {
    let home = Home::new("limits-inherited");
    for (script, said) in [
        ("ulimit -S -t 1; while :; do :; done", "was ended by SIGXCPU: it reached a limit on CPU time"),
        (
            "ulimit -f 1; exec head -c 100000 /dev/zero > large",
            "was ended by SIGXFSZ: a file reached a limit",
        ),
    ] {
        let mut command = home.windlass(&["run", "--", "sh", "-c", script]);
        let ran = command.current_dir(home.path()).output().expect("windlass starts");
        let told = String::from_utf8_lossy(&ran.stderr);
        assert!(told.contains(said), "{told}");
    }
}
