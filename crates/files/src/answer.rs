//! What a tool gives back: an answer, or why there is none. Both are for a model to read.

use std::io;
use std::path::PathBuf;

use crate::words::Named;

/// What a tool found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileOutput {
    /// Lines, and behind them `Note: ` lines that say what was left out.
    Text(String),
    /// A picture.
    Image {
        /// `data:image/png;base64,...`, as models take it.
        data_url: String,
        /// What it is, and what was done to it.
        note: String,
    },
}

/// Why a call was not carried out. Its text is written for the model that made the call.
#[derive(Debug, thiserror::Error)]
pub enum FileToolError {
    /// The arguments are not a JSON object.
    #[error("the arguments must be a JSON object: {complaint}")]
    NoObject {
        /// What is wrong with them.
        complaint: String,
    },
    /// An argument that cannot be used.
    #[error("{field}: {complaint}")]
    Argument {
        /// Its name, as in `indentation.max_lines`.
        field: String,
        /// What came, and what to give instead.
        complaint: String,
    },
    /// There is nothing at this path.
    #[error("{}: there is no such file or directory{hint}", Named(path))]
    Missing {
        /// The absolute path that was looked for.
        path: PathBuf,
        /// What may help, or nothing.
        hint: String,
    },
    /// The caller's policy keeps it from being seen.
    #[error("{}: may not be read here", Named(path))]
    Denied {
        /// The absolute path that was asked for.
        path: PathBuf,
    },
    /// It is not the kind of thing this tool looks at.
    #[error("{}: is {kind}; {advice}", Named(path))]
    Unfit {
        /// The absolute path.
        path: PathBuf,
        /// What it is, as in `a directory`.
        kind: String,
        /// What to do instead.
        advice: String,
    },
    /// It was replaced while it was being opened.
    #[error("{}: was moved or removed while it was being opened; try again", Named(path))]
    Moved {
        /// The absolute path.
        path: PathBuf,
    },
    /// There is less of it than was asked for.
    #[error("offset: {} has {there}, so there is nothing at {offset}", Named(path))]
    BeyondTheEnd {
        /// The absolute path.
        path: PathBuf,
        /// How much there is, as in `12 lines`.
        there: String,
        /// What was asked for.
        offset: u64,
    },
    /// The system did not let us.
    #[error("{}: cannot {doing}: {}", Named(path), crate::words::reason(source))]
    System {
        /// The absolute path.
        path: PathBuf,
        /// What was being done, as in `open it`.
        doing: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Nobody wants the answer any more.
    #[error("stopped before it was done")]
    Stopped,
}

impl FileToolError {
    pub(crate) fn argument(field: impl Into<String>, complaint: impl Into<String>) -> Self {
        Self::Argument { field: field.into(), complaint: complaint.into() }
    }
}
