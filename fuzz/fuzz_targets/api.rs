//! libFuzzer's way to the target `api`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| baler_fuzz::api(data));
