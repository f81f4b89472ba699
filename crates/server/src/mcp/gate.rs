//! Who may talk to the HTTP server: whoever knows the token.

use std::fmt;
use std::hint::black_box;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use rustix::rand::{GetRandomFlags, getrandom};

const TOKEN_BYTES: usize = 32;

/// Who is let in.
#[derive(Clone, Debug)]
pub enum Access {
    /// Whoever shows this token.
    Token(Token),
    /// Everybody who reaches the address. Only for servers that can do no harm.
    Open,
}

/// A secret that lets its bearer in. Does not show itself when printed for debugging.
#[derive(Clone)]
pub struct Token(String);

/// No token could be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make a token: the system gives no random bytes: {0}")]
pub struct TokenError(rustix::io::Errno);

impl Token {
    /// A token nobody can guess.
    ///
    /// # Errors
    ///
    /// When the system has no random bytes.
    pub fn random() -> Result<Self, TokenError> {
        let mut bytes = [0; TOKEN_BYTES];
        let mut filled = 0;
        while filled < bytes.len() {
            filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty()).map_err(TokenError)?;
        }
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// The token as it is sent.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Compares in a time that does not depend on where the difference is.
    fn is(&self, offered: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let difference =
            own.iter().zip(offered).fold(0, |difference, (a, b)| black_box(difference | (a ^ b)));
        own.len() == offered.len() && difference == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Access {
    /// Whether a request with these headers is let in.
    pub(crate) fn lets_in(&self, headers: &HeaderMap) -> bool {
        match self {
            Self::Open => true,
            Self::Token(token) => bearer(headers).is_some_and(|offered| token.is(offered)),
        }
    }
}

/// What stands after `Bearer`. Two such headers are none.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let value = all.next()?.as_bytes();
    let (scheme, token) = value.split_at_checked(b"bearer ".len())?;
    (all.next().is_none() && scheme.eq_ignore_ascii_case(b"bearer ")).then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
