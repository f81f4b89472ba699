//! The tools, called as a protocol would call them. Names of tests are the sentences they hold the tools to.
#![forbid(unsafe_code)]

mod announcements;
mod approvals;
mod arguments;
mod budget;
mod classic;
mod environment;
mod exec_command;
mod hidden_input;
mod layout;
mod limits;
mod list_sessions;
mod login;
mod names_and_lifetimes;
mod order;
mod read_output;
mod rules;
mod schema;
mod stop_session;
mod unreadable;
mod wait_sessions;
mod waiting;
mod workbench;
mod write_stdin;
