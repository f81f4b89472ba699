//! Which commands may run without asking, must be asked about, or are forbidden: rules by the beginning of a command's
//! words, and a parser that finds every command a script can run.
//!
//! Pure: it reads no file, starts nothing and cannot fail on any text. What is not understood is never allowed silently; it
//! is to be asked about. Rules speak of commands, not of files or networks: what a program does once it runs is a
//! sandbox's business.
#![forbid(unsafe_code)]

mod examples;
mod file;
mod functions;
#[doc(hidden)]
pub mod fuzzing;
mod hiding;
mod inquiry;
mod languages;
mod numbers;
mod programs;
mod rule;
mod rules;
mod script;
mod spelling;
mod variables;
mod verdict;
mod word;
mod wrapper;

pub use file::{Fault, RulesFile};
pub use rule::Rule;
pub use rules::Rules;
pub use script::ShellKind;
pub use variables::changes_what_runs;
pub use verdict::{JudgedCommand, Judgement, Reason, RuleSource, Verdict};
