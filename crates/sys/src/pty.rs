//! Pseudo-terminals: the master we hold, the slave a session lives on.

use crate::descriptor::above_stdio;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, Winsize};

/// Rows and columns of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Lines of text.
    pub rows: u16,
    /// Characters in a line.
    pub cols: u16,
}

impl Default for Size {
    fn default() -> Self {
        Self { rows: 24, cols: 80 }
    }
}

/// A new pseudo-terminal.
#[derive(Debug)]
pub struct Pty {
    /// Our end, non-blocking. Reading it gives the output of programs; writing to it is typing.
    pub master: OwnedFd,
    /// The end that programs use. While any descriptor for it is open, the master does not report its end.
    pub slave: OwnedFd,
}

/// Opens a terminal of the given size, in the kernel's default modes plus UTF-8 editing.
pub fn open(size: Size) -> Result<Pty, Errno> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let nonblocking = OpenptFlags::from_bits_retain(rustix::fs::OFlags::NONBLOCK.bits());
    let master = above_stdio(openpt(flags | nonblocking)?)?;
    unlockpt(&master)?;
    // TIOCGPTPEER needs no path, so it also works where /dev/pts is another mount than the master's.
    let slave = above_stdio(ioctl_tiocgptpeer(&master, flags)?)?;
    edit_by_character(&slave)?;
    resize(&master, size)?;
    Ok(Pty { master, slave })
}

/// Sets the size; the kernel sends SIGWINCH to the foreground group when it changed.
pub fn resize(master: impl AsFd, size: Size) -> Result<(), Errno> {
    let winsize = Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(master, winsize)
}

/// The size that the kernel has stored.
pub fn size(master: impl AsFd) -> Result<Size, Errno> {
    let size = rustix::termios::tcgetwinsize(master)?;
    Ok(Size { rows: size.ws_row, cols: size.ws_col })
}

/// How the terminal treats input right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputMode {
    /// The kernel edits lines and passes them on whole; the end-of-file character has a meaning.
    pub canonical: bool,
    /// The terminal echoes typed input.
    pub echo: bool,
    /// The character that ends the input at the start of a line (usually Ctrl-D).
    pub end_of_file: u8,
    /// The character that interrupts (usually Ctrl-C).
    pub interrupt: u8,
}

/// Reads the mode through the master.
pub fn input_mode(master: impl AsFd) -> Result<InputMode, Errno> {
    let termios = rustix::termios::tcgetattr(master)?;
    Ok(InputMode {
        canonical: termios.local_modes.contains(LocalModes::ICANON),
        echo: termios.local_modes.contains(LocalModes::ECHO),
        end_of_file: termios.special_codes[SpecialCodeIndex::VEOF],
        interrupt: termios.special_codes[SpecialCodeIndex::VINTR],
    })
}

/// Without IUTF8 the kernel's line editing erases one byte of a character, not the character.
fn edit_by_character(slave: &OwnedFd) -> Result<(), Errno> {
    let mut termios: Termios = rustix::termios::tcgetattr(slave)?;
    termios.input_modes |= InputModes::IUTF8;
    rustix::termios::tcsetattr(slave, OptionalActions::Now, &termios)
}
