//! The subcommands, one file each.

pub(crate) mod agent;
pub(crate) mod app_server;
pub(crate) mod cell_helper;
pub(crate) mod completions;
pub(crate) mod confine;
pub(crate) mod demo;
pub(crate) mod dialect;
pub(crate) mod docs;
pub(crate) mod doctor;
pub(crate) mod exec_server;
pub(crate) mod file_helper;
pub(crate) mod guardian;
pub(crate) mod keep;
pub(crate) mod log;
pub(crate) mod mcp;
pub(crate) mod patch_helper;
pub(crate) mod ps;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod sandbox;
pub(crate) mod shim;
pub(crate) mod stop;
pub(crate) mod top;
