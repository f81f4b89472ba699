//! Cells for tests, and a host whose tools answer as the test determines.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use std::os::unix::net::UnixStream;
use tokio::sync::{Notify, Semaphore};
use windlass_code_mode::{
    Arguments, CallFuture, CellProcess, CellSpawner, Cells, Host, Options, Outcome, OutputItem, Status,
    ToolInfo, run_cell,
};

/// A deadline that means failure: nothing here takes so long.
const LONG: Duration = Duration::from_secs(120);

/// Tools: `echo` gives back its arguments, `shout` takes free text, `fail` fails, `meet` answers when three calls of it
/// are under way at once, `hang` never answers, and `gate` answers when the test opens it.
#[derive(Default)]
pub(crate) struct Stage {
    pub(crate) notices: Mutex<Vec<String>>,
    /// Notified for each call of `hang` and `gate` that has begun.
    pub(crate) begun: Arc<Notify>,
    /// Notified for each call of `hang` that was dropped.
    pub(crate) dropped: Arc<Notify>,
    pub(crate) gate: Arc<Notify>,
    meeting: Arc<Meeting>,
}

struct Meeting {
    arrived: Semaphore,
    barrier: tokio::sync::Barrier,
}

impl Default for Meeting {
    fn default() -> Self {
        Self { arrived: Semaphore::new(3), barrier: tokio::sync::Barrier::new(3) }
    }
}

struct TellWhenDropped(Arc<Notify>);

impl Drop for TellWhenDropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl Host for Stage {
    fn tools(&self) -> Vec<ToolInfo> {
        let tool = |name: &str, parameters| ToolInfo {
            name: name.into(),
            description: format!("does {name}"),
            parameters,
        };
        let object = || Some(json!({"type": "object"}));
        let mut tools: Vec<_> =
            ["echo", "exec_command", "fail", "meet", "hang", "gate", "panic", "large", "mcp-x.y"]
                .map(|name| tool(name, object()))
                .into();
        tools.push(tool("shout", None));
        tools
    }

    fn call(&self, name: &str, arguments: Arguments) -> CallFuture {
        match (name, arguments) {
            ("echo" | "exec_command" | "mcp-x.y", Arguments::Json(value)) => {
                Box::pin(async move { Ok(value) })
            }
            ("shout", Arguments::Text(text)) => {
                Box::pin(async move { Ok(Value::String(text.to_uppercase())) })
            }
            ("fail", Arguments::Json(value)) => Box::pin(async move { Err(format!("no: {value}")) }),
            ("meet", _) => self.meet(),
            ("hang", _) => self.hang(),
            ("gate", _) => self.wait_at_gate(),
            ("large", _) => Box::pin(async { Ok(Value::String("x".repeat(25 << 20))) }),
            ("panic", _) => Box::pin(async { panic!("on purpose") }),
            (name, arguments) => panic!("{name} was called with {arguments:?}"),
        }
    }

    fn notify(&self, text: &str) {
        self.notices.lock().expect("nobody panicked").push(text.to_string());
    }
}

impl Stage {
    fn meet(&self) -> CallFuture {
        let meeting = Arc::clone(&self.meeting);
        Box::pin(async move {
            let _place = meeting.arrived.acquire().await.map_err(|fault| fault.to_string())?;
            meeting.barrier.wait().await;
            Ok(json!("met"))
        })
    }

    fn hang(&self) -> CallFuture {
        let (begun, witness) = (Arc::clone(&self.begun), TellWhenDropped(Arc::clone(&self.dropped)));
        Box::pin(async move {
            begun.notify_one();
            std::future::pending::<()>().await;
            drop(witness);
            Ok(Value::Null)
        })
    }

    fn wait_at_gate(&self) -> CallFuture {
        let (begun, gate) = (Arc::clone(&self.begun), Arc::clone(&self.gate));
        Box::pin(async move {
            begun.notify_one();
            gate.notified().await;
            Ok(json!("open"))
        })
    }
}

/// Small limits, so that excessive scripts reach them soon; but a generous time, because machines can be slow.
pub(crate) fn narrow() -> Options {
    Options {
        memory_limit: 16 << 20,
        time_limit: Duration::from_secs(60),
        most_output: 64 << 10,
        ..Options::default()
    }
}

/// Cells with these limits, whose engines run where this test program wants them.
pub(crate) fn cells(options: Options) -> Cells {
    if crate::APART { Cells::in_processes(options, Arc::new(Threads)) } else { Cells::new(options) }
}

/// Threads in place of processes: the messages over the stream are the same.
struct Threads;

impl CellSpawner for Threads {
    fn spawn(&self) -> std::io::Result<(UnixStream, Arc<dyn CellProcess>)> {
        let (ours, theirs) = UnixStream::pair()?;
        let hang_up = ours.try_clone()?;
        // The thread ends when the stream does; its result does not matter then.
        std::thread::spawn(move || drop(run_cell(theirs, || {})));
        Ok((ours, Arc::new(HangUp(hang_up))))
    }
}

struct HangUp(UnixStream);

impl CellProcess for HangUp {
    fn kill(&self) {
        // Fails if the stream is already closed.
        let _ = self.0.shutdown(std::net::Shutdown::Both);
    }
}

/// Runs a future on tokio, with a deadline far beyond its usual duration.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime can be had");
    runtime.block_on(async { tokio::time::timeout(LONG, future).await.expect("it is done long before") })
}

/// Runs one script with small limits.
pub(crate) fn run(source: &str) -> Outcome {
    let cells = cells(narrow());
    block_on(async { finish(&cells, source).await })
}

/// Runs a script to its end, however long it takes.
pub(crate) async fn finish(cells: &Cells, source: &str) -> Outcome {
    let mut outcome = cells.exec(source, Arc::new(Stage::default())).await;
    while let Status::Running(cell) = outcome.status {
        let mut next = cells.wait(&windlass_code_mode::Wait::on(cell.to_string())).await;
        next.items.splice(0..0, outcome.items);
        outcome = next;
    }
    outcome
}

/// The texts of an outcome.
pub(crate) fn texts(outcome: &Outcome) -> Vec<&str> {
    let text = |item: &OutputItem| matches!(item, OutputItem::Text(_));
    assert!(outcome.items.iter().all(text), "{outcome:?}");
    outcome
        .items
        .iter()
        .map(|item| match item {
            OutputItem::Text(text) | OutputItem::Image(text) => text.as_str(),
        })
        .collect()
}
