//! `windlass run --server`: a command on an app-server, as if it ran here.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use windlass_engine::{CommandSpec, Engine, EngineOptions, Io, Met, Session, Terminal, Until};
use windlass_output::Pattern;
use windlass_sys::pty::Size;
use windlass_sys::signal::Signal;
use windlass_testkit::{HANG, peers, survivors};

use crate::app_server::doors::Listening;
use crate::rig::{Home, Running, Seen, WINDLASS, held, nothing_survives};

/// A server at a path, with all its processes.
fn server(home: &Home) -> Listening {
    Listening::start(home, &["--listen", &format!("unix://{}", home.path().join("s").display())])
}

fn seen(home: &Home, server: &Listening, words: &[&str]) -> Seen {
    home.seen(&[&["run", "--server", &server.url], words].concat())
}

#[test]
fn output_input_and_the_code_are_the_commands() {
    let home = Home::new("else-pipes");
    let server = server(&home);
    let told = seen(&home, &server, &["--", "sh", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!((told.code, told.stdout.as_str(), told.stderr.as_str()), (7, "out\n", "err\n"));
    let told = seen(&home, &server, &["kill -9 $$"]);
    assert_eq!(told.code, 137, "{told:?}");
    let told = seen(&home, &server, &["--env", "A=b", "-C", "/", "--", "sh", "-c", "echo $A; pwd"]);
    assert_eq!(told.stdout, "b\n/\n");
    let told = seen(&home, &server, &["--timeout", "100ms", "--", "sleep", "1000"]);
    assert_eq!(told.code, 124, "{told:?}");
    let mut wc = home.windlass(&["run", "--server", &server.url, "--", "wc", "-c"]);
    let mut wc = wc.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("windlass starts");
    let mut input = wc.stdin.take().expect("it is piped");
    input.write_all(&vec![b'x'; 3 << 20]).expect("it is read");
    drop(input);
    let output = wc.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), (3 << 20).to_string());
    assert_eq!(server.end(), Some(0));
}

/// A command of `run --server` is a process of the server: it has the sandbox that the server's user configured.
#[test]
fn a_command_has_the_sandbox_that_is_configured_where_the_server_runs() {
    for (settings, words, expected) in [
        ("", &[][..], "written\n"),
        ("sandbox_mode = \"read-only\"", &[], "refused\n"),
        ("sandbox_mode = \"danger-full-access\"", &[], "written\n"),
        ("", &["--sandbox", "read-only"], "refused\n"),
    ] {
        let home = Home::new("else-sandbox");
        let folder = home.path().join("config/windlass");
        std::fs::create_dir_all(&folder).expect("folders can be made");
        std::fs::write(folder.join("config.toml"), settings).expect("a file can be written");
        let listen = format!("unix://{}", home.path().join("s").display());
        let words = [&["--listen", &listen], words].concat();
        let configuration = home.path().join("config");
        let server = Listening::start_with(&home, &words, |command| {
            command.env("XDG_CONFIG_HOME", &configuration);
        });
        let script = "(: > file) 2>/dev/null && echo written || echo refused";
        let directory = home.path().join("work");
        std::fs::create_dir(&directory).expect("a folder can be made");
        let told = seen(&home, &server, &["-C", directory.to_str().expect("text"), script]);
        assert_eq!(told.stdout, expected, "{settings:?} {words:?}: {told:?}");
        assert_eq!(server.end(), Some(0));
    }
}

#[test]
fn what_cannot_be_done_there_is_said_as_it_would_be_here() {
    let home = Home::new("else-refused");
    let server = server(&home);
    assert_eq!(seen(&home, &server, &["--", "no-such-program"]).code, 127);
    assert_eq!(seen(&home, &server, &["--", "/"]).code, 126);
    let told = seen(&home, &server, &["--json", "--", "true"]);
    assert_eq!(told.code, 2, "{told:?}");
    let url = server.url.clone();
    assert_eq!(server.end(), Some(0));
    let told = home.seen(&["run", "--server", &url, "--", "true"]);
    assert_eq!(told.code, 125);
    assert!(told.stderr.contains("cannot connect to unix://"), "{told:?}");
}

