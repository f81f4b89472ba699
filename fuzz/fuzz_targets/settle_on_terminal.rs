//! Feeds arbitrary bytes to `windlass_output::fuzzing::settle_on_terminal_any`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| windlass_output::fuzzing::settle_on_terminal_any(data));
