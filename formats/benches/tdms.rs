//! TDMS files into batches, and their bytes alone. The peer's program is `benches/peers/tdms.py`,
//! which reads the files that this one leaves in `BENCH_DATA`.
//!
//! With `--test` it runs in a small size, asserts every answer, and prints nothing.

#[path = "../../benches/workloads/common.rs"]
#[allow(dead_code, reason = "the library has more workloads")]
mod common;

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use stationdb::Control;
use stationdb::arrow::array::{AsArray, RecordBatch};
use stationdb::arrow::datatypes::{Float64Type, Int32Type};
use stationdb::tables::{ImportTableRequest, TableSchema, TableSource};
use stationdb_formats::tdms::{TdmsOptions, tables};

use common::{Res, Scale, peak_memory_mib, timed};

/// Channels of doubles, and one of 16-bit numbers; of DAQmx as many of 16-bit numbers that are scaled.
const DOUBLES: usize = 4;
const DOUBLE: u32 = 10;
const SHORT: u32 = 2;
/// The polynomial of DAQmx; of powers of two, so that every sum is exact.
const SCALE: [f64; 4] = [8.0, 0.25, 1.0 / 1024.0, 0.0];

/// How the values of a file lie.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// Segments of 100,000 rows, a channel behind the other.
    Contiguous,
    /// The same, row by row.
    Interleaved,
    /// Segments of 500 rows, each with its metadata.
    Small,
    /// A buffer of a device, row by row, and polynomials.
    Daqmx,
}

impl Form {
    const ALL: [Self; 4] = [Self::Contiguous, Self::Interleaved, Self::Small, Self::Daqmx];

    fn name(self) -> &'static str {
        match self {
            Self::Contiguous => "contiguous",
            Self::Interleaved => "interleaved",
            Self::Small => "small",
            Self::Daqmx => "daqmx",
        }
    }

    /// Rows of a segment.
    fn rows(self) -> usize {
        if self == Self::Small { 500 } else { 100_000 }
    }

    fn is_by_row(self) -> bool {
        matches!(self, Self::Interleaved | Self::Daqmx)
    }

    /// Appends the value of a channel, and what it becomes, for the sums.
    fn push(self, out: &mut Vec<u8>, row: usize, channel: usize) -> f64 {
        let whole = (row % 1000) as f64;
        if self == Self::Daqmx || channel == DOUBLES {
            out.extend(((row % 1000) as i16).to_le_bytes());
            if self == Self::Daqmx {
                SCALE[0] + whole * (SCALE[1] + whole * SCALE[2])
            } else {
                whole
            }
        } else {
            let value = whole + channel as f64 / 8.0;
            out.extend(value.to_le_bytes());
            value
        }
    }

    fn channels(self) -> usize {
        if self == Self::Daqmx { DOUBLES } else { DOUBLES + 1 }
    }

    /// The metadata of a segment with so many rows.
    fn metadata(self, rows: usize) -> Vec<u8> {
        let mut out = (self.channels() as u32).to_le_bytes().to_vec();
        for channel in 0..self.channels() {
            text(&mut out, &format!("/'run'/'c{channel}'"));
            if self == Self::Daqmx {
                daqmx(&mut out, rows, channel);
            } else {
                let kind = if channel < DOUBLES { DOUBLE } else { SHORT };
                words(&mut out, &[20, kind, 1]);
                out.extend((rows as u64).to_le_bytes());
                words(&mut out, &[0]);
            }
        }
        out
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text.as_bytes());
}

