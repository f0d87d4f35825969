#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stationdb_formats::fuzz::run("atml_import", data));