#[test]
fn the_token_comes_from_a_file_or_the_environment() {
    let home = Home::new("else-token");
    let file = home.secret("token", "open-sesame\n");
    let file = file.as_str();
    let server = Listening::start(&home, &["--listen", "ws://127.0.0.1:0", "--ws-token-file", file]);
    let told = seen(&home, &server, &["--", "echo", "hello"]);
    assert_eq!(told.code, 125, "{told:?}");
    assert!(told.stderr.contains("asks for a token, and none was given"), "{told:?}");
    let told = seen(&home, &server, &["--token-file", file, "--", "echo", "hello"]);
    assert_eq!((told.code, told.stdout.as_str()), (0, "hello\n"), "{told:?}");
    let mut command = home.windlass(&["run", "--server", &server.url, "--", "echo", "hello"]);
    let output = command.env("WINDLASS_TOKEN", "open-sesame").output().expect("windlass starts");
    assert_eq!(output.stdout, b"hello\n");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_reader_that_is_slow_gets_every_byte() {
    let home = Home::new("else-slow");
    let server = server(&home);
    let script = "yes 0123456789abcdef | head -c 50000000; echo; echo end >&2";
    let mut command = home.windlass(&["run", "--server", &server.url, script]);
    let mut running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("windlass starts");
    // The other stream ends after all of this one only if the sender waited for the reader.
    let mut said = String::new();
    let mut output = running.stdout.take().expect("it is piped");
    let mut first = [0; 1024];
    output.read_exact(&mut first).expect("it can be read");
    let mut rest = Vec::new();
    output.read_to_end(&mut rest).expect("it can be read");
    running.stderr.take().expect("it is piped").read_to_string(&mut said).expect("it can be read");
    assert_eq!(said, "end\n");
    assert_eq!(first.len() + rest.len(), 50_000_001);
    let line = b"0123456789abcdef\n";
    let all = [&first[..], &rest].concat();
    assert!(all[..50_000_000].chunks(line.len()).all(|chunk| line.starts_with(chunk)), "in order and whole");
    assert_eq!(running.wait().expect("it ends").code(), Some(0));
    assert_eq!(server.end(), Some(0));
}

#[test]
fn whoever_ends_windlass_ends_the_command_there() {
    let home = Home::new("else-ended");
    let server = server(&home);
    let token = survivors::token("ended-there");
    let script = format!("'{WINDLASS}' demo-stray {token} & wait");
    let start = |words: &[&str]| {
        let mut running = home.start(&[&["run", "--server", &server.url], words].concat());
        running.printed("is up");
        (running, held(&survivors::bearing(&token)))
    };
    let (running, there) = start(&["--", "sh", "-c", &script]);
    running.signal(Signal::TERM);
    assert_eq!(running.exit_code(), Some(143));
    nothing_survives(&there, &token);
    let (running, there) = start(&["--", "sh", "-c", &script]);
    running.signal(Signal::INT);
    assert_eq!(running.exit_code(), Some(130), "Ctrl-C is passed on");
    nothing_survives(&there, &token);
    let (running, there) = start(&["--", "sh", "-c", &script]);
    running.signal(Signal::KILL);
    assert_eq!(running.exit_code(), None);
    nothing_survives(&there, &token);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_server_that_goes_away_is_missed() {
    let home = Home::new("else-gone");
    let server = server(&home);
    let mut command = home.windlass(&["run", "--server", &server.url, "echo up; exec sleep 1000"]);
    let mut running = Running::of(command.stderr(Stdio::piped()));
    running.printed("up");
    assert_eq!(server.end(), Some(0));
    let mut said = String::new();
    running.child.stderr.take().expect("it is piped").read_to_string(&mut said).expect("it can be read");
    let code = running.exit_code();
    // A server that gets a signal to end may still report how the command ended.
    assert!(code == Some(143) || (code == Some(125) && said.contains("is lost")), "{code:?}: {said}");
}

/// A terminal of 30 by 90 in which windlass runs a script that has a terminal of its own on the server.
fn typed(engine: &Engine, home: &Home, (server, script): (&Listening, &str)) -> Session {
    let words = [WINDLASS, "run", "--server", &server.url, "--tty", "--", "sh", "-c", script];
    let mut spec = CommandSpec::new(words, home.path());
    spec.environment =
        vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default()), ("TERM".into(), "vt100".into())];
    let size = Size { rows: 30, cols: 90 };
    spec.io = Io::Terminal(Terminal { size, ..Terminal::default() });
    engine.start(spec).expect("a terminal can be opened")
}

