//! Cells that continue after their reply: waiting for them, ending them, and starting too many.

use std::sync::Arc;
use std::time::Duration;

use windlass_code_mode::Status::{Completed, Failed, Running, Terminated};
use windlass_code_mode::{CellId, Cells, Host, Options, Outcome, Status, Wait};

use crate::rig::{Stage, block_on, narrow, texts};

/// Cells with so much time that they end only when they are asked to.
fn patient() -> Cells {
    crate::rig::cells(Options { time_limit: Duration::from_secs(3600), ..narrow() })
}

fn host(stage: &Arc<Stage>) -> Arc<dyn Host> {
    Arc::clone(stage) as Arc<dyn Host>
}

fn cell(outcome: &Outcome) -> CellId {
    match outcome.status {
        Running(cell) => cell,
        Completed | Failed | Terminated => panic!("{outcome:?}"),
    }
}

fn wait(cell: CellId) -> Wait {
    Wait::on(cell.to_string())
}

fn end(cell: CellId) -> Wait {
    Wait { terminate: true, ..wait(cell) }
}

fn said(outcome: &Outcome) -> (Status, Vec<&str>) {
    (outcome.status, texts(outcome))
}

#[test]
fn a_script_that_takes_longer_goes_on_and_each_answer_has_only_what_is_new() {
    let (cells, stage) = (patient(), Arc::new(Stage::default()));
    block_on(async {
        let source =
            "// @exec: {\"yield_time_ms\": 0}\ntext('a'); yield_control(); await tools.gate({}); text('b')";
        let first = cells.exec(source, host(&stage)).await;
        let id = cell(&first);
        stage.begun.notified().await;
        let second = cells.wait(&Wait { yield_time_ms: Some(0), ..wait(id) }).await;
        assert_eq!([texts(&first), texts(&second)].concat(), ["a"]);
        stage.gate.notify_one();
        assert_eq!(said(&cells.wait(&wait(id)).await), (Completed, vec!["b"]));
    });
}

#[test]
fn yield_control_answers_at_once_while_the_script_goes_on() {
    let (cells, stage) = (patient(), Arc::new(Stage::default()));
    block_on(async {
        let source =
            "// @exec: {\"yield_time_ms\": 300000}\ntext('a'); yield_control(); text(await tools.gate({}))";
        let first = cells.exec(source, host(&stage)).await;
        assert_eq!(texts(&first), ["a"]);
        stage.gate.notify_one();
        assert_eq!(said(&cells.wait(&wait(cell(&first))).await), (Completed, vec!["open"]));
    });
}

#[test]
fn a_cell_whose_end_was_told_is_forgotten() {
    let (cells, stage) = (patient(), Arc::new(Stage::default()));
    block_on(async {
        assert_eq!(cells.exec("1", host(&stage)).await.status, Completed);
        for name in ["1", "2", "", "x", "-1", "99999999999999999999"] {
            let outcome = cells.wait(&Wait::on(name)).await;
            assert_eq!(
                said(&outcome),
                (Failed, vec![format!("there is no cell {name:?}, or its end has been told").as_str()])
            );
        }
    });
}

fn check_terminated(body: &str) {
    let (cells, stage) = (patient(), Arc::new(Stage::default()));
    block_on(async {
        let first = cells.exec(&format!("text('a'); yield_control(); {body}"), host(&stage)).await;
        assert_eq!(said(&cells.wait(&end(cell(&first))).await), (Terminated, vec![]), "{body}");
        assert_eq!(cells.running(), []);
    });
}

#[test]
fn a_cell_is_ended_whatever_it_does() {
    let bodies = [
        "for (;;);",
        "for (;;) { try { for (;;); } catch {} finally { continue } }",
        "const f = () => Promise.resolve().then(f); f()",
        "/(a+)+$/.test('a'.repeat(100) + 'b')",
        "for (;;) await null",
        "await tools.hang({})",
        "await Promise.all([tools.hang({}), tools.hang({})]).finally(() => { for (;;); })",
        "await new Promise((done) => setTimeout(done, 1e9))",
        "[1, 2].sort(() => { for (;;); })",
        "new Array(1e6).fill(0).forEach(() => { for (;;); })",
        "JSON.stringify({toJSON() { for (;;); }})",
        "text({get a() { for (;;); }})",
        "new Proxy({}, {get() { for (;;); }}).x",
        "Array.prototype.includes.call({length: 2 ** 53 - 1}, 1)",
        "('a'.repeat(2 ** 22)).indexOf('a'.repeat(2 ** 21) + 'b')",
        "function* g() { for (;;) yield 1 } for (const x of g());",
    ];
    bodies.into_iter().for_each(check_terminated);
}

