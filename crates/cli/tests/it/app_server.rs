//! `windlass app-server` as a program meets it, and what it has to survive: clients that do not read, do not write, write
//! nonsense or vanish, programs that do not read or do not go, and signals.

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
