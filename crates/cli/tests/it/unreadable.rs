//! Output that is missing from its files: `log` reports what is missing and why, and never joins parts that were apart.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;
use windlass_engine::ProcessKey;

use crate::rig::{Home, Seen, WINDLASS};

/// Runs a script as root of a user and mount namespace of its own, with a state directory on a small file system.
fn on_small_disk(home: &Home, script: &str) -> Seen {
    let script = format!("mkdir $HERE/state; mount -t tmpfs -o size=2m none $HERE/state; {script}");
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-ec", &script]).stdin(Stdio::null());
    command.env("WINDLASS", WINDLASS).env("PUPPET", windlass_testkit::puppet());
    command.env("WINDLASS_STATE_DIR", home.path().join("state")).env("HERE", home.path());
    let output = command.output().expect("unshare starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let code = output.status.code().unwrap_or(-1);
    Seen { code, stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Prints numbered lines until the disk is full; then frees space, so that the receipt can be written.
const FILLS_THE_DISK: &str = "dd if=/dev/zero of=$HERE/state/ballast bs=1k count=64 2>/dev/null; \
     $WINDLASS run --max-tokens 50 -- sh -c 'seq 1 1000000; rm $HERE/state/ballast' >/dev/null 2>&1";

/// The number of bytes that `seq 1 1000000` prints.
const PRINTED: u64 = 6_888_896;

fn json(seen: &Seen) -> Value {
    serde_json::from_str(&seen.stdout).unwrap_or_else(|error| panic!("{error} in {seen:?}"))
}

#[test]
fn after_a_full_disk_the_json_of_a_log_counts_what_did_not_reach_it() {
    let home = Home::new("unsaved-json");
    let seen = on_small_disk(&home, &format!("{FILLS_THE_DISK}; $WINDLASS log 1001 --json || true"));
    let log = json(&seen);
    assert_eq!(log["bytes"]["stdout"], PRINTED, "{log}");
    let journal = &log["journal"];
    assert_eq!(journal["end"], PRINTED, "{journal}");
    let missing = &journal["missing"][0];
    assert_eq!(missing["to"], PRINTED, "{journal}");
    let kept = missing["from"].as_u64().expect("an offset");
    assert_eq!(journal["dropped"], PRINTED - kept, "{journal}");
    assert!(kept > 0 && kept < 2 << 20, "{journal}");
    assert!(journal["degraded"].as_str().is_some_and(|why| why.contains("No space left")), "{journal}");
    assert_eq!(journal["complete"], false, "{journal}");
}

/// The command itself runs `log`, after its runtime has read all of its output and found the disk full.
#[test]
fn the_log_of_a_running_session_says_that_the_disk_refused_output() {
    let home = Home::new("unsaved-running");
    let script = "dd if=/dev/zero of=$HERE/state/ballast bs=1k count=64 2>/dev/null; \
         export TOLD=$HERE/told; $WINDLASS run --max-tokens 50 -- timeout 100 sh -c 'seq 1 1000000; rm $HERE/state/ballast; \
         until $WINDLASS log 1001 --json >$TOLD; grep -q No.space.left $TOLD; do :; done' >/dev/null 2>&1; cat $TOLD";
    let seen = on_small_disk(&home, script);
    let log = json(&seen);
    assert_eq!(log["state"], "running", "{log}");
    assert!(log["journal"]["degraded"].as_str().is_some_and(|why| why.contains("No space left")), "{log}");
}

#[test]
fn after_a_full_disk_the_last_lines_are_not_passed_off_as_the_end() {
    let home = Home::new("unsaved-tail");
    let seen = on_small_disk(&home, &format!("{FILLS_THE_DISK}; $WINDLASS log 1001 --tail 2"));
    assert_eq!(seen.code, 1, "{seen:?}");
    let last = seen.stdout.lines().last().expect("a line");
    assert!(last.starts_with('…') && last.contains(&format!("..{PRINTED}")), "{seen:?}");
    assert!(seen.stderr.contains("No space left"), "{seen:?}");
}

#[test]
fn after_a_full_disk_every_view_ends_with_a_marker_or_a_note() {
    let home = Home::new("unsaved-views");
    for words in ["", "--max-tokens 100", "--lines 1..2000000", "--grep 999999"] {
        let script = format!("{FILLS_THE_DISK}; $WINDLASS log 1001 {words}");
        let home = Home::new(&format!("unsaved-{}", words.len()));
        let seen = on_small_disk(&home, &script);
        let last = seen.stdout.lines().last().unwrap_or_default();
        assert!(
            last.starts_with('…') && last.contains(&format!("..{PRINTED}")),
            "{words}: {last} {}",
            seen.stderr
        );
        assert_eq!(seen.code, 1, "{words}: {}", seen.stderr);
    }
    let seen = on_small_disk(&home, &format!("{FILLS_THE_DISK}; $WINDLASS log 1001 --view raw"));
    assert_eq!(seen.code, 1, "{}", seen.stderr);
    assert!(seen.stderr.contains(&format!("..{PRINTED}")), "{}", seen.stderr);
    assert!(!seen.stdout.contains('…'));
}

#[test]
fn a_log_whose_files_were_removed_is_not_empty_but_missing() {
    let home = Home::new("removed");
    home.seen(&["run", "--", "seq", "1", "1000"]);
    for entry in fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.file_name().unwrap().to_string_lossy().starts_with("1001-") {
            fs::remove_file(entry).unwrap();
        }
    }
    let seen = home.seen(&["log", "1001"]);
    assert_eq!(seen.code, 1, "{seen:?}");
    assert!(seen.stdout.contains("3,893 bytes at 0..3893"), "{seen:?}");
    assert!(seen.stderr.contains("1001-*.out"), "{seen:?}");
}

#[test]
fn a_file_that_may_not_be_read_is_named_with_the_reason() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new("forbidden");
    home.seen(&["run", "--", "seq", "1", "1000"]);
    let data = home.path().join("1001-0000000000000000.out");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o0)).unwrap();
    for view in ["text", "raw"] {
        let seen = Seen::of(&mut home.ordinary(&["log", "1001", "--view", view]));
        assert_eq!(seen.code, 1, "{seen:?}");
        assert!(seen.stderr.contains("Permission denied"), "{seen:?}");
        assert!(seen.stderr.contains("1001-0000000000000000.out"), "{seen:?}");
    }
    let log = Seen::of(&mut home.ordinary(&["log", "1001", "--json"])).json();
    assert!(log["journal"]["missing"][0]["reason"].as_str().unwrap().contains("Permission denied"), "{log}");
}

