//! libFuzzer's way to the target `journal`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| baler_fuzz::journal(data));
