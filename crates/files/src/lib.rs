//! Read-only file tools for a model: a slice of a file, the names in a directory, the files that contain a pattern, an
//! image. They change nothing, and their outputs are bounded.
//!
//! Every function blocks and is meant for a thread that may block: long work calls [`FileContext::stop`] often. The
//! caller decides what may be read, and is asked about the file that was really opened, whatever links led to it.
#![forbid(unsafe_code)]

mod answer;
mod arguments;
mod bounds;
mod catalogue;
mod content;
mod excludes;
mod file_context;
mod opening;
mod words;

pub mod grep_files;
pub mod list_dir;
pub mod read_file;
pub mod view_image;

pub use answer::{FileOutput, FileToolError};
pub use bounds::ANSWER_BYTES;
pub use catalogue::{TOOLS, Tool};
pub use excludes::git_excludes;
pub use file_context::FileContext;
