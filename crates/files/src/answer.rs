//! Results of the tools: an output, or the reason why there is none. A model reads both.

use std::io;
use std::path::PathBuf;

use crate::words::Named;

/// The output of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileOutput {
    /// Lines, followed by `Note: ` lines that say what was left out.
    Text(String),
    /// An image.
    Image {
        /// `data:image/png;base64,...`, as models take it.
        data_url: String,
        /// A description of the image, and of the changes made to it.
        note: String,
    },
}

/// The reason why a call failed. Its text is written for the model that made the call.
#[derive(Debug, thiserror::Error)]
pub enum FileToolError {
    /// The arguments are not a JSON object.
    #[error("the arguments must be a JSON object: {complaint}")]
    NoObject {
        /// The fault in them.
        complaint: String,
    },
    /// An argument has an unusable value.
    #[error("{field}: {complaint}")]
    Argument {
        /// Its name, as in `indentation.max_lines`.
        field: String,
        /// The value that was given, and the value to give instead.
        complaint: String,
    },
    /// No file exists at this path.
    #[error("{}: there is no such file or directory{hint}", Named(path))]
    Missing {
        /// The absolute path that was looked for.
        path: PathBuf,
        /// A hint for the next attempt, or empty.
        hint: String,
    },
    /// The caller's policy denies access.
    #[error("{}: may not be read here", Named(path))]
    Denied {
        /// The absolute path that was asked for.
        path: PathBuf,
    },
    /// The file is of a kind that this tool does not handle.
    #[error("{}: is {kind}; {advice}", Named(path))]
    Unfit {
        /// The absolute path.
        path: PathBuf,
        /// Its kind with an article, as in `a directory`.
        kind: String,
        /// A suggestion what to do instead.
        advice: String,
    },
    /// The file was replaced while it was being opened.
    #[error("{}: was moved or removed while it was being opened; try again", Named(path))]
    Moved {
        /// The absolute path.
        path: PathBuf,
    },
    /// The requested offset lies behind the end.
    #[error("offset: {} has {there}, so there is nothing at {offset}", Named(path))]
    BeyondTheEnd {
        /// The absolute path.
        path: PathBuf,
        /// The actual size, as in `12 lines`.
        there: String,
        /// The requested offset.
        offset: u64,
    },
    /// A system call failed.
    #[error("{}: cannot {doing}: {}", Named(path), crate::words::reason(source))]
    System {
        /// The absolute path.
        path: PathBuf,
        /// The operation that failed, as in `open it`.
        doing: &'static str,
        /// The error of the system call.
        #[source]
        source: io::Error,
    },
    /// The caller no longer wants the result.
    #[error("stopped before it was done")]
    Stopped,
}

impl FileToolError {
    pub(crate) fn argument(field: impl Into<String>, complaint: impl Into<String>) -> Self {
        Self::Argument { field: field.into(), complaint: complaint.into() }
    }
}
