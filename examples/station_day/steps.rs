//! What an engineer wants to read while the day goes on.

use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Prints steps with their durations.
pub struct Steps {
    began: Instant,
}

impl Steps {
    /// Begins.
    pub fn new() -> Self {
        Self { began: Instant::now() }
    }

    /// One step: what was done, and how long it took since `start`.
    pub fn done(&self, start: Instant, what: impl AsRef<str>) {
        println!("{:>8}  {}", duration(start.elapsed()), what.as_ref());
    }

    /// A line that belongs to the step above.
    pub fn note(&self, what: impl AsRef<str>) {
        println!("{:>8}  {}", "", what.as_ref());
    }

    /// A headline.
    pub fn part(&self, name: &str) {
        println!("\n{name}");
    }

    /// The end.
    pub fn end(&self) {
        println!("\nAll of it took {}.", duration(self.began.elapsed()));
    }
}

/// A duration as one reads it.
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

/// Bytes as one reads them.
pub fn bytes(value: u64) -> String {
    match value {
        0..=9_999 => format!("{value} B"),
        10_000..=9_999_999 => format!("{:.1} kB", value as f64 / 1e3),
        _ => format!("{:.1} MB", value as f64 / 1e6),
    }
}

/// Bytes of all files below a directory.
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

/// A bar for what takes long; hidden where nobody looks.
pub fn bar(len: u64, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(len);
    if let Ok(style) = ProgressStyle::with_template("          {msg} [{bar:40}] {human_pos}/{human_len} {per_sec}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.with_message(what)
}
