//! Access control of servers on sockets: clients must show the token, and requests of web pages are rejected.
//!
//! A web page can reach the loopback address, directly or by a name that it makes point there. So the gate rejects
//! requests that say they come from a page, and requests for a name that is not this server's.

mod host;
mod signed;

use std::fmt;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, ORIGIN, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

pub(crate) use self::host::{Called, HostError, has_plain_origin};
pub use self::signed::{ShortSecret, SignedTokens};
pub use crate::caller::Report;
pub use crate::tls::{ServerTls, TlsError};

const TOKEN_BYTES: usize = 32;

/// How long a SHA-256 is.
const DIGEST_BYTES: usize = 32;

/// The credentials that a server demands.
#[derive(Clone, Debug)]
pub enum Access {
    /// This token.
    Token(Token),
    /// The token with this digest.
    Digest(TokenDigest),
    /// A token that was signed with a shared secret.
    Signed(SignedTokens),
    /// None: all callers that reach the address are served. Only for servers that can do no harm, or that no other user
    /// can reach.
    Open,
}

/// A secret that admits its bearer. Its `Debug` output does not contain it, and it is wiped from memory when it is
/// dropped.
#[derive(Clone)]
pub struct Token(Zeroizing<String>);

/// The SHA-256 of a token, from which the token cannot be recovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenDigest([u8; DIGEST_BYTES]);

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The system gives no random bytes.
    #[error("cannot make a token: the system gives no random bytes: {0}")]
    NoRandomBytes(rustix::io::Errno),
    /// The text is empty, or has characters that no header can carry.
    #[error("a token consists of visible ASCII characters, and of at least one")]
    NoToken,
    /// The text is not a digest.
    #[error("a SHA-256 is written as {} hexadecimal digits", 2 * DIGEST_BYTES)]
    NoDigest,
}

impl Token {
    /// Generates an unpredictable token.
    ///
    /// # Errors
    ///
    /// When the system has no random bytes.
    pub fn random() -> Result<Self, TokenError> {
        let mut bytes = Zeroizing::new([0; TOKEN_BYTES]);
        let mut filled = 0;
        while filled < bytes.len() {
            filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())
                .map_err(TokenError::NoRandomBytes)?;
        }
        // Allocated at its full length, so that growing leaves no partial copy of the secret in memory.
        let mut token = Zeroizing::new(String::with_capacity(2 * TOKEN_BYTES));
        for digit in bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]) {
            token.extend(char::from_digit(digit.into(), 16));
        }
        Ok(Self(token))
    }

    /// Accepts a token that was chosen elsewhere. Surrounding white space is not part of it.
    ///
    /// # Errors
    ///
    /// When no header could carry it.
    pub fn chosen(text: &str) -> Result<Self, TokenError> {
        let text = text.trim_ascii();
        let sendable = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        if sendable { Ok(Self(Zeroizing::new(text.to_owned()))) } else { Err(TokenError::NoToken) }
    }

    /// The beginning of its SHA-256: distinguishes tokens and admits no client.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        Sha256::digest(self.0.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// The token as it is sent.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether this is the token, compared in constant time.
    pub(crate) fn is(&self, offered: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(offered).into()
    }
}

