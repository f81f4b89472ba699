//! A process on the server: the parameters of its start, and the handle that controls it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use windlass_protocol::app::{
    AbsolutePath, Done, Method, ProcessExited, ProcessKillParams, ProcessResizePtyParams, ProcessSpawnParams,
    ProcessWriteStdinParams, Receipt, SessionExit, SessionReadParams, SessionReadResult, SessionSignalParams,
    SessionTarget, SessionWaitParams, SessionWaitResult, SpanChoice, TerminalSize, WaitUntil,
};

use super::Client;
use super::error::ClientError;
use super::queue::{Fate, Queue, Slowness};

/// The most input in one message: servers limit the length of a message.
const WRITE_STEP: usize = 1 << 20;

/// The parameters of a start.
#[derive(Clone, Debug)]
pub struct Start {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The working directory, on the server's machine.
    pub directory: AbsolutePath,
    /// Changes to the server's environment; `None` removes a variable.
    pub environment: HashMap<String, Option<String>>,
    /// Its input and output.
    pub io: Io,
    /// The timeout; `None` for no limit.
    pub timeout: Option<Duration>,
    /// The handling of output that comes faster than the consumer takes it.
    pub slowness: Slowness,
}

/// The input and output of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// Pipes, with stdin at its end.
    NoInput,
    /// Pipes.
    Pipes,
    /// A terminal.
    Terminal(TerminalSize),
}

impl Start {
    /// This command in this directory, without input or timeout.
    pub fn new(command: impl IntoIterator<Item = impl Into<String>>, directory: AbsolutePath) -> Self {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            directory,
            environment: HashMap::new(),
            io: Io::NoInput,
            timeout: None,
            slowness: Slowness::default(),
        }
    }

    pub(super) fn params(self, handle: String) -> ProcessSpawnParams {
        let size = match self.io {
            Io::Terminal(size) => Some(size),
            Io::NoInput | Io::Pipes => None,
        };
        let milliseconds = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        ProcessSpawnParams {
            command: self.command,
            process_handle: handle,
            cwd: self.directory,
            tty: size.is_some(),
            stream_stdin: self.io != Io::NoInput,
            stream_stdout_stderr: true,
            output_bytes_cap: Some(None),
            timeout_ms: Some(self.timeout.map(milliseconds)),
            env: (!self.environment.is_empty()).then_some(self.environment),
            size,
        }
    }
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The exit code; 128 plus the number of the signal that ended it; 124 after a timeout; -1 when it is not known.
    pub code: i32,
    /// The signal that ended it, if the server reports it.
    pub signal: Option<i32>,
    /// Whether it was ended by its timeout.
    pub timed_out: bool,
    /// Whether a process that it had started still held its output open when the server gave up waiting for the end of
    /// output.
    pub drain_timed_out: bool,
    /// The receipt, if the server sends one.
    pub receipt: Option<Receipt>,
}

impl From<ProcessExited> for Exit {
    fn from(exited: ProcessExited) -> Self {
        Self {
            code: exited.exit_code,
            signal: exited.signal,
            timed_out: exited.timed_out,
            drain_timed_out: exited.output_drain_timed_out,
            receipt: exited.receipt,
        }
    }
}

impl From<SessionExit> for Exit {
    fn from(exit: SessionExit) -> Self {
        Self {
            code: exit.exit_code,
            signal: exit.signal,
            timed_out: exit.timed_out,
            drain_timed_out: exit.drain_timed_out,
            receipt: Some(exit.receipt),
        }
    }
}

/// A process on the server. Cheap to clone; dropping it leaves the process alone.
#[derive(Clone)]
pub struct Process {
    pub(super) client: Client,
    pub(super) handle: String,
    pub(super) session: Option<u64>,
    pub(super) pid: Option<u32>,
    pub(super) queue: Arc<Queue>,
}

impl Process {
    /// The number of its session, if the server keeps sessions.
    pub fn session_id(&self) -> Option<u64> {
        self.session
    }

