//! Where a model is reached: the address, the key, and what is particular about the one who serves it.
//!
//! Nothing here reads the environment; whoever makes a [`Provider`] did, and may say from which variable the key came.

use std::fmt;
use std::time::Duration;

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
    pub headers: Vec<(String, String)>,
    /// Appended to every address.
    pub query: Vec<(String, String)>,
    /// The longest silence between two bytes of an answer, and before its first.
    pub idle_timeout: Duration,
    /// The longest a connection may take to be made, encryption included.
    pub connect_timeout: Duration,
    /// The way out, where there is no direct one.
    pub proxy: Option<Proxy>,
    /// Certificates, as PEM, that are trusted beside those of the machine.
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

/// A secret. It is shown to nobody but the one it is for.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// The key with this text; blanks around it, as a file or a variable may have, are not part of it.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self(text.as_ref().trim().to_owned())
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

/// A proxy that speaks HTTP: it is asked to connect for encrypted addresses, and to forward for plain ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// `user:password`, where it asks for them.
    pub credentials: Option<Key>,
}

/// An address that is no proxy's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadProxy {
    /// It cannot be read.
    #[error("the proxy's address is not one; it looks like http://host:port")]
    Unreadable,
    /// It is of another kind.
    #[error("proxies of the kind {scheme}:// are not supported; it must be http://")]
    Unsupported {
        /// The kind.
        scheme: String,
    },
}

impl Proxy {
    /// The port where an address names none.
    const DEFAULT_PORT: u16 = 80;

    /// The proxy at `http://[user:password@]host[:port]`; `http://` may be left out.
    pub fn parse(address: &str) -> Result<Self, BadProxy> {
        let rest = match address.trim().split_once("://") {
            Some(("http", rest)) => rest,
            Some((scheme, _)) => return Err(BadProxy::Unsupported { scheme: scheme.to_owned() }),
            None => address.trim(),
        };
        let rest = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (credentials, place) = match rest.rsplit_once('@') {
            Some((credentials, place)) => (Some(Key::new(decoded(credentials))), place),
            None => (None, rest),
        };
        let authority: http::uri::Authority = place.parse().map_err(|_| BadProxy::Unreadable)?;
        let port = port_of(&authority, Self::DEFAULT_PORT).ok_or(BadProxy::Unreadable)?;
        Ok(Self { host: authority.host().to_owned(), port, credentials })
    }
}

/// The port behind a host. `Authority::port` does not tell a missing one from one that is too large.
pub(crate) fn port_of(authority: &http::uri::Authority, default: u16) -> Option<u16> {
    match authority.as_str().strip_prefix(authority.host())? {
        "" => Some(default),
        port => port.strip_prefix(':')?.parse().ok(),
    }
}

/// A text with its `%XX` undone, as far as they make text.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = (first == b'%').then(|| after.get(..2)).flatten();
        let value = escaped.and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(value.unwrap_or(first));
        rest = if value.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let mut provider = Provider::at("somebody", "http://localhost/v1", WireKind::Chat);
        provider.key = Some(Key::new(" sk-secret\n"));
        let shown = format!("{provider:?} {:?} {}", Key::new("sk-secret"), Key::new("sk-secret"));
        assert!(!shown.contains("sk-secret"), "{shown}");
        assert_eq!(provider.key.unwrap().reveal(), "sk-secret");
    }

    #[test]
    fn proxies_are_read_with_their_credentials() {
        let check = |address: &str, expected: Result<(&str, u16, Option<&str>), BadProxy>| {
            let read = Proxy::parse(address);
            let seen = read
                .as_ref()
                .map(|proxy| (proxy.host.as_str(), proxy.port, proxy.credentials.as_ref().map(Key::reveal)));
            assert_eq!(seen.map_err(Clone::clone), expected, "{address}");
        };
        check("http://proxy:3128", Ok(("proxy", 3128, None)));
        check("http://proxy/", Ok(("proxy", 80, None)));
        check(" 10.0.0.1:8080 ", Ok(("10.0.0.1", 8080, None)));
        check("http://me:p%40ss%zz@proxy:1/", Ok(("proxy", 1, Some("me:p@ss%zz"))));
        check("http://[::1]:9", Ok(("[::1]", 9, None)));
        check("http://", Err(BadProxy::Unreadable));
        check("http://host:99999", Err(BadProxy::Unreadable));
        check("socks5://host:1", Err(BadProxy::Unsupported { scheme: "socks5".to_owned() }));
    }
}
