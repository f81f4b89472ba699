//! Recognises secrets by their key in a configuration or by their form, and removes them. In doubt a value counts as a
//! secret: the user notices a missing header and types it again, but a leaked key cannot be taken back.

use toml_edit::{DocumentMut, Item, TableLike, Value};

use super::Omission;

/// The replacement for a secret in a text. It is also valid as a key in TOML.
const LEFT_OUT: &str = "LEFT-OUT";
const SECRET: &str = "it is or may be a secret";
const TRUST: &str = "which projects are trusted is for each machine to say";
/// Words in the names of secrets.
const NAMES: [&str; 9] =
    ["auth", "token", "secret", "password", "passwd", "passphrase", "credential", "cookie", "signature"];
/// The first characters of the keys of well-known services. At least twelve other characters follow them.
const BEGINNINGS: [&str; 27] = [
    "sk-",
    "sk_",
    "rk_",
    "pk_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "hf_",
    "npm_",
    "pypi-",
    "dop_v1_",
    "gsk_",
    "xai-",
    "SG.",
    "eyJ",
];
const SHORTEST_REST: usize = 12;
/// A word of at least this length with letters of both cases and digits is probably not natural language.
const LONG: usize = 32;
const FEWEST_DIGITS: usize = 4;

/// Whether the text under this key of a configuration is, or may be, a secret.
pub(crate) fn is_secret(path: &[String], text: &str) -> bool {
    let name = path.last().map(|name| name.to_ascii_lowercase()).unwrap_or_default();
    let table = path.iter().rev().nth(1).map(String::as_str).unwrap_or_default();
    match table {
        // The values are names of variables, not their contents.
        "env_http_headers" => false,
        "env" => true,
        _ if name.ends_with("env_var") || name == "env_key" => false,
        "http_headers" | "query_params" | "set" if sounds_secret(&name) => true,
        _ if sounds_secret(&name) && !is_known_key(&name) => true,
        _ => looks_secret(text) || words(text).any(|(_, word)| is_random(word)),
    }
}

/// The same for a list, which is left out as a whole: without one of its entries it would mean something else.
pub(crate) fn is_secret_list<'t>(path: &[String], texts: impl Iterator<Item = &'t str>) -> bool {
    let is_arguments = path.last().is_some_and(|name| name == "args" || name == "notify");
    let is_flag = |text: &str| text.starts_with('-') && sounds_secret(&text.to_ascii_lowercase());
    let mut texts = texts;
    texts.any(|text| looks_secret(text) || (is_arguments && is_flag(text)))
}

/// Removes secrets and machine-specific values from a configuration file, also from its comments.
pub(super) fn clean_configuration(
    text: &str,
    name: &str,
) -> Result<(String, Vec<Omission>), toml_edit::TomlError> {
    let mut document = text.parse::<DocumentMut>()?;
    let mut left_out = Vec::new();
    clean_table(document.as_table_mut(), &mut Vec::new(), &mut |place| {
        left_out.push(Omission { file: name.to_owned(), place: Some(place), reason: SECRET });
    });
    let (text, more) = clean_text(&document.to_string(), name);
    left_out.extend(more);
    Ok((text, left_out))
}

/// Removes the trusted projects from a configuration file, because trust is given on each machine.
pub(super) fn without_trust(text: &str, name: &str) -> Result<(String, Vec<Omission>), toml_edit::TomlError> {
    let mut document = text.parse::<DocumentMut>()?;
    if document.remove("projects").is_none() {
        return Ok((text.to_owned(), Vec::new()));
    }
    let omission = Omission { file: name.to_owned(), place: Some("projects".to_owned()), reason: TRUST };
    Ok((document.to_string(), vec![omission]))
}

/// Replaces words that look like secrets in a text.
pub(super) fn clean_text(text: &str, name: &str) -> (String, Vec<Omission>) {
    let (mut cleaned, mut left_out) = (String::with_capacity(text.len()), Vec::new());
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let found = secret_words(line);
        if !found.is_empty() {
            let place = Some(format!("line {}", number + 1));
            left_out.push(Omission { file: name.to_owned(), place, reason: SECRET });
        }
        let mut done = 0;
        for (at, word) in found {
            cleaned.push_str(&line[done..at]);
            cleaned.push_str(LEFT_OUT);
            done = at + word.len();
        }
        cleaned.push_str(&line[done..]);
    }
    (cleaned, left_out)
}

