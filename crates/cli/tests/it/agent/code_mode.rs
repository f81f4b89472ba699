//! Scripts of the model's that call its other tools.

use serde_json::json;
use windlass_testkit::model::{always, call, custom, say, turn};

use super::stage::{BOTH, Stage, fifo};

#[test]
fn a_script_calls_tools_and_only_what_it_says_is_read() {
    for dialect in BOTH {
        let script = "const shown = await tools.exec_command({ cmd: 'echo 6; echo 7' });\n\
                      const numbers = String(shown).match(/\\d+\\s*$/)[0];\n\
                      text('the last is ' + numbers.trim());";
        let mut stage = Stage::speaking(
            dialect,
            vec![
                turn(move |request| {
                    assert!(request.offers("exec") && request.offers("wait"));
                    custom("exec", script)
                }),
                turn(|request| {
                    let result = request.last_result();
                    assert!(
                        result.contains("Script completed") && result.contains("the last is 7"),
                        "{result}"
                    );
                    say("seven")
                }),
            ],
        )
        .with("tools.code_mode = true");
        let ran = stage.run(&["--json", "calculate"]).well();
        assert_eq!(ran.items("command_execution").len(), 1, "{ran:?}");
        stage.finish();
    }
}

#[test]
fn a_script_that_takes_long_is_come_back_to() {
    let script = "// @exec: {\"yield_time_ms\": 100}\n\
                  text('begun'); await tools.exec_command({ cmd: 'cat pipe' }); text('ended');";
    let mut stage = Stage::playing(vec![
        always(custom("exec", script)),
        turn(|request| {
            let result = request.last_result();
            assert!(result.contains("begun") && !result.contains("ended"), "{result}");
            let cell = result.split("cell ID ").nth(1).and_then(|rest| rest.split_whitespace().next());
            let cell = cell.unwrap_or_else(|| panic!("no cell in {result}")).to_owned();
            call("wait", json!({ "cell_id": cell }))
                .and(call("exec_command", json!({ "cmd": "echo go > pipe" })))
        }),
        turn(|request| {
            let results = request.results();
            assert!(results[1].contains("ended") && !results[1].contains("begun"), "{results:?}");
            say("done")
        }),
    ])
    .with("tools.code_mode = true");
    fifo(&stage.work().join("pipe"));
    stage.run(&["go"]).well();
    stage.finish();
}

#[test]
fn a_script_that_fails_or_reaches_for_the_machine_is_answered() {
    let mut stage = Stage::playing(vec![
        always(custom("exec", "throw new Error('oh dear')")),
        turn(|request| {
            let result = request.last_result();
            assert!(result.contains("Script failed") && result.contains("oh dear"), "{result}");
            custom("exec", "text([typeof process, typeof require, typeof fetch].join())")
        }),
        turn(|request| {
            assert!(
                request.last_result().contains("undefined,undefined,undefined"),
                "{}",
                request.last_result()
            );
            say("done")
        }),
    ])
    .with("tools.code_mode = true");
    stage.run(&["go"]).well();
    stage.finish();
}
