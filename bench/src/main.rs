//! End-to-end measurements.
#![forbid(unsafe_code)]
fn main() {}
