//! The state directory of an ordinary user, whose files are deleted or closed while sessions run: numbers stay unique,
//! and messages name a remedy.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::rig::{Doomed, Home, Seen};

/// A windlass of an ordinary user with a state directory that can be deleted.
fn windlass(home: &Home, words: &[&str]) -> Command {
    let mut command = home.ordinary(words);
    command.env("WINDLASS_STATE_DIR", home.path().join("state"));
    command
}

fn seen(home: &Home, words: &[&str]) -> Seen {
    Seen::of(&mut windlass(home, words))
}

/// Starts a detached session: its record, and its shim, which does not outlive the test.
fn detach(home: &Home) -> (Value, Doomed) {
    let told = seen(home, &["run", "--detach", "--json", "--", "sleep", "1000"]).json();
    let listed = seen(home, &["ps", "--json"]).json();
    let found = listed.as_array().unwrap().iter().find(|listed| listed["session"] == told["session"]);
    let record = found.unwrap_or_else(|| panic!("{told} is not in {listed}")).clone();
    let shim = Doomed::hold(&record["runtime_pid"]);
    (record, shim)
}

#[test]
fn a_deleted_state_directory_gives_no_number_of_a_running_session_again() {
    let home = Home::new("deleted-state");
    let (first, _first_shim) = detach(&home);
    fs::remove_dir_all(home.path().join("state")).unwrap();
    let (second, _second_shim) = detach(&home);
    assert_eq!(first["session"], 1001);
    assert!(second["session"].as_u64() > first["session"].as_u64(), "{first} and {second}");
    let missing = seen(&home, &["stop", "1001"]);
    assert!(missing.code == 1 && missing.stderr.contains("no session `1001`"), "{missing:?}");
}

