//! How long a session may live: named by the caller that starts it, never inferred.

use std::fmt;

/// The rule for when a session ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lifetime {
    /// The call that started it: when the caller goes away, so does the session.
    Call,
    /// The runtime that started it.
    #[default]
    Runtime,
    /// Stopped by request only: it stays when the runtime goes away.
    Detached,
}

impl Lifetime {
    /// Every lifetime, for callers that list or parse them.
    pub const ALL: [Self; 3] = [Self::Call, Self::Runtime, Self::Detached];

    /// Its name, as people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Runtime => "runtime",
            Self::Detached => "detached",
        }
    }

    /// The lifetime of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|lifetime| lifetime.name() == name)
    }
}

impl fmt::Display for Lifetime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
