//! Patches as models write them: read leniently, checked against the files before anything is written, and applied
//! completely or not at all.
//!
//! The steps: [`Patch::parse`] reads the text, [`Patch::verify`] checks it against the files of a [`Directory`] and
//! makes a [`Plan`], [`Plan::apply`] carries it out and returns a [`Report`]. Reading and matching are pure, verifying
//! only reads files, and only `apply` writes. An ambiguous or misfitting chunk is rejected, with the closest place in
//! the file; every guess is reported as a [`Warning`].
#![forbid(unsafe_code)]

mod apply;
mod directory;
mod disk;
mod envelope;
#[doc(hidden)]
pub mod fuzzing;
mod header;
mod heredoc;
mod inspect;
mod lines;
mod locate;
mod misfit;
mod nearest;
mod nofollow;
mod parse;
mod patch;
mod plan;
mod report;
mod rewrite;
mod search;
mod teaching;
mod undo;
mod verify;
mod warning;

pub use apply::{ApplyError, Condition, FileState};
pub use directory::{Directory, WriteDenied, resolve};
pub use disk::{Disk, Like, LocalDisk};
pub use heredoc::Heredoc;
pub use inspect::MAX_FILE;
pub use misfit::{Elsewhere, Misfit};
pub use nearest::{Difference, Nearest};
pub use parse::{HunkFault, ParseError};
pub use patch::{MAX_PATCH, Patch};
pub use plan::{Change, Kind, Plan};
pub use report::{Report, render_failure, render_success};
pub use teaching::{description, function_description, grammar};
pub use verify::VerifyError;
pub use warning::{Doubt, Warning};
