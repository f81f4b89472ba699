//! Helper programs and a hermetic environment for tests.
#![forbid(unsafe_code)]
