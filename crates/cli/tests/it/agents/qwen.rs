//! Qwen Code, from npm.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass_testkit::model::{MODEL, Model};

use super::{Quarters, check, conversation};
use crate::rig::WINDLASS;

#[test]
fn qwen_code_starts_a_program_on_a_terminal_and_types_into_it() {
    let quarters = Quarters::of("qwen");
    let model = Model::playing(conversation());
    quarters.write(".qwen/settings.json", &settings(&quarters).to_string());
    let mut qwen = quarters.agent("qwen");
    qwen.env("OPENAI_BASE_URL", model.base_url()).env("OPENAI_MODEL", MODEL).env("OPENAI_API_KEY", "none");
    qwen.args(["--auth-type", "openai", "--approval-mode", "yolo", "--output-format", "stream-json"]);
    qwen.arg("Is anybody there?");
    check(qwen, &quarters, model);
}

/// Switches off everything that would send requests beyond the conversation, to the model or elsewhere; configures
/// windlass with its tools available from the beginning instead of behind a search.
fn settings(quarters: &Quarters) -> Value {
    let variables = BTreeMap::from(quarters.variables());
    json!({
        "general": { "enableAutoUpdate": false },
        "memory": { "enableManagedAutoMemory": false, "enableManagedAutoDream": false },
        "mcpServers": { "windlass": {
            "command": WINDLASS, "args": ["mcp"], "env": variables, "trust": true, "alwaysLoadTools": true,
        } },
        "privacy": { "usageStatisticsEnabled": false },
        "security": { "auth": { "selectedType": "openai" } },
        "telemetry": { "enabled": false },
        "tools": { "toolSearch": { "enabled": false } },
    })
}
