//! The process that runs a script, from its first message to its last. One thread reads messages and one runs the
//! engine; everything that the script does outside of the engine is requested over the stream.

use std::io;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use super::frame::{FromHelper, Reply, ToHelper, ToolShape, read_frame, write_frame};
use crate::engine::{self, CallNumber, Message, Work};
use crate::host::ToolInfo;
use crate::outcome::OutputItem;
use crate::outside::Outside;
use crate::transcript::Overflow;

/// Runs the script that arrives over this stream, and reports its end. `hung_up` is called once the other end is
/// closed.
///
/// # Errors
/// If the other end does not send a script, or cannot receive the report of its end.
pub fn run_cell(stream: UnixStream, hung_up: fn()) -> io::Result<()> {
    let mut reader = stream.try_clone()?;
    let ToHelper::Start { source, limits, tools } = read_frame(&mut reader, usize::MAX)? else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let options = limits.options();
    let stop = Arc::new(AtomicBool::new(false));
    let (messages, inbox) = channel();
    let (answers, replies) = channel();
    let listener = Listener { reader, messages, answers, stop: Arc::clone(&stop) };
    std::thread::Builder::new().name("cell messages".to_owned()).spawn(move || {
        listener.listen();
        hung_up();
    })?;
    let tools: Vec<ToolInfo> = tools.into_iter().map(ToolShape::info).collect();
    let stack = engine::stack_bytes(&options);
    let work = Work { source, options, stop: Arc::clone(&stop), inbox };
    let thread = std::thread::Builder::new().name("cell".to_owned()).stack_size(stack).spawn(move || {
        let mut last = stream.try_clone()?;
        write_frame(&mut last, &FromHelper::Begun)?;
        let verdict = engine::run(work, Rc::new(Remote { stream, replies, stop, tools }));
        write_frame(&mut last, &FromHelper::End { end: verdict.end, reason: verdict.reason })
    })?;
    thread.join().unwrap_or_else(|_| Err(io::Error::other("the engine broke down")))
}

/// Dispatches the messages that arrive.
struct Listener {
    reader: UnixStream,
    messages: Sender<Message>,
    answers: Sender<Reply>,
    stop: Arc<AtomicBool>,
}

impl Listener {
    /// Reads messages until the other end is closed.
    fn listen(mut self) {
        while let Ok(message) = read_frame::<ToHelper>(&mut self.reader, usize::MAX) {
            // Sending fails if the engine has ended; then it needs no more messages.
            match message {
                ToHelper::Answer { number, succeeded, value } => {
                    let words = || value.as_str().unwrap_or_default().to_owned();
                    let answer = if succeeded { Ok(value.clone()) } else { Err(words()) };
                    let _ = self.messages.send(Message::Answered(CallNumber(number), answer));
                }
                ToHelper::Stop => self.end(),
                ToHelper::Reply(reply) => drop(self.answers.send(reply)),
                ToHelper::Start { .. } => break,
            }
        }
        self.end();
    }

    fn end(&self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.messages.send(Message::Wake);
    }
}

/// The implementation of [`Outside`] over the stream.
struct Remote {
    stream: UnixStream,
    replies: Receiver<Reply>,
    stop: Arc<AtomicBool>,
    tools: Vec<ToolInfo>,
}

impl Remote {
    /// Sends a message. If the other end is closed, the script must end.
    fn tell(&self, message: &FromHelper) {
        if write_frame(&mut &self.stream, message).is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn ask(&self, message: &FromHelper) -> Option<Reply> {
        self.tell(message);
        let reply = self.replies.recv();
        if reply.is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
        reply.ok()
    }
}

const GONE: &str = "the script is over";

impl Outside for Remote {
    fn tools(&self) -> Vec<ToolInfo> {
        self.tools.clone()
    }

    fn begin_call(&self, tool: usize, payload: String) -> Result<u32, String> {
        match self.ask(&FromHelper::Call { tool, payload }) {
            Some(Reply::Call(begun)) => begun,
            _ => Err(GONE.to_owned()),
        }
    }

    fn finish_call(&self, number: u32) {
        self.tell(&FromHelper::Finished(number));
    }

    fn say(&self, item: OutputItem) -> Result<(), Overflow> {
        let message = match item {
            OutputItem::Text(text) => FromHelper::Text(text),
            OutputItem::Image(url) => FromHelper::Image(url),
        };
        match self.ask(&message) {
            Some(Reply::Said(true)) => Ok(()),
            Some(_) => Err(Overflow),
            // The script ends for another reason than too much output.
            None => Ok(()),
        }
    }

    fn yield_control(&self) {
        self.tell(&FromHelper::Yield);
    }

    fn notify(&self, text: &str) {
        self.tell(&FromHelper::Notify(text.to_owned()));
    }

    fn store(&self, key: String, json: String) -> Result<(), String> {
        match self.ask(&FromHelper::Store { key, json }) {
            Some(Reply::Store(stored)) => stored,
            _ => Err(GONE.to_owned()),
        }
    }

    fn forget(&self, key: &str) {
        self.tell(&FromHelper::Forget(key.to_owned()));
    }

    fn load(&self, key: &str) -> Option<String> {
        match self.ask(&FromHelper::Load(key.to_owned())) {
            Some(Reply::Load(value)) => value,
            _ => None,
        }
    }
}