/// A session whose journal has lost its middle, as retention leaves it: 3,893 bytes, a gap, and 3,893 bytes from 10,000
/// on.
fn with_gap(home: &Home) {
    home.seen(&["run", "--", "seq", "1", "1000"]);
    let (head, tail) = ("1001-0000000000000000.out", "1001-0000000000010000.out");
    fs::copy(home.path().join(head), home.path().join(tail)).unwrap();
    let record = home.path().join("1001.rec");
    let text = fs::read_to_string(&record).unwrap();
    assert!(text.contains("stdout=3893\n"), "{text}");
    fs::write(&record, text.replace("stdout=3893\n", "stdout=13893\n")).unwrap();
}

#[test]
fn raw_output_across_dropped_bytes_is_not_joined_without_a_word() {
    let home = Home::new("raw-gap");
    with_gap(&home);
    for words in [&["log", "1001", "--view", "raw"][..], &["log", "1001", "--view", "raw", "--follow"]] {
        let seen = home.seen(words);
        assert_eq!(seen.code, 1, "{}", seen.stderr);
        assert_eq!(seen.stdout.len(), 2 * 3893, "only bytes of the output");
        assert!(seen.stderr.contains("6,107 bytes at 3893..10000 are missing"), "{}", seen.stderr);
    }
    let seen = home.seen(&["log", "1001", "--view", "raw", "--span", "0..3893"]);
    assert_eq!((seen.code, seen.stderr.as_str()), (0, ""), "the span that is kept is whole");
    let seen = home.seen(&["log", "1001"]);
    assert!(seen.stdout.contains("\n…6,107 bytes at 3893..10000 are no longer kept…\n"), "{}", seen.stdout);
    assert_eq!((seen.code, seen.stderr.as_str()), (0, ""), "text has a marker, and retention is no failure");
}

