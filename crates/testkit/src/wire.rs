//! A client of any server that speaks JSON-RPC, in lines on its standard input and output or over a WebSocket, for
//! tests and measurements.
//!
//! It has no thread and no runtime: its owner decides when anything is read, so a test gets a client that stops reading
//! by not calling it. Bytes that cannot be written at once wait here and go out at the next read. Every wait ends after
//! [`HANG`](crate::HANG) with an error that says what was waited for.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use crate::hang_deadline;

mod message;
mod websocket;

pub use message::{Message, RequestId, ServerError};

use websocket::Decoder;

/// How much is read at a time, at most.
const READ: usize = 256 * 1024;

/// A connection to a server. A server that was started for it is in a process group of its own, which is killed with
/// this value.
#[derive(Debug)]
pub struct Wire {
    child: Option<Child>,
    input: Option<File>,
    output: Option<File>,
    /// None for lines.
    frames: Option<Decoder>,
    /// Bytes that are still to be written.
    outgoing: VecDeque<u8>,
    incoming: Incoming,
    /// Messages that were read while another was waited for, in order.
    unclaimed: VecDeque<Message>,
    last: i64,
}

/// Bytes that were received.
#[derive(Debug, Default)]
struct Incoming {
    /// Longer than the received bytes: the buffer is cleared once and reused for every read.
    bytes: Vec<u8>,
    /// Where what was read ends.
    end: usize,
    /// Where the next line begins.
    start: usize,
    /// Up to here there is no newline.
    looked: usize,
}

