//! Decides which servers' certificates are trusted: the same for model providers and for servers of our own. No I/O.
#![forbid(unsafe_code)]

mod verifier;

pub use self::verifier::{Verifier, is_distrust, is_own_authority};
