//! The perimeter of the servers: which callers they serve, and what callers and commands can learn of them.

mod callers;
mod owners;
mod secrets;
