//! `windlass app-server` and `windlass exec-server` beside Codex's: the same messages to both, from the same client.
//!
//! Codex is asked for no sandbox and no time limit, as windlass is. The client checks every byte that it is sent against
//! what the program printed, and fails the run if one is missing.

mod confined;
mod dialect;
mod echo;
mod flood;
mod idle;
mod known;
mod quick;
mod server;
mod thousand;

use super::Event;
use dialect::Dialect::{App, Exec};
use known::Printer::{AtOnce, ByLine};

pub(super) const EVENTS: &[Event] = &[
    Event { names: &idle::APP, measure: |around| idle::measure(around, App) },
    Event { names: &quick::APP, measure: |around| quick::measure(around, App) },
    Event { names: &flood::APP_PIPE, measure: |around| flood::through_pipes(around, App) },
    Event { names: &flood::APP_TERMINAL, measure: |around| flood::through_terminals(around, App, AtOnce) },
    Event { names: &flood::APP_LINES, measure: |around| flood::through_terminals(around, App, ByLine) },
    Event { names: &echo::APP, measure: |around| echo::measure(around, App) },
    Event { names: &thousand::APP_PIPE, measure: |around| thousand::on_pipes(around, App) },
    Event { names: &thousand::APP_TERMINAL, measure: |around| thousand::on_terminals(around, App) },
    Event { names: &confined::NAMES, measure: confined::measure },
    Event { names: &idle::EXEC, measure: |around| idle::measure(around, Exec) },
    Event { names: &quick::EXEC, measure: |around| quick::measure(around, Exec) },
    Event { names: &flood::EXEC_PIPE, measure: |around| flood::through_pipes(around, Exec) },
    Event { names: &flood::EXEC_TERMINAL, measure: |around| flood::through_terminals(around, Exec, AtOnce) },
    Event { names: &flood::EXEC_LINES, measure: |around| flood::through_terminals(around, Exec, ByLine) },
    Event { names: &echo::EXEC, measure: |around| echo::measure(around, Exec) },
    Event { names: &thousand::EXEC_PIPE, measure: |around| thousand::on_pipes(around, Exec) },
    Event { names: &thousand::EXEC_TERMINAL, measure: |around| thousand::on_terminals(around, Exec) },
];
