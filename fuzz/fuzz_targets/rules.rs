//! Feeds arbitrary bytes to `windlass_rules::fuzzing::judge_any`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| windlass_rules::fuzzing::judge_any(data));
