//! Commands that outlive the call that started them. The end of each is reported once, when it comes.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use windlass_tools::Toolbox;

use crate::event::{CommandNote, CommandOutcome, EventKind, Reporter};

/// The commands of one agent that still run.
pub(crate) struct Commands {
    toolbox: Toolbox,
    report: Reporter,
    running: Mutex<BTreeMap<String, CommandNote>>,
}

impl Commands {
    pub(crate) fn new(toolbox: Toolbox, report: Reporter) -> Self {
        Self { toolbox, report, running: Mutex::default() }
    }

    /// Registers a command that goes on in this session.
    pub(crate) async fn goes_on(&self, session: String, note: CommandNote) {
        self.lock().insert(session.clone(), note);
        // It may have ended before it was registered.
        if self.toolbox.exit_code(&session).is_some() {
            self.ended(&session).await;
        }
    }

    /// Reports the end of a session if it is one of these commands.
    pub(crate) async fn ended(&self, session: &str) {
        let note = self.lock().remove(session);
        if let Some(note) = note {
            let outcome =
                self.toolbox.exit_code(session).map_or(CommandOutcome::Ended, CommandOutcome::Exited);
            self.tell(session, note, outcome).await;
        }
    }

    /// Checks all commands, because notifications of ends may have been missed.
    pub(crate) async fn look_again(&self) {
        let sessions: Vec<String> = self.lock().keys().cloned().collect();
        for session in sessions {
            if self.toolbox.exit_code(&session).is_some() {
                self.ended(&session).await;
            }
        }
    }

    /// Reports all commands as ended, because they end with the agent.
    pub(crate) async fn all_ended(&self) {
        let running = std::mem::take(&mut *self.lock());
        for (session, note) in running {
            let outcome =
                self.toolbox.exit_code(&session).map_or(CommandOutcome::Ended, CommandOutcome::Exited);
            self.tell(&session, note, outcome).await;
        }
    }

    async fn tell(&self, session: &str, command: CommandNote, outcome: CommandOutcome) {
        let output = self.toolbox.transcript(session).unwrap_or_default();
        self.report.tell(EventKind::CommandEnded { command, outcome, output }).await;
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, CommandNote>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
