//! The test program: measures a loop, the clock, the memory and the disk of the computer.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use stationdb::arrow::array::{Float64Array, Int64Array, RecordBatch, StringArray};
use stationdb::arrow::datatypes::{DataType, Field, Schema};
use stationdb::arrow::error::ArrowError;

/// Column of the x axis: nanoseconds since the test began.
pub const ELAPSED: &str = "elapsed_ns";
/// Column of the loop times, in nanoseconds.
pub const LOOP: &str = "loop_ns";
/// Column of the timer steps, in nanoseconds.
pub const TICK: &str = "tick_ns";
/// Column of the memory copy bandwidth, in gigabytes a second; null if it was not measured.
pub const COPY: &str = "copy_gb_s";
/// Column of the disk's sync latency, in microseconds; null if it was not measured.
pub const SYNC: &str = "sync_us";
/// Column of the phase of the test.
pub const PHASE: &str = "phase";

const WORK_BYTES: usize = 1024;
const COPY_BYTES: usize = 4 * 1024 * 1024;
const COPY_EVERY: u64 = 8192;

/// Samples that are not appended yet.
#[derive(Debug, Default)]
pub struct Samples {
    /// Nanoseconds since the test began.
    pub elapsed_ns: Vec<i64>,
    /// Time of one iteration of the loop.
    pub loop_ns: Vec<f64>,
    /// Step of the timer.
    pub tick_ns: Vec<f64>,
    /// Bandwidth of the memory.
    pub copy_gb_s: Vec<Option<f64>>,
    /// Latency of a sync.
    pub sync_us: Vec<Option<f64>>,
    /// Phase of the test.
    pub phase: Vec<&'static str>,
}

impl Samples {
    /// Number of samples.
    pub fn len(&self) -> usize {
        self.elapsed_ns.len()
    }

    /// Returns the samples as an Arrow batch.
    pub fn to_batch(&self) -> Result<RecordBatch, ArrowError> {
        let schema = Schema::new(vec![
            Field::new(ELAPSED, DataType::Int64, false),
            Field::new(LOOP, DataType::Float64, false),
            Field::new(TICK, DataType::Float64, false),
            Field::new(COPY, DataType::Float64, true),
            Field::new(SYNC, DataType::Float64, true),
            Field::new(PHASE, DataType::Utf8, false),
        ]);
        RecordBatch::try_new(
            Arc::new(schema),
            vec![
                Arc::new(Int64Array::from(self.elapsed_ns.clone())),
                Arc::new(Float64Array::from(self.loop_ns.clone())),
                Arc::new(Float64Array::from(self.tick_ns.clone())),
                Arc::new(Float64Array::from(self.copy_gb_s.clone())),
                Arc::new(Float64Array::from(self.sync_us.clone())),
                Arc::new(StringArray::from(self.phase.clone())),
            ],
        )
    }

    /// Returns the samples as text cells, in the order of the columns.
    pub fn to_rows(&self) -> Vec<Vec<Option<String>>> {
        let optional = |value: &Option<f64>| value.map(|value| value.to_string());
        (0..self.len())
            .map(|row| {
                vec![
                    Some(self.elapsed_ns[row].to_string()),
                    Some(self.loop_ns[row].to_string()),
                    Some(self.tick_ns[row].to_string()),
                    optional(&self.copy_gb_s[row]),
                    optional(&self.sync_us[row]),
                    Some(self.phase[row].to_owned()),
                ]
            })
            .collect()
    }
}

/// Takes samples. The work of other threads of this process is visible in them.
pub struct Sampler {
    began: Instant,
    work: Vec<u8>,
    source: Vec<u8>,
    target: Vec<u8>,
    taken: u64,
}

impl Sampler {
    /// Starts the test.
    pub fn new() -> Self {
        let bytes = |len: usize| (0..len).map(|at| (at % 251) as u8).collect::<Vec<_>>();
        Self {
            work: bytes(WORK_BYTES),
            source: bytes(COPY_BYTES),
            target: vec![0; COPY_BYTES],
            taken: 0,
            began: Instant::now(),
        }
    }

    /// Takes `count` samples.
    pub fn take(&mut self, count: usize, phase: &'static str) -> Samples {
        let mut samples = Samples::default();
        samples.elapsed_ns.reserve(count);
        samples.loop_ns.reserve(count);
        samples.tick_ns.reserve(count);
        for _ in 0..count {
            let start = Instant::now();
            let sum =
                self.work.iter().fold(0u32, |sum, &byte| sum.rotate_left(5) ^ u32::from(byte));
            self.work[(sum as usize) % WORK_BYTES] ^= 1;
            let end = Instant::now();
            // Reads the clock until it changes, so that no two samples have the same time.
            let mut later = Instant::now();
            while later == end {
                later = Instant::now();
            }
            samples.elapsed_ns.push(nanoseconds(self.began, later) as i64);
            samples.loop_ns.push(nanoseconds(start, end));
            samples.tick_ns.push(nanoseconds(end, later));
            samples.copy_gb_s.push(self.taken.is_multiple_of(COPY_EVERY).then(|| self.copy()));
            samples.sync_us.push(None);
            samples.phase.push(phase);
            self.taken += 1;
        }
        samples
    }

    /// Copies a block of memory that is too large for the caches of the first levels. Returns
    /// gigabytes a second.
    fn copy(&mut self) -> f64 {
        let start = Instant::now();
        self.target.copy_from_slice(black_box(&self.source));
        black_box(&self.target);
        COPY_BYTES as f64 / nanoseconds(start, Instant::now()).max(1.0)
    }
}

fn nanoseconds(from: Instant, to: Instant) -> f64 {
    to.duration_since(from).as_nanos() as f64
}

/// Measures how long the disk of the store takes to make 4 KiB durable.
pub struct DiskProbe {
    path: PathBuf,
    file: File,
}

impl DiskProbe {
    /// Creates the probe's file in `dir`, which has to be on the disk to measure.
    pub fn new(dir: &Path) -> io::Result<Self> {
        let path = dir.join("sync-probe.tmp");
        Ok(Self { file: File::create(&path)?, path })
    }

    /// Writes and syncs once. Returns microseconds.
    pub fn sync_us(&mut self) -> io::Result<f64> {
        self.file.write_all(&[0x5a; 4096])?;
        let start = Instant::now();
        self.file.sync_data()?;
        Ok(nanoseconds(start, Instant::now()) / 1000.0)
    }
}

impl Drop for DiskProbe {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Returns the value below which the share `part` of the values lies; `None` if there are none.
pub fn quantile(mut values: Vec<f64>, part: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let at = ((last as f64 * part).round() as usize).min(last);
    let (_, value, _) = values.select_nth_unstable_by(at, f64::total_cmp);
    Some(*value)
}