/// Whether a whole file is a secret, by its name or by its first bytes.
pub(super) fn is_secret_file(name: &str, bytes: &[u8]) -> bool {
    const ENDINGS: [&str; 8] = [".pem", ".key", ".p12", ".pfx", ".env", ".keystore", ".kdbx", ".netrc"];
    let file = name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let by_name = ENDINGS.iter().any(|ending| file.ends_with(ending))
        || file.starts_with(".env.")
        || file.starts_with("id_rsa")
        || file.starts_with("id_ed25519")
        || file.starts_with("credentials")
        || matches!(file.as_str(), "auth.json" | "secrets.json" | "secrets.toml" | "secrets.yaml");
    const PRIVATE: [&[u8]; 2] = [b"PRIVATE KEY-----", b"AGE-SECRET-KEY-"];
    by_name || PRIVATE.iter().any(|mark| bytes.windows(mark.len()).any(|window| window == *mark))
}

fn clean_table(table: &mut dyn TableLike, path: &mut Vec<String>, tell: &mut dyn FnMut(String)) {
    let names: Vec<String> = table.iter().map(|(name, _)| name.to_owned()).collect();
    for name in names {
        path.push(name.clone());
        let Some(item) = table.get_mut(&name) else { continue };
        if is_secret_item(item, path) {
            table.remove(&name);
            tell(crate::tree::dotted(path));
        } else if let Some(below) = item.as_table_like_mut() {
            clean_table(below, path, tell);
        } else if let Some(tables) = item.as_array_of_tables_mut() {
            for below in tables.iter_mut() {
                clean_table(below, path, tell);
            }
        }
        path.pop();
    }
}

fn is_secret_item(item: &Item, path: &[String]) -> bool {
    match item {
        Item::Value(Value::String(text)) => is_secret(path, text.value()),
        Item::Value(Value::Array(array)) => is_secret_list(path, array.iter().filter_map(Value::as_str)),
        _ => false,
    }
}

/// Keys of our own that only sound like secrets.
fn is_known_key(name: &str) -> bool {
    name.ends_with("_limit") || name.ends_with("_instructions") || name.contains("env_")
}

fn sounds_secret(name: &str) -> bool {
    let is_key = name.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| part.ends_with("key"));
    is_key || NAMES.iter().any(|word| name.contains(word))
}

fn looks_secret(text: &str) -> bool {
    !secret_words(text).is_empty()
}

/// The words of a line that look like secrets, with their positions.
fn secret_words(line: &str) -> Vec<(usize, &str)> {
    let mut found: Vec<(usize, &str)> = words(line).filter(|(_, word)| is_known_secret(word)).collect();
    let logins = login(line)
        .filter(|(at, word)| !found.iter().any(|(other, _)| (*at..*at + word.len()).contains(other)));
    found.extend(logins.collect::<Vec<_>>());
    found.sort_unstable();
    found
}

fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '/' | '~');
    let mut rest = 0;
    std::iter::from_fn(move || {
        let begin = rest + text[rest..].find(is_part)?;
        let end = text[begin..].find(|c| !is_part(c)).map_or(text.len(), |length| begin + length);
        rest = end;
        Some((begin, &text[begin..end]))
    })
}

fn is_known_secret(word: &str) -> bool {
    let rest = BEGINNINGS.iter().find_map(|beginning| word.strip_prefix(beginning));
    let rest = rest.filter(|rest| rest.len() >= SHORTEST_REST && !rest.contains('/'));
    // `sk-` also begins file names, but keys contain digits.
    rest.is_some_and(|rest| rest.bytes().any(|byte| byte.is_ascii_digit()))
}

fn is_random(word: &str) -> bool {
    let has = |of: fn(&u8) -> bool| word.as_bytes().iter().any(of);
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let is_path = word.matches('/').count() > 1 || word.matches('.').count() > 2;
    word.len() >= LONG
        && !is_path
        && digits >= FEWEST_DIGITS
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
}

