//! Decides which commands may run without asking, must be asked about, or are forbidden: rules that match the beginning
//! of a command's words, and a parser that finds every command a script can run.
//!
//! Pure: it reads no file, starts nothing and cannot fail on any text. A script that is not understood is never allowed
//! silently; the verdict is to ask. Rules match commands, not files or networks: the sandbox limits the effects of a
//! program that runs.
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
