//! The user's terminal: raw mode and hidden input that are always undone, and its size.

use crate::pty::Size;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr, tcsetattr,
};

/// Raw mode for as long as this value lives.
#[derive(Debug)]
pub struct RawMode {
    terminal: OwnedFd,
    before: Termios,
}

impl RawMode {
    /// Enters raw mode: until this is dropped, every key is passed on unchanged.
    pub fn enter(terminal: impl AsFd) -> Result<Self, Errno> {
        let terminal = rustix::io::fcntl_dupfd_cloexec(terminal, 3)?;
        let before = tcgetattr(&terminal)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&terminal, OptionalActions::Drain, &raw)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // If the terminal went away meanwhile, there is nothing to restore.
        let _ = tcsetattr(&self.terminal, OptionalActions::Drain, &self.before);
    }
}

/// Hides typed input for as long as this value lives.
///
/// Ctrl-C is read like any other key, and ends the line: as a signal it could end this process while the terminal is
/// still without echo.
#[derive(Debug)]
pub struct HiddenInput {
    /// Restores the terminal.
    _before: RawMode,
}

impl HiddenInput {
    /// Turns echo off, so that lines are read unseen. Input that was typed before is discarded.
    pub fn begin(terminal: impl AsFd) -> Result<Self, Errno> {
        let terminal = rustix::io::fcntl_dupfd_cloexec(terminal, 3)?;
        let before = tcgetattr(&terminal)?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
        hidden.special_codes[SpecialCodeIndex::VEOL] = before.special_codes[SpecialCodeIndex::VINTR];
        tcsetattr(&terminal, OptionalActions::Flush, &hidden)?;
        Ok(Self { _before: RawMode { terminal, before } })
    }
}

/// Discards input that was typed and not read yet, also the part of a line that a terminal in line mode has not passed
/// on yet.
pub fn discard_input(terminal: impl AsFd) -> Result<(), Errno> {
    tcflush(terminal, QueueSelector::IFlush)
}

/// Whether this is a terminal at all.
pub fn is_terminal(fd: impl AsFd) -> bool {
    rustix::termios::isatty(fd)
}

/// Its size, if it has one.
pub fn size(fd: impl AsFd) -> Option<Size> {
    crate::pty::size(fd).ok().filter(|size| size.rows > 0 && size.cols > 0)
}