impl TokenDigest {
    /// Reads hexadecimal digits.
    ///
    /// # Errors
    ///
    /// When they are not those of a SHA-256.
    pub fn from_hex(text: &str) -> Result<Self, TokenError> {
        let mut digest = [0; DIGEST_BYTES];
        let digits = text.trim_ascii().as_bytes();
        if digits.len() != 2 * DIGEST_BYTES {
            return Err(TokenError::NoDigest);
        }
        for (byte, pair) in digest.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
            let both = digit(pair[0]).zip(digit(pair[1])).ok_or(TokenError::NoDigest)?;
            *byte = both.0 << 4 | both.1;
        }
        Ok(Self(digest))
    }

    /// The digest of a token. Tables of tokens use it as their key: the time of a look-up then reveals nothing about a
    /// token.
    pub(crate) fn of(token: &[u8]) -> Self {
        Self(Sha256::digest(token).into())
    }

    /// Whether it is the digest of this token.
    fn is_of(&self, offered: &[u8]) -> bool {
        self.0.ct_eq(&Self::of(offered).0).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Access {
    /// Whether the credentials in these headers suffice.
    pub(crate) fn lets_in(&self, headers: &HeaderMap) -> bool {
        match self {
            Self::Open => true,
            Self::Token(token) => bearer(headers).is_some_and(|offered| token.is(offered)),
            Self::Digest(digest) => bearer(headers).is_some_and(|offered| digest.is_of(offered)),
            Self::Signed(tokens) => {
                bearer(headers).is_some_and(|offered| tokens.accept(offered, windlass_engine::wall_clock()))
            }
        }
    }
}

/// The value after `Bearer`. Two such headers count as none.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let value = only(headers, AUTHORIZATION)?.as_bytes();
    let (scheme, token) = value.split_at_checked(b"bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

/// A header that occurs exactly once.
fn only(headers: &HeaderMap, name: http::HeaderName) -> Option<&HeaderValue> {
    let mut all = headers.get_all(name).iter();
    all.next().filter(|_| all.next().is_none())
}

/// The credentials, origins and host names that a server accepts.
#[derive(Clone, Debug)]
pub struct Gate {
    /// The credentials that clients must show.
    pub access: Access,
    /// Origins whose pages may call this server, as browsers name them: `https://example.org`.
    pub origins: Vec<String>,
    /// Names, besides those of the loopback and the address that a client reached, by which clients may call this
    /// server.
    pub names: Vec<String>,
}

/// From where a server may be reached, and with which protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerReach {
    /// From this machine, by callers that show a token.
    Loopback,
    /// From this machine, with or without a token.
    OpenLoopback,
    /// From other machines, encrypted and by callers that show a token.
    Network,
    /// From other machines, by callers that show a token. The traffic can be read on the way.
    PlaintextNetwork,
}

impl ServerReach {
    /// Whether other machines may reach the server.
    pub(crate) fn is_remote(self) -> bool {
        matches!(self, Self::Network | Self::PlaintextNetwork)
    }
}

/// How a server is protected.
#[derive(Clone, Debug)]
pub struct Perimeter {
    /// The check of each request.
    pub gate: Gate,
    /// From where it may be reached.
    pub reach: ServerReach,
    /// How connections are encrypted.
    pub tls: Option<ServerTls>,
    /// Receives a line about each caller that was rejected.
    pub report: Report,
}

/// Why a request is rejected before its credentials are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// It comes from a page whose origin is not listed.
    Page,
    /// It calls this server by a name that is not its own, or that cannot be parsed.
    Host(HostError),
}

impl Elsewhere {
    /// The reply to such a request.
    pub(crate) fn answer(self) -> Response<Full<Bytes>> {
        match self {
            Self::Page => {
                plain(StatusCode::FORBIDDEN, "pages from this Origin are not listed with this server")
            }
            Self::Host(HostError::Foreign) => {
                plain(StatusCode::FORBIDDEN, "the Host is not a name of this server")
            }
            Self::Host(HostError::Malformed) => {
                plain(StatusCode::BAD_REQUEST, "a request has one Host, which is NAME or NAME:PORT")
            }
        }
    }
}

impl Gate {
    /// Checks the origin and the host of a request.
    pub(crate) fn looks_at<B>(&self, request: &Request<B>, called: &Called) -> Result<(), Elsewhere> {
        let listed = |origin: &HeaderValue| {
            self.origins.iter().any(|listed| origin.as_bytes().eq_ignore_ascii_case(listed.as_bytes()))
        };
        if !request.headers().get_all(ORIGIN).iter().all(listed) {
            return Err(Elsewhere::Page);
        }
        self.looks_at_host(request, called)
    }

    /// Checks the host name by which a request calls this server.
    pub(crate) fn looks_at_host<B>(&self, request: &Request<B>, called: &Called) -> Result<(), Elsewhere> {
        host::check((request.uri(), request.headers()), called, &self.names).map_err(Elsewhere::Host)
    }
}

/// The reply on a connection that is being closed to make room for others.
pub(crate) fn given_up() -> Response<Full<Bytes>> {
    plain(StatusCode::SERVICE_UNAVAILABLE, "the connection was closed before the request arrived")
}

/// The reply to a request without the right token.
pub(crate) fn unauthorized() -> Response<Full<Bytes>> {
    let mut answer = plain(StatusCode::UNAUTHORIZED, "send the token as `Authorization: Bearer TOKEN`");
    let challenge = HeaderValue::from_static("Bearer realm=\"windlass\"");
    answer.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    answer
}

/// A reply with a text.
pub(crate) fn plain(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *answer.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, plain);
    answer
}

#[cfg(test)]
mod tests {
    use windlass_testkit::memory::MaskedText;

