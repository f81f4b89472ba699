//! Repairs and rejects requests that cannot be parsed. The server replaces half of a surrogate pair, which JavaScript
//! writes for half of an emoji, and says so in a note. It rejects anything else under the id of the request, if it
//! finds one.

use memchr::{memchr, memmem};
use rmcp::model::{ClientJsonRpcMessage, GetExtensions};

use crate::mcp::wire::RejectedMessage;

/// The number of unpaired surrogates that were replaced in a request. An extension of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Repaired(pub(crate) usize);

impl Repaired {
    /// The note for the caller.
    pub(crate) fn remark(self) -> String {
        let escapes = match self.0 {
            1 => "1 unpaired surrogate escape".to_owned(),
            count => format!("{count} unpaired surrogate escapes"),
        };
        format!(
            "Windlass replaced {escapes} in the arguments (half of a character, such as `\\ud83d`) with U+FFFD"
        )
    }

    /// Attaches it to a request.
    pub(crate) fn mark(self, message: &mut ClientJsonRpcMessage) {
        if let ClientJsonRpcMessage::Request(request) = message {
            request.request.extensions_mut().insert(self);
        }
    }
}

/// The escape of the replacement character, as long as the escape that it replaces.
const REPLACEMENT: &[u8; 6] = br"\ufffd";

/// The JSON with each unpaired surrogate replaced, and their number; `None` if there were none.
pub(crate) fn without_lone_surrogates(json: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut at = [br"\ud", br"\uD"].iter().filter_map(|escape| memmem::find(json, *escape)).min()?;
    // Go back to the beginning of a run of backslashes: one before this escape may escape its backslash.
    at -= json[..at].iter().rev().take_while(|&&byte| byte == b'\\').count();
    let (mut repaired, mut count) = (Vec::new(), 0);
    while let Some(found) = memchr(b'\\', &json[at..]) {
        at += found;
        match surrogate(&json[at..]) {
            Some(Surrogate::High) if surrogate(&json[at + 6..]) == Some(Surrogate::Low) => at += 12,
            Some(Surrogate::High | Surrogate::Low) => {
                if repaired.is_empty() {
                    repaired = json.to_vec();
                }
                repaired[at..at + 6].copy_from_slice(REPLACEMENT);
                count += 1;
                at += 6;
            }
            None => at = json.len().min(at + 2),
        }
    }
    (count > 0).then_some((repaired, count))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Surrogate {
    High,
    Low,
}

/// The surrogate that these bytes escape at their beginning.
fn surrogate(json: &[u8]) -> Option<Surrogate> {
    let digits = json.strip_prefix(br"\u")?.get(..4)?;
    let unit = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    match unit {
        0xd800..=0xdbff => Some(Surrogate::High),
        0xdc00..=0xdfff => Some(Surrogate::Low),
        _ => None,
    }
}

/// Why this is not JSON; `None` if it is, or if the sender expects no reply.
pub(crate) fn unreadable(json: &[u8]) -> Option<RejectedMessage> {
    let error = serde_json::from_slice::<serde::de::IgnoredAny>(json).err();
    // Skipping a value has no limit of depth; parsing it has one.
    let error = error.or_else(|| serde_json::from_slice::<serde_json::Value>(json).err())?;
    RejectedMessage::not_json(json, &error)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn check(json: &str, expected: Option<(&str, usize)>) {
        let repaired = without_lone_surrogates(json.as_bytes());
        let repaired = repaired.map(|(json, count)| (String::from_utf8(json).expect("still text"), count));
        assert_eq!(repaired, expected.map(|(json, count)| (json.to_owned(), count)), "{json}");
    }

    #[test]
    fn halves_of_characters_are_replaced_and_whole_ones_are_kept() {
        check(r#""plain""#, None);
        check(r#""\ud83d\ude00""#, None);
        check(r#""\ud83d""#, Some((r#""\ufffd""#, 1)));
        check(r#""\uDE00\uD83D""#, Some((r#""\ufffd\ufffd""#, 2)));
        check(r#""\ud83d\ud83d\ude00""#, Some((r#""\ufffd\ud83d\ude00""#, 1)));
        check(r#""\\ud83d""#, None);
        check(r#""\\\ud83d""#, Some((r#""\\\ufffd""#, 1)));
        check(r#""\ud83dx\ude00""#, Some((r#""\ufffdx\ufffd""#, 2)));
        check(r#""\ud8"#, None);
        check(r#""\ud83d\u"#, Some((r#""\ufffd\u"#, 1)));
        check(r#""\u+83d""#, None);
    }

    fn pieces() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just(r"\ud83d".to_owned()),
            Just(r"\uDE00".to_owned()),
            Just(r"\\".to_owned()),
            Just(r"\u0041".to_owned()),
            Just(r"\n".to_owned()),
            "[ud8x]{0,3}",
        ];
        proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_repaired(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = without_lone_surrogates(&bytes);
        }

        /// Compares with `from_utf16_lossy`, which does what JavaScript does when it encodes such a string as UTF-8.
        #[test]
        fn a_repaired_string_reads_as_javascript_would_write_it(text in pieces()) {
            let json = format!("\"{text}\"");
            let mut units = Vec::new();
            let mut rest = text.as_str();
            while let Some(first) = rest.chars().next() {
                let (unit, length) = match rest.as_bytes() {
                    [b'\\', b'u', ..] => (u16::from_str_radix(&rest[2..6], 16).expect("hexadecimal"), 6),
                    [b'\\', b'n', ..] => (u16::from(b'\n'), 2),
                    [b'\\', ..] => (u16::from(b'\\'), 2),
                    _ => (u16::try_from(u32::from(first)).expect("ASCII"), 1),
                };
                units.push(unit);
                rest = &rest[length..];
            }
            let repaired = without_lone_surrogates(json.as_bytes());
            let readable = repaired.map_or(json.into_bytes(), |(json, _)| json);
            let read: Value = serde_json::from_slice(&readable).expect("it is JSON now");
            prop_assert_eq!(read, Value::from(String::from_utf16_lossy(&units)));
        }
    }
}
