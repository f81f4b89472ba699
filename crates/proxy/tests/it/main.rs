//! The proxy as its clients meet it, over real sockets on the loopback address. Names and public addresses are the
//! tests' own: a resolver and a connector that know nothing else.
#![forbid(unsafe_code)]

mod carrying;
mod clients;
mod far;
mod limits;
mod passing;
mod refusals;
mod rig;
