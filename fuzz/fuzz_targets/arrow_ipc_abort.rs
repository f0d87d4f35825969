#![no_main]

// Built like a host with `panic = "abort"`: CARGO_PROFILE_RELEASE_PANIC=abort, see .ci/fuzz-tool.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if !cfg!(panic = "abort") {
        panic!("this target is built with CARGO_PROFILE_RELEASE_PANIC=abort");
    }
    stationdb::fuzz::run("arrow_ipc_abort", data)
});
