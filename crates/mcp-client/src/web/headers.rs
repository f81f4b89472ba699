//! The headers in which the protocol repeats parts of a request, so that intermediaries need not parse bodies.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::Question;

/// The headers of a request: its method, its target, and the arguments that the tool's schema marks.
pub(super) fn of_request(question: &Question<'_>) -> Vec<(String, String)> {
    let mut headers = vec![("Mcp-Method".to_owned(), question.method.to_owned())];
    let about = match question.method {
        "tools/call" => question.params.get("name"),
        "resources/read" => question.params.get("uri"),
        _ => None,
    };
    let about = about.and_then(Value::as_str);
    headers.extend(about.map(|about| ("Mcp-Name".to_owned(), carried(about))));
    if let (Some(schema), Some(arguments)) = (question.schema, question.params.get("arguments")) {
        repeat(schema, arguments, &mut headers);
    }
    headers
}

/// Adds the arguments whose schema names a header for them, at any depth.
fn repeat(schema: &Map<String, Value>, arguments: &Value, headers: &mut Vec<(String, String)>) {
    let Some(Value::Object(properties)) = schema.get("properties") else { return };
    for (name, property) in properties {
        let (Value::Object(property), Some(argument)) = (property, arguments.get(name)) else { continue };
        let header = property.get("x-mcp-header").and_then(Value::as_str).filter(|name| is_name(name));
        let value = match argument {
            Value::String(text) => Some(text.clone()),
            Value::Bool(_) | Value::Number(_) => Some(argument.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        };
        if let (Some(header), Some(value)) = (header, value) {
            headers.push((format!("Mcp-Param-{header}"), carried(&value)));
        }
        repeat(property, argument, headers);
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Encodes a value for a header.
fn carried(value: &str) -> String {
    let plain = value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let edged = value.starts_with(' ') || value.ends_with(' ');
    let misleading = value.starts_with("=?base64?") && value.ends_with("?=");
    if plain && !edged && !misleading {
        return value.to_owned();
    }
    format!("=?base64?{}?=", STANDARD.encode(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(method: &str, params: Value, schema: Value, expected: &[(&str, &str)]) {
        let (Value::Object(params), Value::Object(schema)) = (params, schema) else { panic!("objects") };
        let question = Question { method, params: &params, schema: Some(&schema), revision: None };
        let headers = of_request(&question);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(headers, expected);
    }

    #[test]
    fn a_request_says_what_it_is_about() {
        check("tools/list", json!({}), json!({}), &[("Mcp-Method", "tools/list")]);
        let params = json!({ "name": "größe" });
        let expected = [("Mcp-Method", "tools/call"), ("Mcp-Name", "=?base64?Z3LDtsOfZQ==?=")];
        check("tools/call", params, json!({}), &expected);
        let expected = [("Mcp-Method", "resources/read"), ("Mcp-Name", "file:///a")];
        check("resources/read", json!({ "uri": "file:///a" }), json!({}), &expected);
    }

    #[test]
    fn arguments_are_repeated_where_the_tool_wants_it() {
        let schema = json!({ "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "bad": { "type": "string", "x-mcp-header": "a: b" },
            "plain": { "type": "string" },
            "where": { "type": "object", "properties": { "zone": { "x-mcp-header": "Zone" } } },
        }});
        let arguments = json!({ "region": " eu", "bad": "x", "plain": "y", "where": { "zone": 7 } });
        let params = json!({ "name": "t", "arguments": arguments });
        let expected = [
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "t"),
            ("Mcp-Param-Region", "=?base64?IGV1?="),
            ("Mcp-Param-Zone", "7"),
        ];
        check("tools/call", params, schema, &expected);
    }
}
