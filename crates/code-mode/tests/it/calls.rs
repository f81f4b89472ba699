//! Calls of tools from scripts.

use windlass_code_mode::Status::Completed;
use windlass_code_mode::{DESCRIPTION, Options};

use crate::rig::{block_on, finish, narrow, run, texts};

fn check(source: &str, expected: &[&str]) {
    let outcome = run(source);
    assert_eq!((outcome.status, texts(&outcome)), (Completed, expected.to_vec()), "{source}");
}

#[test]
fn a_tool_gets_its_arguments_and_gives_its_result() {
    check("text(await tools.echo({a: [1, 'é', null]}))", &["{\"a\":[1,\"é\",null]}"]);
    check("text(await tools.echo())", &["{}"]);
    check("text((await tools.echo({n: 1.5})).n + 1)", &["2.5"]);
    check("text(await tools.shout('quiet'))", &["QUIET"]);
    check(
        "text(await tools['mcp-x.y']({a: 1})); text(await tools.mcp_x_y({a: 2}))",
        &["{\"a\":1}", "{\"a\":2}"],
    );
}

#[test]
fn the_example_that_models_are_given_runs() {
    let (_, example) = DESCRIPTION.rsplit_once("Example:\n").expect("there is an example");
    check(example, &["{\"cmd\":\"grep -rc TODO src\"}", "{\"cmd\":\"grep -rc TODO tests\"}"]);
}

#[test]
fn calls_run_at_the_same_time() {
    // Each of the three calls is answered only when all of them are under way.
    check(
        "text(await Promise.all([tools.meet(), tools.meet(), tools.meet()]))",
        &["[\"met\",\"met\",\"met\"]"],
    );
}

#[test]
fn a_failure_of_a_tool_is_an_error_with_its_message() {
    let caught = "try { await tools.fail({}) } catch (e) { text(e instanceof Error); text(e.message) }";
    check(caught, &["true", "no: {}"]);
    check(
        "text((await Promise.allSettled([tools.fail({}), tools.echo({})])).map(r => r.status))",
        &["[\"rejected\",\"fulfilled\"]"],
    );
}

#[test]
fn a_tool_that_panics_is_a_failed_call() {
    check(
        "try { await tools.panic({}) } catch (e) { text(e.message) }",
        &["the tool broke off without an answer"],
    );
}

#[test]
fn wrong_arguments_are_refused_before_the_call() {
    let wrong = |call: &str, message: &str| {
        check(&format!("try {{ await {call} }} catch (e) {{ text(e.message) }}"), &[message]);
    };
    wrong("tools.echo('x')", "tools.echo takes one object");
    wrong("tools.echo([1])", "tools.echo takes one object");
    wrong("tools.echo(null)", "tools.echo takes one object");
    wrong("tools.shout({})", "tools.shout takes one string");
    wrong("tools.echo({a: 1n})", "BigInt are forbidden in JSON.stringify");
    wrong(
        "tools.echo({toJSON() { return 5 }})",
        "the arguments are no JSON object that a tool can take: it is something else",
    );
}

#[test]
fn arguments_that_nest_without_end_are_refused() {
    let outcome = run(
        "let a = {}; for (let i = 0; i < 1000; i += 1) a = {a}; try { await tools.echo(a) } catch (e) { text(e.message) }",
    );
    assert!(texts(&outcome)[0].contains("recursion limit"), "{outcome:?}");
}

#[test]
fn an_answer_that_does_not_fit_fails_its_call_alone() {
    check(
        "try { await tools.large({}) } catch (e) { text(e.message) } text(await tools.echo({}))",
        &["the answer of the tool does not fit into the memory of the script", "{}"],
    );
}

#[test]
fn calls_under_way_are_bounded() {
    let cells = crate::rig::cells(Options { most_pending_calls: 2, ..narrow() });
    let source =
        "tools.hang({}); tools.hang({}); try { await tools.echo({}) } catch (e) { text(e.message) } exit()";
    let outcome = block_on(finish(&cells, source));
    assert_eq!(texts(&outcome), ["2 calls are under way, and no more are at once: await some of them first"]);
}

#[test]
fn all_tools_are_listed() {
    check(
        "text(ALL_TOOLS.find(t => t.name === 'echo'))",
        &["{\"description\":\"does echo\",\"name\":\"echo\",\"parameters\":{\"type\":\"object\"}}"],
    );
    check("text(ALL_TOOLS.find(t => t.name === 'shout').parameters)", &["null"]);
    check("text(ALL_TOOLS.length === Object.keys(tools).length)", &["true"]);
}
