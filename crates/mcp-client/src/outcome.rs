//! The outcome of a call: the parts of a server's answer, and its rendering within limits for a model.

use std::time::Duration;

use serde_json::{Map, Value};

/// The result of a tool, including that of a tool that reports a failure.
#[derive(Clone, Debug, PartialEq)]
pub struct CallOutcome {
    /// The parts, in order.
    pub content: Vec<Content>,
    /// The structured result, if the tool has one.
    pub structured: Option<Value>,
    /// Whether the tool reports a failure.
    pub is_error: bool,
    /// The duration of the call.
    pub wall: Duration,
}

/// A part of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text.
    Text(String),
    /// An image.
    Image {
        /// Its MIME type.
        mime: String,
        /// Its bytes, as base64.
        data: String,
    },
    /// Content that a model cannot be shown, described in words.
    Described(String),
}

/// A part of the rendering for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultPart {
    /// Text.
    Text(String),
    /// An image.
    Image {
        /// Its MIME type.
        mime: String,
        /// Its bytes, as base64.
        data: String,
    },
}

/// Limits on the rendering for a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenderLimits {
    /// The most bytes of text in all parts together.
    pub text: usize,
    /// The most bytes of images, as base64, in all parts together.
    pub images: usize,
}

impl Default for RenderLimits {
    /// Ten thousand tokens of four bytes, and images of ten megabytes.
    fn default() -> Self {
        Self { text: 40_000, images: 14 << 20 }
    }
}

impl CallOutcome {
    /// Parses the result of `tools/call`.
    pub(crate) fn read(mut result: Map<String, Value>, wall: Duration) -> Result<Self, String> {
        let content = match result.remove("content") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(parts)) => parts.into_iter().map(Content::read).collect(),
            Some(other) => return Err(format!("its content is {}", kind(&other))),
        };
        let structured = result.remove("structuredContent").filter(|value| !value.is_null());
        let is_error = result.get("isError").and_then(Value::as_bool).unwrap_or_default();
        Ok(Self { content, structured, is_error, wall })
    }
}

impl Content {
    /// Moves texts out of the value, because they may be too large to copy.
    fn read(part: Value) -> Self {
        let Value::Object(mut part) = part else { return Self::unknown(&part) };
        let kind = part.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mime = part.get("mimeType").and_then(Value::as_str).unwrap_or_default().to_owned();
        let field = if kind == "text" { "text" } else { "data" };
        let Some(Value::String(text)) = part.get_mut(field).map(Value::take) else {
            return Self::without_data(&kind, &Value::Object(part));
        };
        match kind.as_str() {
            "text" => Self::Text(text),
            "image" if mime.is_empty() => Self::Image { mime: "image/png".to_owned(), data: text },
            "image" => Self::Image { mime, data: text },
            "audio" => {
                Self::Described(format!("[audio: {mime}, about {} bytes, cannot be shown]", decoded(&text)))
            }
            _ => Self::Described(format!(
                "[a part of unknown kind `{kind}`, with data of {} bytes]",
                text.len()
            )),
        }
    }

    fn without_data(kind: &str, part: &Value) -> Self {
        match (kind, part.get("resource")) {
            ("resource_link", _) => Self::Described(link(part)),
            ("resource", Some(resource)) => Self::embedded(resource),
            _ => Self::unknown(part),
        }
    }

    fn embedded(resource: &Value) -> Self {
        let text = |name: &str| resource.get(name).and_then(Value::as_str);
        let uri = text("uri").unwrap_or("without address");
        let mime = text("mimeType").unwrap_or("application/octet-stream");
        match (text("text"), text("blob")) {
            (Some(text), _) => Self::Text(format!("[resource {uri}]\n{text}")),
            (None, Some(data)) if mime.starts_with("image/") => {
                Self::Image { mime: mime.to_owned(), data: data.to_owned() }
            }
            (None, Some(blob)) => {
                Self::Described(format!("[resource {uri}: {mime}, about {} bytes]", decoded(blob)))
            }
            (None, None) => Self::Described(format!("[resource {uri}, without content]")),
        }
    }

