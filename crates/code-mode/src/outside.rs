//! What a script can do outside of its engine, as one trait: here it is done directly, and from another process over a channel.

use std::cell::RefCell;
use std::sync::Arc;

use crate::engine::Calls;
use crate::host::{Host, ToolInfo};
use crate::outcome::OutputItem;
use crate::storage::Storage;
use crate::transcript::{Overflow, Transcript};

/// Everything that a script reaches. Used by the engine's thread alone.
pub(crate) trait Outside {
    /// The tools that it may call.
    fn tools(&self) -> Vec<ToolInfo>;
    /// Begins to call one of them, by its place in the list, and gives the call's number; or says why not.
    fn begin_call(&self, tool: usize, payload: String) -> Result<u32, String>;
    /// A call was answered.
    fn finish_call(&self, number: u32);
    /// Says something to whoever waits for the script.
    fn say(&self, item: OutputItem) -> Result<(), Overflow>;
    /// Has whoever waits answered now.
    fn yield_control(&self);
    /// Tells the model something.
    fn notify(&self, text: &str);
    /// Keeps a value for later scripts, or says why not.
    fn store(&self, key: String, json: String) -> Result<(), String>;
    /// Forgets a value.
    fn forget(&self, key: &str);
    /// A value that was kept.
    fn load(&self, key: &str) -> Option<String>;
}

/// The same process does it.
pub(crate) struct Direct {
    pub(crate) host: Arc<dyn Host>,
    pub(crate) calls: RefCell<Calls>,
    pub(crate) storage: Arc<Storage>,
    pub(crate) transcript: Arc<Transcript>,
}

impl Outside for Direct {
    fn tools(&self) -> Vec<ToolInfo> {
        self.calls.borrow().tools().to_vec()
    }

    fn begin_call(&self, tool: usize, payload: String) -> Result<u32, String> {
        let begun = self.calls.borrow_mut().begin(tool, payload);
        begun.map(|number| number.0).map_err(|fault| fault.to_string())
    }

    fn finish_call(&self, number: u32) {
        self.calls.borrow_mut().finish(crate::engine::CallNumber(number));
    }

    fn say(&self, item: OutputItem) -> Result<(), Overflow> {
        self.transcript.say(item)
    }

    fn yield_control(&self) {
        self.transcript.hand_over();
    }

    fn notify(&self, text: &str) {
        self.host.notify(text);
    }

    fn store(&self, key: String, json: String) -> Result<(), String> {
        self.storage.put(key, json).map_err(|fault| fault.to_string())
    }

    fn forget(&self, key: &str) {
        self.storage.remove(key);
    }

    fn load(&self, key: &str) -> Option<String> {
        self.storage.get(key)
    }
}
