//! The bytes that clients send and get, as pure functions: nothing here reads a socket, and no bytes can make it fail
//! in another way than by saying what is wrong with them.

pub(crate) mod body;
pub(crate) mod head;
pub(crate) mod refusal;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod socks;
