//! Small file systems, limits and failing system calls of this machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns a new directory, in memory if possible, so that syncs that do not fail cost nothing.
pub fn directory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap()
}

pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn lengths_below(path: &Path) -> Vec<u64> {
    let mut lengths = Vec::new();
    for entry in std::fs::read_dir(path).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            lengths.extend(lengths_below(&entry.path()));
        } else {
            lengths.push(entry.metadata().unwrap().len());
        }
    }
    lengths
}

pub fn bytes_below(path: &Path) -> u64 {
    lengths_below(path).into_iter().sum()
}

pub fn longest_below(path: &Path) -> u64 {
    lengths_below(path).into_iter().max().unwrap_or_default()
}

/// Returns a command for this program in a shell that sets a limit first.
pub fn limited(limit: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{limit}; exec \"$0\" \"$@\"")])
        .arg(std::env::current_exe().unwrap());
    command
}

fn output(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(output)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}

/// A small file system of its own. It is unmounted when this is dropped, also after a failed test.
pub struct Mounted {
    directory: tempfile::TempDir,
}

impl Mounted {
    /// Returns `None`, with a message, if mounting is not allowed.
    pub fn new(kib: u64) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let size = format!("size={kib}k");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "stationdb-test"]).arg(directory.path());
        match output(&mut mount) {
            Ok(_) => Some(Self { directory }),
            Err(error) => {
                eprintln!("skipped: no file system can be mounted here, which needs root: {error}");
                None
            }
        }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    fn remount(&self, options: &str) {
        let options = format!("remount,{options}");
        output(Command::new("mount").args(["-o", &options]).arg(self.path())).unwrap();
    }

    pub fn resize(&self, kib: u64) {
        self.remount(&format!("size={kib}k"));
    }

    pub fn set_read_only(&self, read_only: bool) {
        self.remount(if read_only { "ro" } else { "rw" });
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Lazily: a store that a failed test still has open keeps the file system until that store
        // is closed.
        if let Err(error) = output(Command::new("umount").arg("-l").arg(self.path())) {
            eprintln!("{} stays mounted: {error}", self.path().display());
        }
    }
}

/// The program that makes system calls fail.
pub struct Strace {
    log: PathBuf,
    _directory: tempfile::TempDir,
}

impl Strace {
    /// Returns `None`, with a message, if it is not installed or may not trace processes.
    pub fn find() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let found = Self { log: directory.path().join("log"), _directory: directory };
        let mut tried = Command::new("strace");
        tried.args(["-f", "-qq", "-e", "trace=fsync", "-o"]).arg(&found.log).arg("true");
        match output(&mut tried) {
            Ok(_) => Some(found),
            Err(error) => {
                eprintln!(
                    "skipped: strace is not installed, or may not follow processes here: {error}"
                );
                None
            }
        }
    }

    /// Returns a command for this program that records these calls, each with the path of its file.
    pub fn count(&self, calls: &str) -> Command {
        let mut command = Command::new("strace");
        command
            .args(["-f", "-qq", "-y", "-e", &format!("trace={calls}"), "-e", "signal=none", "-o"])
            .arg(&self.log);
        command.arg(std::env::current_exe().unwrap());
        command
    }

    /// Returns a command for this program in which call number `at` of each thread fails, and with
    /// `lasts` all later ones.
    pub fn fail(&self, calls: &str, error: &str, at: u64, lasts: bool) -> Command {
        let when = if lasts { "+" } else { "" };
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-y", "-e", &format!("trace={calls}")]);
        command.args([
            "-e",
            &format!("inject={calls}:error={error}:when={at}{when}"),
            "-e",
            "signal=none",
            "-o",
        ]);
        command.arg(&self.log).arg(std::env::current_exe().unwrap());
        command
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Returns how often the busiest thread made one call in the last run.
    pub fn calls(&self) -> u64 {
        let mut counts = BTreeMap::<String, u64>::new();
        for line in self.log().lines().filter(|line| !line.contains("resumed>")) {
            // `9545  fdatasync(4</dir/records.redb>) = 0`
            *counts.entry(line.split('(').next().unwrap_or_default().to_owned()).or_default() += 1;
        }
        counts.into_values().max().unwrap_or_default()
    }

    /// Returns how many calls failed in the last run.
    pub fn failed(&self) -> usize {
        self.log().lines().filter(|line| line.contains("INJECTED")).count()
    }

    /// Returns whether a call on the record file failed in the last run.
    pub fn failed_on_records(&self) -> bool {
        self.log().lines().any(|line| line.contains("INJECTED") && line.contains("/records.redb>"))
    }
}
