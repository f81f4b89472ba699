//! Runs commands and remembers what they did.
#![forbid(unsafe_code)]
