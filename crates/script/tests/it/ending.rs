//! How scripts end.

use windlass_script::Status;

use crate::rig::{run, texts};

fn check(source: &str, status: Status, expected: &[&str]) {
    let outcome = run(source);
    assert_eq!((outcome.status, texts(&outcome)), (status, expected.to_vec()), "{source}");
}

#[test]
fn a_script_that_runs_to_its_end_is_completed() {
    check("", Status::Completed, &[]);
    check(
        "text('a'); text({b: [1]}); console.log('c', 2, null)",
        Status::Completed,
        &["a", "{\"b\":[1]}", "c 2 null"],
    );
    check("text(await tools.echo({a: 1}))", Status::Completed, &["{\"a\":1}"]);
}
