//! `windlass run --server`: runs the command on a server, as if it ran here. The session is not recorded on this
//! machine.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::task::JoinHandle;
use windlass_server::client::shapes::{AbsolutePath, OutputStream, TerminalSize};
use windlass_server::client::{
    Client, ClientError, ClientOptions, ClientPiece, Endpoint, Io, Output, Process, Slowness, Start,
};
use windlass_server::gate::Token;
use windlass_sys::pty::Size;
use windlass_sys::signal::Signal;
use windlass_sys::terminal::RawMode;

use super::input;
use super::plan::{self, Keyboard, Presentation};
use super::signals::{OutsideSignal, Signals};
use crate::args::{EnvironmentChange, Run};
use crate::config::{self, Config};
use crate::failure::{Exit, Usage};
use crate::printing::write_all;
use crate::secret_file;

/// The shell for scripts on the server, which may not have the user's shell.
const SHELL: &str = "/bin/sh";

/// How long the command may take to end, and its last output to be written, after a signal to end. The server ends the
/// command in any case when this client is gone.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Runs the command on the server and exits as it did.
pub(crate) async fn run(order: Run, endpoint: Endpoint, config: Config) -> Result<Exit> {
    let keyboard = plan::keyboard(&order, Presentation::Stream, config.terminals);
    let mut options = ClientOptions::new("windlass-run");
    options.token = token(order.token_file.as_deref(), &config)?;
    options.authorities = order.server_ca.as_deref().map(authorities).transpose()?;
    let start = start(order, &config, keyboard)?;
    let signals = Signals::catch()?;
    let client = Client::connect(endpoint, options).await?;
    let (process, output) = client.start(start).await?;
    let raw = keyboard == Keyboard::Raw;
    // A terminal that rejects raw mode can still be used line by line.
    let raw_mode = raw.then(|| RawMode::enter(rustix::stdio::stdin()).ok()).flatten();
    let keys = (keyboard != Keyboard::Unused).then(|| tokio::spawn(forward(process.clone())));
    let mut front = RemoteFront { process, signals, interrupts: 0, streaming: tokio::spawn(stream(output)) };
    let ended = front.attend().await;
    if let Some(keys) = keys {
        keys.abort();
    }
    drop(raw_mode);
    ended
}

/// The certificate authorities in a file.
fn authorities(path: &Path) -> Result<String> {
    std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the certificates in {}", path.display()))
}

/// The token in the file, else in the environment.
fn token(file: Option<&Path>, config: &Config) -> Result<Option<Token>> {
    if let Some(path) = file {
        return secret_file::token(path).map(Some);
    }
    let Some(variable) = config.variable("WINDLASS_TOKEN") else { return Ok(None) };
    Ok(Some(Token::chosen(&variable.to_string_lossy()).context("WINDLASS_TOKEN holds no token")?))
}

fn start(order: Run, config: &Config, keyboard: Keyboard) -> Result<Start> {
    let here = Config::working_directory()?;
    let directory = order.cwd.as_ref().map_or(here.clone(), |directory| here.join(directory));
    let directory =
        AbsolutePath::new(text(directory.as_os_str())?).context("the directory is not absolute")?;
    let command = plan::argv(order.command, OsStr::new(SHELL));
    let command: Vec<String> = command.iter().map(|word| text(word)).collect::<Result<_>>()?;
    let mut start = Start::new(command, directory);
    start.io = match (order.tty, keyboard) {
        (true, _) => Io::Terminal(cells(order.size.or(config.terminals.stdout).unwrap_or_default())),
        (false, Keyboard::Unused) => Io::NoInput,
        (false, Keyboard::Forwarded | Keyboard::Raw) => Io::Pipes,
    };
    if order.tty {
        let term = config.variable("TERM").map_or("xterm-256color".into(), OsStr::to_string_lossy);
        start.environment.insert("TERM".to_owned(), Some(term.into_owned()));
    }
    for change in order.env {
        let (name, value) = match change {
            EnvironmentChange::Set(name, value) => (name, Some(text(&value)?)),
            EnvironmentChange::Remove(name) => (name, None),
        };
        start.environment.insert(text(&name)?, value);
    }
    start.timeout = order.timeout;
    // This connection has no other stream, and no output may be missing.
    start.slowness = Slowness::HoldUp;
    Ok(start)
}

