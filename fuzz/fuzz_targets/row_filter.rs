#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stationdb::fuzz::run("row_filter", data));
