//! Common parts of the workloads: sizes, the data generator, timing, and the printed lines.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Any failure ends the program with its message.
pub type Res<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const SEED: u64 = 42;
const PEER: &str = "stationdb";

/// The sizes of the workloads, and the directory that they write to.
pub struct Scale {
    /// Rows of the measurement table (W1 to W4); a multiple of 10,000.
    pub rows: usize,
    /// Rows of the large series (W4L); a multiple of 10,000.
    pub rows_large: usize,
    /// Small appends (W2).
    pub appends: usize,
    /// Work items (W5).
    pub records: usize,
    /// Documents (W6).
    pub documents: usize,
    /// Queries of each kind (W6).
    pub queries: usize,
    /// Size of the large blob (W7), in MiB.
    pub big_mib: usize,
    /// Samples (W9), a multiple of 1,000, and processes that are killed.
    pub samples: usize,
    pub kills: usize,
    /// Rows of the table that calls read (CALLS).
    pub call_rows: usize,
    /// Test results, and steps of each (W10).
    pub results: usize,
    pub steps: usize,
    /// Work items and rows of the largest store that is opened after a kill (OPEN).
    pub open_records: usize,
    pub open_rows: usize,
    /// How long a process writes before the kill.
    pub open_writing: Duration,
    /// The page cache of the record file, in MiB; that of the options by default (W5).
    pub record_cache_mib: Option<usize>,
    /// Repetitions of a timed part.
    pub repetitions: usize,
    data: PathBuf,
    quiet: bool,
}

impl Scale {
    /// Sizes with which every workload takes about a second, without printing.
    pub fn small(data: &Path) -> Self {
        Self {
            rows: 100_000,
            rows_large: 200_000,
            appends: 20,
            records: 3_000,
            documents: 500,
            queries: 5,
            big_mib: 4,
            samples: 5_000,
            kills: 1,
            call_rows: 20_000,
            results: 2_000,
            steps: 10,
            open_records: 1_000,
            open_rows: 10_000,
            open_writing: Duration::from_millis(10),
            record_cache_mib: None,
            repetitions: 1,
            data: data.to_owned(),
            quiet: true,
        }
    }

    /// The sizes of the peers, unless variables set others. `BENCH_DATA` is the directory on the
    /// disk to measure.
    pub fn from_environment() -> Res<Self> {
        let data = std::env::var_os("BENCH_DATA")
            .map_or_else(|| std::env::temp_dir().join("stationdb-workloads"), PathBuf::from);
        std::fs::create_dir_all(&data)?;
        let number = |name: &str, default: usize| {
            std::env::var(name).map_or(Ok(default), |text| text.parse())
        };
        Ok(Self {
            rows: number("BENCH_ROWS", 20_000_000)?,
            rows_large: number("BENCH_ROWS_LARGE", 200_000_000)?,
            appends: number("BENCH_APPENDS", 2_000)?,
            records: number("BENCH_RECORDS", 1_000_000)?,
            documents: number("BENCH_DOCS", 200_000)?,
            queries: number("BENCH_QUERIES", 200)?,
            big_mib: number("BENCH_BIG_MIB", 1024)?,
            samples: number("BENCH_SAMPLES", 100_000)?,
            kills: number("BENCH_KILLS", 10)?,
            call_rows: number("BENCH_CALL_ROWS", 1_000_000)?,
            results: number("BENCH_RESULTS", 100_000)?,
            steps: number("BENCH_STEPS", 50)?,
            open_records: number("BENCH_OPEN_RECORDS", 1_000_000)?,
            open_rows: number("BENCH_OPEN_ROWS", 100_000_000)?,
            open_writing: Duration::from_millis(300),
            record_cache_mib: std::env::var("BENCH_RECORD_CACHE_MIB")
                .ok()
                .map(|text| text.parse())
                .transpose()?,
            repetitions: number("BENCH_REPS", 3)?,
            data,
            quiet: false,
        })
    }