#[test]
fn a_cell_that_does_not_stop_is_answered_for_without_it() {
    let cells = crate::rig::cells(Options { grace: Duration::ZERO, ..narrow() });
    let stage = Arc::new(Stage::default());
    block_on(async {
        // Takes seconds within one built-in function, which cannot be interrupted.
        let first = cells.exec("yield_control(); String(1n << 1048570n)", host(&stage)).await;
        let outcome = cells.wait(&end(cell(&first))).await;
        let words = if crate::APART {
            "the script was inside a built-in function that did not stop; its process was killed"
        } else {
            "the script is inside a built-in function that does not stop; its thread ends when that is done"
        };
        assert_eq!(said(&outcome), (Terminated, vec![words]));
        assert_eq!(cells.exec("1", host(&stage)).await.status, Completed);
    });
}

#[test]
fn calls_of_an_ended_cell_are_dropped() {
    let (cells, stage) = (patient(), Arc::new(Stage::default()));
    block_on(async {
        let first = cells.exec("yield_control(); await tools.hang({})", host(&stage)).await;
        stage.begun.notified().await;
        assert_eq!(cells.wait(&end(cell(&first))).await.status, Terminated);
        stage.dropped.notified().await;
    });
}

#[test]
fn there_are_only_so_many_cells_and_those_that_are_over_make_way() {
    let cells = crate::rig::cells(Options { most_cells: 2, ..narrow() });
    let stage = Arc::new(Stage::default());
    block_on(async {
        let first = cell(&cells.exec("yield_control(); await tools.gate({})", host(&stage)).await);
        let second = cell(&cells.exec("yield_control(); await tools.hang({})", host(&stage)).await);
        let refused = cells.exec("1", host(&stage)).await;
        let words =
            "2 scripts are running already, with cell IDs 1, 2: wait for one of them, or terminate it";
        assert_eq!(said(&refused), (Failed, vec![words]));
        stage.gate.notify_one();
        let done = cells.wait(&Wait { yield_time_ms: None, ..wait(first) }).await;
        assert_eq!(done.status, Completed);
        assert_eq!(cells.exec("1", host(&stage)).await.status, Completed);
        assert_eq!(cells.running(), [second]);
    });
}

#[test]
fn dropping_the_cells_ends_their_threads() {
    let (cells, stage) = (patient(), Arc::new(Stage::default()));
    block_on(async {
        for body in ["for (;;);", "await new Promise((done) => setTimeout(done, 1e9))", "for (;;) await null"]
        {
            cell(&cells.exec(&format!("yield_control(); {body}"), host(&stage)).await);
        }
        drop(cells);
        assert_eq!(Arc::strong_count(&stage), 1, "no thread holds its host any more");
    });
}

#[test]
fn shutting_down_ends_all_cells_and_leaves_room_for_new_ones() {
    let (cells, stage) = (patient(), Arc::new(Stage::default()));
    block_on(async {
        cell(&cells.exec("yield_control(); for (;;);", host(&stage)).await);
        cell(&cells.exec("yield_control(); for (;;);", host(&stage)).await);
        cells.shutdown().await;
        assert_eq!((cells.running(), Arc::strong_count(&stage)), (vec![], 1));
        assert_eq!(cells.exec("1", host(&stage)).await.status, Completed);
    });
}

#[test]
fn a_call_of_exec_that_is_dropped_ends_its_cell() {
    let (cells, stage) = (patient(), Arc::new(Stage::default()));
    block_on(async {
        tokio::select! {
            outcome = cells.exec("await tools.hang({})", host(&stage)) => panic!("{outcome:?}"),
            () = stage.begun.notified() => {}
        }
        assert_eq!(cells.running(), []);
        stage.dropped.notified().await;
    });
}
