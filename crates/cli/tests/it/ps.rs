//! `windlass ps`: shows the true state of every session.

use serde_json::json;
use windlass_sys::signal::Signal;

use crate::rig::Home;

#[test]
fn exits_signals_timeouts_and_stops_are_told_apart() {
    let home = Home::new("states");
    let cases: [(&[&str], &str); 5] = [
        (&["run", "exit 0"], "exit 0"),
        (&["run", "exit 3"], "exit 3"),
        (&["run", "kill -9 $$"], "SIGKILL"),
        (&["run", "--timeout", "100ms", "sleep 1000"], "timeout"),
        (&["run", "--until", "up", "echo up; sleep 1000"], "stopped"),
    ];
    for (words, _) in cases {
        home.seen(words);
    }
    let table = home.seen(&["ps"]).stdout;
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("ID") && lines[0].ends_with("OUTPUT"), "{table}");
    for ((_, state), line) in cases.iter().zip(&lines[1..]) {
        assert!(line.contains(&format!("  {state}  ")), "{state}\n{table}");
    }
    assert!(!table.contains('\x1b'), "no colour where there is no terminal");
}

#[test]
fn a_living_session_runs_and_one_whose_runtime_was_killed_is_lost() {
    let home = Home::new("lost");
    let mut running = home.start(&["run", "--name", "web", "echo up; exec sleep 1000"]);
    running.printed("up");
    let listed = &home.json(&["ps", "--json"])[0];
    assert_eq!((&listed["state"], &listed["name"]), (&json!("running"), &json!("web")));
    assert_eq!(listed["runtime_pid"], running.child.id());
    let root = crate::rig::held(&[listed["root_pid"].to_string()]);
    assert_eq!(root.len(), 1);
    running.signal(Signal::KILL);
    running.exit_code();
    // The guardian needs a moment; the root's death is the event to wait for.
    windlass_sys::guardian::wait_until_gone(&root, windlass_testkit::HANG);
    let listed = &home.json(&["ps", "--json"])[0];
    assert_eq!((&listed["state"], &listed["exit_code"]), (&json!("lost"), &json!(null)));
    assert_eq!((&listed["runtime_pid"], &listed["root_pid"]), (&json!(null), &json!(null)));
    assert!(home.seen(&["ps"]).stdout.contains("lost"));
}

#[test]
fn the_newest_are_shown_unless_all_are_asked_for() {
    let home = Home::new("newest");
    for _ in 0..13 {
        home.seen(&["run", "--", "true"]);
    }
    let recent = home.seen(&["ps"]);
    assert_eq!(recent.stdout.lines().count(), 1 + 10);
    assert!(recent.stderr.contains("3 older sessions not shown; --all shows them"), "{recent:?}");
    let all = home.seen(&["ps", "--all"]);
    assert_eq!((all.stdout.lines().count(), all.stderr.as_str()), (1 + 13, ""));
}

/// The reproducer of a bug: records are old, and a windlass that may open almost no files prunes them.
#[test]
fn records_that_too_few_descriptors_are_left_for_are_kept() {
    let home = Home::new("few-descriptors");
    (0..8).for_each(|_| drop(home.seen(&["run", "true"])));
    let two_hours_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
    for entry in std::fs::read_dir(home.path()).expect("there is a state directory").flatten() {
        if let Ok(file) = std::fs::File::open(entry.path()) {
            file.set_modified(two_hours_ago).expect("it is ours");
        }
    }
    let program = crate::rig::WINDLASS;
    for descriptors in 14..30 {
        let script = format!("ulimit -n {descriptors}; '{program}' run -- true; true");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script]).env("WINDLASS_STATE_DIR", home.path());
        drop(shell.output().expect("a shell starts"));
    }
    let listed = home.json(&["ps", "--all", "--json"]);
    let numbers: Vec<u64> =
        listed.as_array().into_iter().flatten().filter_map(|it| it["session"].as_u64()).collect();
    assert!((1001..1009).all(|number| numbers.contains(&number)), "{numbers:?}");
}

