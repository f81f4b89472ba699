//! End-to-end scenarios of `windlass agent`: the real program, a real sandbox and real commands; only the model is a
//! script.
//!
//! Each scenario is one test. All of them end with [`stage::Stage::finish`], which checks everything that happened
//! against the same rules, whatever the scenario is about.

mod code_mode;
mod commands;
mod confinement;
mod context;
mod crowd;
mod endings;
mod events;
mod faults;
mod files;
mod foreign;
mod invocation;
mod overflow;
mod own_files;
mod patches;
mod peer;
mod races;
mod secrets;
mod stage;
mod streams;
mod team;
mod threads;
