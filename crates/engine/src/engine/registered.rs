//! A runtime with sessions is registered in its store, so that the next Windlass finds their processes however this one
//! ends.

use std::sync::Arc;

use super::Inner;

impl Inner {
    /// Registers this runtime before its first session; before each later one, checks that the file still exists.
    /// Returns why it is not registered, if so.
    pub(super) fn register(&self) -> Option<String> {
        let registration = self.registration.as_ref()?;
        let error = registration.ensure().err()?;
        self.runtime.spawn(Arc::clone(registration).retry());
        let path = registration.path().display();
        Some(format!(
            "writing {path}: {error}; if this windlass and its guardian are killed together, what its sessions started lives on"
        ))
    }

    /// No process of this runtime is left: removes the registration.
    pub(super) fn unregister(&self) {
        self.registration.iter().for_each(|registration| registration.remove());
    }
}
