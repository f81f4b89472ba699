//! The one command.
#![forbid(unsafe_code)]
fn main() {}
