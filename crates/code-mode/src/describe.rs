//! The names, descriptions and parameters of the two tools, for models.

use serde_json::{Value, json};

/// The name of the tool that starts a cell; it takes the script as free text.
pub const NAME: &str = "exec";

/// The description of `exec`.
pub const DESCRIPTION: &str = r#"Runs JavaScript that calls your other tools, so that several calls, loops and filtering take one step.
The input is the script itself, not JSON and not in a code fence. It is a module body: top-level `await` works.
- `await tools.NAME({...})` calls a tool; it resolves to the tool's result and rejects with an Error that carries its message. A tool that takes free text is called with one string. `Promise.all` really runs calls at once. `ALL_TOOLS` lists `{name, description, parameters}`.
- `text(value)` adds to what you see, and so does `console.log`; without either you see nothing. `image(data_url)` shows an image.
- `store(key, value)` and `load(key)` keep JSON values for later scripts. `notify(text)` tells you something at once.
- `exit()` ends the script as completed; `yield_control()` answers you now while it goes on. `setTimeout` and `clearTimeout` exist.
There are no files, no network, no imports and no other globals; memory and computing time are limited, waiting for tools is not.
The first line may be `// @exec: {"yield_time_ms": 10000, "max_output_tokens": 10000}`. A script that is not done by then goes on: use `wait` with its cell ID.
Example:
const [a, b] = await Promise.all(["src", "tests"].map((dir) => tools.exec_command({ cmd: `grep -rc TODO ${dir}` })));
text(a); text(b);"#;

/// The grammar of the input of `exec`, in Lark: an optional pragma line and then any text that is not empty.
pub const GRAMMAR: &str = r"start: PRAGMA? SCRIPT
PRAGMA: /[ \t]*\/\/[ \t]*@exec:[^\r\n]*\r?\n/
SCRIPT: /[\s\S]+/
";

/// The name of the tool that waits for a cell.
pub const WAIT_NAME: &str = "wait";

/// The description of `wait`.
pub const WAIT_DESCRIPTION: &str = "Waits for a script that `exec` left running, and gives what it said since the last answer: \
when it ends, when it calls yield_control(), or after yield_time_ms. With terminate it is ended.";

/// The JSON Schema of the arguments of `wait`.
pub fn wait_parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "cell_id": {"type": "string", "description": "The cell ID that exec answered with."},
            "yield_time_ms": {"type": "integer", "minimum": 0, "description": "How long to wait at most. Usually 10000."},
            "max_tokens": {"type": "integer", "minimum": 0, "description": "Most tokens of output to see. Usually 10000."},
            "terminate": {"type": "boolean", "description": "End the script instead of waiting for it."}
        },
        "required": ["cell_id"],
        "additionalProperties": false
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Wait;

    #[test]
    fn every_argument_that_is_described_is_understood() {
        let parameters = wait_parameters();
        let names = parameters["properties"].as_object().expect("is an object").keys();
        let example = |name: &str| match parameters["properties"][name]["type"].as_str() {
            Some("string") => json!("1"),
            Some("integer") => json!(1),
            Some("boolean") => json!(true),
            other => panic!("{name}: {other:?}"),
        };
        let all = names.map(|name| (name.clone(), example(name))).collect();
        Wait::from_arguments(Value::Object(all)).expect("is understood");
    }
}
