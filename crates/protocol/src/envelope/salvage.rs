//! Finds the id of a message that cannot be parsed: nested too deeply, cut off, or not JSON. Looks at every byte once, keeps
//! nothing but the id, and never fails.

use memchr::memchr2;
use serde::de::DeserializeOwned;

use super::RequestId;

/// The result of a search for the id of a message that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Salvaged {
    /// Its sender waits for an answer under this id.
    Request(RequestId),
    /// It is a notification or an answer: no answer is expected.
    Unanswerable,
    /// Nothing.
    Unknown,
}

/// Finds the id of a message. Of an id that is written twice the last one counts, as where the message can be read.
#[must_use]
pub fn salvage(bytes: &[u8]) -> Salvaged {
    let mut members = Members { rest: bytes.trim_ascii_start(), state: State::Begins };
    let (mut id, mut has_method, mut has_outcome) = (None, false, false);
    while let Some((name, value)) = members.next_member() {
        match name {
            Name::Id => id = read_id(value),
            Name::Method => has_method = true,
            Name::Outcome => has_outcome = true,
            Name::Other => {}
        }
    }
    match id {
        // It has the id of a request of ours.
        Some(_) if has_outcome && !has_method => Salvaged::Unanswerable,
        Some(id) => Salvaged::Request(id),
        None if has_method && members.state == State::Ended => Salvaged::Unanswerable,
        None => Salvaged::Unknown,
    }
}

/// The members of the outermost object, as far as they can be told apart.
struct Members<'a> {
    rest: &'a [u8],
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Begins,
    Within,
    /// After the closing brace.
    Ended,
    /// The bytes that follow are not a member.
    Broken,
}

/// The names that matter.
enum Name {
    Id,
    Method,
    Outcome,
    Other,
}

impl<'a> Members<'a> {
    /// The next member: its name, and everything from its value on.
    fn next_member(&mut self) -> Option<(Name, &'a [u8])> {
        let opening = match self.state {
            State::Begins => b'{',
            State::Within => b',',
            State::Ended | State::Broken => return None,
        };
        self.state = State::Broken;
        if self.rest.first() == Some(&b'}') {
            self.state = State::Ended;
        }
        self.take(opening)?;
        if self.rest.first() == Some(&b'}') {
            self.state = State::Ended;
            return None;
        }
        let name = self.rest;
        self.take(b'"')?;
        let length = rest_of_string(self.rest);
        self.rest = self.rest[length..].trim_ascii_start();
        let name = Name::of(name.get(..length + 1)?);
        self.take(b':')?;
        let value = self.rest;
        self.rest = &value[value_length(value)..];
        self.state = State::Within;
        Some((name, value))
    }

    /// Skips this byte and the white space behind it.
    fn take(&mut self, byte: u8) -> Option<()> {
        self.rest = self.rest.strip_prefix(&[byte])?.trim_ascii_start();
        Some(())
    }
}

impl Name {
    /// The name that is written like this, in its quotes.
    fn of(written: &[u8]) -> Self {
        const NAMES: [(&str, Name); 4] =
            [("id", Name::Id), ("method", Name::Method), ("result", Name::Outcome), ("error", Name::Outcome)];
        // Nearly every name is written without escapes; a name that is longer than the longest with all its letters escaped is
        // none of these.
        const LONGEST: usize = "\"method\"".len() * "\\u0000".len();
        if written.len() > LONGEST {
            return Self::Other;
        }
        let name: Option<String> = read(written);
        let found = NAMES.into_iter().find(|(known, _)| name.as_deref() == Some(*known));
        found.map_or(Self::Other, |(_, name)| name)
    }
}

/// The id that stands here, if it is one and all of it is here.
fn read_id(value: &[u8]) -> Option<RequestId> {
    if let Some(text) = value.strip_prefix(b"\"") {
        return read(&value[..rest_of_string(text) + 1]).map(RequestId::Text);
    }
    let length = value.iter().position(|byte| matches!(byte, b',' | b'}') || byte.is_ascii_whitespace())?;
    read(&value[..length]).map(RequestId::Number)
}

fn read<T: DeserializeOwned>(json: &[u8]) -> Option<T> {
    serde_json::from_slice(json).ok()
}

