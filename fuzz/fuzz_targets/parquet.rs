//! libFuzzer's way to the target `parquet`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| baler_fuzz::parquet(data));
