//! Starting: the environment of a child, the descriptors that it must not inherit, and the errors when it cannot start.

use crate::rig::{command, engine, on_terminal, printed, receipt, run, sh, text, with_stdin};
use std::os::unix::fs::PermissionsExt;
use windlass_engine::{Cause, Exit, StartError, Stdin, Stream};
use windlass_testkit::{Scratch, survivors};

#[tokio::test]
async fn a_command_runs_and_its_output_and_exit_are_told() {
    let (output, receipt) = run(&engine(), sh("echo out; echo err >&2; exit 3")).await;
    assert!(output.contains("out\n") && output.contains("err\n"));
    assert_eq!((receipt.exit, receipt.cause), (Exit::Code(3), Cause::Itself));
    assert_eq!((receipt.bytes.stdout, receipt.bytes.stderr, receipt.bytes.terminal), (4, 4, 0));
}

#[tokio::test]
async fn a_signal_is_a_signal_on_pipes_and_on_terminals() {
    for spec in [sh("kill -SEGV $$"), on_terminal(sh("kill -SEGV $$"))] {
        let (_, receipt) = run(&engine(), spec).await;
        assert_eq!(receipt.exit, Exit::Signal(11));
        assert_eq!(receipt.exit.code(), 139);
    }
    let (_, receipt) = run(&engine(), sh("exit 139")).await;
    assert_eq!(receipt.exit, Exit::Code(139), "a code that looks like a signal stays a code");
}

#[tokio::test]
async fn the_child_has_descriptors_0_to_2_and_no_other() {
    for spec in [command(["ls", "/proc/self/fd"]), on_terminal(command(["ls", "/proc/self/fd"]))] {
        let (output, _) = run(&engine(), spec).await;
        let numbers: Vec<&str> = output.split_whitespace().collect();
        // `ls` itself opens the directory as 3.
        assert_eq!(numbers, ["0", "1", "2", "3"]);
    }
}

#[tokio::test]
async fn the_child_has_default_signals_an_empty_mask_and_no_core_dumps() {
    let (status, _) = run(&engine(), command(["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"])).await;
    for line in status.lines() {
        assert!(line.ends_with("0000000000000000"), "{line}");
    }
    let (limits, _) = run(&engine(), command(["grep", "core", "/proc/self/limits"])).await;
    assert_eq!(limits.split_whitespace().nth(4), Some("0"), "{limits}");
}

#[tokio::test]
async fn a_pipe_child_leads_its_own_session_and_group() {
    let (output, _) = run(&engine(), sh("cut -d' ' -f1,5,6,7 /proc/$$/stat")).await;
    let fields: Vec<&str> = output.split_whitespace().collect();
    let [pid, group, session, terminal] = fields[..] else { panic!("{output}") };
    assert_eq!((pid, pid, "0"), (group, session, terminal));
}

#[tokio::test]
async fn a_terminal_child_leads_its_session_and_has_the_terminal_as_its_own() {
    let script = "cut -d' ' -f1,5,6,8 /proc/$$/stat; tty; stty size; echo hi >/dev/tty";
    let (output, _) = run(&engine(), on_terminal(sh(script))).await;
    let lines: Vec<&str> = output.lines().collect();
    let fields: Vec<&str> = lines[0].split_whitespace().collect();
    let [pid, group, session, foreground] = fields[..] else { panic!("{output}") };
    assert!(pid == group && pid == session && pid == foreground, "{output}");
    assert!(lines[1].starts_with("/dev/pts/"), "{output}");
    assert_eq!(lines[2..], ["24 80", "hi"]);
}

#[tokio::test]
async fn a_resize_reaches_the_child_as_sigwinch() {
    let engine = engine();
    let script = "trap 'stty size; exit 0' WINCH; echo ready; while :; do read -r line; done";
    let session = engine.start(on_terminal(sh(script))).unwrap();
    printed(&session, "ready").await;
    session.resize(windlass_sys::pty::Size { rows: 33, cols: 101 }).await.unwrap();
    printed(&session, "33 101").await;
    assert_eq!(receipt(&session).await.exit, Exit::Code(0));
}

#[tokio::test]
async fn argv0_directory_and_environment_are_exactly_what_was_asked_for() {
    let scratch = Scratch::new("start");
    let mut spec = command(["/bin/sh", "-c", "echo $0; pwd"]);
    spec.argv0 = Some("-loginshell".into());
    spec.directory = scratch.path().canonicalize().unwrap();
    let (output, _) = run(&engine(), spec.clone()).await;
    assert_eq!(output, format!("-loginshell\n{}\n", spec.directory.display()));
    let mut spec = command(["/usr/bin/env"]);
    spec.environment = vec![("ONLY".into(), "this".into())];
    let (output, _) = run(&engine(), spec).await;
    assert_eq!(output, "ONLY=this\n");
}