#[test]
fn a_marker_stands_between_the_last_lines_where_output_is_missing() {
    let home = Home::new("tail-gap");
    with_gap(&home);
    let seen = home.seen(&["log", "1001", "--tail", "1001"]);
    let lines: Vec<&str> = seen.stdout.lines().collect();
    assert_eq!(lines[..2], ["1000", "…6,107 bytes at 3893..10000 are no longer kept…"], "{}", seen.stdout);
    assert_eq!((lines.len(), lines[1001]), (1002, "1000"));
    let seen = home.seen(&["log", "1001", "--tail", "2"]);
    assert_eq!(seen.stdout, "999\n1000\n", "nothing is missing there");
}

#[test]
fn the_record_of_a_killed_runtime_says_that_the_end_is_not_known() {
    let home = Home::new("no-receipt");
    let mut running = home.start(&["run", "--", "sh", "-c", "echo up; exec sleep 1000"]);
    running.printed("up");
    running.signal(windlass_sys::signal::Signal::KILL);
    running.exit_code();
    let seen = home.seen(&["log", "1001"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (0, "up\n"), "{seen:?}");
    assert!(seen.stderr.contains("no receipt"), "{seen:?}");
    let log = home.json(&["log", "1001", "--json"]);
    assert_eq!(log["journal"]["complete"], Value::Null, "{log}");
}

#[test]
fn a_session_that_outlives_its_killed_runtime_has_no_receipt_either_and_log_says_so() {
    let home = Home::new("no-receipt-yet");
    let mut running = home.start(&["run", "--", "sh", "-c", "echo up; exec sleep 1000"]);
    running.printed("up");
    running.signal(windlass_sys::signal::Signal::KILL);
    running.exit_code();
    // The guardian ends the command. To test the moment before, the record names a root that stays alive: the test
    // itself.
    let path = home.path().join("1001.rec");
    let record = fs::read_to_string(&path).unwrap();
    let root = record.lines().find(|line| line.starts_with("root=")).unwrap();
    let alive = ProcessKey::of(windlass_sys::process::Pid::of_this_process());
    let record = record.replace(root, &format!("root={} {}", alive.pid, alive.start_ticks));
    for (lifetime, fate) in [("runtime", "a guardian ends"), ("detached", "its command goes on")] {
        fs::write(&path, record.replace("lifetime=runtime", &format!("lifetime={lifetime}"))).unwrap();
        let seen = home.seen(&["log", "1001"]);
        assert_eq!((seen.code, seen.stdout.as_str()), (0, "up\n"), "{seen:?}");
        assert!(seen.stderr.contains("no receipt") && seen.stderr.contains(fate), "{seen:?}");
    }
}

#[test]
fn a_live_session_whose_record_was_removed_or_cut_is_listed_read_and_stopped() {
    let damages: [(&str, fn(&std::path::Path)); 3] = [
        ("removed", |record| fs::remove_file(record).unwrap()),
        ("cut", |record| fs::OpenOptions::new().write(true).open(record).unwrap().set_len(40).unwrap()),
        ("emptied", |record| fs::write(record, "").unwrap()),
    ];
    for (damage, apply) in damages {
        for asked in ["job", "1001"] {
            let home = Home::new(&format!("record-{damage}"));
            let started = home.seen(&["run", "--detach", "--name", "job", "--", "sleep", "1000"]);
            assert_eq!(started.code, 0, "{started:?}");
            apply(&home.path().join("1001.rec"));
            let listed = home.json(&["ps", "--json"]);
            assert_eq!(listed[0]["session"], 1001, "{damage}: {listed}");
            assert_eq!((&listed[0]["name"], &listed[0]["state"]), (&"job".into(), &"running".into()));
            assert_eq!(listed[0]["command"], serde_json::json!(["sleep", "1000"]), "{damage}");
            assert!(listed[0]["reason"].as_str().unwrap().contains("1001.rec"), "{listed}");
            let seen = home.seen(&["ps"]);
            assert!(seen.stderr.contains("1001.rec") && !seen.stderr.contains("not shown"), "{seen:?}");
            let read = home.seen(&["log", asked]);
            assert_eq!((read.code, read.stdout.as_str()), (0, ""), "{damage}: {read:?}");
            assert!(read.stderr.contains("1001.rec"), "{read:?}");
            let stopped = home.seen(&["stop", asked]);
            assert_eq!(
                (stopped.code, stopped.stdout.contains("was stopped")),
                (0, true),
                "{damage}: {stopped:?}"
            );
            assert_eq!(home.json(&["ps", "--json"])[0]["state"], "stopped", "{damage}");
        }
    }
}

/// A state directory with more sessions than are kept, as many short runs leave it.
fn piled_up(home: &Home, count: usize) {
    assert_eq!(home.seen(&["run", "--", "echo", "first"]).code, 0);
    let record = fs::read_to_string(home.path().join("1001.rec")).unwrap();
    for number in 1002..1001 + count {
        let text = record.replace("id=1001\n", &format!("id={number}\n"));
        fs::write(home.path().join(format!("{number}.rec")), text).unwrap();
        fs::write(home.path().join(format!("{number}-0000000000000000.out")), "first\n").unwrap();
    }
    let counter = home.path().join("next");
    let entry = fs::read_dir(&counter).unwrap().next().unwrap().unwrap().path();
    fs::rename(entry, counter.join((1001 + count).to_string())).unwrap();
}

fn records(home: &Home) -> usize {
    let names = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".rec")).count()
}

