//! Sessions of other windlasses in the same state directory, for a server that shares them.

use std::sync::Arc;

use windlass_engine::{SessionRecord, Store};
use windlass_sys::process::Pid;
use windlass_tools::OtherRuntimes;

use crate::commands::stop;
use crate::sessions::State;

/// Every windlass but this one.
pub(crate) struct OtherWindlasses {
    store: Store,
}

impl OtherWindlasses {
    /// Those that write to this store.
    pub(crate) fn sharing(store: Store) -> Arc<dyn OtherRuntimes> {
        Arc::new(Self { store })
    }
}

impl OtherRuntimes for OtherWindlasses {
    fn running(&self, record: &SessionRecord) -> Option<&'static str> {
        let is_own = record.start.runtime.pid == Pid::of_this_process().get();
        let state = State::of(record);
        (state.is_live() && !is_own).then(|| state.word())
    }

    fn stop(&self, record: &SessionRecord) -> Result<SessionRecord, String> {
        let (id, runtime) = (record.start.id, record.start.runtime.pid);
        // A session ends by ending its runtime. That of a server serves others, who would lose it.
        if State::of(record) == State::Running && !runs_one_command(Pid::new(runtime)) {
            return Err(format!(
                "session {id} belongs to a server (process {runtime}), which would end with it; its own client can stop it, \
                 or a person with `windlass stop {id}`"
            ));
        }
        stop::end(record.clone(), &self.store).map_err(|error| format!("{error:#}"))
    }
}

/// Whether a windlass was started for one command alone.
fn runs_one_command(runtime: Pid) -> bool {
    let words = std::fs::read(format!("/proc/{runtime}/cmdline")).unwrap_or_default();
    let verb = words.split(|byte| *byte == 0).nth(1);
    matches!(verb, Some(b"run" | b"keep" | b"keeper"))
}
