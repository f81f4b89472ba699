//! `windlass run --tty` at a real terminal: the test acts as the person, an engine's session is the terminal.

use std::io::Write;
use std::process::Stdio;

use windlass_engine::{
    CommandSpec, Engine, EngineOptions, Io, Met, PatternText, Receipt, Session, Terminal, Until,
};
use windlass_output::{Offset, Pattern, Span, settle};
use windlass_sys::pty::Size;
use windlass_testkit::HANG;

use crate::rig::{Home, WINDLASS};

/// A terminal of 30 by 90 in which this command runs.
fn typed(engine: &Engine, home: &Home, words: &[&str]) -> Session {
    let mut spec = CommandSpec::new(words, home.path());
    spec.environment = vec![
        ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
        ("WINDLASS_STATE_DIR".into(), home.path().into()),
        ("TERM".into(), "xterm-256color".into()),
    ];
    let size = Size { rows: 30, cols: 90 };
    spec.io = Io::Terminal(Terminal { size, ..Terminal::default() });
    engine.start(spec).expect("a terminal can be opened")
}

fn engine() -> Engine {
    Engine::new(EngineOptions::default()).expect("an engine can be made")
}

async fn printed(session: &Session, expression: &str) {
    let until = Until::pattern(Pattern::new(expression).unwrap());
    let met = tokio::time::timeout(HANG, session.wait(&until)).await.expect("the pattern or the exit comes");
    assert!(matches!(met, Met::Pattern(_)), "waited for {expression:?}, got {met:?}\n{}", text(session));
}

async fn receipt(session: &Session) -> Receipt {
    let exited =
        tokio::time::timeout(HANG, session.exited()).await.expect("the session ends").expect("it is watched");
    (*exited).clone()
}

fn text(session: &Session) -> String {
    let mut bytes = Vec::new();
    let journal = session.journal();
    journal.read_into(Span::new(Offset::ZERO, journal.end()), 1 << 20, &mut bytes);
    settle(&bytes, Offset::ZERO).into_text()
}

fn tty(script: &str) -> [&str; 7] {
    [WINDLASS, "run", "--tty", "--", "sh", "-c", script]
}

#[tokio::test]
async fn the_window_size_is_taken_over_and_followed() {
    let (engine, home) = (engine(), Home::new("tty-size"));
    let script = "stty size; trap 'stty size; exit 5' WINCH; echo ready; while :; do sleep 0.02; done";
    let session = typed(&engine, &home, &tty(script));
    printed(&session, "^30 90$").await;
    printed(&session, "^ready$").await;
    session.resize(Size { rows: 40, cols: 100 }).await.unwrap();
    printed(&session, "^40 100$").await;
    assert_eq!(receipt(&session).await.exit.code(), 5);
}

#[tokio::test]
async fn keys_go_through_untouched_and_ctrl_c_reaches_the_child() {
    let (engine, home) = (engine(), Home::new("tty-keys"));
    let script = "trap 'echo interrupted; exit 7' INT; echo ready; read line; echo got $line; while :; do sleep 0.02; done";
    let session = typed(&engine, &home, &tty(script));
    printed(&session, "^ready$").await;
    session.write("words\r").await.unwrap();
    printed(&session, "^got words$").await;
    session.write([3]).await.unwrap();
    printed(&session, "interrupted").await;
    assert_eq!(receipt(&session).await.exit.code(), 7);
}

#[tokio::test]
async fn what_is_typed_is_echoed_once() {
    let (engine, home) = (engine(), Home::new("tty-echo"));
    let session = typed(&engine, &home, &tty("echo ready; read line; echo done"));
    printed(&session, "^ready$").await;
    session.write("abc\r").await.unwrap();
    assert_eq!(receipt(&session).await.exit.code(), 0);
    assert_eq!(text(&session), "ready\nabc\ndone\n");
}

/// A line editor switches the terminal's mode between lines, and an end of file that falls into the gap is lost.
#[test]
fn the_end_of_piped_input_reaches_programs_that_edit_their_own_lines() {
    let home = Home::new("tty-end");
    for (program, line, answer) in
        [("cat", "plain\n", "plain\r\nplain\r\n"), ("bash", "echo $((40 + 2))\n", "42\r\n")]
    {
        let mut command = home.windlass(&["run", "--tty", "--", program]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{program}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(answer), "{program} {text:?}");
    }
}

#[tokio::test]
async fn the_terminal_is_given_back_as_it_was() {
    let (engine, home) = (engine(), Home::new("tty-modes"));
    let script = format!(
        "stty -a > before; '{WINDLASS}' run --tty -- sh -c 'stty raw -echo; kill -9 $$'; echo $?; stty -a > after; cmp before after && echo same"
    );
    let session = typed(&engine, &home, &["sh", "-c", &script]);
    assert_eq!(receipt(&session).await.exit.code(), 0, "{}", text(&session));
    assert!(text(&session).contains("137\nsame\n"), "{}", text(&session));
}

