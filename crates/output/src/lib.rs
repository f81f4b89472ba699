//! The output of a command as plain data: pure, no I/O, cannot fail on any bytes.
//!
//! Bytes become a [`View`] (text plus addresses) through [`Settler`] or [`Utf8`]; views are searched ([`Pattern`],
//! [`Grep`]), chosen from by line ([`RangeLines`], [`TailLines`]) and fitted into a [`Budget`] ([`excerpt()`]).
//! Beside the log there is the [`Screen`]: the grid and cursor that a terminal would show right now.
#![forbid(unsafe_code)]

mod budget;
mod excerpt;
#[doc(hidden)]
pub mod fuzzing;
mod keys;
mod lines;
mod offset;
mod pattern;
mod query;
mod screen;
mod shown;
mod text;
mod tokens;
mod view;

pub use budget::Budget;
pub use excerpt::{Excerpt, ExcerptOptions, ExcerptSource, Gap, Marker, Omitted, excerpt};
pub use keys::{CursorKeys, KeyError, key, keys};
pub use lines::{
    Context, Cut, Grep, GrepKind, GrepLine, LONGEST_FOUND_LINE, LONGEST_SEARCHED_LINE, LONGEST_SHOWN_LINE,
    LineRange, LineRangeError, RangeLines, TailLines,
};
pub use offset::{Offset, Span};
pub use pattern::{LONGEST_OVERLAP, Match, Pattern, PatternError, RawMatcher, SettledMatcher};
pub use query::QueryScanner;
pub use screen::{CursorPosition, Screen, ScreenSize};
pub use shown::{Shown, beyond_ascii};
pub use text::{DEFAULT_ROWS, OutputSource, Settler, Utf8, may_end_on_alternate_screen, settle, unfinished};
pub use tokens::{TokenCounter, Tokenizer, Tokens};
pub use view::{LineNumber, View, ViewLine};