#[test]
fn however_many_sessions_there_are_a_short_run_removes_the_oldest() {
    let home = Home::new("pile");
    piled_up(&home, 5000);
    // Each ends long before all the records are read.
    for _ in 0..10 {
        assert_eq!(home.seen(&["run", "--", "true"]).code, 0);
    }
    assert!(records(&home) <= 1110, "{} are left", records(&home));
    assert!(!home.path().join("1001.rec").exists(), "the oldest go first");
}

#[test]
fn a_file_that_cannot_be_removed_keeps_no_other_from_going_and_is_said() {
    let home = Home::new("pile-stuck");
    piled_up(&home, 1300);
    // A directory with the name of a journal file: `unlink` does not remove it.
    let stuck = home.path().join("1001-0000000000000064.out");
    fs::create_dir(&stuck).unwrap();
    let mut said = String::new();
    for _ in 0..5 {
        said += &home.seen(&["run", "--", "true"]).stderr;
    }
    assert!(records(&home) <= 1110, "{} are left", records(&home));
    assert!(said.contains("1001-0000000000000064.out"), "{said}");
}

#[test]
fn a_record_that_cannot_be_written_is_said_with_the_cause() {
    let home = Home::new("cause");
    // Space for the directory, the counter in it and its entry, and for no record.
    let script = "mkdir $HERE/state; mount -t tmpfs -o nr_inodes=3 none $HERE/state; mkdir $HERE/state/next; \
                  touch $HERE/state/next/1001; exec $WINDLASS run -- echo runs";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-ec", script]).stdin(Stdio::null());
    command.env("WINDLASS", WINDLASS).env("HERE", home.path());
    let output =
        command.env("WINDLASS_STATE_DIR", home.path().join("state")).output().expect("unshare starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("1001.rec: No space left on device"), "{stderr}");
}
