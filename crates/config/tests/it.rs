//! The configuration as a user meets it: files on a disk, a command line, and the resulting settings.
#![forbid(unsafe_code)]

#[path = "it/codex.rs"]
mod codex;
#[path = "it/faults.rs"]
mod faults;
#[path = "it/guide.rs"]
mod guide;
#[path = "it/instructions.rs"]
mod instructions;
#[path = "it/layers.rs"]
mod layers;
#[path = "it/portable.rs"]
mod portable;
#[path = "it/projects.rs"]
mod projects;
#[path = "it/skills.rs"]
mod skills;
#[path = "it/trust.rs"]
mod trust;
#[path = "it/withheld.rs"]
mod withheld;
#[path = "it/world.rs"]
mod world;
