//! The ends of windlass: its exit codes, and the messages when it failed itself.

use std::process::ExitCode;

use anyhow::Error;
use windlass_engine::{ListSessions, LoadRecord, StartError};
use windlass_server::client::ClientError;
use windlass_server::listen::BindError;
use windlass_server::mcp::ListenError;

use crate::sessions::Unknown;

/// The exit code of windlass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit(u8);

impl Exit {
    /// Success.
    pub(crate) const SUCCESS: Self = Self(0);
    /// Windlass itself failed.
    pub(crate) const FAILED: Self = Self(1);
    /// The rules require approval by a person.
    pub(crate) const ASK: Self = Self(3);
    /// The rules forbid the command.
    pub(crate) const FORBIDDEN: Self = Self(4);
    /// The agent's answer does not fit the requested schema.
    pub(crate) const UNFIT_ANSWER: Self = Self(5);
    /// The command line is invalid.
    const USAGE: Self = Self(2);
    /// Windlass failed to run the command, or to pass on its output, for a reason that is not the command's.
    pub(crate) const CANNOT_RUN: Self = Self(125);
    /// The program exists, but cannot be executed.
    const CANNOT_EXECUTE: Self = Self(126);
    /// The program does not exist.
    const NOT_FOUND: Self = Self(127);
    /// The reader of the output has gone.
    pub(crate) const READER_GONE: Self = Self(141);

    /// A command's own code; the kernel also keeps only these eight bits of it.
    pub(crate) fn of_command(code: i32) -> Self {
        Self(u8::try_from(code & 0xff).unwrap_or(u8::MAX))
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.0)
    }
}

/// The command line can be parsed, but its options cannot be combined.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// A session cannot be detached, because it could not be recorded and so not be read later.
#[derive(Debug)]
pub(crate) struct Unremembered(pub(crate) String);

impl std::fmt::Display for Unremembered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a detached session needs a state directory: {}", self.0)
    }
}

impl std::error::Error for Unremembered {}

/// Prints the error and its remedy. The code is `otherwise` if the error has no code of its own.
pub(crate) fn explain(error: &Error, otherwise: Exit) -> Exit {
    if crate::printing::is_reader_gone(error) {
        return Exit::READER_GONE;
    }
    crate::printing::say!("windlass: {}", message(error));
    if let Some(hint) = hint(error).map(str::to_owned).or_else(|| remedy(error)) {
        crate::printing::say!("  hint: {hint}");
    }
    exit(error).unwrap_or(otherwise)
}

/// The remedy for a file of the state directory, which depends on that file.
fn remedy(error: &Error) -> Option<String> {
    let of_record = error.downcast_ref::<LoadRecord>().and_then(LoadRecord::remedy);
    of_record.or_else(|| error.downcast_ref::<ListSessions>()?.remedy())
}

/// The same for an invalid command line. Help and version are replies, not errors.
pub(crate) fn explain_usage(error: &clap::Error) -> Exit {
    if !error.use_stderr() {
        return match crate::printing::print(error.render().to_string()) {
            Ok(()) => Exit::SUCCESS,
            Err(_) => Exit::READER_GONE,
        };
    }
    let text = error.render().to_string();
    match text.strip_prefix("error: ") {
        Some(complaint) => crate::printing::print_to_stderr("windlass: ", complaint),
        None => crate::printing::print_to_stderr(&text, ""),
    }
    Exit::USAGE
}

/// The chain of causes, without those whose text the level above contains.
fn message(error: &Error) -> String {
    let mut message = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if message.ends_with(&cause) {
            continue;
        }
        if !message.is_empty() {
            message.push_str(": ");
        }
        message.push_str(&cause);
    }
    message
}

fn exit(error: &Error) -> Option<Exit> {
    if error.is::<Usage>() {
        return Some(Exit::USAGE);
    }
    if error.is::<Unremembered>() {
        return Some(Exit::CANNOT_RUN);
    }
    if let Some(error) = error.downcast_ref::<ClientError>() {
        return Some(exit_of_client(error));
    }
    error.downcast_ref::<StartError>().map(|error| match error {
        StartError::ProgramNotFound { .. } => Exit::NOT_FOUND,
        StartError::CannotExecute { .. } | StartError::DeniedProgram { .. } => Exit::CANNOT_EXECUTE,
        _ => Exit::CANNOT_RUN,
    })
}