    use super::*;

    const TEXT: MaskedText<64> =
        MaskedText::new(b"a-token-or-a-shared-secret-that-is-long-enough-to-be-found-01234");

    #[test]
    fn tokens_and_secrets_are_wiped_from_memory_when_they_are_dropped() {
        let text = Zeroizing::new(TEXT.reveal());
        let token = Access::Token(Token::chosen(&text).expect("a token"));
        let signed = Access::Signed(SignedTokens::new(text.as_bytes()).expect("long enough"));
        let headers: HeaderMap =
            [(AUTHORIZATION, "Bearer a.b.c".parse().expect("a header"))].into_iter().collect();
        assert!(!token.lets_in(&headers) && !signed.lets_in(&headers));
        drop(text);
        assert!(TEXT.is_in_memory());
        drop(token);
        assert!(TEXT.is_in_memory());
        drop(signed);
        assert!(!TEXT.is_in_memory());
    }

    fn headers(values: &[&str]) -> HeaderMap {
        values.iter().map(|value| (AUTHORIZATION, value.parse().expect("a header"))).collect()
    }

    #[test]
    fn only_the_token_opens() {
        let token = Token::random().expect("random bytes");
        let right = format!("Bearer {}", token.reveal());
        let also_right = format!("bearer {}", token.reveal());
        let short = &right[..right.len() - 1];
        let access = Access::Token(token.clone());
        assert!(access.lets_in(&headers(&[&right])));
        assert!(access.lets_in(&headers(&[&also_right])));
        let other = format!("Bearer {}", Token::random().expect("random bytes").reveal());
        for wrong in [&[][..], &[""], &["Bearer"], &["Bearer "], &[short], &[token.reveal()], &[&other]] {
            assert!(!access.lets_in(&headers(wrong)), "{wrong:?}");
        }
        assert!(!access.lets_in(&headers(&[&right, &right])), "two headers are ambiguous");
    }

    #[test]
    fn a_token_has_32_random_bytes_and_does_not_show_itself() {
        let (one, other) = (Token::random().expect("random bytes"), Token::random().expect("random bytes"));
        assert_eq!(one.reveal().len(), 2 * TOKEN_BYTES);
        assert_ne!(one.reveal(), other.reveal());
        assert!(!format!("{one:?} {:?}", Access::Token(one.clone())).contains(one.reveal()));
    }

    #[test]
    fn a_digest_opens_to_the_token_it_was_made_of() {
        let hex = "2CF24DBA5FB0A30E26E83B2AC5B9E29E1B161E5C1FA7425E73043362938B9824";
        let access = Access::Digest(TokenDigest::from_hex(hex).expect("a digest"));
        assert!(access.lets_in(&headers(&["bearer hello"])));
        assert!(!access.lets_in(&headers(&["bearer hello!"])));
        for none in ["", "00", &hex[1..], &format!("{hex}0"), &hex.replace('2', "g"), "é"] {
            assert!(matches!(TokenDigest::from_hex(none), Err(TokenError::NoDigest)), "{none}");
        }
    }

    #[test]
    fn a_chosen_token_can_be_sent() {
        assert_eq!(Token::chosen(" abc\n").expect("a token").reveal(), "abc");
        for none in ["", " \n", "a b", "a\nb", "é"] {
            assert!(matches!(Token::chosen(none), Err(TokenError::NoToken)), "{none}");
        }
    }

    fn looks(origins: &[&str], (origin, host): (Option<&str>, &str)) -> Result<(), Elsewhere> {
        let origins = origins.iter().map(|&origin| origin.to_owned()).collect();
        let gate = Gate { access: Access::Open, origins, names: Vec::new() };
        let mut request = Request::builder().uri("/").header("host", host);
        if let Some(origin) = origin {
            request = request.header(ORIGIN, origin);
        }
        let called = Called::new(None, Some([127, 0, 0, 1].into()));
        gate.looks_at(&request.body(()).expect("a request"), &called)
    }

    #[test]
    fn pages_are_refused_unless_they_are_listed() {
        assert_eq!(looks(&[], (None, "127.0.0.1:1")), Ok(()));
        for page in ["http://localhost", "http://127.0.0.1:1", "null", ""] {
            assert_eq!(looks(&["https://good.example"], (Some(page), "127.0.0.1:1")), Err(Elsewhere::Page));
        }
        assert_eq!(looks(&["https://good.example"], (Some("https://GOOD.example"), "localhost")), Ok(()));
    }
}
