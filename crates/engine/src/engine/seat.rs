//! The parts of a session that exist before its process: its number, its mark and its name.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use windlass_sys::mark::{Fate, Mark};

use super::Inner;
use crate::command::{CommandSpec, Keeping};
use crate::start::StartError;
use crate::store::{ClaimName, NameClaim, WantedName};
use crate::{Lifetime, SessionId, Store};

/// The parts of a session that exist before its process.
pub(super) struct PreparedSession {
    pub(super) id: SessionId,
    pub(super) mark: Mark,
    pub(super) store: Option<Arc<Store>>,
    pub(super) trouble: Option<String>,
    pub(super) name_claim: Option<NameClaim>,
}

impl Inner {
    pub(super) fn seat(&self, lifetime: Lifetime, keeping: Keeping) -> PreparedSession {
        let fate = if lifetime == Lifetime::Detached { Fate::Detached } else { Fate::WithRuntime };
        let mark = self.runtime_tag.mark(self.sequence.fetch_add(1, Ordering::Relaxed), fate);
        if keeping == Keeping::Memory {
            let id = SessionId::new(self.next_unlisted.fetch_add(1, Ordering::Relaxed));
            return PreparedSession { id, mark, store: None, trouble: None, name_claim: None };
        }
        let volatile = || SessionId::new(self.next_id.fetch_add(1, Ordering::Relaxed));
        match self.store.as_ref().map(|store| (store, store.claim_id())) {
            Some((store, Ok(id))) => {
                PreparedSession { id, mark, store: Some(Arc::clone(store)), trouble: None, name_claim: None }
            }
            // A store that cannot even give a number stores nothing: the session lives in memory, and its trouble notes
            // say so.
            Some((_, Err(error))) => {
                let trouble = Some(crate::with_causes(&error));
                PreparedSession { id: volatile(), mark, store: None, trouble, name_claim: None }
            }
            None => PreparedSession { id: volatile(), mark, store: None, trouble: None, name_claim: None },
        }
    }

    /// Claims the session's name among all runtimes that share the store. If that fails the session starts all the
    /// same, with a note: a full disk is no reason to refuse a command.
    pub(super) fn claim_name(
        &self,
        spec: &CommandSpec,
        seat: &mut PreparedSession,
    ) -> Result<(), StartError> {
        let (Some(name), Some(store)) = (&spec.name, &seat.store) else { return Ok(()) };
        let wanted = WantedName { name, owner: spec.owner.as_deref(), session: seat.id, runtime: self.own };
        match store.claim_name(wanted) {
            Ok(claim) => seat.name_claim = Some(claim),
            Err(ClaimName::Taken { holder }) => {
                return Err(StartError::NameTaken { name: name.clone(), holder });
            }
            Err(ClaimName::Failed { path, source }) => {
                let what = "so other sessions may get the same name";
                seat.trouble = Some(format!("cannot claim the name in {}: {source}; {what}", path.display()));
            }
        }
        Ok(())
    }
}
