//! Feeds arbitrary bytes to `windlass_exec_policy::fuzzing::judge_any`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| windlass_exec_policy::fuzzing::judge_any(data));
