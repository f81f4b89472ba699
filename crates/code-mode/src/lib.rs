//! Runs JavaScript that can do nothing but call what it is given: no files, no network, no modules, and within bounds of
//! memory, time and output.
//!
//! A script is a *cell*. [`Cells`] starts cells and waits for them; what a cell may call is a [`Host`]. Each cell has a
//! thread and an engine of its own, so a cell that loops for ever holds up nobody and is still ended. With a [`CellSpawner`]
//! the engine runs in a process of its own instead, which the spawner confines. Nothing a script does is an error here:
//! whatever became of it is an [`Outcome`] in words for the model that wrote it.
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
