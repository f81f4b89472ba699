//! The tools, called as a protocol would call them. Names of tests are the sentences they hold the tools to.
#![forbid(unsafe_code)]

mod exec_command;
mod schema;
mod workbench;
