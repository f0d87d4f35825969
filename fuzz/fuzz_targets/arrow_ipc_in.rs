#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stationdb::fuzz::run("arrow_ipc_in", data));