    /// Its process id on the server's machine, if the server reports it.
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// Writes to its input. Returns when the input is in the process's queue, so a caller that awaits each write is as
    /// fast as the process.
    ///
    /// # Errors
    ///
    /// When it has ended, its input was closed, or it was started without any.
    pub async fn write(&self, bytes: &[u8]) -> Result<(), ClientError> {
        for step in bytes.chunks(WRITE_STEP) {
            let params = ProcessWriteStdinParams {
                process_handle: self.handle.clone(),
                delta_base64: Some(STANDARD.encode(step)),
                close_stdin: false,
            };
            let Done {} = self.client.call(Method::ProcessWriteStdin, &params).await?;
        }
        Ok(())
    }

    /// Ends its input.
    ///
    /// # Errors
    ///
    /// As [`Process::write`]; also when a terminal is in raw mode, in which there is no end of input.
    pub async fn close_stdin(&self) -> Result<(), ClientError> {
        let params = ProcessWriteStdinParams {
            process_handle: self.handle.clone(),
            delta_base64: None,
            close_stdin: true,
        };
        self.client.call(Method::ProcessWriteStdin, &params).await.map(|Done {}| ())
    }

    /// Resizes its terminal.
    ///
    /// # Errors
    ///
    /// When it has ended or has no terminal.
    pub async fn resize(&self, size: TerminalSize) -> Result<(), ClientError> {
        let params = ProcessResizePtyParams { process_handle: self.handle.clone(), size };
        self.client.call(Method::ProcessResizePty, &params).await.map(|Done {}| ())
    }

    /// Ends it with everything it started, and waits for the end.
    ///
    /// # Errors
    ///
    /// When the connection is lost meanwhile.
    pub async fn stop(&self) -> Result<Arc<Exit>, ClientError> {
        let params = ProcessKillParams { process_handle: self.handle.clone() };
        match self.client.call(Method::ProcessKill, &params).await.map(|Done {}| ()) {
            // A refusal means that the process has ended by itself.
            Ok(()) | Err(ClientError::Refused(_)) => self.wait().await,
            Err(error) => Err(error),
        }
    }

    /// Sends a signal, such as `INT`, to its process group.
    ///
    /// # Errors
    ///
    /// When it has ended, the signal is unknown, or the server keeps no sessions.
    pub async fn signal(&self, signal: &str) -> Result<(), ClientError> {
        let params = SessionSignalParams { target: self.target()?, signal: signal.to_owned() };
        self.client.call(Method::SessionSignal, &params).await.map(|Done {}| ())
    }

    /// Waits for its end. Its output may be taken before or after; [`Slowness`] says when a consumer must take it.
    ///
    /// # Errors
    ///
    /// When the connection is lost meanwhile. After [`Client::reconnect`] it can be waited for again.
    pub async fn wait(&self) -> Result<Arc<Exit>, ClientError> {
        let mut fate = self.queue.fate();
        let settled = fate.wait_for(|fate| !matches!(fate, Fate::Running)).await;
        match settled.as_deref() {
            Ok(Fate::Exited(exit)) => Ok(Arc::clone(exit)),
            _ => Err(ClientError::Lost),
        }
    }

    /// Waits for a condition of the session, on the server.
    ///
    /// # Errors
    ///
    /// When the server keeps no sessions, or the connection is lost meanwhile.
    pub async fn wait_until(
        &self,
        until: WaitUntil,
        timeout: Option<Duration>,
    ) -> Result<SessionWaitResult, ClientError> {
        let timeout_ms = timeout.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        self.client
            .call(Method::SessionWait, &SessionWaitParams { target: self.target()?, until, timeout_ms })
            .await
    }

    /// Reads its output between two offsets, also after its end.
    ///
    /// # Errors
    ///
    /// When the server keeps no sessions, or not this one any more.
    pub async fn read(&self, span: SpanChoice) -> Result<SessionReadResult, ClientError> {
        let target = self.target()?;
        let read = SessionReadParams { target, span: Some(span), ..SessionReadParams::default() };
        self.client.read(&read).await
    }

    fn target(&self) -> Result<SessionTarget, ClientError> {
        let session_id = Some(self.session.ok_or(ClientError::NoSessions)?);
        Ok(SessionTarget { session_id, ..SessionTarget::default() })
    }
}
