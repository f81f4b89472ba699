//! Feeds arbitrary bytes to `windlass_proxy::fuzzing::request_any`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| windlass_proxy::fuzzing::request_any(data));
