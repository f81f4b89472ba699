//! Checks that the descriptions for models are correct.

use std::collections::BTreeSet;

use windlass_patch::{Patch, description, function_description, grammar};

use crate::workspace::Workspace;

#[test]
fn the_example_of_the_description_applies() {
    let workspace = Workspace::with(&[
        (
            "src/greet.py",
            "def other(name):\n    name = name.strip()\n    print(\"Hi \" + name)\n    return name\n\n\
          def greet(name):\n    name = name.strip()\n    print(\"Hi \" + name)\n    return name\n",
        ),
        ("src/old_greet.py", "pass\n"),
    ]);
    let text = function_description();
    let example = &text[text.find("\n*** Begin Patch").expect("there is an example")..];
    let plan = Patch::parse(example).expect("it is a patch").verify(&workspace.directory()).expect("it fits");
    assert_eq!(plan.warnings(), []);
    plan.apply().expect("it applies");
    assert_eq!(
        workspace.read("src/greet.py"),
        "def other(name):\n    name = name.strip()\n    print(\"Hi \" + name)\n    return name\n\n\
         def greet(name):\n    name = name.strip()\n    print(f\"Hello, {name}!\")\n    return name\n"
    );
    assert_eq!(workspace.read("docs/greet.md"), "# Greeting\n\nSays hello.\n");
    assert!(!workspace.exists("src/old_greet.py"));
}

#[test]
fn the_grammar_defines_every_name_it_uses() {
    let rules: Vec<(&str, &str)> = grammar().lines().filter_map(|line| line.split_once(": ")).collect();
    let defined: BTreeSet<&str> = rules.iter().map(|(name, _)| *name).chain(["LF"]).collect();
    let used: BTreeSet<&str> = rules.iter().flat_map(|(_, body)| names(body)).chain(["start"]).collect();
    assert_eq!(used, defined);
    assert!(grammar().contains("%import common.LF"));
}

/// The names in a rule, without its literals.
fn names(body: &str) -> Vec<&str> {
    if body.starts_with('/') {
        return Vec::new();
    }
    let outside = body.split('"').step_by(2);
    outside
        .flat_map(|text| text.split(|c: char| !c.is_alphanumeric() && c != '_'))
        .filter(|word| !word.is_empty())
        .collect()
}

#[test]
fn descriptions_are_short() {
    assert!(description().len() < 400 && function_description().len() < 2500 && grammar().len() < 1500);
}
