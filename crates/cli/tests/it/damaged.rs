//! Files of the state directory that another process truncates, empties or removes while their session runs: lost
//! output is reported with its position and the reason, and the rest is shown.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::rig::{Home, Running};

/// The number of bytes that `seq 1 1000` and `echo up` print.
const PRINTED: u64 = 3896;

/// A session that prints two parts, the second one on request.
struct TwoParts {
    running: Running,
}

impl TwoParts {
    fn start(home: &Home, words: &[&str]) -> Self {
        let script = "seq 1 1000; echo up; read -r go; echo after";
        let words = [&["run"], words, &["--", "sh", "-c", script]].concat();
        let mut running = Running::of(home.windlass(&words).stdin(Stdio::piped()).stderr(Stdio::null()));
        running.printed("up");
        Self { running }
    }

    /// Requests the second part and waits for the session's end.
    fn go_on(mut self) {
        let mut stdin = self.running.child.stdin.take().expect("its input is piped");
        stdin.write_all(b"go\n").expect("it reads");
        self.running.printed("after");
        assert_eq!(self.running.exit_code(), Some(0));
    }
}

fn data(home: &Home) -> PathBuf {
    home.path().join("1001-0000000000000000.out")
}

fn truncate(path: &Path, len: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(len).unwrap();
}

/// The bytes of the first part up to an offset.
fn beginning(upto: usize) -> String {
    let mut all: String = (1..=1000).map(|number| format!("{number}\n")).collect();
    all.truncate(upto);
    all
}

/// Checks every view of a log of which the bytes from `from` to the end of the first part were truncated away.
fn check_views(home: &Home, from: u64, rest: &str) {
    let range = format!("{from}..{PRINTED}");
    let path = data(home).display().to_string();
    let text = home.seen(&["log", "1001"]);
    assert_eq!(text.code, 1, "{text:?}");
    assert!(text.stdout.contains(&format!("bytes at {range} are not on disk…\n{rest}")), "{text:?}");
    assert!(text.stderr.contains("was truncated") && text.stderr.contains(&path), "{text:?}");
    let raw = home.seen(&["log", "1001", "--view", "raw"]);
    let kept = usize::try_from(from).unwrap();
    assert_eq!((raw.code, raw.stdout.as_str()), (1, (beginning(kept) + rest).as_str()), "{}", raw.stderr);
    assert!(raw.stderr.contains(&range) && raw.stderr.contains("was truncated"), "{}", raw.stderr);
    let log = home.json(&["log", "1001", "--json"]);
    let journal = &log["journal"];
    assert_ne!(journal["complete"], true, "{journal}");
    assert_eq!(journal["end"], PRINTED + rest.len() as u64, "{journal}");
    assert_eq!(
        (&journal["missing"][0]["from"], &journal["missing"][0]["to"]),
        (&from.into(), &PRINTED.into())
    );
    let reason = journal["missing"][0]["reason"].as_str().expect("a reason");
    assert!(reason.contains("was truncated") && reason.contains(&path), "{journal}");
}

#[test]
fn output_that_was_truncated_away_is_missing_while_its_session_runs_and_when_it_is_over() {
    for len in [0, 100] {
        let home = Home::new(&format!("truncated-{len}"));
        let session = TwoParts::start(&home, &[]);
        truncate(&data(&home), len);
        check_views(&home, len, "");
        session.go_on();
        check_views(&home, len, "after\n");
        assert_eq!(home.json(&["log", "1001", "--json"])["journal"]["complete"], false);
    }
}

#[test]
fn output_of_a_finished_session_that_was_truncated_away_is_missing() {
    let home = Home::new("truncated-over");
    home.seen(&["run", "--", "sh", "-c", "seq 1 1000; echo up"]);
    truncate(&data(&home), 1000);
    check_views(&home, 1000, "");
}

#[test]
fn a_follower_is_told_of_output_that_was_truncated_away() {
    let home = Home::new("truncated-follow");
    let session = TwoParts::start(&home, &[]);
    truncate(&data(&home), 100);
    let mut follower = home.windlass(&["log", "1001", "--follow"]);
    let mut follower = Running::of(follower.stderr(Stdio::piped()));
    follower.printed("3,796 bytes at 100..3896 are not on disk");
    // It is truncated once more, after the reader has opened it.
    truncate(&data(&home), 50);
    session.go_on();
    follower.printed("after");
    let output = follower.child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("was truncated"), "{stderr}");
}

/// Removes every file of the session's output.
fn remove_output(home: &Home) {
    for entry in fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.file_name().unwrap().to_string_lossy().starts_with("1001-") {
            fs::remove_file(entry).unwrap();
        }
    }
}

#[test]
fn output_whose_files_were_removed_is_read_from_the_windlass_that_has_them_open() {
    let home = Home::new("removed-running");
    let session = TwoParts::start(&home, &[]);
    remove_output(&home);
    let text = home.seen(&["log", "1001"]);
    assert_eq!(
        (text.code, text.stdout.as_str()),
        (0, (beginning(3893) + "up\n").as_str()),
        "{}",
        text.stderr
    );
    assert!(text.stderr.contains("1001-0000000000000000.out was removed"), "{}", text.stderr);
    assert_eq!(home.json(&["log", "1001", "--json"])["journal"]["end"], PRINTED);
    session.go_on();
    // Its descriptors are closed; output after the removal went to a file with a name.
    let text = home.seen(&["log", "1001"]);
    assert_eq!(text.code, 1, "{text:?}");
    assert_eq!(text.stdout, "…3,896 bytes at 0..3896 are not on disk…\nafter\n", "{text:?}");
    assert!(text.stderr.contains("1001-0000000000000000.out was removed while the session ran"), "{text:?}");
}

#[test]
fn a_record_that_was_removed_emptied_or_cut_is_named_by_ps_and_written_anew() {
    for how in ["removed", "emptied", "cut"] {
        let home = Home::new(&format!("record-{how}"));
        let session = TwoParts::start(&home, &["--name", "web"]);
        let mut follower = home.windlass(&["log", "1001", "--follow"]);
        let mut follower = Running::of(follower.stderr(Stdio::piped()));
        follower.printed("up");
        let record = home.path().join("1001.rec");
        match how {
            "removed" => fs::remove_file(&record).unwrap(),
            "emptied" => truncate(&record, 0),
            _ => truncate(&record, fs::metadata(&record).unwrap().len() - 5),
        }
        let listed = home.seen(&["ps"]);
        assert!(listed.stderr.contains("session") && listed.stderr.contains("1001.rec"), "{listed:?}");
        session.go_on();
        follower.printed("after");
        let output = follower.child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*stderr), (Some(0), ""), "{how}: the record is there again");
        let listed = home.json(&["ps", "--json"]);
        assert_eq!(
            (&listed[0]["session"], &listed[0]["state"]),
            (&1001.into(), &"exited".into()),
            "{listed}"
        );
    }
}

#[test]
fn a_follower_says_that_the_record_is_gone_when_its_session_dies_without_one() {
    let home = Home::new("record-lost");
    let session = TwoParts::start(&home, &[]);
    let mut follower = home.windlass(&["log", "1001", "--follow"]);
    let mut follower = Running::of(follower.stderr(Stdio::piped()));
    follower.printed("up");
    fs::remove_file(home.path().join("1001.rec")).unwrap();
    session.running.signal(windlass_sys::signal::Signal::KILL);
    session.running.exit_code();
    let output = follower.child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("the record of session 1001 was removed"), "{stderr}");
}
