//! Where a model is reached: the address, the key, and what is particular about the one who serves it.
//!
//! Nothing here reads the environment; whoever makes a [`Provider`] did, and may say from which variable the key came.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use zeroize::Zeroizing;

use crate::proxy::Proxy;

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a model may think without a byte.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// Somebody who serves models.
#[derive(Clone, Debug)]
pub struct Provider {
    /// What people call it; stands in messages.
    pub name: String,
    /// The address that the wire's paths are appended to, such as `https://api.openai.com/v1`.
    pub base_url: String,
    /// What lets us in.
    pub key: Option<Key>,
    /// Where the key comes from, usually the name of an environment variable; stands in messages about the key.
    pub key_source: Option<String>,
    /// How requests and answers are written.
    pub wire: WireKind,
    /// Sent with every request; they replace ours of the same name.
    pub headers: Vec<(String, Key)>,
    /// Appended to every address.
    pub query: Vec<(String, Key)>,
    /// The longest silence between two bytes of an answer, and before its first.
    pub idle_timeout: Duration,
    /// The longest a connection may take to be made, encryption included.
    pub connect_timeout: Duration,
    /// The way out, where there is no direct one.
    pub proxy: Option<Proxy>,
    /// The certificates that are trusted.
    pub certificates: Certificates,
    /// Certificates, as PEM, that are trusted beside those.
    pub extra_roots: Option<String>,
    /// Who says the instructions on the chat wire.
    pub instructions_role: InstructionsRole,
    /// Under which name thoughts go back on the chat wire.
    pub thoughts: ThoughtField,
    /// Whether it searches the web by itself when offered to.
    pub has_web_search: bool,
}

impl Provider {
    /// One without a key, with what most have for the rest.
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

/// How requests and answers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireKind {
    /// `POST /responses`: items in, items out.
    Responses,
    /// `POST /chat/completions`: messages in, pieces of one message out.
    Chat,
}

/// What developer messages are called on the chat wire. The Responses wire sends items as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionsRole {
    /// `system`, which nearly everybody understands.
    System,
    /// `developer`, which some insist on.
    Developer,
}

/// The field of an assistant's message in which its thoughts go back to a provider of the chat wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThoughtField {
    /// `reasoning`.
    Reasoning,
    /// `reasoning_content`.
    ReasoningContent,
    /// They are not sent back.
    LeftOut,
}

/// The files that hold the trusted certificates, where they are named; those of the machine otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificates {
    /// A file of certificates as PEM.
    pub file: Option<PathBuf>,
    /// Directories with such files.
    pub directories: Vec<PathBuf>,
}

impl Certificates {
    /// Whether any were named.
    pub(crate) fn are_named(&self) -> bool {
        self.file.is_some() || !self.directories.is_empty()
    }
}

/// A secret. Only the provider it is for sees it, and it is wiped from memory when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Zeroizing<String>);

impl Key {
    /// The key with this text; blanks around it, as a file or a variable may have, are not part of it.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self(Zeroizing::new(text.as_ref().trim().to_owned()))
    }

    /// The secret itself, for the one it is for.
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

/// The port behind a host. `Authority::port` does not tell a missing one from one that is too large.
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
