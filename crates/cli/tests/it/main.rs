//! The program as people and scripts meet it: one binary, one module per verb.
#![forbid(unsafe_code)]

mod agent;
mod agent_terminal;
mod agents;
mod app_server;
mod borrowed;
mod clients;
mod confined;
mod conformance;
mod demo;
mod detached;
mod doctor;
mod elsewhere;
mod endings;
mod exec_server;
mod install;
mod kept;
mod limits;
mod log;
mod mcp;
mod packages;
mod perimeter;
mod portable;
mod private;
mod provider;
mod ps;
mod rig;
mod rules;
mod run;
mod sandbox;
mod scarcity;
mod terminal;
mod told;
mod usage;
mod workbench;
