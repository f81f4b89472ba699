//! `windlass app-server` and `windlass exec-server` beside Codex's: the same messages to both, from the same client.
//!
//! Codex gets requests without a sandbox and without a time limit, as windlass does. The client compares every byte
//! that it receives with the program's output, and fails the run if one is missing.

mod confined;
mod dialect;
mod echo;
mod flood;
mod idle;
mod known;
mod quick;
mod server;
mod thousand;

use super::BenchRow;
use dialect::ServerKind::{App, Exec};
use known::Printer::{AtOnce, ByLine};

pub(super) const EVENTS: &[BenchRow] = &[
    BenchRow { names: &idle::APP, measure: |around| idle::measure(around, App) },
    BenchRow { names: &quick::APP, measure: |around| quick::measure(around, App) },
    BenchRow { names: &flood::APP_PIPE, measure: |around| flood::through_pipes(around, App) },
    BenchRow { names: &flood::APP_TERMINAL, measure: |around| flood::through_terminals(around, App, AtOnce) },
    BenchRow { names: &flood::APP_LINES, measure: |around| flood::through_terminals(around, App, ByLine) },
    BenchRow { names: &echo::APP, measure: |around| echo::measure(around, App) },
    BenchRow { names: &thousand::APP_PIPE, measure: |around| thousand::on_pipes(around, App) },
    BenchRow { names: &thousand::APP_TERMINAL, measure: |around| thousand::on_terminals(around, App) },
    BenchRow { names: &confined::NAMES, measure: confined::measure },
    BenchRow { names: &idle::EXEC, measure: |around| idle::measure(around, Exec) },
    BenchRow { names: &quick::EXEC, measure: |around| quick::measure(around, Exec) },
    BenchRow { names: &flood::EXEC_PIPE, measure: |around| flood::through_pipes(around, Exec) },
    BenchRow {
        names: &flood::EXEC_TERMINAL,
        measure: |around| flood::through_terminals(around, Exec, AtOnce),
    },
    BenchRow { names: &flood::EXEC_LINES, measure: |around| flood::through_terminals(around, Exec, ByLine) },
    BenchRow { names: &echo::EXEC, measure: |around| echo::measure(around, Exec) },
    BenchRow { names: &thousand::EXEC_PIPE, measure: |around| thousand::on_pipes(around, Exec) },
    BenchRow { names: &thousand::EXEC_TERMINAL, measure: |around| thousand::on_terminals(around, Exec) },
];
