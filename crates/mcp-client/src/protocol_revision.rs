//! Which revision of the protocol is spoken, and which of its two ways: with a handshake that is remembered, or with
//! everything said in every request.

use serde_json::{Map, Value, json};

/// The newest revision with a handshake: what we ask for.
pub(crate) const GREETED: &str = "2025-11-25";

/// The first revision without one.
pub(crate) const STATELESS: &str = "2026-07-28";

/// What was agreed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// A handshake was exchanged, and holds.
    Greeted(String),
    /// Every request says it all.
    Stateless {
        /// The revision.
        version: String,
        /// What we can do, as every request says.
        capabilities: Value,
    },
}

impl Era {
    /// The name of this revision. Revisions are dates, and so compare as text.
    pub(crate) fn of(version: &str, capabilities: Value) -> Self {
        let is_date = version.len() == STATELESS.len() && version.starts_with("20");
        if is_date && version >= STATELESS {
            Self::Stateless { version: version.to_owned(), capabilities }
        } else {
            Self::Greeted(version.to_owned())
        }
    }

    /// The revision.
    pub(crate) fn version(&self) -> &str {
        match self {
            Self::Greeted(version) | Self::Stateless { version, .. } => version,
        }
    }

    /// Whether every request says it all.
    pub(crate) fn is_stateless(&self) -> bool {
        matches!(self, Self::Stateless { .. })
    }

    /// Adds to a request what it must say.
    pub(crate) fn dress(&self, params: &mut Map<String, Value>) {
        let Self::Stateless { version, capabilities } = self else { return };
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": client(),
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        params.insert("_meta".to_owned(), meta);
    }
}

/// Who we are.
pub(crate) fn client() -> Value {
    json!({ "name": "windlass", "title": "Windlass", "version": env!("CARGO_PKG_VERSION") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(version: &str, stateless: bool) {
        let revision = Era::of(version, json!({}));
        assert_eq!((revision.version(), revision.is_stateless()), (version, stateless));
    }

    #[test]
    fn revisions_are_told_apart_by_their_date() {
        check("2024-11-05", false);
        check("2025-03-26", false);
        check("2025-11-25", false);
        check("2026-07-28", true);
        check("2027-01-01", true);
        check("1.0", false);
        check("", false);
        check("version-10", false);
    }
}