/// How far it is to the comma or brace behind this value of the outermost object, however deep it is.
fn value_length(bytes: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b',' | b'}' if depth == 0 => return at,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => at += rest_of_string(&bytes[at + 1..]),
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// How far it is to the end of the string that these bytes are in.
pub(super) fn rest_of_string(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = memchr2(b'"', b'\\', &bytes[at..]) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        // A character after a backslash does not end the string.
        at = bytes.len().min(at + 2);
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::Value;

    use super::*;

    fn number(id: i64) -> Salvaged {
        Salvaged::Request(RequestId::Number(id))
    }

    fn text(id: &str) -> Salvaged {
        Salvaged::Request(RequestId::Text(id.to_owned()))
    }

    #[test]
    fn the_id_is_found_wherever_the_message_is_broken() {
        let deep = format!(r#"{{"method":"m","params":{}{},"id":7}}"#, "[".repeat(9_999), "]".repeat(9_999));
        for (message, expected) in [
            (deep.as_str(), number(7)),
            (r#"{"id":7,"method":"m","params":{"x":"\ud83d"}}"#, number(7)),
            (r#"{"method":"m","params":{"x":"\ud83d","id":8},"id":7}"#, number(7)),
            (r#" { "id" : -7 , "method" : "m" , "params" : nonsense } "#, number(-7)),
            (r#"{"id":"a\"b","method":"m","params":["#, text("a\"b")),
            (r#"{"\u0069d":7,"method":"m","params":["#, number(7)),
            (r#"{"id":7}{"id":8}"#, number(7)),
            (r#"{"id":7,"id":8,"params":["#, number(8)),
            (r#"{"id":12"#, Salvaged::Unknown),
            (r#"{"id":"12"#, Salvaged::Unknown),
            (r#"{"id":"\ud83d","method":"m"}"#, Salvaged::Unanswerable),
            (r#"{"id":1.5,"params":["#, Salvaged::Unknown),
            (r#"{"method":"m","params":{"id":7,"x":"\ud83d"}}"#, Salvaged::Unanswerable),
            (r#"{"method":"m","params":{"id":7,"x":"#, Salvaged::Unknown),
            (r#"{"id":7,"result":{"x":"\ud83d"}}"#, Salvaged::Unanswerable),
            (r#"{"id":7,"error":nonsense}"#, Salvaged::Unanswerable),
            (r#"[{"id":7}]"#, Salvaged::Unknown),
            ("{}", Salvaged::Unknown),
            ("{", Salvaged::Unknown),
            ("", Salvaged::Unknown),
            ("7", Salvaged::Unknown),
        ] {
            assert_eq!(salvage(message.as_bytes()), expected, "{}", &message[..message.len().min(80)]);
        }
    }

    /// Members whose names and values are likely to be mistaken for each other.
    fn object(depth: u32) -> BoxedStrategy<String> {
        let name = prop_oneof![
            Just(r#""id""#),
            Just(r#""\u0069\u0064""#),
            Just(r#""method""#),
            Just(r#""result""#),
            Just(r#""params""#),
            Just(r#""i\"d""#),
            Just(r#""""#)
        ];
        let plain = prop_oneof![
            any::<i64>().prop_map(|number| number.to_string()),
            any::<f64>().prop_map(|number| Value::from(number).to_string()),
            any::<String>().prop_map(|text| Value::from(text).to_string()),
            Just("null".to_owned()),
            Just("18446744073709551615".to_owned()),
            Just("{}".to_owned()),
            Just("[]".to_owned())
        ];
        let value = match depth {
            0 => plain.boxed(),
            _ => {
                let list = proptest::collection::vec(object(depth - 1), 0..3)
                    .prop_map(|values| format!("[{}]", values.join(", ")));
                prop_oneof![3 => plain, 1 => object(depth - 1), 1 => list].boxed()
            }
        };
        let space = prop_oneof![Just(""), Just(" "), Just("\t\r\n")];
        let member = (name, space, value)
            .prop_map(|(name, space, value)| format!("{space}{name}{space}:{space}{value}{space}"));
        proptest::collection::vec(member, 0..6)
            .prop_map(|members| format!("{{{}}}", members.join(",")))
            .boxed()
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_looked_at(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = salvage(&bytes);
        }

        #[test]
        fn the_id_of_valid_json_is_the_one_that_a_parser_finds(json in object(2)) {
            let read: Value = serde_json::from_str(&json).expect("it is JSON");
            let id = read.get("id").and_then(|id| RequestId::deserialize(id).ok());
            let has = |name: &str| read.get(name).is_some();
            let expected = match id {
                Some(_) if has("result") && !has("method") => Salvaged::Unanswerable,
                Some(id) => Salvaged::Request(id),
                None if has("method") => Salvaged::Unanswerable,
                None => Salvaged::Unknown,
            };
            prop_assert_eq!(salvage(json.as_bytes()), expected);
        }

        #[test]
        fn a_message_that_is_cut_off_gives_no_other_id_than_the_whole(json in object(1), at in any::<prop::sample::Index>()) {
            let cut = &json.as_bytes()[..at.index(json.len())];
            if let Salvaged::Request(id) = salvage(cut) {
                let written = serde_json::to_string(&id).expect("it can be written");
                let read: Value = serde_json::from_str(&written).expect("it is JSON");
                let ids = serde_json::from_str::<Value>(&json).expect("it is JSON");
                // With several ids, the cut may keep another one than the last.
                if json.matches("id").count() + json.matches(r"\u0069").count() == 1 {
                    prop_assert_eq!(ids.get("id"), Some(&read));
                }
            }
        }
    }
}
