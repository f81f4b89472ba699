//! Gives a server that shares sessions access to those of other windlasses in the same state directory.

use std::sync::Arc;

use windlass_engine::{SessionRecord, Store};
use windlass_tools::OtherRuntimes;

use crate::commands::stop;
use crate::sessions::State;

/// All runtimes of the store but this one.
pub(crate) struct OtherWindlasses {
    store: Store,
}

impl OtherWindlasses {
    /// The runtimes that write to this store.
    pub(crate) fn sharing(store: Store) -> Arc<dyn OtherRuntimes> {
        Arc::new(Self { store })
    }
}

impl OtherRuntimes for OtherWindlasses {
    fn running(&self, record: &SessionRecord) -> Option<&'static str> {
        let is_own = record.start.runtime.is_this_process();
        let state = State::of(record);
        (state.is_live() && !is_own).then(|| state.word())
    }

    fn stop(&self, record: &SessionRecord) -> Result<SessionRecord, String> {
        stop::end(record.clone(), &self.store).map_err(|error| format!("{error:#}"))
    }
}