    fn unknown(part: &Value) -> Self {
        Self::Described(format!("[a part of unknown kind: {part}]"))
    }
}

/// Renders an outcome for a model: its duration, then its parts within the limits. Everything that is left out is
/// noted.
pub fn render(outcome: &CallOutcome, limits: RenderLimits) -> Vec<ResultPart> {
    let mut shown =
        vec![ResultPart::Text(format!("Wall time: {:.4} seconds\nOutput:", outcome.wall.as_secs_f64()))];
    let mut left = limits;
    for content in &outcome.content {
        let part = match content {
            Content::Text(text) | Content::Described(text) => ResultPart::Text(fit(text, &mut left.text)),
            Content::Image { mime, data } => image(mime, data, &mut left.images),
        };
        shown.push(part);
    }
    if let Some(structured) = outcome.structured.as_ref().filter(|value| !is_said(value, &outcome.content)) {
        shown.push(ResultPart::Text(fit(&structured.to_string(), &mut left.text)));
    }
    shown
}

/// Whether one of the text parts repeats the structured result, as the protocol recommends. Showing both would cost
/// twice.
fn is_said(structured: &Value, content: &[Content]) -> bool {
    content.iter().any(|part| match part {
        Content::Text(text) => serde_json::from_str::<Value>(text).is_ok_and(|said| said == *structured),
        Content::Image { .. } | Content::Described(_) => false,
    })
}

fn image(mime: &str, data: &str, left: &mut usize) -> ResultPart {
    if data.len() > *left {
        let size = decoded(data);
        return ResultPart::Text(format!("[image: {mime}, about {size} bytes, left out: too large]"));
    }
    *left -= data.len();
    ResultPart::Image { mime: mime.to_owned(), data: data.to_owned() }
}

/// As much of a text as fits: its beginning and its end, with the number of omitted bytes between.
fn fit(text: &str, left: &mut usize) -> String {
    if text.len() <= *left {
        *left -= text.len();
        return text.to_owned();
    }
    let half = std::mem::take(left) / 2;
    let head = &text[..text.floor_char_boundary(half)];
    let tail = &text[text.ceil_char_boundary(text.len() - half)..];
    let cut = text.len() - head.len() - tail.len();
    format!("{head}…{cut} bytes truncated…{tail}")
}

fn link(part: &Value) -> String {
    let text = |name: &str| part.get(name).and_then(Value::as_str);
    let uri = text("uri").unwrap_or("without address");
    let details = [text("name"), text("mimeType"), text("description")];
    let details: Vec<&str> = details.into_iter().flatten().collect();
    let colon = if details.is_empty() { "" } else { ": " };
    format!("[link to resource {uri}{colon}{}]", details.join(", "))
}

/// The approximate number of bytes that this many characters of base64 encode.
fn decoded(base64: &str) -> usize {
    base64.len() / 4 * 3
}

