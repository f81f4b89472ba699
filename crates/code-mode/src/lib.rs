//! Runs JavaScript that can only call the functions that it is given: no files, no network, no modules, and within
//! limits of memory, time and output.
//!
//! A script is a *cell*. [`Cells`] starts cells and waits for them; a [`Host`] provides the tools that a cell may call.
//! Each cell has its own thread and engine, so a cell that loops for ever blocks no other and can still be ended. With
//! a [`CellSpawner`] the engine runs in a process of its own instead, which the spawner confines. No failure of a
//! script is an error here: every end is an [`Outcome`], described for the model that wrote the script.
#![forbid(unsafe_code)]

mod budget;
mod cell;
mod cells;
mod describe;
mod engine;
mod host;
mod outcome;
mod outside;
mod pragma;
mod process;
mod request;
mod storage;
mod transcript;

pub use cells::{Cells, Options};
pub use describe::{DESCRIPTION, GRAMMAR, NAME, WAIT_DESCRIPTION, WAIT_NAME, wait_parameters};
pub use host::{Arguments, CallFuture, Host, ToolInfo};
pub use outcome::{CellId, Outcome, OutputItem, Status};
pub use process::{CellProcess, CellSpawner, run_cell};
pub use request::{BadWait, Wait};
