//! Exhausted resources: disk, terminals, processes, a reader that stops. The shortages are real, in namespaces of the
//! test.

use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};
use windlass_sys::signal::Signal;
use windlass_testkit::bytes::Fingerprint;
use windlass_testkit::{hang_deadline, survivors};

use crate::mcp::Served;
use crate::rig::{Home, Seen, WINDLASS, as_ordinary, give_to_ordinary};

/// Runs a script as root of a user and mount namespace of its own, where it may mount anything.
fn in_own_world(home: &Home, script: &str) -> Seen {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-ec", script]).stdin(Stdio::null());
    command
        .env("WINDLASS", WINDLASS)
        .env("WINDLASS_STATE_DIR", home.path().join("state"))
        .env("HERE", home.path());
    command.env("PUPPET", windlass_testkit::puppet());
    let output = command.output().expect("unshare starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Seen {
        code: output.status.code().unwrap_or(-1),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

fn json(seen: &Seen) -> Value {
    serde_json::from_str(&seen.stdout).unwrap_or_else(|error| panic!("{error} in {seen:?}"))
}

/// The superuser is not bound by the limit.
#[test]
fn a_limit_without_room_for_threads_is_said_in_one_sentence() {
    let home = Home::new("few-threads");
    give_to_ordinary(home.path());
    let mut command = Command::new("prlimit");
    command.args(["--nproc=1:1", WINDLASS, "run", "--", "true"]);
    command.env("WINDLASS_STATE_DIR", home.path().join("state"));
    let seen = Seen::of(&mut as_ordinary(command.current_dir(home.path())));
    assert_eq!(seen.code, 125, "{seen:?}");
    assert!(seen.stderr.contains("too few processes") && seen.stderr.contains("ulimit -u"), "{seen:?}");
    assert!(!seen.stderr.contains("panicked"), "{seen:?}");
}

#[test]
fn a_full_disk_costs_the_middle_of_the_output_and_not_the_command() {
    let home = Home::new("full");
    let script = "mkdir $HERE/state; mount -t tmpfs -o size=2m none $HERE/state; \
                  exec $WINDLASS run --json --max-tokens 100 -- $PUPPET flood 5 8000000 65536";
    let answer = json(&in_own_world(&home, script));
    assert_eq!(
        (&answer["exit_code"], &answer["bytes"]["stdout"]),
        (&0.into(), &8_000_000.into()),
        "{answer}"
    );
    let degraded = answer["journal"]["degraded"].to_string();
    assert!(degraded.contains("No space left on device"), "{answer}");
    assert!(answer["journal"]["dropped"].as_u64().is_some_and(|dropped| dropped > 0), "{answer}");
}

/// The signal for a file that grows too large once ended the runtime, with its sessions.
#[test]
fn a_limit_on_the_size_of_files_costs_neither_the_command_nor_its_output() {
    let home = Home::new("fsize");
    let script = "ulimit -f 8; exec $WINDLASS run --json --max-tokens 100 -- $PUPPET flood 5 8000000 65536";
    let answer = json(&in_own_world(&home, script));
    assert_eq!(
        (&answer["exit_code"], &answer["bytes"]["stdout"]),
        (&0.into(), &8_000_000.into()),
        "{answer}"
    );
    assert!(answer["journal"]["degraded"].to_string().contains("File too large"), "{answer}");
    // The command itself does not ignore the signal.
    let script = "ulimit -f 8; exec $WINDLASS run -C $HERE -- sh -c 'yes > file'";
    assert_eq!(in_own_world(&home, script).code, 128 + Signal::XFSZ.number());
}

#[test]
fn a_receipt_that_the_disk_refused_is_written_as_soon_as_it_can_be() {
    let home = Home::new("late");
    let mut served = Served::start(&home, &[]);
    served.greet();
    let mut call = |tool: &str, arguments: Value| {
        let answer = served.ask(tool, "tools/call", &json!({ "name": tool, "arguments": arguments }));
        answer["result"]["structuredContent"].clone()
    };
    let reading = call("exec_command", json!({ "cmd": "cat", "tty": true, "login": false }));
    let server = home.json(&["ps", "--json"])[0]["runtime_pid"].to_string();
    let limit_files = |limit: &str| {
        let status = Command::new("prlimit").args(["--pid", &server, &format!("--fsize={limit}:")]).status();
        assert!(status.expect("prlimit starts").success());
    };
    limit_files("0");
    let session = &reading["session_id"];
    let ended =
        call("write_stdin", json!({ "session_id": session, "chars": "\u{4}", "yield_time_ms": 30_000 }));
    assert_eq!(ended["exit_code"], 0, "{ended}");
    assert_eq!(home.json(&["ps", "--json"])[0]["state"], "exiting");
    limit_files("unlimited");
    let deadline = hang_deadline();
    while home.json(&["ps", "--json"])[0]["state"] != "exited" {
        assert!(Instant::now() < deadline, "{}", home.json(&["ps", "--json"]));
    }
}

#[test]
fn a_state_directory_that_is_read_only_is_said_and_the_command_runs() {
    let home = Home::new("readonly");
    let script =
        "mkdir $HERE/state; mount -t tmpfs -o ro none $HERE/state; exec $WINDLASS run -- echo still runs";
    let seen = in_own_world(&home, script);
    assert_eq!((seen.code, seen.stdout.as_str()), (0, "still runs\n"), "{seen:?}");
    assert!(seen.stderr.contains("state"), "{seen:?}");
}

#[test]
fn a_session_whose_record_cannot_be_written_is_not_detached() {
    let home = Home::new("unrecorded");
    let token = survivors::token("unrecorded");
    // Space for the directory, the counter in it and its entry, and for no record.
    let script = format!(
        "mkdir $HERE/state; mount -t tmpfs -o nr_inodes=3 none $HERE/state; mkdir $HERE/state/next; touch $HERE/state/next/1001; \
         exec $WINDLASS run --detach -- $WINDLASS demo-stray {token}"
    );
    let seen = in_own_world(&home, &script);
    assert_eq!((seen.code, seen.stdout.as_str()), (125, ""), "{seen:?}");
    assert!(seen.stderr.contains("a detached session needs a state directory: writing"), "{seen:?}");
    assert_eq!(survivors::bearing(&token), Vec::<String>::new());
}

/// At some limits, a library once panicked.
#[test]
fn too_few_descriptors_are_named_with_the_number_that_is_needed() {
    let home = Home::new("descriptors");
    for limit in (3..48).chain([48, 64]) {
        let seen = in_own_world(&home, &format!("ulimit -n {limit}; exec $WINDLASS run -- echo runs"));
        if limit < 48 {
            let said = format!("too few file descriptors: the limit is {limit}, and at least 48 are needed");
            // With three or less not even the program loader works.
            assert!(
                limit == 3 || seen.stderr.contains(&said) && seen.stderr.contains("ulimit -n"),
                "{seen:?}"
            );
            assert!(seen.code != 0 && !seen.stderr.contains("panicked"), "{limit}: {seen:?}");
        } else {
            assert_eq!((seen.code, seen.stdout.as_str()), (0, "runs\n"), "{limit}: {seen:?}");
        }
    }
    // A low soft limit is raised for windlass, and the command has the original one.
    let seen = in_own_world(&home, "ulimit -Sn 6; exec $WINDLASS run -- sh -c 'ulimit -Sn'");
    assert_eq!((seen.code, seen.stdout.as_str()), (0, "6\n"), "{seen:?}");
}

#[test]
fn running_out_of_terminals_is_a_clear_error() {
    let home = Home::new("terminals");
    // There is one terminal, and the shell has it.
    let script = "mount -t devpts -o newinstance,ptmxmode=0666,max=1 none /dev/pts; \
                  mount --bind /dev/pts/ptmx /dev/ptmx; exec 9<>/dev/ptmx; exec $WINDLASS run --tty -- true";
    let seen = in_own_world(&home, script);
    assert_ne!(seen.code, 0);
    assert!(seen.stderr.contains("out of pseudo-terminals"), "{seen:?}");
}

#[test]
fn a_reader_that_is_slow_gets_every_byte_of_a_flood() {
    use std::io::Read;
    let home = Home::new("slow");
    let puppet = windlass_testkit::puppet().display().to_string();
    // More than a journal keeps.
    let length = 300_000_000;
    let words = ["run", "--", &puppet, "flood", "9", &length.to_string(), "65536"];
    let mut child = home.windlass(&words).stdout(Stdio::piped()).spawn().expect("windlass starts");
    let mut stdout = child.stdout.take().expect("its output is piped");
    let (mut print, mut buffer) = (Fingerprint::default(), vec![0; 1 << 20]);
    // Reads nothing before the command is blocked: its journal no longer grows while another process lives.
    let mut size = 0;
    loop {
        home.seen(&["ps"]);
        let now = journal_size(&home);
        if now > 1_000_000 && now == size {
            break;
        }
        size = now;
    }
    assert!(size < 100_000_000, "it ran {size} bytes ahead");
    loop {
        let count = stdout.read(&mut buffer).expect("the output can be read");
        if count == 0 {
            break;
        }
        print.add(&buffer[..count]);
    }
    assert!(child.wait().expect("it ends").success());
    assert_eq!(print, Fingerprint::of_noise(9, length));
}

fn journal_size(home: &Home) -> u64 {
    let files = std::fs::read_dir(home.path()).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
}

#[test]
fn a_windlass_inside_a_windlass_is_ended_with_all_that_it_started() {
    let home = Home::new("nested");
    let token = survivors::token("nested");
    let inner = format!("'{WINDLASS}' run -- sh -c 'setsid \"{WINDLASS}\" demo-stray {token} & wait'");
    let mut outer = home.start(&["run", "--", "sh", "-c", &inner]);
    outer.printed("is up");
    outer.signal(Signal::TERM);
    let held = crate::rig::held(&survivors::bearing(&token));
    windlass_sys::guardian::wait_until_gone(&held, windlass_testkit::HANG);
    assert_eq!(outer.exit_code(), Some(143));
    assert_eq!(survivors::bearing(&token), Vec::<String>::new());
}
