//! libFuzzer's way to the target `names`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| baler_fuzz::names(data));