fn set_mode(home: &Home, name: &str, mode: u32) {
    fs::set_permissions(home.path().join("state").join(name), Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_record_that_may_not_be_read_is_named_with_a_remedy_by_every_verb() {
    let home = Home::new("closed-record");
    let (_, _shim) = detach(&home);
    set_mode(&home, "1001.rec", 0o0);
    let record = home.path().join("state/1001.rec").display().to_string();
    for verb in ["stop", "log"] {
        let seen = seen(&home, &[verb, "1001"]);
        assert_eq!(seen.code, 1, "{seen:?}");
        for word in ["session 1001 may exist and may be running", &record, "Permission denied", "chmod u+rw"]
        {
            assert!(seen.stderr.contains(word), "{word}: {seen:?}");
        }
    }
    let listed = seen(&home, &["ps", "--json"]);
    assert!(listed.stderr.contains("may be running") && listed.stderr.contains("chmod u+rw"), "{listed:?}");
    let listed = listed.json();
    assert_eq!(
        (&listed[0]["session"], &listed[0]["state"]),
        (&1001.into(), &"unreadable".into()),
        "{listed}"
    );
    assert_eq!(listed[0]["record"], *record, "{listed}");
    assert!(listed[0]["reason"].as_str().is_some_and(|reason| reason.contains("Permission denied")));
    assert!(listed[0]["remedy"].as_str().is_some_and(|remedy| remedy.contains("chmod u+rw")), "{listed}");
    let table = seen(&home, &["ps"]);
    assert!(!table.stderr.contains("no sessions yet"), "{table:?}");
    set_mode(&home, "1001.rec", 0o600);
    assert_eq!(seen(&home, &["stop", "1001"]).code, 0);
}

#[test]
fn a_directory_in_the_place_of_a_record_is_to_be_moved_away() {
    let home = Home::new("no-record");
    seen(&home, &["run", "--", "true"]);
    fs::remove_file(home.path().join("state/1001.rec")).unwrap();
    fs::create_dir(home.path().join("state/1001.rec")).unwrap();
    let seen = seen(&home, &["log", "1001"]);
    assert!(
        seen.code == 1 && seen.stderr.contains("remove ") && seen.stderr.contains("1001.rec"),
        "{seen:?}"
    );
}

/// Puts a FIFO in the place of a file. Opening it for reading waits for its other end.
fn exchange_for_fifo(path: &Path) {
    fs::remove_file(path).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
}

#[test]
fn a_fifo_in_the_place_of_any_file_of_a_session_is_named_and_not_waited_for() {
    for (name, is_missing) in
        [("1001-0000000000000000.idx", false), ("1001-0000000000000000.out", true), ("1001.rec", true)]
    {
        let home = Home::new("fifo");
        assert_eq!(seen(&home, &["run", "--", "seq", "1", "1000"]).code, 0);
        exchange_for_fifo(&home.path().join("state").join(name));
        for verb in [&["ps"][..], &["log", "1001"], &["log", "1001", "--json"]] {
            let mut timed = Command::new("timeout");
            let windlass = windlass(&home, verb);
            timed.arg("20").arg(windlass.get_program()).args(windlass.get_args()).stdin(Stdio::null());
            timed.envs(windlass.get_envs().filter_map(|(name, value)| Some((name, value?))));
            let seen = Seen::of(&mut timed);
            assert_ne!(seen.code, 124, "{name}: {verb:?} waits");
            if verb == ["log", "1001"] {
                assert_eq!(seen.code, i32::from(is_missing), "{name}: {seen:?}");
                assert!(seen.stderr.contains(name) && seen.stderr.contains("a FIFO"), "{name}: {seen:?}");
                assert!(seen.stderr.contains("move it away"), "{name}: {seen:?}");
            }
        }
    }
}

#[test]
fn a_dangling_link_in_the_place_of_a_record_hides_no_live_session() {
    let home = Home::new("dangling");
    let (_, _shim) = detach(&home);
    let record = home.path().join("state/1001.rec");
    fs::remove_file(&record).unwrap();
    std::os::unix::fs::symlink("/nonexistent/x", &record).unwrap();
    let table = seen(&home, &["ps"]);
    assert!(table.stderr.contains("1001.rec") && table.stderr.contains("/nonexistent/x"), "{table:?}");
    assert_eq!(seen(&home, &["ps", "--json"]).json()[0]["state"], "running");
    let stopped = seen(&home, &["stop", "1001"]);
    assert!(stopped.stdout.contains("session 1001 was ended"), "{stopped:?}");
}

#[test]
fn an_ordinary_user_lists_and_stops_a_live_session_whose_record_was_removed_or_cut() {
    let damages: [(&str, fn(&Path)); 2] = [
        ("removed", |record| fs::remove_file(record).unwrap()),
        ("cut", |record| fs::OpenOptions::new().write(true).open(record).unwrap().set_len(40).unwrap()),
    ];
    for (damage, apply) in damages {
        for (words, asked) in [(&["--name", "d"][..], "d"), (&["--name", "d"], "1001"), (&[], "1001")] {
            let home = Home::new(&format!("own-record-{damage}"));
            let started = [&["run", "--detach"], words, &["--", "sleep", "1000"]].concat();
            assert_eq!(seen(&home, &started).code, 0);
            apply(&home.path().join("state/1001.rec"));
            let listed = seen(&home, &["ps", "--json"]).json();
            assert_eq!(
                (&listed[0]["session"], &listed[0]["state"]),
                (&1001.into(), &"running".into()),
                "{listed}"
            );
            assert!(listed[0]["reason"].as_str().unwrap().contains("1001.rec"), "{listed}");
            let stopped = seen(&home, &["stop", asked]);
            assert!(stopped.code == 0 && stopped.stdout.contains("was stopped"), "{damage}: {stopped:?}");
            assert_eq!(seen(&home, &["ps", "--json"]).json()[0]["state"], "stopped", "{damage}");
        }
    }
}

#[test]
fn an_ordinary_user_reads_of_a_live_session_what_is_missing_and_nothing_of_one_that_printed_nothing() {
    let home = Home::new("own-output");
    let (_, _silent) = detach(&home);
    let silent = seen(&home, &["log", "1001"]);
    assert_eq!((silent.code, silent.stdout.as_str(), silent.stderr.as_str()), (0, "", ""));
    let words = ["run", "--detach", "--", "sh", "-c", "seq 1 1000; exec sleep 1000"];
    assert_eq!(seen(&home, &words).code, 0);
    let state = home.path().join("state");
    let data = state.join("1002-0000000000000000.out");
    while fs::metadata(&data).map_or(0, |data| data.len()) < 3893 {
        std::thread::yield_now();
    }
    fs::remove_file(&data).unwrap();
    // Not one that is being made.
    let index = fs::File::options().append(true).open(state.join("1002-0000000000000000.idx")).unwrap();
    index.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    let read = seen(&home, &["log", "1002"]);
    assert!(read.code == 1 && read.stderr.contains("1002-0000000000000000.out was removed"), "{read:?}");
    let log = seen(&home, &["log", "1002", "--json"]).json();
    assert_eq!(log["journal"]["missing"].as_array().map(Vec::len), Some(1), "{log}");
    assert_eq!(seen(&home, &["stop", "1002"]).code, 0);
}

/// The record of a session that runs is the oldest one, and more sessions are over than are kept.
#[test]
fn pruning_leaves_a_running_session_whose_record_may_not_be_read() {
    let home = Home::new("closed-and-pruned");
    let (_, _shim) = detach(&home);
    assert_eq!(seen(&home, &["run", "--", "echo", "over"]).code, 0);
    let state = home.path().join("state");
    let over = fs::read_to_string(state.join("1002.rec")).unwrap();
    for number in 1003..2303 {
        let text = over.replace("id=1002\n", &format!("id={number}\n"));
        fs::write(state.join(format!("{number}.rec")), text).unwrap();
    }
    fs::rename(state.join("next/1003"), state.join("next/2303")).unwrap();
    set_mode(&home, "1001.rec", 0o0);
    for _ in 0..10 {
        assert_eq!(seen(&home, &["run", "--", "true"]).code, 0);
    }
    assert!(!state.join("1002.rec").exists(), "the oldest that is over was removed");
    set_mode(&home, "1001.rec", 0o600);
    let listed = seen(&home, &["ps", "--json"]).json();
    assert_eq!((&listed[0]["session"], &listed[0]["state"]), (&1001.into(), &"running".into()), "{listed}");
    assert_eq!(seen(&home, &["stop", "1001"]).code, 0);
}
