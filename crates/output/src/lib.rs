//! What a command printed, as plain data: pure, no I/O, cannot fail on any bytes.
//!
//! Bytes become a [`View`] (text plus addresses) through [`Settler`] or [`Utf8`]; views are searched ([`Pattern`]).
#![forbid(unsafe_code)]

mod keys;
mod offset;
mod pattern;
mod text;
mod view;

pub use keys::{CursorKeys, KeyError, key, keys};
pub use offset::{Offset, Span};
pub use pattern::{LONGEST_OVERLAP, Match, Pattern, PatternError, RawMatcher, SettledMatcher};
pub use text::{DEFAULT_ROWS, Settler, Utf8, settle};
pub use view::{LineNumber, View, ViewLine};