#[tokio::test]
async fn questions_to_the_terminal_are_answered_by_the_real_one() {
    let (engine, home) = (engine(), Home::new("tty-query"));
    let script = "stty raw -echo; printf 'ab\\033[6n'; dd bs=1 count=6 2>/dev/null | od -An -c; stty sane";
    let session = typed(&engine, &home, &tty(script));
    printed(&session, r"033\s+\[\s+1\s+;\s+3\s+R").await;
    assert_eq!(receipt(&session).await.exit.code(), 0);
}

#[tokio::test]
async fn a_session_without_tty_leaves_the_keyboard_alone() {
    let (engine, home) = (engine(), Home::new("tty-none"));
    let session = typed(&engine, &home, &[WINDLASS, "run", "--", "sh", "-c", "cat; echo at its end; tty"]);
    assert_eq!(receipt(&session).await.exit.code(), 1, "`tty` says no");
    assert_eq!(text(&session), "at its end\nnot a tty\n");
}

#[tokio::test]
async fn ctrl_c_at_a_terminal_interrupts_a_command_on_pipes() {
    let (engine, home) = (engine(), Home::new("tty-int"));
    // Not a shell: one that is interrupted between forking and executing its child handles the signal itself.
    let session = typed(&engine, &home, &[WINDLASS, "run", "--", WINDLASS, "demo-stray", "it"]);
    printed(&session, "^it is up$").await;
    session.write([3]).await.unwrap();
    assert_eq!(receipt(&session).await.exit.code(), 130);
}

#[tokio::test]
async fn hanging_up_ends_everything() {
    let (engine, home) = (engine(), Home::new("tty-hup"));
    let token = windlass_testkit::survivors::token("tty-hup");
    let script = format!("setsid '{WINDLASS}' demo-stray {token} & wait");
    let session = typed(&engine, &home, &tty(&script));
    printed(&session, "is up").await;
    let held = crate::rig::held(&windlass_testkit::survivors::bearing(&token));
    session.signal(windlass_sys::signal::Signal::HUP).await.unwrap();
    assert_eq!(receipt(&session).await.exit.code(), 129);
    crate::rig::nothing_survives(&held, &token);
}

#[tokio::test]
async fn the_table_fits_the_window_and_has_colour_only_if_wanted() {
    let (engine, home) = (engine(), Home::new("tty-ps"));
    home.seen(&["run", &format!("true {}", "x".repeat(200))]);
    let session = typed(&engine, &home, &[WINDLASS, "ps"]);
    receipt(&session).await;
    let table = text(&session);
    assert!(table.lines().count() == 2 && table.lines().all(|line| line.chars().count() <= 90), "{table}");
    let plain = format!("NO_COLOR=1 '{WINDLASS}' ps");
    for (words, coloured) in [(vec![WINDLASS, "ps"], true), (vec!["sh", "-c", &plain], false)] {
        let session = typed(&engine, &home, &words);
        receipt(&session).await;
        let mut bytes = Vec::new();
        session.journal().read_into(Span::new(Offset::ZERO, session.journal().end()), 1 << 20, &mut bytes);
        assert_eq!(bytes.contains(&0x1b), coloured, "{words:?}");
    }
}

/// The terminal leaves the alternate screen and raw mode, whichever way `top` ends.
#[tokio::test]
async fn top_gives_the_terminal_back_after_a_key_and_after_a_signal() {
    let home = Home::new("top-screen");
    for (key, code) in [(Some("q"), 0), (Some("\x03"), 0), (None, 143)] {
        let engine = engine();
        let script = format!(
            "stty -a > before; sh -c 'echo $$ > pid; exec \"$0\" top' '{WINDLASS}'; echo code $?; stty -a > after; cmp before after && echo same"
        );
        let session = typed(&engine, &home, &["sh", "-c", &script]);
        // Settled text does not contain the alternate screen.
        let until =
            Until { text: PatternText::Raw, ..Until::pattern(Pattern::new("windlass top: ").unwrap()) };
        let met = tokio::time::timeout(HANG, session.wait(&until)).await.expect("it draws");
        assert!(matches!(met, Met::Pattern(_)), "{met:?}");
        match key {
            Some(key) => drop(session.write(key).await.expect("it is typed")),
            None => {
                let pid = std::fs::read_to_string(home.path().join("pid")).expect("it wrote its number");
                let pid = windlass_sys::process::Pid::new(pid.trim().parse().expect("a number"));
                let top = windlass_sys::process::Process::open(pid).expect("it is alive");
                top.signal(windlass_sys::signal::Signal::TERM).expect("it is ours");
            }
        }
        assert_eq!(receipt(&session).await.exit.code(), 0, "{key:?}: {}", text(&session));
        let mut bytes = Vec::new();
        let journal = session.journal();
        journal.read_into(Span::new(Offset::ZERO, journal.end()), 1 << 20, &mut bytes);
        let raw = String::from_utf8_lossy(&bytes).into_owned();
        assert!(raw.starts_with("\x1b[?1049h"), "{key:?}: {raw:?}");
        let ending = format!("\x1b[?1049lcode {code}\r\nsame\r\n");
        assert!(raw.ends_with(&ending), "{key:?}: {raw:?}");
        engine.shutdown().await;
    }
}
