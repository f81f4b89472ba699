//! The cells of one agent: starting them, waiting for them, and ending them all.
//!
//! A cell that is done and whose end was told is forgotten. At most so many are there at once; one that is over and was
//! never asked about makes way for a new one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::cell::{Cell, Start};
use crate::host::Host;
use crate::outcome::{CellId, Outcome, Status};
use crate::pragma;
use crate::process::CellSpawner;
use crate::request::{Wait, WaitBudget};
use crate::storage::Storage;

/// The limits of cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes of memory for the values of one cell.
    pub memory_limit: usize,
    /// Computing time of one cell, together with the time it spends in timers alone. Waiting for tools is free.
    pub time_limit: Duration,
    /// How many cells there are at once.
    pub most_cells: usize,
    /// Bytes of output of one cell that nobody has read yet, images included.
    pub most_output: usize,
    /// Calls of tools that one cell has under way at once.
    pub most_pending_calls: usize,
    /// Bytes that `store()` keeps for all cells together.
    pub most_stored: usize,
    /// Bytes of one script.
    pub most_source: usize,
    /// How long a cell that was told to end may still take. Almost all end at once; a built-in function of the engine that
    /// is not interrupted finishes first, and one slower than this is left to it, with nobody to hear it.
    pub grace: Duration,
}

/// The cells of one agent. Dropping it ends them all.
pub struct Cells {
    options: Options,
    storage: Arc<Storage>,
    /// Each thread holds one too, so that those that do not stop are known.
    threads: Arc<()>,
    /// Where engines run, if not here.
    spawner: Option<Arc<dyn CellSpawner>>,
    book: Mutex<Book>,
}

/// Which cells there are.
#[derive(Default)]
struct Book {
    cells: BTreeMap<CellId, Arc<Cell>>,
    last: u64,
}

/// Why there is no cell to be had.
#[derive(Debug, thiserror::Error)]
enum CellRefused {
    #[error("the script has {bytes} bytes; at most {most} are run")]
    TooLong { bytes: usize, most: usize },
    #[error(
        "{most} scripts are running already, with cell IDs {running}: wait for one of them, or terminate it"
    )]
    TooMany { most: usize, running: String },
    #[error(
        "{threads} threads of ended scripts are still inside built-in functions: no more scripts until some are done"
    )]
    Clogged { threads: usize },
    #[error("no thread can be had for the script: {0}")]
    NoThread(#[source] std::io::Error),
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memory_limit: 64 << 20,
            time_limit: Duration::from_secs(30),
            most_cells: 16,
            most_output: 4 << 20,
            most_pending_calls: 64,
            most_stored: 1 << 20,
            most_source: 256 << 10,
            grace: Duration::from_secs(5),
        }
    }
}

impl Cells {
    /// No cells yet, and these limits for those to come.
    pub fn new(options: Options) -> Self {
        let storage = Arc::new(Storage::new(options.most_stored));
        Self { options, storage, threads: Arc::default(), spawner: None, book: Mutex::default() }
    }

    /// The same, with each cell in a process of its own.
    pub fn in_processes(options: Options, spawner: Arc<dyn CellSpawner>) -> Self {
        let mut cells = Self::new(options);
        cells.spawner = Some(spawner);
        cells
    }

    /// Runs a script until it is done, asks to be answered for, or the time of its first line has passed; then it goes on.
    /// Needs tokio around it, with its timers: the tools of `host` are called on its runtime. A call that is dropped ends its cell, whose
    /// number nobody would know.
    pub async fn exec(&self, source: &str, host: Arc<dyn Host>) -> Outcome {
        let patience = match pragma::read(source) {
            Ok(patience) => patience,
            Err(fault) => return Outcome::refused(fault),
        };
        match self.start(source, host) {
            Ok(cell) => {
                let mut unknown = Unknown { cells: self, id: Some(cell.id()) };
                let outcome = self.attend(&cell, patience).await;
                unknown.id = None;
                outcome
            }
            Err(refusal) => Outcome::refused(refusal),
        }
    }

    /// Waits for a cell that `exec` left running, or ends it, and gives what it said since the last answer.
    pub async fn wait(&self, wait: &Wait) -> Outcome {
        let Some(cell) = self.find(&wait.cell_id) else {
            return Outcome::refused(format!(
                "there is no cell {:?}, or its end has been told",
                wait.cell_id
            ));
        };
        if wait.terminate {
            cell.terminate();
        }
        self.attend(&cell, wait.patience()).await
    }

    /// Ends all cells and waits until their threads are gone.
    pub async fn shutdown(&self) {
        let cells = std::mem::take(&mut self.book().cells);
        for cell in cells.values() {
            cell.terminate();
        }
        for cell in cells.values() {
            cell.ended().await;
        }
    }

    /// The cells that are still running.
    pub fn running(&self) -> Vec<CellId> {
        self.book().running()
    }

    /// Tells of a cell when there is something worth telling, and forgets it when that was its end.
    async fn attend(&self, cell: &Arc<Cell>, patience: WaitBudget) -> Outcome {
        let began = Instant::now();
        cell.worth_telling(patience.time).await;
        let outcome = cell.tell(began, patience.tokens);
        if outcome.status != Status::Running(cell.id()) {
            self.book().cells.remove(&cell.id());
        }
        outcome
    }

    fn start(&self, source: &str, host: Arc<dyn Host>) -> Result<Arc<Cell>, CellRefused> {
        let (bytes, most) = (source.len(), self.options.most_source);
        if bytes > most {
            return Err(CellRefused::TooLong { bytes, most });
        }
        let strays = Arc::strong_count(&self.threads) - 1;
        if strays >= 2 * self.options.most_cells.max(1) {
            return Err(CellRefused::Clogged { threads: strays });
        }
        let mut book = self.book();
        book.make_room(self.options.most_cells)?;
        let start = Start {
            source: source.to_string(),
            host,
            options: &self.options,
            storage: &self.storage,
            token: &self.threads,
            spawner: self.spawner.as_ref(),
        };
        let cell = Arc::new(Cell::start(CellId(book.last + 1), start).map_err(CellRefused::NoThread)?);
        book.last += 1;
        book.cells.insert(cell.id(), Arc::clone(&cell));
        Ok(cell)
    }

    fn find(&self, name: &str) -> Option<Arc<Cell>> {
        let id = CellId(name.trim().parse().ok()?);
        self.book().cells.get(&id).cloned()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Cells {
    fn drop(&mut self) {
        // All are told before any is waited for.
        self.book().cells.values().for_each(|cell| cell.terminate());
    }
}

/// Forgets a cell whose number nobody has been told.
struct Unknown<'a> {
    cells: &'a Cells,
    id: Option<CellId>,
}

impl Drop for Unknown<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let cell = self.cells.book().cells.remove(&id);
        // Dropped here, outside of the lock: its thread is waited for.
        drop(cell);
    }
}

impl Book {
    /// Forgets the oldest cell that is over, if there are too many.
    fn make_room(&mut self, most: usize) -> Result<(), CellRefused> {
        if self.cells.len() < most {
            return Ok(());
        }
        let over = self.cells.values().find(|cell| cell.is_over()).map(|cell| cell.id());
        let running = || self.running().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let over = over.ok_or_else(|| CellRefused::TooMany { most, running: running() })?;
        self.cells.remove(&over);
        Ok(())
    }

    fn running(&self) -> Vec<CellId> {
        self.cells.values().filter(|cell| !cell.is_over()).map(|cell| cell.id()).collect()
    }
}
