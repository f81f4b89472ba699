//! Shared by the session tests: an engine, commands, and their output.

use std::time::Duration;
use windlass_engine::{
    CommandSpec, Engine, EngineOptions, Io, JournalPiece, KillDelays, Receipt, Session, Stdin, Stream,
    Terminal,
};
use windlass_output::{Offset, Span};
use windlass_testkit::{HANG, survivors};

/// An engine that keeps its journals in memory and has short kill delays.
pub(crate) fn engine() -> Engine {
    Engine::new(options()).expect("an engine can be made")
}

pub(crate) fn options() -> EngineOptions {
    let patience = KillDelays { grace: Duration::from_millis(300), ..KillDelays::default() };
    EngineOptions { patience, ..EngineOptions::default() }
}

/// A script for the shell, on pipes with nothing to read.
pub(crate) fn sh(script: &str) -> CommandSpec {
    command(["/bin/sh", "-c", script])
}

pub(crate) fn command<const N: usize>(argv: [&str; N]) -> CommandSpec {
    let mut spec = CommandSpec::new(argv, "/");
    spec.environment = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
    spec
}

pub(crate) fn puppet(words: &[&str]) -> CommandSpec {
    let mut spec = command(["/bin/true"]);
    spec.argv =
        std::iter::once(windlass_testkit::puppet().into()).chain(words.iter().map(Into::into)).collect();
    spec
}

pub(crate) fn on_terminal(mut spec: CommandSpec) -> CommandSpec {
    spec.io = Io::Terminal(Terminal::default());
    spec
}

pub(crate) fn with_stdin(mut spec: CommandSpec, stdin: Stdin) -> CommandSpec {
    spec.io = Io::Pipes(stdin);
    spec
}

/// Puts a word into the environment by which everything the command starts can be found.
pub(crate) fn tagged(mut spec: CommandSpec, token: &str) -> CommandSpec {
    spec.environment.push((survivors::TOKEN_VARIABLE.into(), token.into()));
    spec
}

/// The receipt; fails the test if the product hangs.
pub(crate) async fn receipt(session: &Session) -> Receipt {
    let exited = tokio::time::timeout(HANG, session.exited()).await;
    (*exited.expect("the session ends").expect("it is watched to its end")).clone()
}

/// Runs a command to its end and returns its output with the receipt.
pub(crate) async fn run(engine: &Engine, spec: CommandSpec) -> (String, Receipt) {
    let session = engine.start(spec).expect("the command starts");
    let receipt = receipt(&session).await;
    (text(&session), receipt)
}

/// Everything the session printed so far, both streams in order.
pub(crate) fn text(session: &Session) -> String {
    String::from_utf8_lossy(&output(session, |_| true)).into_owned()
}

/// Its output on the streams that the closure selects.
pub(crate) fn output(session: &Session, wanted: impl Fn(Stream) -> bool) -> Vec<u8> {
    let journal = session.journal();
    let mut bytes = Vec::new();
    let mut next = Offset::ZERO;
    while next < journal.end() {
        let reading = journal.read(Span::new(next, journal.end()), 1 << 20);
        for piece in reading.pieces {
            match piece {
                JournalPiece::Bytes { stream, bytes: piece, .. } if wanted(stream) => bytes.extend(piece),
                JournalPiece::Bytes { .. } => {}
                other => panic!("nothing may be missing, but {other:?}"),
            }
        }
        next = reading.next;
    }
    bytes
}

/// Waits until the session has printed this.
pub(crate) async fn printed(session: &Session, expression: &str) {
    use windlass_engine::{Met, Until};
    let pattern = windlass_output::Pattern::new(expression).expect("a pattern");
    // Processes that a session left running may print after its exit.
    let until = Until { exit: session.receipt().is_none(), ..Until::pattern(pattern) };
    let met = tokio::time::timeout(HANG, session.wait(&until)).await.expect("the pattern or the exit comes");
    assert!(matches!(met, Met::Pattern(_)), "waited for {expression:?}, got {met:?}\n{}", text(session));
}
