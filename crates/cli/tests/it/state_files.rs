//! The state directory of an ordinary user, whose files are deleted or closed while sessions run: numbers stay unique,
//! and messages name a remedy.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

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

/// The record of a running session is the oldest one, and there are more finished sessions than are kept.
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
