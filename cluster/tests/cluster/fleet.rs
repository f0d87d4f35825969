//! The example: a day of ten stations, and what the cluster answers over their lake.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The example's program, which `cargo test` builds beside the tests.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let program = profile.join("examples").join(format!("fleet{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "build it by `cargo build --example fleet`: {}", program.display());
    program
}

#[test]
fn ten_stations_and_a_cluster_answer_for_a_day() {
    let directory = tempfile::tempdir().unwrap();
    let day = directory.path().join("day");
    let output = Command::new(program()).arg(&day).arg("240").output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    for told in [
        "09:00      1680 rows,",
        "16:00      7440 rows,",
        "3 stations offline",
        "station-3, restored from a backup, is refused:",
        "with 3 executors",
        "| AMP-0 ",
        "2400 units were tested, 2400 have a last result",
        "measurements of gain:",
        "from 8.00 h to 15.92 h in 96 points",
    ] {
        assert!(text.contains(told), "{told:?} is missing:\n{text}");
    }
    let picture = std::fs::read(day.join("gain.png")).unwrap();
    assert!(picture.starts_with(b"\x89PNG") && picture.len() > 10_000, "{} bytes", picture.len());
    // Nothing is written over.
    let again = Command::new(program()).arg(&day).output().unwrap();
    assert!(!again.status.success());
    assert!(String::from_utf8_lossy(&again.stderr).contains("name a new directory"));
}
