//! The owners of sessions: a caller sees the sessions that it started, in this runtime or an earlier one, and no
//! others.
//!
//! All runtimes of a user share one state directory, so two MCP servers could read each other's sessions by number or
//! by name. An owner keeps clients from mistaking other clients' sessions for their own. It does not keep out a program
//! that lies about its name: any program of the same user can read the state directory itself.

use windlass_engine::SessionRecord;

use crate::toolbox::Toolbox;

/// The sessions of the state directory that a caller may see beside those of its own runtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Those of the same owner.
    #[default]
    Own,
    /// All: those of other clients, and those that people started.
    All,
}

impl Toolbox {
    /// Sets the caller's owner. The first one stays.
    pub fn set_owner(&self, owner: impl Into<String>) {
        // The first one stays: with another owner the caller could not find the sessions that it started.
        let _ = self.owner_cell().set(owner.into());
    }

    /// The same for a client that is known by its name, in the directory where its commands run.
    pub fn set_client(&self, name: &str) {
        if self.owner_cell().get().is_none() {
            self.set_owner(format!("{name}\t{}", self.directory().display()));
        }
    }

    /// The caller's owner, if it has one.
    pub(crate) fn owner(&self) -> Option<&str> {
        self.owner_cell().get().map(String::as_str)
    }

    /// Whether the caller may see a session that it did not start in this runtime.
    pub(crate) fn may_see(&self, record: &SessionRecord) -> bool {
        self.options().sharing == Sharing::All || record.start.owner.as_deref() == self.owner()
    }

    /// A hint that is the same whether or not such a session exists, so that it does not reveal it.
    pub(crate) fn hint_about_other_owners(&self) -> &'static str {
        let hides = self.options().sharing == Sharing::Own && self.owner().is_some();
        if hides && self.options().store.is_some() {
            "; sessions of other clients are not shown, unless the server runs as `windlass mcp --share`"
        } else {
            ""
        }
    }
}
