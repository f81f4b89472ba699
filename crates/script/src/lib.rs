//! Runs JavaScript that can do nothing but call what it is given: no files, no network, no clock beyond its time, and
//! within bounds of memory and time.
#![forbid(unsafe_code)]
