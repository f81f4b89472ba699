//! Settled text: what a terminal would finally show, as a log.
//!
//! Escape codes are gone, bytes that are not UTF-8 are U+FFFD, and what was overwritten (`\r`, backspace, erase,
//! cursor movement within the newest lines) is in its last state, so that a progress bar is one line. The
//! alternate screen is not log text. Erasing the whole screen keeps what was there and begins a new page.
//!
//! Memory is bounded whatever is printed: a settler keeps the newest rows, each of bounded length; a longer line is
//! handed out in pieces, and what was handed out no longer changes.

mod escape;
mod line;
mod page;
mod settler;
mod utf8;
mod whole;

pub use settler::{DEFAULT_ROWS, Settler, settle};
pub use utf8::Utf8;
pub use whole::unfinished;
