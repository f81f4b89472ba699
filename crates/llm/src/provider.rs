//! The description of a provider: its address, its key, and its particular features.
//!
//! Nothing here reads the environment: the caller that makes a [`Provider`] does, and may name the variable of the key.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use zeroize::Zeroizing;

use crate::proxy::Proxy;

/// The default time limit for making a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// The default time that a model may think without sending a byte.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// A service with models.
#[derive(Clone, Debug)]
pub struct Provider {
    /// The name that users give it; used in messages.
    pub name: String,
    /// The address that the wire's paths are appended to, such as `https://api.openai.com/v1`.
    pub base_url: String,
    /// The API key.
    pub key: Option<Key>,
    /// The source of the key, usually the name of an environment variable; used in messages about the key.
    pub key_source: Option<String>,
    /// The format of requests and responses.
    pub wire: WireKind,
    /// Headers that are sent with every request; they replace the default ones of the same name.
    pub headers: Vec<(String, Key)>,
    /// Appended to every address.
    pub query: Vec<(String, Key)>,
    /// The longest silence between two bytes of a response, and before its first.
    pub idle_timeout: Duration,
    /// The longest time for making a connection, encryption included.
    pub connect_timeout: Duration,
    /// The proxy, if there is no direct way out.
    pub proxy: Option<Proxy>,
    /// The certificates that are trusted.
    pub certificates: Certificates,
    /// PEM certificates that are trusted in addition.
    pub extra_roots: Option<String>,
    /// The role of the instructions on the chat wire.
    pub instructions_role: InstructionsRole,
    /// The field in which reasoning is sent back on the chat wire.
    pub thoughts: ThoughtField,
    /// Whether the provider can search the web by itself.
    pub has_web_search: bool,
}

impl Provider {
    /// A provider without a key and with the usual defaults.
    pub fn at(name: impl Into<String>, base_url: impl Into<String>, wire: WireKind) -> Self {
        Self {
            name: name.into(),
            base_url: base_url.into(),
            key: None,
            key_source: None,
            wire,
            headers: Vec::new(),
            query: Vec::new(),
            idle_timeout: IDLE_TIMEOUT,
            connect_timeout: CONNECT_TIMEOUT,
            proxy: None,
            certificates: Certificates::default(),
            extra_roots: None,
            instructions_role: InstructionsRole::System,
            thoughts: ThoughtField::Reasoning,
            has_web_search: false,
        }
    }
}

/// The format of requests and responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireKind {
    /// `POST /responses`: items in, items out.
    Responses,
    /// `POST /chat/completions`: messages in, pieces of one message out.
    Chat,
}

/// The role of developer messages on the chat wire. The Responses wire sends items as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionsRole {
    /// `system`, which nearly all providers understand.
    System,
    /// `developer`, which some providers require.
    Developer,
}

/// The field of an assistant message in which reasoning is sent back to a provider of the chat wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThoughtField {
    /// `reasoning`.
    Reasoning,
    /// `reasoning_content`.
    ReasoningContent,
    /// Reasoning is not sent back.
    LeftOut,
}

/// The files that hold the trusted certificates; without any, those of the machine are trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificates {
    /// A file of PEM certificates.
    pub file: Option<PathBuf>,
    /// Directories with such files.
    pub directories: Vec<PathBuf>,
}

impl Certificates {
    /// Whether any file or directory was named.
    pub(crate) fn are_named(&self) -> bool {
        self.file.is_some() || !self.directories.is_empty()
    }
}

/// A secret. It is sent only to its own provider, and is wiped from memory when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Zeroizing<String>);

impl Key {
    /// The key with this text; surrounding whitespace, as a file or a variable may have, is removed.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self(Zeroizing::new(text.as_ref().trim().to_owned()))
    }

    /// The secret itself, to be sent to its own provider only.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(hidden)")
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// The port behind a host. `Authority::port` does not distinguish a missing port from one that is too large.
pub(crate) fn port_of(authority: &http::uri::Authority, default: u16) -> Option<u16> {
    match authority.as_str().strip_prefix(authority.host())? {
        "" => Some(default),
        port => port.strip_prefix(':')?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use windlass_testkit::memory::MaskedText;

    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let mut provider = Provider::at("somebody", "http://localhost/v1", WireKind::Chat);
        provider.key = Some(Key::new(" sk-secret\n"));
        provider.headers = vec![("x-api-key".to_owned(), Key::new("sk-secret"))];
        provider.query = vec![("key".to_owned(), Key::new("sk-secret"))];
        let shown = format!("{provider:?} {:?} {}", Key::new("sk-secret"), Key::new("sk-secret"));
        assert!(!shown.contains("sk-secret"), "{shown}");
        assert_eq!(provider.key.unwrap().reveal(), "sk-secret");
    }

    const TEXT: MaskedText<64> =
        MaskedText::new(b"sk-a-key-of-a-provider-that-is-long-enough-to-be-found-012345678");

    #[test]
    fn a_key_is_wiped_from_memory_when_it_is_dropped() {
        let text = Zeroizing::new(TEXT.reveal());
        let mut provider = Provider::at("it", "http://localhost/v1", WireKind::Chat);
        provider.key = Some(Key::new(&text));
        provider.headers = vec![("x-api-key".to_owned(), Key::new(&text))];
        drop(text);
        assert!(TEXT.is_in_memory());
        drop(provider);
        assert!(!TEXT.is_in_memory());
    }
}
