//! libFuzzer's way to the target `snapshot`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| baler_fuzz::snapshot(data));