/// The type of a value, in words.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(result: Value) -> CallOutcome {
        let Value::Object(result) = result else { panic!("a result is an object") };
        CallOutcome::read(result, Duration::from_millis(1500)).expect("it can be read")
    }

    fn texts(parts: &[ResultPart]) -> Vec<&str> {
        parts
            .iter()
            .map(|part| match part {
                ResultPart::Text(text) => text.as_str(),
                ResultPart::Image { .. } => "<image>",
            })
            .collect()
    }

    /// Compares the rendering after its first part.
    #[expect(clippy::needless_pass_by_value, reason = "written where it is used")]
    fn check(result: Value, expected: &[&str]) {
        let shown = render(&read(result.clone()), RenderLimits::default());
        assert_eq!(texts(&shown)[1..], *expected, "{result}");
    }

    #[test]
    fn parts_are_shown_in_order_after_the_time() {
        let outcome = read(json!({ "content": [{ "type": "text", "text": "a" }] }));
        assert_eq!(
            texts(&render(&outcome, RenderLimits::default())),
            ["Wall time: 1.5000 seconds\nOutput:", "a"]
        );
    }

    #[test]
    fn every_kind_of_part_is_shown_or_described() {
        check(json!({ "content": [] }), &[]);
        check(json!({}), &[]);
        check(
            json!({ "content": [{ "type": "image", "data": "AAAA", "mimeType": "image/png" }] }),
            &["<image>"],
        );
        let audio = json!({ "type": "audio", "data": "AAAAAAAA", "mimeType": "audio/wav" });
        check(json!({ "content": [audio] }), &["[audio: audio/wav, about 6 bytes, cannot be shown]"]);
        let linked =
            json!({ "type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain" });
        check(json!({ "content": [linked] }), &["[link to resource file:///a: a, text/plain]"]);
        let embedded = json!({ "type": "resource", "resource": { "uri": "file:///a", "text": "hi" } });
        check(json!({ "content": [embedded] }), &["[resource file:///a]\nhi"]);
        let blob = json!({ "type": "resource", "resource": { "uri": "file:///a", "blob": "AAAA" } });
        check(
            json!({ "content": [blob] }),
            &["[resource file:///a: application/octet-stream, about 3 bytes]"],
        );
        check(json!({ "content": [{ "type": "mime" }] }), &["[a part of unknown kind: {\"type\":\"mime\"}]"]);
        check(
            json!({ "content": [{ "type": "video", "data": "AAAA" }] }),
            &["[a part of unknown kind `video`, with data of 4 bytes]"],
        );
        check(json!({ "content": [17] }), &["[a part of unknown kind: 17]"]);
        check(json!({ "content": [{ "type": "text" }] }), &["[a part of unknown kind: {\"type\":\"text\"}]"]);
    }

    #[test]
    fn data_is_shown_once() {
        let said = json!({ "type": "text", "text": "{ \"a\": 1 }" });
        check(json!({ "content": [said], "structuredContent": { "a": 1 } }), &["{ \"a\": 1 }"]);
        let summary = json!({ "type": "text", "text": "one" });
        check(json!({ "content": [summary], "structuredContent": { "a": 1 } }), &["one", "{\"a\":1}"]);
        check(json!({ "structuredContent": { "a": 1 } }), &["{\"a\":1}"]);
    }

    #[test]
    fn what_is_too_long_is_cut_in_the_middle_and_said() {
        let part = |text: &str| json!({ "type": "text", "text": text });
        let outcome = read(json!({ "content": [part("abcd"), part("0123456789ä"), part("gone")] }));
        let shown = render(&outcome, RenderLimits { text: 10, images: 0 });
        assert_eq!(texts(&shown)[1..], ["abcd", "012…6 bytes truncated…9ä", "…4 bytes truncated…"]);
    }

    #[test]
    fn a_picture_that_is_too_large_is_named() {
        let picture = json!({ "type": "image", "data": "AAAAAAAA", "mimeType": "image/png" });
        let outcome = read(json!({ "content": [picture, picture] }));
        let shown = render(&outcome, RenderLimits { text: 100, images: 8 });
        assert_eq!(texts(&shown)[1..], ["<image>", "[image: image/png, about 6 bytes, left out: too large]"]);
    }

    proptest! {
        #[test]
        fn nothing_shown_is_longer_than_allowed(
            words in proptest::collection::vec(".{0,40}", 0..6),
            limit in 0usize..120,
        ) {
            let content = words.into_iter().map(Content::Text).collect::<Vec<_>>();
            let count = content.len();
            let outcome = CallOutcome { content, structured: None, is_error: false, wall: Duration::ZERO };
            let shown = render(&outcome, RenderLimits { text: limit, images: 0 });
            let length: usize = texts(&shown)[1..].iter().map(|text| text.len()).sum();
            // Each part may have a marker that says how much was cut.
            prop_assert!(length <= limit + count * 40);
        }
    }
}
