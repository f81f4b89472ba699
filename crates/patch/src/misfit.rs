//! The reasons why chunks do not fit a file, with the closest place. All texts are bounded.

use std::fmt;

use crate::nearest::{Nearest, shown_lines};
use crate::warning::Places;

/// A chunk that does not fit the file. Lines are counted from one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// The line of an `@@` header is not in the file, or not at an acceptable place.
    NoContext {
        /// The line that was searched for.
        header: String,
        /// The closest place in the file.
        nearest: Option<Nearest>,
    },
    /// The lines to keep or remove are not in the file, or not at an acceptable place.
    NoLines {
        /// The lines that were searched for, perhaps not all.
        expected: String,
        /// Their actual place.
        found: Elsewhere,
    },
    /// Several sections change the file, and a chunk of a later one fits several places.
    Ambiguous {
        /// The places.
        lines: Vec<usize>,
    },
    /// The search would take too long for this number of chunks and lines.
    TooMuchWork,
}

/// The actual place of lines that were not found where they should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// Above the chunk before, or above the line that the header names.
    TooEarly {
        /// Their first line.
        line: usize,
    },
    /// Not at the end of the file, although the chunk says so.
    NotAtEnd {
        /// Their first line.
        line: usize,
    },
    /// Nowhere; with the closest place.
    Nowhere(Option<Nearest>),
}

impl Misfit {
    /// The whole message about a file.
    pub(crate) fn describe(&self, path: &str) -> String {
        match self {
            Self::NoContext { header, nearest } => {
                format!("Failed to find context '{header}' in {path}{}", Below(nearest.as_ref()))
            }
            Self::NoLines { expected, found } => {
                format!("Failed to find expected lines in {path}:\n{expected}{found}")
            }
            Self::Ambiguous { lines } => format!(
                "multiple operations target {path}, and a chunk of a later one fits {}; put all chunks into one Update \
                 File section or add context",
                Places(lines)
            ),
            Self::TooMuchWork => {
                format!("too many chunks for a file as long as {path}; apply them in several patches")
            }
        }
    }
}

impl fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooEarly { line } => write!(
                f,
                "\nThese lines begin at line {line}, above the previous chunk or the @@ header; chunks must be in the order \
                 of the file."
            ),
            Self::NotAtEnd { line } => write!(
                f,
                "\nThese lines begin at line {line}, which is not the end of the file; leave out *** End of File."
            ),
            Self::Nowhere(nearest) => Below(nearest.as_ref()).fmt(f),
        }
    }
}

/// The closest place, formatted on lines of its own.
struct Below<'a>(Option<&'a Nearest>);

impl fmt::Display for Below<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |nearest| write!(f, "\n{nearest}"))
    }
}

/// Lines that were searched for, as a message shows them.
pub(crate) fn expected(lines: &[&str]) -> String {
    shown_lines(lines)
}
