//! Feeds arbitrary bytes to `windlass_patch::fuzzing::patch_any`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| windlass_patch::fuzzing::patch_any(data));
