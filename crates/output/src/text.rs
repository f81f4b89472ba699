//! Settled text: what a terminal would finally show, as a log.
//!
//! Escape codes are gone, bytes that are not UTF-8 are U+FFFD, and what was overwritten (`\r`, backspace, erase, cursor
//! movement) is in its last state, so that a progress bar is one line. Erasing the whole screen keeps what was there.
//!
//! Output of a terminal is drawn on a screen of its size ([`grid`]): the text is the scroll-back and the screen,
//! without the alternate screen. Output of pipes has no size and no screen: the newest lines can be rewritten
//! ([`page`]), a newline returns, and text that is sent to an address or to the alternate screen begins a new line.
//!
//! Memory is bounded whatever is printed: a settler keeps the newest rows, each of bounded length; a longer line is
//! handed out in pieces, and what was handed out no longer changes.

mod escape;
mod grid;
mod grid_row;
mod line;
mod log;
mod page;
mod settler;
mod terminal;
mod utf8;
mod whole;

pub use settler::{DEFAULT_ROWS, OutputSource, Settler, settle};
pub use utf8::Utf8;
pub use whole::{may_end_on_alternate_screen, unfinished};

pub(crate) use escape::{Code, ControlSequence, Escapes, Hidden};

/// A count of rows or columns as a way to go.
fn steps(count: usize) -> isize {
    isize::try_from(count).unwrap_or(isize::MAX)
}
