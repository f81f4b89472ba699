//! Reads errors of providers, sent by a status or inside a stream, and decides what may be done about them.
//!
//! Providers agree on little: the message may stand in one of several fields or be the whole text, the code may be a
//! word or a number, and often only the wording says that a conversation is too long.

use std::time::Duration;

use serde_json::Value;

use crate::failure::{Failure, Remedy};

/// The longest part of a provider's message that is repeated, in characters.
const LONGEST_MESSAGE: usize = 600;

/// Error codes of failures that a retry does not help, also where no status says so.
const LASTING: &[&str] = &[
    "invalid_request_error",
    "invalid_api_key",
    "authentication_error",
    "permission_error",
    "model_not_found",
    "not_found_error",
];

/// An error in the provider's own words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// The error code, such as `rate_limit_exceeded`.
    pub(crate) code: Option<String>,
    /// The HTTP status, of the response or as an error code.
    pub(crate) status: Option<u16>,
    pub(crate) message: String,
}

impl Complaint {
    /// Reads the body of an error response, whatever its format.
    pub(crate) fn of_body(status: u16, body: &str) -> Self {
        let value: Option<Value> = serde_json::from_str(body).ok();
        let read = value.as_ref().and_then(Self::of_value);
        let complaint = read.unwrap_or_else(|| Self { message: plain(body), ..Self::default() });
        Self { status: Some(status), ..complaint }
    }

    /// Reads the JSON of an error response or of an error event; `None` if it contains no error.
    pub(crate) fn of_value(value: &Value) -> Option<Self> {
        let error = [value.pointer("/response/error"), value.get("error"), value.pointer("/errors/0")];
        match error.into_iter().flatten().find(|error| !error.is_null()) {
            Some(Value::String(message)) => Some(Self { message: shortened(message), ..Self::default() }),
            Some(error) => Some(Self::of_object(error)),
            None => ["message", "detail"]
                .iter()
                .any(|field| value.get(field).is_some())
                .then(|| Self::of_object(value)),
        }
    }

    fn of_object(error: &Value) -> Self {
        let word = |field: &str| error.get(field).and_then(Value::as_str).filter(|word| !word.is_empty());
        let code = word("code").or_else(|| word("type")).map(str::to_owned);
        let number = error.get("code").and_then(Value::as_u64).or_else(|| word("code")?.parse().ok());
        let status = number.and_then(|number| u16::try_from(number).ok());
        let message = word("message").or_else(|| word("detail")).map(str::to_owned);
        let message = message.or_else(|| Some(error.pointer("/detail/0/msg")?.as_str()?.to_owned()));
        Self {
            message: shortened(&message.or_else(|| code.clone()).unwrap_or_else(|| error.to_string())),
            status: status.filter(|status| (400..600).contains(status)),
            code,
        }
    }

    /// The remedy. An unknown error may pass: inside a stream most errors do.
    pub(crate) fn remedy(&self) -> Remedy {
        let code = self.code.as_deref().unwrap_or_default();
        match (code, self.status) {
            ("context_length_exceeded" | "exceed_context_size_error", _) => Remedy::Shorten,
            (
                "insufficient_quota" | "usage_not_included" | "invalid_prompt" | "billing_hard_limit_reached",
                _,
            ) => Remedy::GiveUp,
            (_, Some(401..=404)) => Remedy::GiveUp,
            (_, Some(429)) => self.later(),
            _ if self.tells_of_length() => Remedy::Shorten,
            (_, Some(413)) => Remedy::Shorten,
            (code, None) if LASTING.contains(&code) => Remedy::GiveUp,
            (_, Some(408 | 409 | 425 | 500..)) => self.later(),
            (_, Some(_)) => Remedy::GiveUp,
            (_, None) => self.later(),
        }
    }

    /// The failure with this error, prefixed by the name of its sender.
    pub(crate) fn into_failure(self, told: &str) -> Failure {
        Failure { remedy: self.remedy(), message: format!("{told}: {}", self.message) }
    }

    fn later(&self) -> Remedy {
        Remedy::Retry { after: asked_to_wait(&self.message) }
    }

    /// Whether the text says that the conversation is too long, in the wordings of OpenAI, vLLM, Ollama, llama.cpp, LM
    /// Studio, Anthropic, Gemini and Mistral.
    fn tells_of_length(&self) -> bool {
        const WORDINGS: &[&str] = &[
            "maximum context length",
            "context length exceeded",
            "exceeds the context",
            "exceeds the available context size",
            "exceed context size",
            "context window",
            "longer than the maximum model length",
            "exceeds maximum context",
            "exceeded max context length",
            "prompt is too long",
            "exceeds the maximum number of tokens",
            "context the overflows",
            "reduce the length of the messages",
        ];
        let message = self.message.to_ascii_lowercase();
        WORDINGS.iter().any(|wording| message.contains(wording))
    }
}

/// The time in `try again in 1.5s`, `28ms`, `6m0s`, `20 seconds`.
pub(crate) fn asked_to_wait(message: &str) -> Option<Duration> {
    let lower = message.to_ascii_lowercase();
    let (_, mut rest) = lower.split_once("try again in ")?;
    let mut total: Option<Duration> = None;
    while let Some((piece, after)) = duration(rest) {
        total = Some(total.unwrap_or_default().checked_add(piece)?);
        rest = after;
    }
    total
}

