//! Patches as models write them: read leniently, held against the files before anything is written, and applied whole or
//! not at all. Reading and matching are pure; only `apply` touches the disk.
#![forbid(unsafe_code)]
