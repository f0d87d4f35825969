#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stationdb::fuzz::run("summary_file", data));
