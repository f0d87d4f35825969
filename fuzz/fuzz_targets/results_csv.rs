#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stationdb_formats::fuzz::run("results_csv", data));
