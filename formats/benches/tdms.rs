//! TDMS files into batches, and their bytes alone. The peer's program is npTDMS, over the files that
//! this one leaves in `BENCH_DATA`.
//!
//! With `--test` it runs in a small size, asserts every answer, and prints nothing.

#[path = "../../benches/workloads/common.rs"]
#[allow(dead_code, reason = "the library has more workloads")]
mod common;

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use stationdb::Control;
use stationdb::arrow::array::AsArray;
use stationdb::arrow::datatypes::{Float64Type, Int32Type};
use stationdb::tables::{ImportTableRequest, TableSchema, TableSource};
use stationdb_formats::tdms::{TdmsOptions, tables};

use common::{Res, Scale, timed};

/// Rows of a segment.
const ROWS: usize = 100_000;
/// Channels of doubles, and one of 16-bit numbers.
const DOUBLES: usize = 4;

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text.as_bytes());
}

/// The metadata of the channels.
fn metadata(rows: usize) -> Vec<u8> {
    let mut out = (DOUBLES as u32 + 1).to_le_bytes().to_vec();
    for channel in 0..=DOUBLES {
        text(&mut out, &format!("/'run'/'c{channel}'"));
        for word in [20, if channel < DOUBLES { 10 } else { 2 }, 1] {
            out.extend(u32::to_le_bytes(word));
        }
        out.extend((rows as u64).to_le_bytes());
        out.extend(0u32.to_le_bytes());
    }
    out
}

fn double(row: usize, channel: usize) -> f64 {
    (row % 1000) as f64 + channel as f64 / 8.0
}

/// Writes a file once: contiguous or interleaved channels, in segments of equal sizes.
fn made(path: PathBuf, rows: usize, is_interleaved: bool) -> Res<PathBuf> {
    if path.exists() {
        return Ok(path);
    }
    let begun = path.with_extension("new");
    let mut file = BufWriter::new(File::create(&begun)?);
    for first in (0..rows).step_by(ROWS) {
        let here = first..rows.min(first + ROWS);
        let metadata = metadata(here.len());
        let mut data = Vec::with_capacity(here.len() * (DOUBLES * 8 + 2));
        let push = |data: &mut Vec<u8>, row: usize, channel: usize| {
            if channel < DOUBLES {
                data.extend(double(row, channel).to_le_bytes());
            } else {
                data.extend(((row % 1000) as i16).to_le_bytes());
            }
        };
        if is_interleaved {
            for row in here {
                (0..=DOUBLES).for_each(|channel| push(&mut data, row, channel));
            }
        } else {
            for channel in 0..=DOUBLES {
                here.clone().for_each(|row| push(&mut data, row, channel));
            }
        }
        file.write_all(b"TDSm")?;
        let contents = 2 | 4 | 8 | if is_interleaved { 32u32 } else { 0 };
        file.write_all(&contents.to_le_bytes())?;
        file.write_all(&4713u32.to_le_bytes())?;
        file.write_all(&((metadata.len() + data.len()) as u64).to_le_bytes())?;
        file.write_all(&(metadata.len() as u64).to_le_bytes())?;
        file.write_all(&metadata)?;
        file.write_all(&data)?;
    }
    file.flush()?;
    std::fs::rename(&begun, &path)?;
    Ok(path)
}

/// Reads all batches. Returns the number of rows, and the sums of the last channel of doubles and of
/// the whole numbers.
fn read(path: &Path) -> Res<(usize, f64, i64)> {
    let control = Control::default();
    let input = Box::new(File::open(path)?);
    let mut tables = tables(&ImportTableRequest::new(), input, TdmsOptions::new());
    let (mut rows, mut doubles, mut whole) = (0, 0.0, 0);
    while tables.advance(&control)? {
        let source = tables.table()?.rows;
        let schema = TableSchema::with_default_limit(source.columns()?)?;
        while let Some(batch) = source.next_batch(&schema, &control)? {
            rows += batch.num_rows();
            let last = batch.column_by_name("c3").ok_or("no c3")?.as_primitive::<Float64Type>();
            doubles += last.values().iter().sum::<f64>();
            let counts = batch.column_by_name("c4").ok_or("no c4")?.as_primitive::<Int32Type>();
            whole += counts.values().iter().map(|value| i64::from(*value)).sum::<i64>();
        }
    }
    Ok((rows, doubles, whole))
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
    let rows = scale.rows;
    let doubles: f64 = (0..rows).map(|row| double(row, DOUBLES - 1)).sum();
    let whole: i64 = (0..rows).map(|row| (row % 1000) as i64).sum();
    for (form, is_interleaved) in [("contiguous", false), ("interleaved", true)] {
        let path = scale.data().join(format!("tdms-{form}-{rows}.tdms"));
        let path = made(path, rows, is_interleaved)?;
        let len = path.metadata()?.len();
        let (mut batches, mut plain) = (Vec::new(), Vec::new());
        for _ in 0..scale.repetitions {
            let (taken, found) = timed(|| read(&path))?;
            if found != (rows, doubles, whole) {
                return Err(format!("{form}: {found:?}").into());
            }
            batches.push(len as f64 / taken / 1e6);
            let (taken, found) = timed(|| bytes(&path))?;
            if found != len {
                return Err(format!("{form}: {found} bytes").into());
            }
            plain.push(len as f64 / taken / 1e6);
        }
        scale.emit("TDMS", &format!("batches_{form}"), &batches, "MB/s", "into batches");
        scale.emit("TDMS", &format!("bytes_{form}"), &plain, "MB/s", "the bytes alone");
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
