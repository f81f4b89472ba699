//! What the crate promises, tested from outside.

#[path = "it/settled_laws.rs"]
mod settled_laws;
#[path = "it/settled_samples.rs"]
mod settled_samples;
