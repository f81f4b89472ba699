//! The cells of one agent: starting them, waiting for them, and ending all of them.
//!
//! A cell is forgotten once it is over and its end was reported. The number of cells is limited; a cell that is over
//! and was never asked about makes room for a new one.

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
    /// The most bytes of memory for the values of one cell.
    pub memory_limit: usize,
    /// The most computing time of one cell, together with the time in which it waits for timers alone. Waiting for
    /// tools does not count.
    pub time_limit: Duration,
    /// The most cells at once.
    pub most_cells: usize,
    /// The most bytes of a cell's output that no caller has read yet, images included.
    pub most_output: usize,
    /// The most calls of tools that one cell may have under way at once.
    pub most_pending_calls: usize,
    /// The most bytes that `store()` keeps for all cells together.
    pub most_stored: usize,
    /// The most bytes of one script.
    pub most_source: usize,
    /// The time that a cell may take to end when it is asked to. Almost all end at once. A built-in function of the
    /// engine that cannot be interrupted finishes first; a cell whose function takes longer than this is abandoned, and
    /// its result is discarded.
    pub grace: Duration,
}

/// The cells of one agent. Dropping it ends them all.
pub struct Cells {
    options: Options,
    storage: Arc<Storage>,
    /// Each thread holds a clone, so that threads which do not stop can be counted.
    threads: Arc<()>,
    /// Starts processes for the engines; without it, they run in this process.
    spawner: Option<Arc<dyn CellSpawner>>,
    book: Mutex<Book>,
}

/// The existing cells.
#[derive(Default)]
struct Book {
    cells: BTreeMap<CellId, Arc<Cell>>,
    last: u64,
}

/// The reason why no cell could be started.
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
    /// An empty list of cells with these limits.
    pub fn new(options: Options) -> Self {
        let storage = Arc::new(Storage::new(options.most_stored));
        Self { options, storage, threads: Arc::default(), spawner: None, book: Mutex::default() }
    }

    /// The same, with each cell in a separate process.
    pub fn in_processes(options: Options, spawner: Arc<dyn CellSpawner>) -> Self {
        let mut cells = Self::new(options);
        cells.spawner = Some(spawner);
        cells
    }

    /// Runs a script until it is done, yields, or the time in its first line has passed; in the last two cases the cell
    /// continues. Must be called within a tokio runtime with timers: the tools of `host` are called on it. Dropping the
    /// future ends the cell, because no caller would know its number.
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

    /// Waits for a cell that `exec` left running, or ends it, and returns its output since the last reply.
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

    /// Ends all cells and waits until their threads have exited.
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

    /// Waits until there is something to report about a cell, and forgets the cell if that was its end.
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
        // Asks all cells to end before waiting for any of them, so that they end concurrently.
        self.book().cells.values().for_each(|cell| cell.terminate());
    }
}

/// Forgets a cell whose number was not reported to any caller.
struct Unknown<'a> {
    cells: &'a Cells,
    id: Option<CellId>,
}

impl Drop for Unknown<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let cell = self.cells.book().cells.remove(&id);
        // Dropped here, outside of the lock, because dropping a cell waits for its thread.
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
