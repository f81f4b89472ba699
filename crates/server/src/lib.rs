//! Lets other processes use an engine. Each protocol is a face of its own; all of them offer the tools as they are
//! defined in `windlass-tools`, and none of them knows models or terminals.
#![forbid(unsafe_code)]

pub mod keeper;
pub mod mcp;
