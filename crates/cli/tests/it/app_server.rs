//! `windlass app-server` as programs use it, and everything that it must survive: clients that do not read, do not
//! write, write garbage or vanish, programs that do not read or do not exit, and signals.

mod bursts;
mod client;
pub(crate) mod doors;
mod frames;
mod hangups;
mod input;
mod lifecycle;
mod orphans;
mod output;
mod policies;
mod signals;
mod sockets;
mod text;
mod words;
