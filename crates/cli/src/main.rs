//! The program people type.
#![forbid(unsafe_code)]
fn main() {}
