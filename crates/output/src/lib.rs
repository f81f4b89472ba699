//! What a command printed, as plain data: pure, no I/O, cannot fail on any bytes.
#![forbid(unsafe_code)]
