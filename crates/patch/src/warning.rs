//! Ambiguities in a patch, and how they were decided. A warning never stops a patch; it is reported with the success,
//! so that a model can check and correct.

use std::fmt;

/// An ambiguity in a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// Text before or after the patch was ignored.
    TextIgnored {
        /// Lines before it.
        before: usize,
        /// Lines after it.
        after: usize,
    },
    /// A place in a file was ambiguous.
    Unclear {
        /// The file, as written in the patch.
        path: String,
        /// The ambiguity.
        doubt: Doubt,
    },
    /// A temporary file could not be removed.
    LeftBehind {
        /// Its path.
        path: std::path::PathBuf,
        /// The reason.
        reason: String,
    },
}

/// An ambiguity about a chunk. Chunks and lines are counted from one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Its lines occur more than once.
    Repeated {
        /// The chunk.
        chunk: usize,
        /// The line at which it was applied.
        line: usize,
        /// The other lines at which it would fit: the first thousand.
        others: Vec<usize>,
    },
    /// The line after a unified diff's numbers is not in the file, and was ignored.
    HeaderIgnored {
        /// The chunk.
        chunk: usize,
        /// The line.
        header: String,
    },
    /// The chunk only adds, and only a unified diff's number says where.
    ByNumberAlone {
        /// The chunk.
        chunk: usize,
        /// The line before which its lines were put.
        line: usize,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TextIgnored { before, after } => {
                write!(f, "text around the patch was ignored ({before} lines before it, {after} after it)")
            }
            Self::Unclear { path, doubt } => write!(f, "{path}: {doubt}"),
            Self::LeftBehind { path, reason } => {
                write!(f, "the temporary file {} could not be removed: {reason}", path.display())
            }
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repeated { chunk, line, others } => write!(
                f,
                "chunk {chunk} was applied at line {line}, but fits {} as well; if another place was meant, undo this and \
                 add an @@ header or more context",
                Places(others)
            ),
            Self::HeaderIgnored { chunk, header } => {
                write!(f, "chunk {chunk} was applied although the file has no line '{header}'")
            }
            Self::ByNumberAlone { chunk, line } => write!(
                f,
                "chunk {chunk} has no context, so its lines were put before line {line}, as its numbers say; check that"
            ),
        }
    }
}

/// The most other places of a chunk that are kept.
pub(crate) const MAX_OTHERS: usize = 1000;

/// The most places that are listed one by one.
const LISTED: usize = 5;

/// Formats line numbers as words.
pub(crate) struct Places<'a>(pub(crate) &'a [usize]);

impl fmt::Display for Places<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed: Vec<String> = self.0.iter().take(LISTED).map(ToString::to_string).collect();
        let noun = if self.0.len() == 1 { "line" } else { "lines" };
        write!(f, "{noun} {}", listed.join(", "))?;
        match self.0.len().checked_sub(LISTED) {
            Some(more) if self.0.len() >= MAX_OTHERS => write!(f, " and at least {more} others"),
            Some(more @ 1..) => write!(f, " and {more} others"),
            _ => Ok(()),
        }
    }
}