#[tokio::test]
async fn stdin_is_closed_or_bytes_then_the_end_or_kept_open() {
    let engine = engine();
    let (output, _) = run(&engine, with_stdin(command(["cat"]), Stdin::Closed)).await;
    assert_eq!(output, "");
    let (output, _) =
        run(&engine, with_stdin(command(["cat"]), Stdin::Bytes(b"exact\0bytes".to_vec()))).await;
    assert_eq!(output, "exact\0bytes");
    let session = engine.start(with_stdin(command(["cat"]), Stdin::Open)).unwrap();
    assert_eq!(session.write("one ").await, Ok(4));
    printed(&session, "one").await;
    assert_eq!(session.write("two").await, Ok(3));
    session.end_input().await.unwrap();
    assert_eq!(receipt(&session).await.exit, Exit::Code(0));
    assert_eq!(text(&session), "one two");
}

#[tokio::test]
async fn a_missing_program_is_named_with_where_it_was_looked_for() {
    let engine = engine();
    let error = engine.start(command(["no-such-program"])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "program not found: no-such-program (searched in PATH=/usr/local/bin:/usr/bin:/bin)"
    );
    let error = engine.start(command(["./no-such-file"])).unwrap_err();
    assert!(matches!(&error, StartError::ProgramNotFound { .. }), "{error}");
    assert!(error.to_string().contains("./no-such-file"));
}

#[tokio::test]
async fn a_program_that_is_there_and_cannot_be_run_is_not_called_missing() {
    let engine = engine();
    let scratch = Scratch::new("start-not-executable");
    std::fs::write(scratch.path().join("plain"), "text").unwrap();
    std::fs::create_dir(scratch.path().join("folder")).unwrap();
    for name in ["plain", "folder"] {
        let mut spec = command([name]);
        spec.environment = vec![("PATH".into(), format!("/usr/bin:{}", scratch.path().display()).into())];
        let error = engine.start(spec).unwrap_err();
        assert!(matches!(&error, StartError::CannotExecute { .. }), "{error}");
        assert!(error.to_string().contains(&scratch.path().join(name).display().to_string()), "{error}");
    }
}

#[tokio::test]
async fn a_missing_directory_is_an_error_that_names_it_on_pipes_and_on_terminals() {
    let engine = engine();
    for mut spec in [command(["true"]), on_terminal(command(["true"])), command(["./true"])] {
        spec.directory = "/no/such/directory".into();
        let error = engine.start(spec).unwrap_err();
        assert!(matches!(error, StartError::Directory { .. }), "{error}");
        assert!(error.to_string().contains("/no/such/directory"));
    }
}

#[tokio::test]
async fn a_file_that_cannot_run_says_why() {
    let scratch = Scratch::new("start");
    let file = |name: &str, content: &str, mode: u32| {
        let path = scratch.path().join(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let engine = engine();
    let cases = [
        (file("plain", "just text", 0o755), "neither a program"),
        (file("closed", "#!/bin/sh\n", 0o644), "permission denied"),
        (file("lost", "#!/no/such/interpreter -x\n", 0o755), "/no/such/interpreter does not exist"),
    ];
    for (path, reason) in cases {
        let error = engine.start(command([&path])).unwrap_err().to_string();
        assert!(error.contains(&path) && error.contains(reason), "{error}");
    }
}

#[tokio::test]
async fn an_empty_command_or_a_nul_byte_is_refused() {
    let engine = engine();
    assert!(matches!(engine.start(command::<0>([])), Err(StartError::Empty)));
    assert!(matches!(engine.start(command([""])), Err(StartError::Empty)));
    let error = engine.start(command(["echo", "a\0b"])).unwrap_err();
    assert_eq!(error.to_string(), "the command contains a NUL byte");
}

#[tokio::test]
async fn a_failed_start_leaves_nothing_behind() {
    let engine = engine();
    run(&engine, command(["true"])).await;
    let before = survivors::open_descriptors();
    for _ in 0..50 {
        let mut nowhere = on_terminal(command(["true"]));
        nowhere.directory = "/no/such/directory".into();
        assert!(engine.start(nowhere).is_err());
        assert!(engine.start(command(["no-such-program"])).is_err());
    }
    assert_eq!(survivors::open_descriptors(), before);
    assert_eq!(survivors::zombies(), Vec::<u32>::new());
}

#[tokio::test]
async fn both_streams_are_told_apart() {
    let engine = engine();
    let session = engine.start(sh("echo a; echo b >&2; echo c")).unwrap();
    receipt(&session).await;
    assert_eq!(crate::rig::output(&session, |stream| stream == Stream::Stdout), b"a\nc\n");
    assert_eq!(crate::rig::output(&session, |stream| stream == Stream::Stderr), b"b\n");
}
