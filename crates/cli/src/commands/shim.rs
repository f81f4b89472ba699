//! Detached sessions of tools: each has a shim, this same program in the background with a toolbox of its own. Tool
//! servers forward calls to it. It runs until the session has ended completely and a client has been informed of its
//! end.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use windlass_engine::{Engine, KillDelays, SessionId, Store};
use windlass_server::shim::{Meeting, ShimSocket};
use windlass_sys::background::{self, BackgroundProgram};
use windlass_tools::{Call, Numbering, PassedOn, Pending, ShimStarted, Shims, Toolbox, ToolboxOptions};

use crate::args::{ShimOrder, ToolWords};
use crate::commands::keep::{catch_signals, over};
use crate::commands::run::{clean_up, engine};
use crate::config::{Config, ITSELF};
use crate::confinement::{self, NamedFiles};
use crate::failure::Exit;
use crate::printing::print;
use crate::remedies::Interface;
use crate::toolbox;

const VERB: &str = "shim";
const NAME: &str = "windlass-shim";
/// The word before the name of its socket in a shim's report that it takes calls.
const READY: &str = "ready ";
/// How long a shim may take to be ready, in addition to the time of its call.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// How long a shim waits for its first call.
const FIRST_CALL: Duration = Duration::from_secs(30);

/// The shims in a state directory.
pub(crate) struct Detached {
    meeting: Meeting,
    environment: Vec<(OsString, OsString)>,
    arguments: Vec<OsString>,
}

impl Detached {
    /// Shims of a store. They get the tool options of this server, and the files that commands must not reach.
    pub(crate) fn new(
        store: &Store,
        options: &ToolboxOptions,
        words: &ToolWords,
        named: &NamedFiles,
    ) -> Self {
        let mut arguments = words.again();
        arguments.extend(["--directory".into(), options.directory.clone().into()]);
        if options.numbering == Numbering::Secret {
            arguments.push("--secret".into());
        }
        for (option, files) in [("--obeyed-file", &named.obeyed), ("--secret-file", &named.secrets)] {
            arguments.extend(files.iter().flat_map(|file| [option.into(), file.into()]));
        }
        Self { meeting: Meeting::below(store.root()), environment: options.environment.clone(), arguments }
    }

    /// Starts a shim and has it start its session. Both run the same program file, so the versions need no check.
    async fn begin(&self, call: &Call) -> Result<ShimStarted> {
        let door = self.open().await?;
        let answered = self.meeting.ask(&door, call).await?;
        Ok(ShimStarted { reply: answered.reply, id: answered.id.map(SessionId::new) })
    }

    async fn open(&self) -> Result<String> {
        let program = self.program();
        let report = tokio::task::spawn_blocking(move || -> Result<Vec<u8>> {
            Ok(background::start(&program)?.report(READY_WITHIN)?)
        });
        let report = String::from_utf8_lossy(&report.await??).into_owned();
        let door = report.lines().last().and_then(|line| line.strip_prefix(READY));
        door.map(str::to_owned).with_context(|| report.trim().to_owned())
    }

    fn program(&self) -> BackgroundProgram {
        let variable =
            |(name, value): &(OsString, OsString)| [name.as_bytes(), b"=", value.as_bytes()].concat();
        let words = [NAME.into(), VERB.into()].into_iter().chain(self.arguments.iter().cloned());
        BackgroundProgram {
            program: ITSELF.into(),
            arguments: words.map(|word: OsString| c_string(&word)).collect(),
            environment: self
                .environment
                .iter()
                .map(|pair| c_string(OsStr::from_bytes(&variable(pair))))
                .collect(),
        }
    }
}

/// Strings from the kernel contain no NUL byte.
fn c_string(text: &OsStr) -> CString {
    CString::new(text.as_bytes()).unwrap_or_default()
}

impl Shims for Detached {
    fn start<'a>(&'a self, call: &'a Call) -> Pending<'a, Result<ShimStarted, String>> {
        Box::pin(async move {
            // timer: without it, a shim that is stopped before it replies would be waited for endlessly.
            let limit = call.ceiling + READY_WITHIN;
            match tokio::time::timeout(limit, self.begin(call)).await {
                Ok(begun) => begun.map_err(|error| format!("{error:#}")),
                Err(_) => Err(format!("it has not answered within {} s", limit.as_secs())),
            }
        })
    }

    fn pass_on<'a>(&'a self, session: u64, call: &'a Call) -> Pending<'a, PassedOn> {
        Box::pin(self.meeting.pass_on(session, call))
    }

    fn forget(&self, session: u64) {
        self.meeting.forget(session);
    }

    fn kept(&self) -> Result<Vec<u64>, String> {
        let directory = self.meeting.directory().display();
        self.meeting.kept().map_err(|error| format!("listing {directory}: {error}"))
    }
}

/// Runs the shim until its session is over.
pub(crate) async fn run(order: ShimOrder, config: Config) -> Result<Exit> {
    let store = config.writing_store()?;
    drop(clean_up(Some(&store)));
    let mut told_to_end = catch_signals()?;
    let meeting = Meeting::below(store.root());
    let name = format!("new-{}.sock", std::process::id());
    let mut door = meeting.open(&name).context("cannot open the shim's door")?;
    let mut options = toolbox::options(&order.tools, order.directory, &config)?;
    options.numbering = toolbox::numbering(order.secret);
    let named = NamedFiles { obeyed: order.obeyed_file, secrets: order.secret_file };
    let grounds =
        confinement::grounds_with(order.tools.sandbox.sandbox_layers, &config, named, Interface::Mcp);
    let engine = engine(Some(store), KillDelays::default(), &order.tools.limits, grounds)?;
    let tools = Toolbox::new(engine.clone(), options);
    print(format!("{READY}{name}\n"))?;
    background::go_silent().context("cannot let go of the starter's pipe")?;
    tokio::select! {
        kept = keep(&mut door, &engine, &tools) => kept?,
        _ = told_to_end.recv() => {
            for session in engine.sessions() {
                session.stop().await;
            }
        }
    }
    drop(door);
    engine.shutdown().await;
    Ok(Exit::SUCCESS)
}

/// Handles calls: the first one starts the session; later ones are about it.
async fn keep(door: &mut ShimSocket, engine: &Engine, toolbox: &Toolbox) -> Result<()> {
    // timer: the process that started the shim may have died before its first call.
    let mut starter = tokio::time::timeout(FIRST_CALL, door.knock()).await.context("nobody called")??;
    let call = starter.call().await?;
    if call.tool != "exec_command" {
        bail!("a shim's first call starts its session");
    }
    if let Some(owner) = &call.owner {
        toolbox.set_owner(owner);
    }
    let reply = toolbox.call(call).await?;
    let session = engine.sessions().pop();
    if let Some(number) = reply.structured["session"].as_u64() {
        door.rename(number)?;
    }
    let answering = starter.answer(reply, session.as_ref().map(|session| session.id().get()));
    // The caller may have gone; the session should outlive it.
    let answering = async { drop(answering.await) };
    match session {
        Some(session) => Ok(door.serve(toolbox, answering, over(&session)).await?),
        None => {
            answering.await;
            Ok(())
        }
    }
}
