//! The interface between a script and the world outside of its engine, as one trait: [`Direct`] does the work in this
//! process, another implementation sends it over a channel to the parent process.

use std::cell::RefCell;
use std::sync::Arc;

use crate::engine::Calls;
use crate::host::{Host, ToolInfo};
use crate::outcome::OutputItem;
use crate::storage::Storage;
use crate::transcript::{Overflow, Transcript};

/// Everything that a script can reach. Used by the engine's thread alone.
pub(crate) trait Outside {
    /// The tools that the script may call.
    fn tools(&self) -> Vec<ToolInfo>;
    /// Begins a call of a tool, by its index in the list, and returns the call's number, or why the call cannot begin.
    fn begin_call(&self, tool: usize, payload: String) -> Result<u32, String>;
    /// Removes a call that was answered.
    fn finish_call(&self, number: u32);
    /// Adds output for the caller that waits for the script.
    fn say(&self, item: OutputItem) -> Result<(), Overflow>;
    /// Gives the waiting caller a reply now, while the script continues.
    fn yield_control(&self);
    /// Sends a notice to the model.
    fn notify(&self, text: &str);
    /// Keeps a value for later scripts, or returns why it cannot.
    fn store(&self, key: String, json: String) -> Result<(), String>;
    /// Removes a value.
    fn forget(&self, key: &str);
    /// A stored value.
    fn load(&self, key: &str) -> Option<String>;
}

/// The implementation in the same process.
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