/// A server passes on the system's error, which leads to the same code as a local one.
fn exit_of_client(error: &ClientError) -> Exit {
    match error {
        ClientError::Refused(refusal) if refusal.message.ends_with("(os error 2)") => Exit::NOT_FOUND,
        ClientError::Refused(refusal) if refusal.message.ends_with("(os error 13)") => Exit::CANNOT_EXECUTE,
        _ => Exit::CANNOT_RUN,
    }
}

/// The remedy for a server that other machines can reach and that does not encrypt.
const ENCRYPT: &str = "give a certificate with --tls-cert FILE and --tls-key FILE (and listen on wss:// where there is a \
                       scheme), or say --insecure-plaintext if a proxy or a tunnel in front of it encrypts";

fn hint(error: &Error) -> Option<&'static str> {
    if error.is::<Unknown>() {
        return Some("`windlass ps --all` lists every session that is still remembered");
    }
    match error.downcast_ref() {
        Some(ListenError::NotLoopback { .. }) => {
            return Some(
                "use 127.0.0.1, or say --allow-remote with --tls-cert and --tls-key if other machines are meant to \
                 reach it",
            );
        }
        Some(ListenError::Unencrypted { .. }) => return Some(ENCRYPT),
        _ => {}
    }
    match error.downcast_ref() {
        Some(BindError::NotLoopback { .. }) => {
            return Some(
                "use 127.0.0.1, or say --allow-remote, with a token and wss://, if other machines are meant to reach it",
            );
        }
        Some(BindError::OpenLoopback { .. }) => {
            return Some(
                "ask for a token with --ws-token-file, listen on unix://PATH, which only you can open, or say \
                 --insecure-loopback for a client that cannot send a token",
            );
        }
        Some(BindError::Unencrypted { .. }) => return Some(ENCRYPT),
        Some(BindError::NoCertificate) => return Some("give one with --tls-cert FILE and --tls-key FILE"),
        Some(BindError::OpenToAll { .. }) => return Some("ask for a token with --ws-token-file"),
        _ => {}
    }
    match error.downcast_ref() {
        Some(ClientError::Unreachable { .. }) => {
            return Some("`windlass app-server --listen URL` must be running there");
        }
        Some(ClientError::Certificate { .. }) => {
            return Some(
                "name the server's own certificate, or its authority's, with --server-ca FILE or in SSL_CERT_FILE",
            );
        }
        Some(ClientError::Token { .. }) => return Some("give it with --token-file, or in WINDLASS_TOKEN"),
        _ => {}
    }
    if error.is::<Unremembered>() {
        return Some("WINDLASS_STATE_DIR must name a directory that can be written");
    }
    match error.downcast_ref::<StartError>()? {
        StartError::ProgramNotFound { .. } => Some(
            "check the spelling; what only a shell knows goes into one string: windlass run 'cd x && ls'",
        ),
        StartError::CannotExecute { .. } => {
            Some("`chmod +x` it, or name its interpreter: windlass run -- sh FILE")
        }
        StartError::DeniedProgram { .. } => {
            Some("let the rule that denies it spare the program, or run another one")
        }
        StartError::Directory { .. } => Some("--cwd must name a directory that exists"),
        StartError::OutOfTerminals => Some("without --tty the command gets pipes instead"),
        StartError::OutOfFiles => Some("raise the limit with `ulimit -n`"),
        StartError::OutOfProcesses => Some("raise the limit with `ulimit -u`, or end something"),
        StartError::NameTaken { .. } => {
            Some("choose another --name, or end that session with `windlass stop`")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn a_cause_that_was_already_told_is_not_repeated() {
        let inner = std::io::Error::other("disk full");
        let error = Error::new(inner).context("writing x: disk full").context("saving");
        assert_eq!(message(&error), "saving: writing x: disk full");
        let error = Err::<(), _>(std::io::Error::other("disk full")).context("writing x").unwrap_err();
        assert_eq!(message(&error), "writing x: disk full");
    }

    #[test]
    fn codes_keep_eight_bits() {
        assert_eq!(Exit::of_command(143), Exit(143));
        assert_eq!(Exit::of_command(256), Exit(0));
        assert_eq!(Exit::of_command(-1), Exit(255));
    }
}
