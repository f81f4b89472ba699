//! One process as its client knows it: a session of the engine, its numbered events, and its controls.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_engine::{Offset, Session};
use windlass_protocol::exec::{ListedProcess, SandboxType};

use super::control::{Controls, Input};
use super::follow;
use super::sequence::{Batch, EventRange, Sequence};
use super::sessions::ExecSession;

/// A process that an exec session knows.
pub(super) struct Process {
    id: String,
    session: Session,
    sequence: Mutex<Sequence>,
    controls: Controls,
}

impl Process {
    /// A process that was just started. Its controls work from now on; its events are sent once [`Process::begin`] was
    /// called.
    pub(super) fn new(id: String, session: Session, input: Input, exec: &ExecSession) -> Arc<Self> {
        let controls = Controls::start(session.clone(), input, exec);
        Arc::new(Self { id, session, sequence: Mutex::default(), controls })
    }

    /// Sends the process's events to the attached client, until no more can come.
    pub(super) fn begin(self: &Arc<Self>, exec: &Arc<ExecSession>) {
        exec.spawn(follow::follow(Arc::clone(self), Arc::clone(exec)));
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    /// The kind of sandbox, as the dialect names it.
    pub(super) fn sandbox_type(&self) -> SandboxType {
        match self.session.facts().sandbox {
            Some(_) => SandboxType::LinuxSeccomp,
            None => SandboxType::None,
        }
    }

    /// Whether its sandbox has denied anything.
    pub(super) fn was_denied(&self) -> bool {
        self.session.facts().sandbox.is_some() && !self.session.denials().is_empty()
    }

    /// Whether a process of it may still be running: itself, or one that it left.
    pub(super) fn may_be_alive(&self) -> bool {
        let receipt = self.session.receipt();
        receipt.is_none_or(|receipt| !receipt.left_running.is_empty() || !receipt.remaining.is_empty())
    }

    pub(super) fn controls(&self) -> &Controls {
        &self.controls
    }

    /// The event numbers so far.
    pub(super) fn sequence(&self) -> MutexGuard<'_, Sequence> {
        self.sequence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The events in a range, as far as the process has got by now.
    pub(super) fn collect(&self, wanted: EventRange) -> Batch {
        let progress = self.session.progress();
        self.sequence().collect(self.session.journal(), &progress, wanted)
    }

    /// Lets the process print on: all output before this offset has been sent.
    pub(super) async fn confirm(&self, taken: Offset) {
        self.session.confirm(taken).await;
    }

    pub(super) fn listed(&self) -> ListedProcess {
        let facts = self.session.facts();
        ListedProcess {
            process_id: self.id.clone(),
            pid: facts.root.get(),
            argv: facts.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            tty: facts.terminal.is_some(),
            exit_code: self.session.receipt().map(|receipt| receipt.exit.code()),
            next_seq: self.sequence().next(),
        }
    }
}
