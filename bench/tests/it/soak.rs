//! The mixed load with faults, for a few seconds.

use serde_json::Value;
use std::process::Command;
use windlass_testkit::Scratch;

#[test]
fn a_few_seconds_of_mixed_load_lose_nothing_and_leave_nothing() {
    let scratch = Scratch::new("bench-soak");
    let json = scratch.path().join("results.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass-bench"));
    let output = command.args(["soak", "--tiny", "--json"]).arg(&json).output().expect("the load starts");
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{said:?}");
    let told: Value = serde_json::from_slice(&std::fs::read(json).expect("there are results")).expect("JSON");
    assert!(told["tally"]["programs"].as_u64().is_some_and(|programs| programs > 0), "{told}");
    assert_eq!(told["left"], 0, "{told}");
}
