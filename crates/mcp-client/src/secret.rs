//! Secret values, which only the server to which they belong may see.

use std::fmt;

use zeroize::Zeroizing;

/// A value that no message and no debug output shows, and that is wiped from memory when it is dropped.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Wraps the value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(Zeroizing::new(value.into()))
    }

    /// The value. Only the code that sends it may call this.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use windlass_testkit::memory::MaskedText;

    use super::*;

    const TEXT: MaskedText<64> =
        MaskedText::new(b"the bearer token of a server of tools, long enough to be found!!");

    #[test]
    fn a_secret_is_wiped_from_memory_when_it_is_dropped() {
        let secret = Secret::new(TEXT.reveal());
        assert!(TEXT.is_in_memory());
        drop(secret);
        assert!(!TEXT.is_in_memory());
    }
}
