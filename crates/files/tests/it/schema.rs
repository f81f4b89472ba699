//! The names, descriptions and schemas for models, word for word.

use serde_json::{Value, json};
use windlass_files::TOOLS;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/golden/tools.json");

#[test]
fn tools_are_shown_in_a_fixed_order_word_for_word() {
    let shown: Vec<Value> = TOOLS
        .iter()
        .map(|tool| json!({ "name": tool.name, "description": tool.description, "parameters": (tool.parameters)() }))
        .collect();
    let shown = serde_json::to_string_pretty(&shown).unwrap() + "\n";
    let golden = std::fs::read_to_string(GOLDEN).unwrap_or_default();
    if shown != golden {
        let fresh = concat!(env!("CARGO_TARGET_TMPDIR"), "/files-tools.json");
        std::fs::write(fresh, &shown).unwrap();
        panic!(
            "what models are shown differs from tests/it/golden/tools.json.\n\
             If that is meant, take it over: mv {fresh} {GOLDEN}"
        );
    }
}

#[test]
fn the_examples_in_descriptions_are_arguments_that_are_taken() {
    let place = crate::place::Place::with("examples", &[("src/main.rs", &"fn main() {}\n".repeat(120))]);
    for tool in TOOLS {
        let start = tool.description.find('{').expect("an example");
        let mut values = serde_json::Deserializer::from_str(&tool.description[start..]).into_iter::<Value>();
        let example = values.next().expect("an example").expect("JSON");
        let known = (tool.parameters)();
        for name in example.as_object().expect("an object").keys() {
            assert!(known["properties"].get(name).is_some(), "{} has no {name}", tool.name);
        }
        if tool.name != "view_image" {
            place.call(tool.name, &example.to_string()).expect("an answer");
        }
    }
}
