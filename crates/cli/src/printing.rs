//! Writes the output of windlass: bytes to standard output and error, and detection of a reader that has gone.

use std::io;

use anyhow::{Context, Error, Result};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use windlass_output::Shown;

/// Prints to standard output.
pub(crate) fn print(text: impl AsRef<[u8]>) -> Result<()> {
    write_all(rustix::stdio::stdout(), text.as_ref()).context("cannot write to standard output")
}

/// Prints text for people to standard output. Names, paths and commands in it cannot move the cursor, hide anything or
/// change the direction of writing.
pub(crate) fn print_text(text: &str) -> Result<()> {
    print(displayable(text))
}

/// A text that is safe on a terminal, by the rules that approval dialogs follow. Blanks at the ends of lines come from
/// columns of tables and wrapped help, and are left out.
pub(crate) fn displayable(text: &str) -> String {
    let lines = text.split('\n').map(|line| Shown::whole(line.trim_end_matches(' ')).to_string());
    lines.collect::<Vec<_>>().join("\n")
}

/// Prints a line to standard error. If that fails, the line is lost and nothing else happens: a message never changes
/// what a command does, and the panic of `eprintln!` would change its exit code.
macro_rules! say {
    ($($words:tt)*) => {
        $crate::printing::print_to_stderr(&format!($($words)*), "\n")
    };
}
pub(crate) use say;

pub(crate) fn print_to_stderr(text: &str, end: &str) {
    let _ = write_all(rustix::stdio::stderr(), displayable(&format!("{text}{end}")).as_bytes());
}

/// Writes all bytes, blocking. There is no buffer: after the return everything has been handed to the kernel.
pub(crate) fn write_all(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match rustix::io::write(fd, rest) {
            Ok(count) => rest = &rest[count..],
            Err(Errno::INTR) => {}
            // Another process that shares this descriptor made it non-blocking; output must not be lost for that.
            Err(Errno::AGAIN) => wait_until_writable(fd)?,
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Whether an error only means that the reader of the output has closed it.
pub(crate) fn is_reader_gone(error: &Error) -> bool {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn wait_until_writable(fd: BorrowedFd<'_>) -> io::Result<()> {
    match poll(&mut [PollFd::new(&fd, PollFlags::OUT)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
