//! Helper programs and a hermetic environment for tests: scratch directories, known bytes, and a search of the process
//! table that shares no code with the product. Only ever a dev-dependency.
#![forbid(unsafe_code)]

pub mod base64;
pub mod bytes;
pub mod codex;
pub mod memory;
pub mod model;
pub mod peers;
mod puppet;
mod scratch;
pub mod survivors;
pub mod wire;

pub use puppet::puppet;
pub use scratch::Scratch;

use std::time::{Duration, Instant};

/// How long a test waits for something that must happen before it calls the product hung. Never a measure of speed.
pub const HANG: Duration = Duration::from_secs(60);

/// A deadline for waits that must end by an event.
pub fn hang_deadline() -> Instant {
    Instant::now() + HANG
}
