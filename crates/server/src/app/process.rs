//! One process of a connection: its session, what the client calls it, and what it may be asked.

use windlass_engine::Session;

use super::input::Input;

/// A process that was started for a client.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) session: Session,
    /// What the client calls it, if it wants to.
    pub(super) name: Option<Name>,
    /// Its input, if the client may write to it.
    pub(super) input: Option<Input>,
}

/// What a client calls a process. The two kinds do not know each other's names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Name {
    /// A `processId` of `command/exec`.
    Command(String),
    /// A `processHandle` of `process/spawn`.
    Process(String),
}

impl Name {
    /// The name as clients see it in messages: a JSON string.
    pub(super) fn quoted(&self) -> String {
        let (Self::Command(name) | Self::Process(name)) = self;
        serde_json::Value::from(name.as_str()).to_string()
    }
}

impl Process {
    /// Whether it has ended and left something running.
    pub(super) fn has_left_something(&self) -> bool {
        self.session.receipt().is_some_and(|receipt| !receipt.left_running.is_empty())
    }
}