async fn printed(session: &Session, expression: &str) {
    let until = Until::pattern(Pattern::new(expression).expect("a pattern"));
    let met = tokio::time::timeout(HANG, session.wait(&until)).await;
    let met = met.unwrap_or_else(|_| panic!("neither {expression:?} nor the exit comes"));
    assert!(matches!(met, Met::Pattern(_)), "waited for {expression:?}, got {met:?}");
}

#[tokio::test]
async fn a_terminal_there_is_used_from_a_terminal_here() {
    let home = Home::new("else-tty");
    let server = server(&home);
    let engine = Engine::new(EngineOptions::default()).expect("an engine can be made");
    let script = "stty size; echo $TERM; echo ready; read line; echo got $line; trap 'stty size' WINCH; \
                  trap 'echo stopped; exit 9' INT; echo set; while :; do sleep 0.02; done";
    let session = typed(&engine, &home, (&server, script));
    printed(&session, "^30 90$").await;
    printed(&session, "^vt100$").await;
    printed(&session, "^ready$").await;
    session.write("words\r").await.expect("it reads");
    printed(&session, "^got words$").await;
    printed(&session, "^set$").await;
    session.resize(Size { rows: 40, cols: 100 }).await.expect("it has a size");
    printed(&session, "^40 100$").await;
    session.write([3]).await.expect("it reads");
    printed(&session, "stopped$").await;
    let exited = tokio::time::timeout(HANG, session.exited()).await.expect("it ends").expect("it is watched");
    assert_eq!(exited.exit.code(), 9);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn codex_runs_it_as_well() {
    let home = Home::new("else-codex");
    let path = home.path().join("codex.sock");
    let url = format!("unix://{}", path.display());
    let mut codex = Command::new(peers::node22());
    codex.arg(peers::npm_bin("codex")).args(["app-server", "--listen", &url]);
    codex.env("CODEX_HOME", home.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut codex = codex.spawn().expect("codex starts");
    let deadline = windlass_testkit::hang_deadline();
    let told = loop {
        let told = home.seen(&["run", "--server", &url, "--", "sh", "-c", "echo out; echo err >&2; exit 7"]);
        // Only a successful connection shows that the server listens.
        if told.code != 125 || std::time::Instant::now() > deadline {
            break told;
        }
    };
    codex.kill().expect("it can be ended");
    codex.wait().expect("it ends");
    assert_eq!((told.code, told.stdout.as_str(), told.stderr.as_str()), (7, "out\n", "err\n"), "{told:?}");
}

#[tokio::test]
async fn a_program_can_start_a_server_for_itself() {
    use windlass_server::client::shapes::AbsolutePath;
    use windlass_server::client::{Client, ClientOptions, Endpoint, Start};

    let home = Home::new("else-program");
    let words = ["env", &format!("WINDLASS_STATE_DIR={}", home.path().display()), WINDLASS, "app-server"];
    let endpoint = Endpoint::Program(words.iter().map(Into::into).collect());
    let client = Client::connect(endpoint, ClientOptions::new("test")).await.expect("it starts");
    let directory = AbsolutePath::new("/").expect("absolute");
    let token = survivors::token("started-for-itself");
    let command = [WINDLASS, "demo-stray", &token];
    let (process, mut output) = client.start(Start::new(command, directory)).await.expect("it starts");
    output.next().await.expect("connected").expect("it says that it is up");
    let there = held(&survivors::bearing(&token));
    assert_eq!(there.len(), 1);
    // The server ends with its client, and its processes with it.
    drop((client, process, output));
    let gone = tokio::task::spawn_blocking(move || nothing_survives(&there, &token));
    gone.await.expect("nothing is left");
}
