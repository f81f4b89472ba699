//! What a patch left open and how it was decided. A warning never stops a patch; it is told beside the success, so that a
//! model can look and correct.

use std::fmt;

/// Something about a patch that could have meant something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// Text before or after the patch was passed over.
    TextIgnored {
        /// Lines before it.
        before: usize,
        /// Lines after it.
        after: usize,
    },
    /// A place in a file was not clear.
    Unclear {
        /// The file, as written in the patch.
        path: String,
        /// What was not clear.
        doubt: Doubt,
    },
    /// A file that only served to apply the patch could not be removed.
    LeftBehind {
        /// Where it lies.
        path: std::path::PathBuf,
        /// Why.
        reason: String,
    },
}

/// What was not clear about a chunk. Chunks and lines are counted from one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Its lines occur more than once.
    Repeated {
        /// The chunk.
        chunk: usize,
        /// Where it was applied.
        line: usize,
        /// Where it would fit as well: the first thousand places.
        others: Vec<usize>,
    },
    /// The line after a unified diff's numbers is not in the file, and was passed over.
    HeaderIgnored {
        /// The chunk.
        chunk: usize,
        /// The line.
        header: String,
    },
    /// It only adds, and nothing but a unified diff's number says where.
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

/// Line numbers in words.
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
