//! Tokens that somebody else signs with a secret we share: JSON Web Tokens, HS256 only.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::same;

/// How long a secret must be at least. A shorter one can be found out from one token.
const SECRET_BYTES: usize = 32;

/// The block that HMAC pads its key to.
const BLOCK: usize = 64;

/// Which signed tokens open.
#[derive(Clone)]
pub struct SignedTokens {
    secret: Vec<u8>,
    /// Who must have made the token, if that matters.
    pub issuer: Option<String>,
    /// Whom it must be made for, if that matters.
    pub audience: Option<String>,
    /// By how much the clock of whoever made it may differ from ours.
    pub skew: Duration,
}

/// A secret that is too short to keep anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a shared secret has at least {SECRET_BYTES} bytes, and this one has {length}")]
pub struct ShortSecret {
    length: usize,
}

#[derive(Deserialize)]
struct Head {
    alg: String,
}

#[derive(Deserialize)]
struct Claims {
    /// From when on it is void, in seconds since 1970.
    exp: f64,
    /// Before when it is not yet good.
    nbf: Option<f64>,
    iss: Option<String>,
    aud: Option<Value>,
}

impl SignedTokens {
    /// Tokens signed with this secret. Space around it is not part of it.
    ///
    /// # Errors
    ///
    /// When it is too short.
    pub fn new(secret: &[u8]) -> Result<Self, ShortSecret> {
        let secret = secret.trim_ascii().to_vec();
        if secret.len() < SECRET_BYTES {
            return Err(ShortSecret { length: secret.len() });
        }
        Ok(Self { secret, issuer: None, audience: None, skew: Duration::ZERO })
    }

    /// Whether this is such a token, and good at this time.
    pub(crate) fn accept(&self, token: &[u8], now: SystemTime) -> bool {
        self.claims(token).is_some_and(|claims| {
            self.in_time(&claims, now)
                && self.issuer.as_ref().is_none_or(|issuer| claims.iss.as_ref() == Some(issuer))
                && self.audience.as_ref().is_none_or(|audience| is_for(claims.aud.as_ref(), audience))
        })
    }

    /// What a token says, if it was signed with the secret.
    fn claims(&self, token: &[u8]) -> Option<Claims> {
        let dots: Vec<usize> = memchr::memchr_iter(b'.', token).collect();
        let &[first, second] = dots.as_slice() else { return None };
        let signature = URL_SAFE_NO_PAD.decode(&token[second + 1..]).ok()?;
        if !same(&hmac(&self.secret, &token[..second]), &signature) {
            return None;
        }
        let head: Head = part(&token[..first])?;
        // Anything else would have been signed in another way, or not at all.
        (head.alg == "HS256").then(|| part(&token[first + 1..second])).flatten()
    }

    fn in_time(&self, claims: &Claims, now: SystemTime) -> bool {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let skew = self.skew.as_secs_f64();
        now < claims.exp + skew && claims.nbf.is_none_or(|from| now >= from - skew)
    }
}

/// The secret does not show itself when printed for debugging.
impl std::fmt::Debug for SignedTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignedTokens").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

fn part<T: for<'a> Deserialize<'a>>(encoded: &[u8]) -> Option<T> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(encoded).ok()?).ok()
}

/// A token may be for one or for several.
fn is_for(audiences: Option<&Value>, audience: &str) -> bool {
    match audiences {
        Some(Value::String(one)) => one == audience,
        Some(Value::Array(several)) => several.iter().any(|one| one == audience),
        _ => false,
    }
}

fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0; BLOCK];
    if key.len() > BLOCK {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SECRET: &[u8] = b"a secret of more than thirty-two bytes";

    fn token(head: &Value, claims: &Value, secret: &[u8]) -> String {
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(head), encode(claims));
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(hmac(secret, signed.as_bytes())))
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn tokens() -> SignedTokens {
        let mut tokens = SignedTokens::new(SECRET).expect("long enough");
        tokens.skew = Duration::from_secs(5);
        tokens.issuer = Some("me".to_owned());
        tokens.audience = Some("you".to_owned());
        tokens
    }

    fn check(claims: &Value, expected: bool) {
        let token = token(&json!({ "alg": "HS256", "typ": "JWT" }), claims, SECRET);
        assert_eq!(tokens().accept(token.as_bytes(), at(1000)), expected, "{claims}");
    }

    #[test]
    fn hmac_is_that_of_the_standard() {
        let hex = |bytes: [u8; 32]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(hex(hmac(b"Jefe", b"what do ya want for nothing?")), expected);
        let expected = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
        let long = b"Test Using Larger Than Block-Size Key - Hash Key First";
        assert_eq!(hex(hmac(&[0xaa; 131], long)), expected);
    }

    #[test]
    fn a_token_opens_in_its_time_from_its_maker_for_us() {
        check(&json!({ "exp": 1001, "iss": "me", "aud": "you" }), true);
        check(&json!({ "exp": 1001, "iss": "me", "aud": ["them", "you"], "nbf": 1004 }), true);
        check(&json!({ "exp": 996, "iss": "me", "aud": "you" }), true);
        for claims in [
            json!({ "exp": 995, "iss": "me", "aud": "you" }),
            json!({ "exp": 2000, "nbf": 1006, "iss": "me", "aud": "you" }),
            json!({ "exp": 2000, "iss": "them", "aud": "you" }),
            json!({ "exp": 2000, "aud": "you" }),
            json!({ "exp": 2000, "iss": "me", "aud": "them" }),
            json!({ "exp": 2000, "iss": "me" }),
            json!({ "iss": "me", "aud": "you" }),
            json!({ "exp": "2000", "iss": "me", "aud": "you" }),
        ] {
            check(&claims, false);
        }
    }

    #[test]
    fn only_the_secret_signs() {
        let claims = json!({ "exp": 2000, "iss": "me", "aud": "you" });
        let accepts = |token: &str| tokens().accept(token.as_bytes(), at(1000));
        assert!(!accepts(&token(&json!({ "alg": "HS256" }), &claims, b"another secret of that length!!!")));
        assert!(!accepts(&token(&json!({ "alg": "none" }), &claims, SECRET)));
        let good = token(&json!({ "alg": "HS256" }), &claims, SECRET);
        assert!(accepts(&good));
        let unsigned = &good[..=good.rfind('.').expect("it has a signature")];
        for none in ["", ".", "..", "...", "a.b.c", unsigned, &good[1..], &format!("{good}.")] {
            assert!(!accepts(none), "{none}");
        }
        assert_eq!(SignedTokens::new(b" short \n").map(|_| ()), Err(ShortSecret { length: 5 }));
        assert!(!format!("{:?}", tokens()).contains("secret of"));
    }
}
