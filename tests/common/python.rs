//! The interpreter with the readers that the tests compare with.

use std::process::Command;

/// `STATIONDB_PYTHON`, or `python3` where it is installed.
pub(crate) fn python() -> Option<String> {
    let named = std::env::var("STATIONDB_PYTHON").ok();
    let interpreter = named.clone().unwrap_or_else(|| "python3".to_owned());
    let runs = Command::new(&interpreter)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success());
    assert!(runs || named.is_none(), "STATIONDB_PYTHON names {interpreter}, which does not run");
    runs.then_some(interpreter)
}