#[test]
fn a_record_that_cannot_be_read_is_named_and_found_missing_nowhere() {
    let home = Home::new("unreadable");
    (0..2).for_each(|_| drop(home.seen(&["run", "true"])));
    let record = home.path().join("1001.rec");
    std::fs::remove_file(&record).expect("it is there");
    std::os::unix::fs::symlink("1001.rec", &record).expect("the name is free");
    let listed = home.seen(&["ps"]);
    assert!(listed.stdout.contains("1002") && !listed.stdout.contains("1001"), "{listed:?}");
    assert!(listed.stderr.contains("1001.rec") && listed.stderr.contains("may be running"), "{listed:?}");
    for words in [&["stop", "1001"][..], &["log", "1001"], &["stop", "web"]] {
        let seen = home.seen(words);
        assert!(seen.code != 0 && seen.stderr.contains("1001.rec"), "{words:?}: {seen:?}");
        assert!(!seen.stderr.contains("no session"), "{words:?}: {seen:?}");
    }
}

#[test]
fn nothing_yet_is_no_error() {
    let home = Home::new("none");
    let mut command = home.windlass(&["ps"]);
    let output = command.env("WINDLASS_STATE_DIR", home.path().join("never-made")).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), b"".as_slice()));
    assert!(!home.path().join("never-made").exists(), "looking makes nothing");
    assert_eq!(home.json(&["ps", "--json"]), json!([]));
}

#[test]
fn the_record_has_what_was_typed_and_when() {
    let home = Home::new("record");
    home.seen(&["run", "--cwd", "/", "--", "echo", "two words"]);
    let listed = &home.json(&["ps", "--json"])[0];
    assert_eq!((&listed["command"], &listed["cwd"]), (&json!(["echo", "two words"]), &json!("/")));
    assert_eq!((&listed["terminal"], &listed["lifetime"]), (&json!(false), &json!("runtime")));
    assert_eq!((&listed["output_bytes"], &listed["exit_code"]), (&json!(10), &json!(0)));
    let started = listed["started"].as_str().unwrap();
    assert!(started.starts_with("20") && started.ends_with('Z'), "{started}");
    assert!(home.seen(&["ps"]).stdout.contains("echo 'two words'"));
}

/// Durations come from the monotonic clock; the wall clock is only shown, and may have been wrong or set back since.
#[test]
fn a_clock_that_was_set_back_confuses_nobody() {
    let home = Home::new("clock");
    home.seen(&["run", "--", "echo", "printed"]);
    let ledger = home.path().join("1001.rec");
    let text = std::fs::read_to_string(&ledger).expect("the record can be read");
    let started = text.lines().find(|line| line.starts_with("started=")).expect("it says when");
    for moment in ["started=4000000000000000000", "started=-4000000000000000000", "started=0"] {
        std::fs::write(&ledger, text.replace(started, moment)).expect("the record can be written");
        let seen = home.seen(&["ps"]);
        assert!(seen.code == 0 && seen.stdout.contains("exit 0"), "{seen:?}");
        assert_eq!(home.seen(&["log", "1001"]).stdout, "printed\n");
    }
}

/// A directory and commands whose names reverse the direction of writing, clear the screen or hide text.
#[test]
fn no_name_path_or_command_changes_how_a_terminal_shows_what_windlass_prints() {
    let home = Home::new("misleading");
    let odd = "odd\u{202e}\u{1b}[2J\u{200b}name";
    let directory = home.path().join(odd);
    std::fs::create_dir(&directory).expect("the directory is new");
    let directory = directory.to_str().expect("it is UTF-8");
    let mut running =
        home.start(&["run", "-C", directory, "--", "sh", "-c", "echo up; exec sleep 1000", odd]);
    running.printed("up");
    let missing = format!("{directory}/missing");
    let shown = [
        home.seen(&["ps"]),
        home.seen(&["top", "--once"]),
        home.seen(&["run", "--", odd, "x"]),
        home.seen(&["run", "-C", &missing, "--", "true"]),
        home.seen(&["log", odd]),
        home.seen(&["stop", odd]),
        home.seen(&["sandbox", "explain", "--sandbox", "workspace-write", "--deny-read", &missing]),
        home.seen(&["rules", "check", &missing]),
        home.seen(&["ps", odd]),
    ];
    for seen in shown {
        let text = format!("{}{}", seen.stdout, seen.stderr);
        assert!(!text.contains(['\u{202e}', '\u{1b}', '\u{200b}']), "{seen:?}");
        assert!(text.contains("<U+202E>") || !text.contains("odd"), "{seen:?}");
    }
    let doctor = home.windlass(&["doctor"]).env("WINDLASS_STATE_DIR", directory).output().expect("it starts");
    let text = String::from_utf8(doctor.stdout).expect("it prints text");
    assert!(text.contains("odd<U+202E><U+001B>[2J<U+200B>name"), "{text}");
    running.signal(Signal::TERM);
    running.exit_code();
}
