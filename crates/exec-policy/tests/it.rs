//! Tests of the crate's public interface.
#![forbid(unsafe_code)]

#[path = "it/assigning.rs"]
mod assigning;
#[path = "it/bounds.rs"]
mod bounds;
#[path = "it/builtins.rs"]
mod builtins;
#[path = "it/carriers.rs"]
mod carriers;
#[path = "it/evaluation.rs"]
mod evaluation;
#[path = "it/examples.rs"]
mod examples;
#[path = "it/files.rs"]
mod files;
#[path = "it/guide.rs"]
mod guide;
#[path = "it/layers.rs"]
mod layers;
#[path = "it/listed.rs"]
mod listed;
#[path = "it/options.rs"]
mod options;
#[path = "it/oracle.rs"]
mod oracle;
#[path = "it/ordinary.rs"]
mod ordinary;
#[path = "it/parts.rs"]
mod parts;
#[path = "it/programs.rs"]
mod programs;
#[path = "it/quoting.rs"]
mod quoting;
#[path = "it/slips.rs"]
mod slips;
#[path = "it/verdicts.rs"]
mod verdicts;
#[path = "it/writing.rs"]
mod writing;