/// Converts an argument to text, as the protocol requires it.
fn text(word: &OsStr) -> Result<String> {
    let not_text =
        |word: OsString| Usage(format!("{} is not UTF-8, and cannot be sent to a server", word.display()));
    Ok(word.to_owned().into_string().map_err(not_text)?)
}

fn cells(size: Size) -> TerminalSize {
    TerminalSize { rows: size.rows, cols: size.cols }
}

/// Connects the process with the terminal or pipes of windlass.
struct RemoteFront {
    process: Process,
    signals: Signals,
    interrupts: u32,
    streaming: JoinHandle<Result<u64>>,
}

impl RemoteFront {
    /// Waits for the end, and handles signals meanwhile.
    async fn attend(&mut self) -> Result<Exit> {
        loop {
            tokio::select! {
                biased;
                told = self.signals.next() => {
                    if let Some(signal) = self.obey(told) {
                        return Ok(self.end(signal).await);
                    }
                }
                streamed = &mut self.streaming => {
                    let dropped = streamed.context("the output could not be streamed")??;
                    return self.exit(dropped).await;
                }
            }
        }
    }

    /// Handles a signal. It does not wait for the server's reply: the output may have to be written before the reply
    /// arrives.
    fn obey(&mut self, told: OutsideSignal) -> Option<Signal> {
        match told {
            OutsideSignal::End(signal) => return Some(signal),
            OutsideSignal::Interrupt(signal) if self.interrupts > 0 => return Some(signal),
            OutsideSignal::Interrupt(signal) => {
                self.interrupts += 1;
                drop(tokio::spawn(interrupt(self.process.clone(), signal)));
            }
            OutsideSignal::Resized => {
                let process = self.process.clone();
                // A process on pipes has no size.
                drop(tokio::spawn(async move { process.resize(cells(config::own_size())).await }));
            }
        }
        None
    }

    /// Ends the process because of a signal to end.
    async fn end(&mut self, signal: Signal) -> Exit {
        let process = self.process.clone();
        drop(tokio::spawn(async move { process.stop().await }));
        // timer: a reader that does not read, or a server that does not reply, must not keep windlass running.
        let _ = tokio::time::timeout(LAST_WORDS, &mut self.streaming).await;
        self.streaming.abort();
        Exit::of_command(128 + signal.number())
    }

    async fn exit(&self, dropped: u64) -> Result<Exit> {
        let exit = self.process.wait().await?;
        if dropped > 0 {
            crate::printing::say!(
                "windlass: {dropped} bytes of the output are missing: the server no longer had them"
            );
            return Ok(Exit::CANNOT_RUN);
        }
        if exit.timed_out {
            crate::printing::say!("windlass: the command's time was up; it was ended");
        }
        Ok(Exit::of_command(exit.code))
    }
}

/// Sends a signal, or terminates the process if the server does not support signals.
async fn interrupt(process: Process, signal: Signal) {
    let name = if signal == Signal::QUIT { "QUIT" } else { "INT" };
    if let Err(ClientError::NoSessions) = process.signal(name).await {
        let _ = process.stop().await;
    }
}

/// Forwards standard input to the process. One write at a time: the reply says that there is room for more.
async fn forward(process: Process) {
    let mut source = input::Source::new(rustix::stdio::stdin());
    // For the command, an input that cannot be read any more has ended.
    while let Some(bytes) = source.read().await.ok().filter(|bytes| !bytes.is_empty()) {
        if process.write(&bytes).await.is_err() {
            return;
        }
    }
    if let Err(ClientError::Refused(_)) = process.close_stdin().await {
        // A program that is not in line mode has no end of file, but knows the key for it.
        let _ = process.write(&[input::END_OF_TRANSMISSION]).await;
    }
}

/// Writes output as it arrives, to the stream that it belongs to; returns how many bytes are missing.
async fn stream(mut output: Output) -> Result<u64> {
    let mut dropped = 0;
    while let Some(piece) = output.next().await? {
        match piece {
            ClientPiece::Dropped { from, to } => dropped += to - from,
            ClientPiece::Bytes { stream, bytes, .. } => {
                let written = tokio::task::spawn_blocking(move || match stream {
                    OutputStream::Stdout => write_all(rustix::stdio::stdout(), &bytes),
                    OutputStream::Stderr => write_all(rustix::stdio::stderr(), &bytes),
                });
                written.await.map_err(io::Error::other)?.context("cannot write the output")?;
            }
        }
    }
    Ok(dropped)
}