fn words(out: &mut Vec<u8>, words: &[u32]) {
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

/// The place of a channel in a buffer of 16-bit numbers, and its scales.
fn daqmx(out: &mut Vec<u8>, rows: usize, channel: usize) {
    words(out, &[0x1269, u32::MAX, 1]);
    out.extend((rows as u64).to_le_bytes());
    // A scaler: its type, buffer, place, format and number; then the bytes of a row of the buffer.
    words(out, &[1, 3, 0, 2 * channel as u32, 0, 0, 1, 2 * DOUBLES as u32]);
    words(out, &[5 + SCALE.len() as u32]);
    for (name, value) in
        [("NI_Scaling_Status", "unscaled"), ("NI_Scale[1]_Scale_Type", "Polynomial")]
    {
        text(out, name);
        words(out, &[0x20]);
        text(out, value);
    }
    for (name, value) in [
        ("NI_Number_Of_Scales", 2),
        ("NI_Scale[1]_Polynomial_Coefficients_Size", SCALE.len() as u32),
        ("NI_Scale[1]_Polynomial_Input_Source", 0),
    ] {
        text(out, name);
        words(out, &[7, value]);
    }
    for (at, value) in SCALE.iter().enumerate() {
        text(out, &format!("NI_Scale[1]_Polynomial_Coefficients[{at}]"));
        words(out, &[DOUBLE]);
        out.extend(value.to_le_bytes());
    }
}

/// Writes a file once. Returns it, and the sum of its values.
fn made(path: PathBuf, rows: usize, form: Form) -> Res<(PathBuf, f64)> {
    let begun = path.with_extension("new");
    let mut file = BufWriter::new(File::create(&begun)?);
    let mut sum = 0.0;
    for first in (0..rows).step_by(form.rows()) {
        let here = first..rows.min(first + form.rows());
        let metadata = form.metadata(here.len());
        let mut data = Vec::new();
        if form.is_by_row() {
            for row in here {
                (0..form.channels()).for_each(|channel| sum += form.push(&mut data, row, channel));
            }
        } else {
            for channel in 0..form.channels() {
                here.clone().for_each(|row| sum += form.push(&mut data, row, channel));
            }
        }
        file.write_all(b"TDSm")?;
        let kind = match form {
            Form::Interleaved => 32,
            Form::Daqmx => 128,
            Form::Contiguous | Form::Small => 0u32,
        };
        file.write_all(&(2 | 4 | 8 | kind).to_le_bytes())?;
        file.write_all(&4713u32.to_le_bytes())?;
        file.write_all(&((metadata.len() + data.len()) as u64).to_le_bytes())?;
        file.write_all(&(metadata.len() as u64).to_le_bytes())?;
        file.write_all(&metadata)?;
        file.write_all(&data)?;
    }
    file.flush()?;
    std::fs::rename(&begun, &path)?;
    Ok((path, sum))
}

/// Reads all batches. Returns the number of rows.
fn read(path: &Path, mut each: impl FnMut(&RecordBatch)) -> Res<usize> {
    let control = Control::default();
    let input = Box::new(File::open(path)?);
    let mut tables = tables(&ImportTableRequest::new(), input, TdmsOptions::new());
    let mut rows = 0;
    while tables.advance(&control)? {
        let source = tables.table()?.rows;
        let schema = TableSchema::with_default_limit(source.columns()?)?;
        while let Some(batch) = source.next_batch(&schema, &control)? {
            rows += batch.num_rows();
            each(&batch);
        }
    }
    Ok(rows)
}

/// The sum of the values of the channels.
fn sum(batch: &RecordBatch) -> f64 {
    let column = |channel: usize| {
        let column = batch.column_by_name(&format!("c{channel}"))?;
        let doubles = column.as_primitive_opt::<Float64Type>();
        doubles.map(|found| found.values().iter().sum::<f64>()).or_else(|| {
            let whole = column.as_primitive_opt::<Int32Type>()?.values();
            Some(whole.iter().map(|value| f64::from(*value)).sum())
        })
    };
    (0..=DOUBLES).filter_map(column).sum()
}

/// Reads the bytes of a file alone.
fn bytes(path: &Path) -> Res<u64> {
    let (mut file, mut piece, mut all) = (File::open(path)?, vec![0; 1 << 20], 0);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(all),
            count => all += count as u64,
        }
    }
}

fn run(scale: &Scale) -> Res<()> {
    for form in Form::ALL {
        let name = form.name();
        let path = scale.data().join(format!("tdms-{name}-{}.tdms", scale.rows));
        let (path, expected) = made(path, scale.rows, form)?;
        let len = path.metadata()?.len();
        let mut found = 0.0;
        let rows = read(&path, |batch| found += sum(batch))?;
        if (rows, found) != (scale.rows, expected) {
            return Err(format!("{name}: {rows} rows with the sum {found}, not {expected}").into());
        }
        let (mut batches, mut plain) = (Vec::new(), Vec::new());
        for _ in 0..scale.repetitions {
            batches.push(len as f64 / timed(|| read(&path, |_| ()))?.0 / 1e6);
            plain.push(len as f64 / timed(|| bytes(&path))?.0 / 1e6);
        }
        scale.emit("TDMS", &format!("batches_{name}"), &batches, "MB/s", "into batches");
        scale.emit("TDMS", &format!("bytes_{name}"), &plain, "MB/s", "the bytes alone");
    }
    if let Some(peak) = peak_memory_mib() {
        scale.emit("TDMS", "peak", &[peak], "MiB", "memory of the process");
    }
    Ok(())
}

fn main() -> Res<()> {
    if std::env::args().any(|argument| argument == "--test") {
        let scratch = tempfile::tempdir()?;
        return run(&Scale::small(scratch.path()));
    }
    run(&Scale::from_environment()?)
}
