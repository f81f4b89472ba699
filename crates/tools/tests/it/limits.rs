//! A limit that ends a command is named to the model and to programs.

use serde_json::json;
use windlass_engine::{Bytes, EngineOptions, Limits};

use crate::workbench::{LONG, bench_over};

fn over_a_kibibyte(body: impl AsyncFnOnce(&crate::workbench::Workbench)) {
    let each = Limits { output: Some(Bytes(1024)), ..Limits::default() };
    bench_over(EngineOptions { each, ..EngineOptions::default() }, |_| {}, body);
}

#[test]
fn exec_command_says_which_limit_ended_it() {
    over_a_kibibyte(async |bench| {
        let reply = bench.ask("exec_command", json!({"cmd": "yes", "yield_time_ms": LONG})).await;
        assert!(reply.text.contains("killed: output limit of 1 KiB, peak "), "{}", reply.text);
        let limit = &reply.structured["receipt"]["limit"];
        assert_eq!((&limit["resource"], &limit["limit"]), (&json!("output"), &json!(1024)), "{limit}");
        assert_eq!(limit["means"], "reader");
    });
}

#[test]
fn the_classic_tools_say_it_too() {
    over_a_kibibyte(async |bench| {
        let reply = bench.ask("shell_command", json!({"command": "yes"})).await;
        assert!(reply.text.contains("Killed: output limit of 1 KiB, peak "), "{}", reply.text);
    });
}
