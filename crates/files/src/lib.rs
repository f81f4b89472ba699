//! Looks at files for a model: a slice of one, the names in a directory, which ones hold a pattern, a picture. Changes
//! nothing, and whatever it answers is bounded.
//!
//! Every function blocks and is meant for a thread that may: long work asks [`Surroundings::stop`] often. What may be
//! looked at is the caller's to say, and is asked about the file that was really opened, whatever links led to it.
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
