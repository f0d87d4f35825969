//! The progress output of the day.

use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Prints steps with their durations.
pub struct Steps {
    began: Instant,
}

impl Steps {
    /// Starts the output.
    pub fn new() -> Self {
        Self { began: Instant::now() }
    }

    /// Prints one step: what was done, and how long it took since `start`.
    pub fn done(&self, start: Instant, what: impl AsRef<str>) {
        println!("{:>8}  {}", duration(start.elapsed()), what.as_ref());
    }

    /// Prints a line that belongs to the step above.
    pub fn note(&self, what: impl AsRef<str>) {
        println!("{:>8}  {}", "", what.as_ref());
    }

    /// Prints a heading.
    pub fn part(&self, name: &str) {
        println!("\n{name}");
    }

    /// Prints the end.
    pub fn end(&self) {
        println!("\nTotal time: {}.", duration(self.began.elapsed()));
    }
}

/// Formats a duration for readers.
pub fn duration(value: Duration) -> String {
    let seconds = value.as_secs_f64();
    if seconds >= 1.0 {
        format!("{seconds:.2} s")
    } else if seconds >= 1e-3 {
        format!("{:.1} ms", seconds * 1e3)
    } else {
        format!("{:.0} us", seconds * 1e6)
    }
}

/// Formats a number of bytes for readers.
pub fn bytes(value: u64) -> String {
    match value {
        0..=9_999 => format!("{value} B"),
        10_000..=9_999_999 => format!("{:.1} kB", value as f64 / 1e3),
        _ => format!("{:.1} MB", value as f64 / 1e6),
    }
}

/// Returns the bytes of all files below a directory.
pub fn size_of(path: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(path) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Returns a progress bar for a long step; it is hidden if the output is no terminal.
pub fn bar(len: u64, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(len);
    if let Ok(style) =
        ProgressStyle::with_template("          {msg} [{bar:40}] {human_pos}/{human_len} {per_sec}")
    {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.with_message(what)
}

/// Formats a number with commas between groups of three digits.
pub fn grouped(number: usize) -> String {
    stationdb_report::grouped(number as u64)
}
