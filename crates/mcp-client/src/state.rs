//! The state of a server at one moment, for people and for the check of required servers.

/// A server and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerState {
    /// Its name.
    pub name: String,
    /// Whether its absence is an error.
    pub required: bool,
    /// Its state.
    pub standing: Standing,
    /// Violations that were tolerated, newest last.
    pub notes: Vec<String>,
}

/// The states of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is disabled.
    Off,
    /// It is being started or reached.
    Starting,
    /// It accepts calls.
    Up(Greeting),
    /// It could not be started or reached, or has ended. A call restarts it.
    Down {
        /// The reason.
        reason: String,
    },
}

/// The server's description of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Greeting {
    /// Its name and version.
    pub software: String,
    /// The agreed revision of the protocol.
    pub protocol: String,
    /// Its instructions for models.
    pub instructions: Option<String>,
    /// How many of its tools are offered.
    pub tools: usize,
    /// Whether it has resources.
    pub has_resources: bool,
}