/// Parses a number with its unit, and returns the rest of the text.
fn duration(text: &str) -> Option<(Duration, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let number: f64 = number.parse().ok()?;
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(end);
    let seconds = match unit {
        "ms" | "millisecond" | "milliseconds" => number / 1000.0,
        "s" | "sec" | "secs" | "second" | "seconds" => number,
        "m" | "min" | "mins" | "minute" | "minutes" => number * 60.0,
        "h" | "hour" | "hours" => number * 3600.0,
        _ => return None,
    };
    Some((Duration::try_from_secs_f64(seconds).ok()?, rest))
}

/// The plain text of a body that may be an HTML page.
fn plain(body: &str) -> String {
    let mut words = String::new();
    let mut in_tag = false;
    for c in body.chars() {
        match c {
            '<' => in_tag = true,
            '>' if in_tag => {
                in_tag = false;
                words.push(' ');
            }
            _ if !in_tag => words.push(c),
            _ => {}
        }
    }
    let words = shortened(&words);
    if words.is_empty() { "no reason was given".to_owned() } else { words }
}

/// The text on one line, and not too long.
pub(crate) fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: Remedy = Remedy::Retry { after: None };

    fn after(milliseconds: u64) -> Remedy {
        Remedy::Retry { after: Some(Duration::from_millis(milliseconds)) }
    }

    #[test]
    fn a_status_and_its_body_say_what_may_be_done() {
        let check = |status: u16, body: &str, expected: (Remedy, &str)| {
            let complaint = Complaint::of_body(status, body);
            assert_eq!((complaint.remedy(), complaint.message.as_str()), expected, "{status} {body}");
        };
        check(
            400,
            r#"{"error":{"message":"bad tool","type":"invalid_request_error"}}"#,
            (Remedy::GiveUp, "bad tool"),
        );
        check(400, r#"{"error":{"message":"no","code":"context_length_exceeded"}}"#, (Remedy::Shorten, "no"));
        check(
            400,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens.","code":400}"#,
            (Remedy::Shorten, "This model's maximum context length is 4096 tokens."),
        );
        check(
            400,
            r#"{"error":"the input length exceeds the context length"}"#,
            (Remedy::Shorten, "the input length exceeds the context length"),
        );
        check(413, "", (Remedy::Shorten, "no reason was given"));
        check(404, r#"{"detail":"Not Found"}"#, (Remedy::GiveUp, "Not Found"));
        check(
            404,
            r#"{"error":{"message":"no such context window"}}"#,
            (Remedy::GiveUp, "no such context window"),
        );
        check(
            422,
            r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#,
            (Remedy::GiveUp, "field required"),
        );
        check(402, "pay", (Remedy::GiveUp, "pay"));
        check(
            429,
            r#"{"error":{"message":"You ran out","code":"insufficient_quota"}}"#,
            (Remedy::GiveUp, "You ran out"),
        );
        check(429, r#"{"error":{"message":"Try again in 1.5s."}}"#, (after(1500), "Try again in 1.5s."));
        check(409, "{}", (LATER, "{}"));
        check(500, "<html><h1>Oh</h1>\n no</html>", (LATER, "Oh no"));
        check(503, r#"{"error":null}"#, (LATER, r#"{"error":null}"#));
        check(529, r#"{"error":{"type":"overloaded_error"}}"#, (LATER, "overloaded_error"));
    }

    #[test]
    fn a_complaint_inside_a_stream_is_judged_by_its_code() {
        let check = |json: &str, expected: Remedy| {
            let value: Value = serde_json::from_str(json).unwrap();
            assert_eq!(Complaint::of_value(&value).unwrap().remedy(), expected, "{json}");
        };
        check(r#"{"response":{"error":{"code":"context_length_exceeded","message":"m"}}}"#, Remedy::Shorten);
        check(r#"{"response":{"error":{"code":"usage_not_included","message":"m"}}}"#, Remedy::GiveUp);
        check(r#"{"response":{"error":{"code":"invalid_prompt","message":"m"}}}"#, Remedy::GiveUp);
        check(
            r#"{"response":{"error":{"code":"rate_limit_exceeded","message":"Please try again in 28ms."}}}"#,
            after(28),
        );
        check(r#"{"response":{"error":{"code":"server_is_overloaded","message":"m"}}}"#, LATER);
        check(r#"{"error":{"code":502,"message":"upstream"}}"#, LATER);
        check(r#"{"error":{"code":400,"type":"BadRequestError","message":"m"}}"#, Remedy::GiveUp);
        check(r#"{"type":"error","code":"429","message":"m"}"#, LATER);
        check(r#"{"error":{"type":"invalid_request_error","message":"m"}}"#, Remedy::GiveUp);
        check(r#"{"error":"something"}"#, LATER);
        assert_eq!(Complaint::of_value(&serde_json::json!({ "error": null, "choices": [] })), None);
    }

    #[test]
    fn the_time_to_wait_is_read_from_the_words() {
        let check = |text: &str, expected: Option<f64>| {
            assert_eq!(asked_to_wait(text), expected.map(Duration::from_secs_f64), "{text}");
        };
        check("Please try again in 6m0s. Visit", Some(360.0));
        check("try again in 1h2m3.5s", Some(3723.5));
        check("Try again in 20 seconds", Some(20.0));
        check("try again in 35 seconds. Or call 911 m", Some(35.0));
        check("try again in a while", None);
        check("try again in 99999999999999999999999999s", None);
        check("later", None);
    }

    #[test]
    fn long_messages_are_shortened() {
        let message = shortened(&"é ".repeat(1000));
        assert_eq!(message.chars().count(), LONGEST_MESSAGE + 1);
    }
}
