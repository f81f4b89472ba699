//! Feeds arbitrary bytes to `windlass_server::fuzzing::salvage_any`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| windlass_server::fuzzing::salvage_any(data));