    /// Whether these are the sizes that only try the workloads.
    pub fn is_small(&self) -> bool {
        self.quiet
    }

    /// The directory that is kept between runs: inputs that are made once, and stores that later
    /// workloads read.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Returns a new directory for one repetition.
    pub fn scratch(&self, name: &str) -> Res<PathBuf> {
        let path = self.data.join("scratch").join(name);
        if path.exists() {
            std::fs::remove_dir_all(&path)?;
        }
        std::fs::create_dir_all(&path)?;
        Ok(path)
    }

    /// Prints one figure: the median of `values`, which has one value for each repetition.
    pub fn emit(&self, workload: &str, metric: &str, values: &[f64], unit: &str, note: &str) {
        if self.quiet {
            return;
        }
        let round = |value: f64| (value * 1e6).round() / 1e6;
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        println!(
            "{}",
            serde_json::json!({
                "workload": workload, "peer": PEER, "metric": metric, "value": round(median(values)), "unit": unit,
                "note": note, "n": values.len(), "min": round(least), "max": round(greatest), "load1": load1(),
            })
        );
    }
}

/// The generator. A value depends only on column and row, so that any part can be made alone
/// (splitmix64's finaliser).
pub fn hash(column: u64, row: u64) -> u64 {
    let mut z = row
        .wrapping_add(1)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .wrapping_add(SEED)
        .wrapping_add(column.wrapping_mul(0xBF58_476D_1CE4_E5B9));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Uniform in [0, 1).
pub fn uniform(column: u64, row: u64) -> f64 {
    (hash(column, row) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Runs `f` and returns its time in seconds and its result.
pub fn timed<T>(f: impl FnOnce() -> Res<T>) -> Res<(f64, T)> {
    let began = Instant::now();
    let result = f()?;
    Ok((began.elapsed().as_secs_f64(), result))
}

/// Returns the value at `quantile` (0 to 1) of the sorted values.
pub fn quantile(values: &[f64], quantile: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * quantile).round() as usize).copied().unwrap_or(f64::NAN)
}

/// Returns the median.
pub fn median(values: &[f64]) -> f64 {
    (quantile(values, 0.499_999) + quantile(values, 0.500_001)) / 2.0
}

/// Returns the bytes of every file below `path`.
pub fn bytes_below(path: &Path) -> u64 {
    let Ok(meta) = std::fs::symlink_metadata(path) else { return 0 };
    if !meta.is_dir() {
        return meta.len();
    }
    std::fs::read_dir(path)
        .map_or(0, |entries| entries.flatten().map(|entry| bytes_below(&entry.path())).sum())
}

/// Returns the bytes that every file below `path` takes on the disk.
pub fn blocks_below(path: &Path) -> u64 {
    let Ok(meta) = std::fs::symlink_metadata(path) else { return 0 };
    if meta.is_dir() {
        return std::fs::read_dir(path)
            .map_or(0, |entries| entries.flatten().map(|entry| blocks_below(&entry.path())).sum());
    }
    #[cfg(unix)]
    {
        /// The unit of `st_blocks`.
        const BLOCK_BYTES: u64 = 512;
        std::os::unix::fs::MetadataExt::blocks(&meta) * BLOCK_BYTES
    }
    #[cfg(not(unix))]
    meta.len()
}

/// Returns the peak resident memory of this process in MiB, or nothing if the system does not
/// report it.
pub fn peak_memory_mib() -> Option<f64> {
    status_kib("VmHWM").map(|kib| kib / 1024.0)
}

/// Resets [`peak_memory_mib`], if the system can.
pub fn reset_peak_memory() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Returns the resident memory of this process without page cache, in MiB.
pub fn anonymous_memory_mib() -> Option<f64> {
    status_kib("RssAnon").map(|kib| kib / 1024.0)
}

fn status_kib(name: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn load1() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(-1.0)
}
