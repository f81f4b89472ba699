//! The parent's side of a cell whose engine runs in another process. The engine is C code that runs what a model wrote;
//! in a confined process without keys, an exploited bug in it reaches nothing.
//!
//! Messages of that process are held to the same limits as a script in this process: it may have been taken over.

pub(crate) mod frame;
mod helper;

use std::cell::RefCell;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

pub use self::helper::run_cell;

use self::frame::{FromHelper, Reply, ToHelper, read_frame, write_frame};
use crate::cells::Options;
use crate::engine::{self, Calls, CellEnd, Message};
use crate::host::Host;
use crate::outcome::OutputItem;
use crate::outside::{Direct, Outside};
use crate::storage::Storage;
use crate::transcript::{End, Transcript};

/// Starts processes for cells.
pub trait CellSpawner: Send + Sync {
    /// Starts a process that calls [`run_cell`] with the other end of the stream.
    ///
    /// # Errors
    /// The reason why no process could be started.
    fn spawn(&self) -> io::Result<(UnixStream, Arc<dyn CellProcess>)>;
}

/// A process that runs a cell. Dropping it ends the process.
pub trait CellProcess: Send + Sync {
    /// Kills it.
    fn kill(&self);
}

/// The process of a cell, once it has started.
#[derive(Default)]
pub(crate) struct ProcessSlot {
    process: Mutex<Option<Arc<dyn CellProcess>>>,
}

impl ProcessSlot {
    pub(crate) fn kill(&self) {
        if let Some(process) = self.lock().as_ref() {
            process.kill();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<dyn CellProcess>>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The parameters of a cell in another process.
pub(crate) struct Apart {
    pub(crate) source: String,
    pub(crate) options: Options,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) storage: Arc<Storage>,
    pub(crate) transcript: Arc<Transcript>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) messages: Sender<Message>,
    pub(crate) inbox: Receiver<Message>,
    pub(crate) runtime: tokio::runtime::Handle,
    pub(crate) spawner: Arc<dyn CellSpawner>,
    pub(crate) slot: Arc<ProcessSlot>,
}

/// Runs a cell to its end in another process.
pub(crate) fn run(apart: Apart) -> CellEnd {
    let (stream, process) = match apart.spawner.spawn() {
        Ok(spawned) => spawned,
        Err(error) => return CellEnd::failed(format!("no process can be had for the script: {error}")),
    };
    *apart.slot.lock() = Some(Arc::clone(&process));
    let slot = Arc::clone(&apart.slot);
    let stopped = Arc::clone(&apart.stop);
    let verdict = converse(apart, &stream);
    // Whatever the process still does, its messages are not read any more.
    process.kill();
    drop(slot.lock().take());
    match verdict {
        Ok(verdict) => verdict,
        Err(_) if stopped.load(Ordering::Relaxed) => CellEnd { end: End::Terminated, reason: None },
        Err(_) => {
            CellEnd::failed("the process of the script ended before the script did; nothing more is known")
        }
    }
}

fn converse(apart: Apart, stream: &UnixStream) -> io::Result<CellEnd> {
    let Apart { source, options, host, storage, transcript, stop, messages, inbox, runtime, .. } = apart;
    let calls = Calls::new(Arc::clone(&host), runtime, messages.clone(), options.most_pending_calls);
    let largest = 8 * options.memory_limit + (1 << 20);
    let writer = Arc::new(Mutex::new(stream.try_clone()?));
    let start = ToHelper::start(source, &options, calls.tools());
    let desk = HelperServer {
        outside: Direct { host, calls: RefCell::new(calls), storage, transcript },
        writer: Arc::clone(&writer),
        notices: 0,
    };
    desk.send(&start)?;
    let forwarder = std::thread::Builder::new()
        .name("cell answers".to_owned())
        .spawn(move || forward(&inbox, &writer, &stop))?;
    let verdict = desk.serve(stream, largest);
    // The forwarder may be blocked in a write that the process never reads.
    let _ = stream.shutdown(Shutdown::Both);
    let _ = messages.send(Message::Over);
    let _ = forwarder.join();
    verdict
}

/// Forwards answers of tools, and the request to stop.
fn forward(inbox: &Receiver<Message>, writer: &Mutex<UnixStream>, stop: &AtomicBool) {
    while let Ok(message) = inbox.recv() {
        let sent = match message {
            Message::Answered(number, Ok(value)) => {
                send(writer, &ToHelper::Answer { number: number.0, succeeded: true, value })
            }
            Message::Answered(number, Err(words)) => {
                send(writer, &ToHelper::Answer { number: number.0, succeeded: false, value: words.into() })
            }
            Message::Wake if stop.load(Ordering::Relaxed) => send(writer, &ToHelper::Stop),
            Message::Wake => Ok(()),
            Message::Over => return,
        };
        // If the process is gone, sending fails. The reader notices that too; until it sends `Over`, messages are
        // discarded.
        let _ = sent;
    }
}

fn send(writer: &Mutex<UnixStream>, message: &ToHelper) -> io::Result<()> {
    let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
    write_frame(&mut *writer, message)
}

/// Serves the requests of the process.
struct HelperServer {
    outside: Direct,
    writer: Arc<Mutex<UnixStream>>,
    notices: u32,
}

impl HelperServer {
    fn send(&self, message: &ToHelper) -> io::Result<()> {
        send(&self.writer, message)
    }

    fn reply(&self, reply: Reply) -> io::Result<()> {
        self.send(&ToHelper::Reply(reply))
    }

    /// Serves requests until the process reports the end of the script.
    fn serve(mut self, mut stream: &UnixStream, largest: usize) -> io::Result<CellEnd> {
        loop {
            match read_frame(&mut stream, largest)? {
                FromHelper::End { end, reason } => return Ok(CellEnd { end, reason }),
                FromHelper::Begun => self.outside.transcript.begin(),
                FromHelper::Text(text) => self.say(OutputItem::Text(text))?,
                FromHelper::Image(url) => {
                    engine::check_image(&url).map_err(io::Error::other)?;
                    self.say(OutputItem::Image(url))?;
                }
                FromHelper::Yield => self.outside.yield_control(),
                FromHelper::Notify(text) => self.notify(&text)?,
                FromHelper::Call { tool, payload } => {
                    self.reply(Reply::Call(self.outside.begin_call(tool, payload)))?;
                }
                FromHelper::Finished(number) => self.outside.finish_call(number),
                FromHelper::Store { key, json } => {
                    self.reply(Reply::Store(self.outside.store(key, json)))?;
                }
                FromHelper::Forget(key) => self.outside.forget(&key),
                FromHelper::Load(key) => self.reply(Reply::Load(self.outside.load(&key)))?,
            }
        }
    }

    fn say(&self, item: OutputItem) -> io::Result<()> {
        self.reply(Reply::Said(self.outside.say(item).is_ok()))
    }

    fn notify(&mut self, text: &str) -> io::Result<()> {
        self.notices += 1;
        if self.notices > engine::MOST_NOTICES || text.len() > engine::LONGEST_NOTICE {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.outside.notify(text);
        Ok(())
    }
}