impl Wire {
    /// Starts the server and sends nothing yet. Its standard error goes where the command says.
    pub fn start(command: &mut Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).spawn()?;
        let input = child.stdin.take().map(|end| File::from(OwnedFd::from(end)));
        let output = child.stdout.take().map(|end| File::from(OwnedFd::from(end)));
        let mut wire = Self::of(input, output)?;
        wire.child = Some(child);
        Ok(wire)
    }

    /// The same for a server whose input and output are two sockets, as some clients give it.
    pub fn start_on_sockets(command: &mut Command) -> Result<Self> {
        let ((input, its_input), (output, its_output)) = (UnixStream::pair()?, UnixStream::pair()?);
        command.stdin(OwnedFd::from(its_input)).stdout(OwnedFd::from(its_output)).process_group(0);
        let ends = [input, output].map(|end| Some(File::from(OwnedFd::from(end))));
        let [input, output] = ends;
        let mut wire = Self::of(input, output)?;
        wire.child = Some(command.spawn()?);
        // The command would hold the server's ends open.
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Ok(wire)
    }

    /// Connects to a WebSocket on a socket at a path.
    pub fn connect_path(path: &Path) -> Result<Self> {
        Self::connect_path_with(path, &[])
    }

    /// The same with these headers in the request.
    pub fn connect_path_with(path: &Path, headers: &[(&str, &str)]) -> Result<Self> {
        let mut stream = UnixStream::connect(path)?;
        let frames = websocket::upgrade(&mut stream, headers)?;
        Self::of_socket(&stream, frames)
    }

    /// Connects to a WebSocket at an address, `IP:PORT`, with these headers in the request.
    pub fn connect_address(address: &str, headers: &[(&str, &str)]) -> Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let frames = websocket::upgrade(&mut stream, headers)?;
        Self::of_socket(&stream, frames)
    }

    fn of_socket(stream: &impl AsFd, frames: Decoder) -> Result<Self> {
        let end = || stream.as_fd().try_clone_to_owned().map(File::from);
        let mut wire = Self::of(Some(end()?), Some(end()?))?;
        wire.frames = Some(frames);
        Ok(wire)
    }

    fn of(input: Option<File>, output: Option<File>) -> Result<Self> {
        for end in input.iter().chain(&output) {
            do_not_block(end.as_fd())?;
        }
        Ok(Self {
            child: None,
            input,
            output,
            frames: None,
            outgoing: VecDeque::new(),
            incoming: Incoming::default(),
            unclaimed: VecDeque::new(),
            last: 0,
        })
    }

    /// The server's process.
    ///
    /// # Panics
    ///
    /// If it was not started for this connection.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("the server was started for this").id()
    }

    /// Sends a request and waits for the answer; all other messages that come meanwhile are kept.
    pub fn request(
        &mut self,
        method: &str,
        params: &Value,
    ) -> Result<std::result::Result<Value, ServerError>> {
        let asked = self.ask(method, params)?;
        self.answer(asked)
    }

    /// Asks without waiting.
    pub fn ask(&mut self, method: &str, params: &Value) -> Result<RequestId> {
        self.last += 1;
        let id = RequestId(self.last);
        self.send(&json!({ "id": id.0, "method": method, "params": params }))?;
        Ok(id)
    }

    /// Gives later requests ids above this one, so that a test that sends ids of its own does not meet them.
    pub fn number_requests_above(&mut self, id: RequestId) {
        self.last = id.0;
    }

    /// Sends a message that is not answered.
    pub fn notify(&mut self, method: &str) -> Result<()> {
        self.send(&json!({ "method": method }))
    }

    /// Sends any message.
    pub fn send(&mut self, message: &Value) -> Result<()> {
        self.send_bytes(format!("{message}\n").as_bytes())
    }

    /// Sends bytes as they are, be they a message or not; over a WebSocket each line is a message of text. What the
    /// server does not take yet is kept.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        match self.frames {
            None => self.outgoing.extend(bytes),
            Some(_) => {
                let lines = bytes.strip_suffix(b"\n").unwrap_or(bytes).split(|byte| *byte == b'\n');
                lines.for_each(|line| self.outgoing.extend(websocket::frame(websocket::TEXT, line)));
            }
        }
        self.write_some()
    }

    /// The answer to a request; all other messages that come meanwhile are kept.
    pub fn answer(&mut self, asked: RequestId) -> Result<std::result::Result<Value, ServerError>> {
        match self.wait_for(|message| message.answers() == Some(asked))? {
            Message::Answer { result, .. } => Ok(result),
            other => Err(Error::other(format!("not an answer: {other:?}"))),
        }
    }

    /// The first message of which this holds, kept or still to come; those before it are kept.
    pub fn wait_for(&mut self, mut wanted: impl FnMut(&Message) -> bool) -> Result<Message> {
        if let Some(place) = self.unclaimed.iter().position(&mut wanted) {
            return self.unclaimed.remove(place).ok_or_else(|| Error::other("it was there"));
        }
        loop {
            let message = self.read_message()?;
            if wanted(&message) {
                return Ok(message);
            }
            self.unclaimed.push_back(message);
        }
    }

    /// The next message, kept or still to come.
    pub fn next_message(&mut self) -> Result<Message> {
        match self.unclaimed.pop_front() {
            Some(message) => Ok(message),
            None => self.read_message(),
        }
    }

    /// The messages that were kept while others were waited for.
    pub fn kept(&self) -> impl Iterator<Item = &Message> {
        self.unclaimed.iter()
    }

    fn read_message(&mut self) -> Result<Message> {
        let ended = || Error::new(ErrorKind::UnexpectedEof, "the server ended its output");
        let line = self.next_line()?.ok_or_else(ended)?;
        let value = serde_json::from_slice(line);
        value.map(Message::of).map_err(|error| {
            let start = String::from_utf8_lossy(&line[..line.len().min(300)]).into_owned();
            Error::new(ErrorKind::InvalidData, format!("{error} in {start:?}"))
        })
    }

    /// The next line without its newline, nothing at the end of the server's output. Kept messages are not among them.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>> {
        self.next_line_before(hang_deadline())
    }

    /// The same; an error of the kind [`ErrorKind::TimedOut`] if no message comes by then.
    pub fn next_line_before(&mut self, deadline: Instant) -> Result<Option<&[u8]>> {
        loop {
            if let Some(line) = self.incoming.find_line() {
                return Ok(Some(&self.incoming.bytes[line]));
            }
            if !self.read_some(deadline)? {
                return Ok(None);
            }
        }
    }

    /// Waits until the server has taken everything that was sent; nothing is read meanwhile.
    pub fn flush(&mut self) -> Result<()> {
        let deadline = hang_deadline();
        while !self.outgoing.is_empty() {
            let input = self.input.as_ref().ok_or_else(closed)?;
            wait(&mut [PollFd::new(input, PollFlags::OUT)], deadline)?;
            self.write_some()?;
        }
        Ok(())
    }

    /// How many bytes the server has not taken yet.
    pub fn untaken(&self) -> usize {
        self.outgoing.len()
    }

    /// Closes the server's input; bytes that it has not taken are lost.
    pub fn close_input(&mut self) {
        if let Some(input) = self.input.take().filter(|_| self.frames.is_some()) {
            // A socket whose other end is closed need not be shut down.
            let _ = rustix::net::shutdown(&input, rustix::net::Shutdown::Write);
        }
        self.outgoing.clear();
    }

    /// Closes our end of the server's output. Of a socket that is half of it, and the other half stays open.
    pub fn close_output(&mut self) {
        if let Some(output) = self.output.take().filter(|_| self.frames.is_some()) {
            // As above.
            let _ = rustix::net::shutdown(&output, rustix::net::Shutdown::Read);
        }
    }

    /// Waits for the server to end by itself; what it still prints is read and kept.
    pub fn exit(&mut self) -> Result<ExitStatus> {
        let deadline = hang_deadline();
        while self.output.is_some() && self.read_some(deadline)? {}
        self.exit_unread()
    }

    /// Waits for the server to exit by itself although its output is not read.
    pub fn exit_unread(&mut self) -> Result<ExitStatus> {
        let child = self.child.as_mut().ok_or_else(closed)?;
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let process = rustix::process::pidfd_open(pid_of(child)?, rustix::process::PidfdFlags::empty())?;
        wait(&mut [PollFd::new(&process, PollFlags::IN)], hang_deadline())?;
        child.wait()
    }

    /// Closes the server's input and waits for it to exit by itself.
    pub fn end(mut self) -> Result<ExitStatus> {
        self.close_input();
        self.exit()
    }

    /// Sends the server a signal.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let child = self.child.as_ref().ok_or_else(closed)?;
        Ok(rustix::process::kill_process(pid_of(child)?, signal)?)
    }

    fn write_some(&mut self) -> Result<()> {
        while !self.outgoing.is_empty() {
            let input = self.input.as_mut().ok_or_else(closed)?;
            match input.write(self.outgoing.as_slices().0) {
                Ok(count) => drop(self.outgoing.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads what is there, and writes what the server takes; whether there can be more to read.
    fn read_some(&mut self, deadline: Instant) -> Result<bool> {
        loop {
            let output = self.output.as_mut().ok_or_else(closed)?;
            match self.incoming.take_from(output) {
                Ok(count) => return Ok(self.unframe(count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            let mut ends = vec![PollFd::new(output, PollFlags::IN)];
            if let Some(input) = self.input.as_ref().filter(|_| !self.outgoing.is_empty()) {
                ends.push(PollFd::new(input, PollFlags::OUT));
            }
            wait(&mut ends, deadline)?;
            // A server that has exited takes nothing more, but the output that it sent before is still to be read.
            if self.write_some().is_err() {
                self.outgoing.clear();
            }
        }
    }
}

impl Wire {
    /// Makes lines of the bytes that were read last, if they came over a WebSocket; whether there can be more.
    fn unframe(&mut self, count: usize) -> bool {
        let Some(frames) = &mut self.frames else {
            return count > 0;
        };
        let Incoming { bytes, end, looked, .. } = &mut self.incoming;
        let raw = bytes[*end - count..*end].to_vec();
        bytes.truncate(*end - count);
        let back = frames.take(&raw, bytes);
        *end = bytes.len();
        self.outgoing.extend(back);
        count > 0 && !(frames.closed && *looked == *end)
    }
}

impl Incoming {
    /// Where the next whole line is, if there is one; it counts as read.
    fn find_line(&mut self) -> Option<std::ops::Range<usize>> {
        let Some(length) = memchr::memchr(b'\n', &self.bytes[self.looked..self.end]) else {
            self.looked = self.end;
            return None;
        };
        let line = self.start..self.looked + length;
        self.start = line.end + 1;
        self.looked = self.start;
        Some(line)
    }

    fn take_from(&mut self, output: &mut File) -> Result<usize> {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.looked -= self.start;
            self.start = 0;
        }
        if self.bytes.len() < self.end + READ {
            self.bytes.resize(self.end + READ, 0);
        }
        let count = output.read(&mut self.bytes[self.end..self.end + READ])?;
        self.end += count;
        Ok(count)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        let Some(child) = &mut self.child else {
            return;
        };
        if matches!(child.try_wait(), Ok(Some(_))) {
            return;
        }
        // A process that is exiting needs no signal.
        let _ = pid_of(child).map(|group| kill_process_group(group, Signal::KILL));
        let _ = child.wait();
    }
}

fn pid_of(child: &Child) -> Result<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(closed)
}

fn do_not_block(end: BorrowedFd<'_>) -> Result<()> {
    let flags = rustix::fs::fcntl_getfl(end)?;
    Ok(rustix::fs::fcntl_setfl(end, flags | OFlags::NONBLOCK)?)
}

fn wait(ends: &mut [PollFd<'_>], deadline: Instant) -> Result<()> {
    let left = deadline.saturating_duration_since(Instant::now());
    let left = Timespec::try_from(left).map_err(Error::other)?;
    match poll(ends, Some(&left)) {
        Ok(0) => Err(Error::new(ErrorKind::TimedOut, "the server neither says nor takes anything")),
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::NotConnected, "that end of the connection is closed")
}

#[cfg(test)]
mod tests;