/// The user name and password of each URL that has them, such as `https://ada:secret@example.org`, with their position.
fn login(line: &str) -> impl Iterator<Item = (usize, &str)> {
    line.match_indices("://").filter_map(|(at, mark)| {
        let begin = at + mark.len();
        let end = line[begin..]
            .find(|c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'' | '<' | '>' | ')'));
        let authority = &line[begin..end.map_or(line.len(), |length| begin + length)];
        let (login, _) = authority.rsplit_once('@')?;
        let (_, password) = login.split_once(':')?;
        // A placeholder for a password is not a secret.
        let is_placeholder = password.is_empty() || password.starts_with(['$', '{', '<', '*']);
        (!is_placeholder).then_some((begin, login))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_place_and_by_looks() {
        let key = ["sk-", "abcdefghij0123456789"].concat();
        let long = "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MEFCQ0RFRg";
        for (path, text, expected) in [
            ("mcp_servers.a.env.REGION", "eu", true),
            ("mcp_servers.a.http_headers.Authorization", "Bearer x", true),
            ("mcp_servers.a.http_headers.X-Api-Key", "x", true),
            ("mcp_servers.a.http_headers.X-Team", "ada", false),
            ("mcp_servers.a.http_headers.X-Team", long, true),
            ("mcp_servers.a.env_http_headers.Authorization", "MY_TOKEN", false),
            ("mcp_servers.a.bearer_token_env_var", "MY_TOKEN", false),
            ("model_providers.a.env_key", "OPENAI_API_KEY", false),
            ("model_providers.a.query_params.api-version", "2024-10-01", false),
            ("model_providers.a.query_params.subscription-key", "1", true),
            ("model_providers.a.proxy", "http://ada:pw@proxy", true),
            ("model_providers.a.base_url", "https://example.org/v1", false),
            ("shell_environment_policy.set.DB_PASSWORD", "x", true),
            ("shell_environment_policy.set.LANG", "C", false),
            ("model", "gpt-5", false),
            ("model", &key, true),
            ("monkeys", "x", false),
        ] {
            let path: Vec<String> = path.split('.').map(str::to_owned).collect();
            assert_eq!(is_secret(&path, text), expected, "{path:?} {text}");
        }
    }

    #[test]
    fn a_list_with_a_secret_is_one() {
        let key = ["xoxb-", "0123456789ab"].concat();
        for (list, expected) in [
            (vec!["--api-key", "x"], true),
            (vec!["--token=x"], true),
            (vec!["-y", &key], true),
            (vec!["-y", "@scope/server"], false),
        ] {
            let path = ["mcp_servers", "a", "args"].map(str::to_owned);
            assert_eq!(is_secret_list(&path, list.iter().copied()), expected, "{list:?}");
        }
    }

    #[test]
    fn texts_lose_their_secrets_and_nothing_else() {
        let key = ["ghp_", "0123456789abcdefghij"].concat();
        let text = format!("one\nexport T={key} # and\nsee https://ada:pw1@h/x\nsk-learn-documentation\n");
        let (cleaned, left_out) = clean_text(&text, "a");
        assert_eq!(
            cleaned,
            "one\nexport T=LEFT-OUT # and\nsee https://LEFT-OUT@h/x\nsk-learn-documentation\n"
        );
        let places: Vec<&str> = left_out.iter().filter_map(|omission| omission.place.as_deref()).collect();
        assert_eq!(places, ["line 2", "line 3"]);
        assert_eq!(clean_text("https://ada:$PASSWORD@h", "a").1, []);
    }

    #[test]
    fn files_of_keys_are_secrets_as_a_whole() {
        assert!(is_secret_file("config/skills/a/.env", b""));
        assert!(is_secret_file("config/skills/a/server.pem", b""));
        assert!(is_secret_file("config/skills/a/x", b"-----BEGIN OPENSSH PRIVATE KEY-----"));
        assert!(!is_secret_file("config/skills/a/SKILL.md", b"how to make keys"));
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_cleaned(text in "(\\PC|\n){0,200}") {
            let (cleaned, left_out) = clean_text(&text, "a");
            proptest::prop_assert_eq!(left_out.is_empty(), cleaned == text);
            let _ = clean_configuration(&text, "a");
        }
    }
}
