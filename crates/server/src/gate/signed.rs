//! JSON Web Tokens that another party signs with a shared secret: HS256 and nothing else.
//!
//! A token passes only if every part of it is understood: headers that change its meaning (`crit`, another `alg` or
//! `typ`), repeated names, and values of another type than the standard's are all rejected. The signature is checked
//! before anything in the token is read.

mod object;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;
use zeroize::Zeroizing;

use self::object::UniqueObject;

/// The least length of a secret. A shorter one can be found by brute force from one token.
const SECRET_BYTES: usize = 32;

/// Verifies signed tokens.
#[derive(Clone)]
pub struct SignedTokens {
    secret: Zeroizing<Vec<u8>>,
    /// The required issuer of a token, if any.
    pub issuer: Option<String>,
    /// The required audience, if any.
    pub audience: Option<String>,
    /// The clock difference between issuer and server that is tolerated.
    pub skew: Duration,
}

/// The secret is too short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a shared secret has at least {SECRET_BYTES} bytes, and this one has {length}")]
pub struct ShortSecret {
    length: usize,
}

/// The claims that are checked. The standard allows any others beside them.
#[derive(Debug, PartialEq)]
struct Claims {
    /// The expiry, in seconds since 1970.
    exp: f64,
    /// The time before which it is not valid.
    nbf: Option<f64>,
    iss: Option<String>,
    /// A token may name one audience or several.
    aud: Vec<String>,
}

impl SignedTokens {
    /// Accepts tokens signed with this secret. Surrounding white space is not part of it.
    ///
    /// # Errors
    ///
    /// When it is too short.
    pub fn new(secret: &[u8]) -> Result<Self, ShortSecret> {
        let secret = Zeroizing::new(secret.trim_ascii().to_vec());
        if secret.len() < SECRET_BYTES {
            return Err(ShortSecret { length: secret.len() });
        }
        Ok(Self { secret, issuer: None, audience: None, skew: Duration::ZERO })
    }

    /// Whether this is such a token, and valid at this time.
    pub(crate) fn accept(&self, token: &[u8], now: SystemTime) -> bool {
        self.claims(token).is_some_and(|claims| {
            self.in_time(&claims, now)
                && self.issuer.as_ref().is_none_or(|issuer| claims.iss.as_ref() == Some(issuer))
                && self.audience.as_ref().is_none_or(|audience| claims.aud.contains(audience))
        })
    }

    /// The claims of a token that was signed with the secret.
    fn claims(&self, token: &[u8]) -> Option<Claims> {
        let dots: Vec<usize> = memchr::memchr_iter(b'.', token).collect();
        let &[first, second] = dots.as_slice() else { return None };
        let signature = URL_SAFE_NO_PAD.decode(&token[second + 1..]).ok()?;
        self.mac(&token[..second])?.verify_slice(&signature).ok()?;
        is_understood(&part(&token[..first])?).then(|| Claims::read(&part(&token[first + 1..second])?))?
    }

    fn mac(&self, signed: &[u8]) -> Option<Hmac<Sha256>> {
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(&self.secret).ok()?;
        mac.update(signed);
        Some(mac)
    }

    fn in_time(&self, claims: &Claims, now: SystemTime) -> bool {
        // With a clock before 1970 the server cannot judge any token.
        let Ok(now) = now.duration_since(UNIX_EPOCH) else { return false };
        let (now, skew) = (now.as_secs_f64(), self.skew.as_secs_f64());
        now < claims.exp + skew && claims.nbf.is_none_or(|from| now >= from - skew)
    }
}

/// Omits the secret.
impl std::fmt::Debug for SignedTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignedTokens").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

/// Whether a header (JOSE, RFC 7515) contains only what is understood here.
fn is_understood(header: &UniqueObject) -> bool {
    // Any other algorithm would have been signed in another way, or not at all.
    let is_ours = header.get("alg").and_then(Value::as_str) == Some("HS256");
    // A receiver must reject a token if it does not understand an extension that `crit` lists, and no extension is
    // understood here.
    let is_plain = header.get("crit").is_none();
    // A token that was made for another purpose names it here (RFC 8725, 3.11).
    let is_jwt = header.get("typ").is_none_or(|kind| kind.as_str().is_some_and(is_media_type_jwt));
    is_ours && is_plain && is_jwt
}

/// `application/` may be left out, and case does not matter (RFC 7515, 4.1.9).
fn is_media_type_jwt(kind: &str) -> bool {
    ["JWT", "application/jwt"].iter().any(|jwt| kind.eq_ignore_ascii_case(jwt))
}

impl Claims {
    /// Reads the claims. `None` if one of them is not of its type.
    fn read(object: &UniqueObject) -> Option<Self> {
        let nbf = object.get("nbf").map(|from| from.as_f64().ok_or(()));
        let iss = object.get("iss").map(|issuer| issuer.as_str().map(str::to_owned).ok_or(()));
        Some(Self {
            exp: object.get("exp")?.as_f64()?,
            nbf: nbf.transpose().ok()?,
            iss: iss.transpose().ok()?,
            aud: object.get("aud").map_or(Some(Vec::new()), audiences)?,
        })
    }
}

fn audiences(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(one) => Some(vec![one.clone()]),
        Value::Array(several) => several.iter().map(|one| one.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

fn part(encoded: &[u8]) -> Option<UniqueObject> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(encoded).ok()?).ok()
}

#[cfg(test)]
mod tests;
