//! Tokens of every kind that must not pass, beside those that must.

use serde_json::json;

use super::*;

const SECRET: &[u8] = b"a secret of more than thirty-two bytes";

/// A token with exactly these texts as its header and claims.
fn token_of(header: &str, claims: &str, secret: &[u8]) -> String {
    let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let signature = SignedTokens::new(secret).expect("long enough").mac(signed.as_bytes());
    let signature = signature.expect("any key fits").finalize().into_bytes();
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn token(header: &Value, claims: &Value, secret: &[u8]) -> String {
    token_of(&header.to_string(), &claims.to_string(), secret)
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

fn accepts(token: &str) -> bool {
    tokens().accept(token.as_bytes(), at(1000))
}

fn check(claims: &Value, expected: bool) {
    let token = token(&json!({ "alg": "HS256", "typ": "JWT" }), claims, SECRET);
    assert_eq!(accepts(&token), expected, "{claims}");
}

fn good_claims() -> Value {
    json!({ "exp": 2000, "iss": "me", "aud": "you" })
}

fn check_header(header: &str, expected: bool) {
    let token = token_of(header, &good_claims().to_string(), SECRET);
    assert_eq!(accepts(&token), expected, "{header}");
}

#[test]
fn signatures_are_those_of_the_standard() {
    // The example of RFC 7515, appendix A.1, whose key is 64 bytes and whose token expired in 2011.
    let key = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
    let token = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.\
        eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.\
        dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let tokens = SignedTokens::new(&URL_SAFE_NO_PAD.decode(key).expect("Base64")).expect("long enough");
    assert!(tokens.accept(token.as_bytes(), at(1_300_819_379)));
    assert!(!tokens.accept(token.as_bytes(), at(1_300_819_380)), "it is void from `exp` on");
}

#[test]
fn a_token_opens_in_its_time_from_its_maker_for_us() {
    check(&json!({ "exp": 1001, "iss": "me", "aud": "you" }), true);
    check(&json!({ "exp": 1001.5, "iss": "me", "aud": ["them", "you"], "nbf": 1004 }), true);
    check(&json!({ "exp": 996, "iss": "me", "aud": "you" }), true);
    check(&json!({ "exp": 2000, "iss": "me", "aud": "you", "iat": 3000, "jti": null, "more": {} }), true);
    for claims in [
        json!({ "exp": 995, "iss": "me", "aud": "you" }),
        json!({ "exp": -1, "iss": "me", "aud": "you" }),
        json!({ "exp": 2000, "nbf": 1006, "iss": "me", "aud": "you" }),
        json!({ "exp": 2000, "iss": "them", "aud": "you" }),
        json!({ "exp": 2000, "aud": "you" }),
        json!({ "exp": 2000, "iss": "me", "aud": "them" }),
        json!({ "exp": 2000, "iss": "me", "aud": [] }),
        json!({ "exp": 2000, "iss": "me" }),
        json!({ "iss": "me", "aud": "you" }),
    ] {
        check(&claims, false);
    }
}

#[test]
fn claims_of_another_type_are_rejected_and_not_taken_for_missing() {
    for claims in [
        json!({ "exp": "2000", "iss": "me", "aud": "you" }),
        json!({ "exp": null, "iss": "me", "aud": "you" }),
        json!({ "exp": true, "iss": "me", "aud": "you" }),
        json!({ "exp": 2000, "nbf": null, "iss": "me", "aud": "you" }),
        json!({ "exp": 2000, "nbf": "0", "iss": "me", "aud": "you" }),
        json!({ "exp": 2000, "iss": ["me"], "aud": "you" }),
        json!({ "exp": 2000, "iss": "me", "aud": ["you", 1] }),
        json!({ "exp": 2000, "iss": "me", "aud": { "you": true } }),
        json!([2000, null, "me", "you"]),
        json!("exp"),
    ] {
        check(&claims, false);
    }
    // The types are checked even if neither issuer nor audience is required.
    let anyone = SignedTokens::new(SECRET).expect("long enough");
    for (claims, expected) in [
        (json!({ "exp": 2000 }), true),
        (json!({ "exp": 2000, "iss": 1 }), false),
        (json!({ "exp": 2000, "aud": 1 }), false),
        (json!({ "exp": 2000, "nbf": null }), false),
    ] {
        let token = token(&json!({ "alg": "HS256" }), &claims, SECRET);
        assert_eq!(anyone.accept(token.as_bytes(), at(1000)), expected, "{claims}");
    }
}

#[test]
fn a_token_with_critical_extensions_is_rejected() {
    check_header(r#"{"alg":"HS256"}"#, true);
    for critical in [r#"["exp"]"#, r#"["b64"]"#, r#"["https://example.org/x"]"#, "[]", "null", r#""exp""#] {
        check_header(&format!(r#"{{"alg":"HS256","crit":{critical},"b64":true}}"#), false);
    }
}

#[test]
fn only_this_algorithm_is_accepted_however_the_token_names_another() {
    for other in ["none", "None", "hs256", "HS384", "HS512", "RS256", "ES256", "PS256", "HS256 ", "dir", ""] {
        check_header(&json!({ "alg": other }).to_string(), false);
    }
    for header in [r#"{"typ":"JWT"}"#, r#"{"alg":null}"#, r#"{"alg":["HS256"]}"#, "{}", "[]", "null", ""] {
        check_header(header, false);
    }
    // The server ignores a key inside a token, so it changes nothing.
    check_header(r#"{"alg":"HS256","kid":"../../dev/null","jwk":{"kty":"oct","k":"AA"}}"#, true);
}

#[test]
fn a_token_of_another_type_is_rejected() {
    for (kind, expected) in [
        (json!("JWT"), true),
        (json!("jwt"), true),
        (json!("application/JWT"), true),
        (json!("at+jwt"), false),
        (json!("secevent+jwt"), false),
        (json!("JOSE"), false),
        (json!(""), false),
        (json!(null), false),
        (json!(["JWT"]), false),
    ] {
        check_header(&json!({ "alg": "HS256", "typ": kind }).to_string(), expected);
    }
}

#[test]
fn names_that_occur_twice_are_rejected() {
    check_header(r#"{"alg":"none","alg":"HS256"}"#, false);
    check_header(r#"{"alg":"HS256","alg":"HS256"}"#, false);
    check_header(r#"{"alg":"HS256","kid":"a","kid":"b"}"#, false);
    for claims in [
        r#"{"exp":1,"exp":2000,"iss":"me","aud":"you"}"#,
        r#"{"exp":2000,"iss":"me","aud":"you","exp":1}"#,
        r#"{"exp":2000,"iss":"me","aud":"you","\u0065xp":2000}"#,
        r#"{"exp":2000,"iss":"me","aud":"you","sub":"a","sub":"b"}"#,
    ] {
        assert!(!accepts(&token_of(r#"{"alg":"HS256"}"#, claims, SECRET)), "{claims}");
    }
}

#[test]
fn a_clock_before_1970_accepts_nothing() {
    let good = token(&json!({ "alg": "HS256" }), &good_claims(), SECRET);
    assert!(accepts(&good));
    assert!(!tokens().accept(good.as_bytes(), UNIX_EPOCH - Duration::from_secs(1)));
}

#[test]
fn a_token_has_one_spelling() {
    // The length of the header leaves spare bits in its last character.
    let good = token_of(r#"{"alg":"HS256" }"#, &good_claims().to_string(), SECRET);
    assert!(accepts(&good));
    let (signed, signature) = good.rsplit_once('.').expect("it has a signature");
    let last = signature.chars().last().expect("it is not empty");
    // 32 bytes are 43 characters, of which the last carries two spare bits.
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let next = alphabet.chars().nth(alphabet.find(last).expect("Base64") + 1).expect("it is not the last");
    let spare_bits = format!("{signed}.{}{next}", &signature[..42]);
    let padded = format!("{good}=");
    let spaced = format!("{signed}. {signature}");
    let broken = format!("{signed}.{}\n{}", &signature[..20], &signature[20..]);
    let longer = format!("{good}AAAA");
    let shorter = format!("{signed}.{}", &signature[..40]);
    for other in [spare_bits, padded, spaced, broken, longer, shorter] {
        assert!(!accepts(&other), "{other}");
    }
    // In the signed parts: the signature matches, but they are not the Base64 of the standard.
    for header in ["eyJhbGciOiJIUzI1NiJ9==", "eyJhbGciOiJIUzI1NiIgfR", "eyJhbGci OiJIUzI1NiJ9"] {
        let signed = format!("{header}.{}", URL_SAFE_NO_PAD.encode(good_claims().to_string()));
        let signature = tokens().mac(signed.as_bytes()).expect("any key fits").finalize().into_bytes();
        assert!(!accepts(&format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))), "{header}");
    }
    assert!(!accepts(&token_of("{\"alg\":\"HS256\"}{}", &good_claims().to_string(), SECRET)), "two values");
    assert!(!accepts(&token_of("\u{feff}{\"alg\":\"HS256\"}", &good_claims().to_string(), SECRET)));
}

#[test]
fn only_the_secret_signs() {
    let claims = good_claims();
    assert!(!accepts(&token(&json!({ "alg": "HS256" }), &claims, b"another secret of that length!!!")));
    let good = token(&json!({ "alg": "HS256" }), &claims, SECRET);
    assert!(accepts(&good));
    let unsigned = &good[..=good.rfind('.').expect("it has a signature")];
    for none in ["", ".", "..", "...", "a.b.c", unsigned, &good[1..], &format!("{good}.")] {
        assert!(!accepts(none), "{none}");
    }
    assert_eq!(SignedTokens::new(b" short \n").map(|_| ()), Err(ShortSecret { length: 5 }));
    assert!(!format!("{:?}", tokens()).contains("secret of"));
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_a_token(bytes: Vec<u8>) {
        proptest::prop_assert!(!tokens().accept(&bytes, at(1000)));
    }

    #[test]
    fn no_header_and_claims_without_the_secret_make_a_token(header in "\\PC{0,40}", claims in "\\PC{0,40}") {
        let good = token(&json!({ "alg": "HS256" }), &good_claims(), SECRET);
        let signature = good.rsplit('.').next().unwrap_or_default();
        let forged = format!(
            "{}.{}.{signature}",
            URL_SAFE_NO_PAD.encode(header),
            URL_SAFE_NO_PAD.encode(claims)
        );
        proptest::prop_assert!(!accepts(&forged));
    }
}
