//! What is known of a server at one moment, for people and for whoever decides whether to go on without it.

/// A server and how it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerState {
    /// Its name.
    pub name: String,
    /// Whether nothing should be done without it.
    pub required: bool,
    /// How it stands.
    pub standing: Standing,
    /// What was odd about it and was overlooked, newest last.
    pub notes: Vec<String>,
}

/// How a server stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is configured and not used.
    Off,
    /// It is being started or reached.
    Starting,
    /// It can be called.
    Up(Greeting),
    /// It cannot be called, or ended since. A call tries it again.
    Down {
        /// Why.
        reason: String,
    },
}

/// What a server said about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Greeting {
    /// Its name and version in its own words.
    pub software: String,
    /// The revision of the protocol that is spoken.
    pub protocol: String,
    /// What a model should know about it.
    pub instructions: Option<String>,
    /// How many of its tools are offered.
    pub tools: usize,
    /// Whether it has resources.
    pub has_resources: bool,
}
