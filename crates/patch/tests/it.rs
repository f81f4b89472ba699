//! Tests the crate through its public interface.
#![forbid(unsafe_code)]

#[path = "it/accidents.rs"]
mod accidents;
#[path = "it/applying.rs"]
mod applying;
#[path = "it/bounds.rs"]
mod bounds;
#[path = "it/chunks.rs"]
mod chunks;
#[path = "it/closeness.rs"]
mod closeness;
#[path = "it/failing.rs"]
mod failing;
#[path = "it/permission.rs"]
mod permission;
#[path = "it/properties.rs"]
mod properties;
#[path = "it/reading.rs"]
mod reading;
#[path = "it/repeated.rs"]
mod repeated;
#[path = "it/scripts.rs"]
mod scripts;
#[path = "it/sections.rs"]
mod sections;
#[path = "it/swaps.rs"]
mod swaps;
#[path = "it/teaching.rs"]
mod teaching;
#[path = "it/workspace.rs"]
mod workspace;
