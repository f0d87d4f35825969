//! Tests that run in a child process with limited memory.

/// Address space of the child, in KiB.
#[cfg(target_os = "linux")]
const MEMORY_KIB: usize = 1_536 * 1024;
/// Environment variable that is set in the child.
#[cfg(target_os = "linux")]
const CHILD: &str = "STATIONDB_REQUEST_BOUNDS_CHILD";

/// Runs this test alone in a child with limited memory, and returns false. Returns true in the
/// child.
#[cfg(target_os = "linux")]
pub(crate) fn is_child(test: &str) -> bool {
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let program = std::env::current_exe().unwrap();
    let output = std::process::Command::new("sh")
        .arg("-c")
        .arg(format!(
            "ulimit -v {MEMORY_KIB} && exec \"$0\" --exact {test} --nocapture --test-threads=1"
        ))
        .arg(program)
        .env(CHILD, "1")
        // Each allocator arena reserves address space that it does not use.
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    println!("{text}{errors}");
    assert!(output.status.success(), "under {MEMORY_KIB} KiB: {}\n{text}{errors}", output.status);
    assert!(text.contains("1 passed"), "the child ran another test: {text}");
    false
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_child(test: &str) -> bool {
    println!("{test}: the limit of memory is set by `ulimit -v`; runs without it here");
    true
}

/// The peak address space of the process, in MiB.
pub(crate) fn peak_mib() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.map_or_else(|| "unknown".to_owned(), |kib| format!("{} MiB", kib / 1024))
}
