//! `windlass demo`: runs real sessions, as an agent would, and shows what a model sees and how many tokens it saves.
//! Everything happens on this machine, within seconds, and nothing is left running.

mod progress;
mod repl;
mod runaway;
mod server;
mod stage;
mod truncation;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use windlass_engine::{CommandSpec, Engine, Io, Journal, KillDelays, Met, Session, Terminal, Until};
use windlass_output::{Offset, Pattern, Span, Tokenizer, Tokens, Utf8, settle};

use self::stage::DemoOutput;
use crate::args::{LayersName, ServerLimitWords};
use crate::config::Config;
use crate::confinement;
use crate::failure::Exit;
use crate::report;

pub(crate) use self::runaway::stray;
pub(crate) use self::server::serve;

/// How long anything in the demo may take before it counts as failed.
const PATIENCE: Duration = Duration::from_secs(15);

/// The variable from which the demo's scripts take the path of this program.
const OWN_PROGRAM: &str = "WINDLASS_DEMO_PROGRAM";

/// Runs all scenes.
pub(crate) async fn run(config: Config) -> Result<Exit> {
    let theatre = DemoEngine::open(&config)?;
    let stage = DemoOutput::new(&config);
    let begun = Instant::now();
    stage.open()?;
    let mut saved = Saving::default();
    saved += repl::play(&theatre, &stage).await?;
    saved += server::play(&theatre, &stage).await?;
    saved += progress::play(&theatre, &stage).await?;
    saved += runaway::play(&theatre, &stage).await?;
    saved += truncation::play(&theatre, &stage).await?;
    let left = theatre.close().await;
    ensure!(left.is_empty(), "the demo left something running: {}", report::processes(&left));
    stage.close(saved, begun.elapsed())?;
    Ok(Exit::SUCCESS)
}

/// The size of the printed output, and of the part that a model has to read, in tokens.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Saving {
    printed: Tokens,
    shown: Tokens,
}

impl Saving {
    fn between(printed: &str, shown: &str) -> Self {
        Self { printed: Tokenizer::O200k.count(printed), shown: Tokenizer::O200k.count(shown) }
    }
}

impl std::ops::AddAssign for Saving {
    fn add_assign(&mut self, more: Self) {
        self.printed = self.printed + more.printed;
        self.shown = self.shown + more.shown;
    }
}

/// The engine and the settings that all commands of the demo share.
struct DemoEngine {
    engine: Engine,
    environment: Vec<(OsString, OsString)>,
    directory: PathBuf,
    own_program: PathBuf,
}

impl DemoEngine {
    fn open(config: &Config) -> Result<Self> {
        // No command of the demo needs the usual two seconds before KILL.
        let patience = KillDelays { grace: Duration::from_millis(300), ..KillDelays::default() };
        let limits = ServerLimitWords::default();
        let grounds = confinement::grounds(LayersName::All, config);
        let engine = super::run::engine(config.open_store(), patience, &limits, grounds)?;
        let mut environment = config.environment.clone();
        environment.retain(|(name, _)| name != "TERM" && name != "PYTHONSTARTUP");
        for (name, value) in [("TERM", "xterm-256color"), ("NO_COLOR", "1"), ("PYTHON_BASIC_REPL", "1")] {
            environment.push((name.into(), value.into()));
        }
        let own_program = Config::own_program();
        environment.push((OWN_PROGRAM.into(), own_program.clone().into()));
        Ok(Self { engine, environment, directory: Config::working_directory()?, own_program })
    }

    fn start(&self, argv: &[impl AsRef<OsStr>]) -> Result<Session> {
        Ok(self.engine.start(self.command(argv))?)
    }

    fn start_on_terminal(&self, argv: &[impl AsRef<OsStr>]) -> Result<Session> {
        let mut spec = self.command(argv);
        spec.io = Io::Terminal(Terminal::default());
        Ok(self.engine.start(spec)?)
    }

    fn command(&self, argv: &[impl AsRef<OsStr>]) -> CommandSpec {
        let mut spec = CommandSpec::new(argv.iter().map(AsRef::as_ref), &self.directory);
        spec.environment = self.environment.clone();
        spec
    }

    /// Ends everything and returns the processes that are still alive.
    async fn close(self) -> Vec<windlass_engine::ProcessLine> {
        let sessions = self.engine.sessions();
        let end = self.engine.shutdown().await;
        sessions.iter().flat_map(Session::processes).chain(end.remaining).collect()
    }
}

/// Waits for a pattern in the output after `from`, and returns the match.
async fn printed(session: &Session, pattern: &str, from: Offset) -> Result<String> {
    let until = Until { from, ..Until::pattern(Pattern::new(pattern)?) }.by(Instant::now() + PATIENCE);
    match session.wait(&until).await {
        Met::Pattern(found) => Ok(found.text),
        Met::Exit(receipt) => bail!("session {} {} too early", session.id(), report::ending(&receipt)),
        _ => bail!("session {} did not print {pattern:?} in time", session.id()),
    }
}

/// Waits for the exit.
async fn exited(session: &Session) -> Result<()> {
    match session.wait(&Until::exit().by(Instant::now() + PATIENCE)).await {
        Met::Exit(_) => Ok(()),
        _ => bail!("session {} did not end in time", session.id()),
    }
}

/// The output after `from`, byte for byte.
fn raw_text(journal: &Journal, from: Offset) -> String {
    Utf8::decode(&bytes(journal, Span::new(from, journal.end())), from).into_text()
}

/// The same as settled text.
fn settled_text(journal: &Journal, from: Offset) -> String {
    settle(&bytes(journal, Span::new(from, journal.end())), from).into_text()
}

fn bytes(journal: &Journal, span: Span) -> Vec<u8> {
    let mut bytes = Vec::new();
    journal.read_into(span, usize::try_from(span.len()).unwrap_or(0), &mut bytes);
    bytes
}
