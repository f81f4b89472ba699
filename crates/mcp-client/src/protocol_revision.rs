//! The revision of the protocol, and the two modes that follow from it: sessions that begin with a handshake, and
//! stateless requests that each carry everything.

use serde_json::{Map, Value, json};

/// The newest revision with a handshake, which we request.
pub(crate) const GREETED: &str = "2025-11-25";

/// The first revision without a handshake.
pub(crate) const STATELESS: &str = "2026-07-28";

/// The agreed revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// A handshake was exchanged, and holds for the connection.
    Greeted(String),
    /// Each request carries its whole context.
    Stateless {
        /// The revision.
        version: String,
        /// The capabilities that each request declares.
        capabilities: Value,
    },
}

impl Era {
    /// The mode for the revision of this name. Revisions are dates, and so compare as text.
    pub(crate) fn of(version: &str, capabilities: Value) -> Self {
        let is_date = version.len() == STATELESS.len() && version.starts_with("20");
        if is_date && version >= STATELESS {
            Self::Stateless { version: version.to_owned(), capabilities }
        } else {
            Self::Greeted(version.to_owned())
        }
    }

    /// The revision's name.
    pub(crate) fn version(&self) -> &str {
        match self {
            Self::Greeted(version) | Self::Stateless { version, .. } => version,
        }
    }

    /// Whether each request carries its whole context.
    pub(crate) fn is_stateless(&self) -> bool {
        matches!(self, Self::Stateless { .. })
    }

    /// Adds the fields that the revision demands to the parameters of a request.
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

/// The name and version of this client.
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
