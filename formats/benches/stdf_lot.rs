//! A lot of a semiconductor tester: its records alone, and as results. The peer's program is
//! `benches/peers/stdf.py`, which reads the file that this one leaves in `BENCH_DATA`.
//!
//! With `--test` it runs in a small size, asserts every answer, and prints nothing.

#[path = "../../benches/workloads/common.rs"]
#[allow(dead_code, reason = "the library has more workloads")]
mod common;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use stationdb::prelude::*;
use stationdb::results::QueryResultsRequest;
use stationdb::{Control, Identity, Store};
use stationdb_formats::stdf::{self, ImportOptions, Records, Value};

use common::{Res, Scale, timed};

/// Tests of a part, each with a measurement.
const TESTS: u32 = 100;
/// The place of the result among the fields of a PTR.
const RESULT: usize = 5;

/// What is in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Content {
    records: u64,
    parts: u32,
    measurements: u64,
    sum: f64,
}

fn record(out: &mut impl Write, number: (u8, u8), body: &[u8]) -> Res<()> {
    out.write_all(&u16::try_from(body.len())?.to_le_bytes())?;
    out.write_all(&[number.0, number.1])?;
    out.write_all(body)?;
    Ok(())
}

fn text(body: &mut Vec<u8>, text: &str) {
    body.push(u8::try_from(text.len()).unwrap_or(0));
    body.extend(text.as_bytes());
}

/// A measurement of a part.
fn measured(part: u32, test: u32) -> f32 {
    (part % 97) as f32 * 0.125 + test as f32
}

/// Writes a lot. The first record of each test has its limits, as testers write it.
fn write(path: &Path, parts: u32) -> Res<Content> {
    let mut out = BufWriter::new(File::create(path)?);
    let mut content = Content { parts, records: 3, ..Content::default() };
    record(&mut out, (0, 10), &[2, 4])?;
    let mut mir =
        [&[0; 4][..], &1_700_000_000_u32.to_le_bytes(), &[1], b"P  ", &[255; 2], b" "].concat();
    for value in ["LOT-1", "PART-1", "tester-1", "T2000", "final", "A", "", "ada"] {
        text(&mut mir, value);
    }
    record(&mut out, (1, 10), &mir)?;
    for part in 0..parts {
        record(&mut out, (5, 10), &[1, 1])?;
        for test in 0..TESTS {
            let value = measured(part, test);
            let mut body = [&(1000 + test).to_le_bytes()[..], &[1, 1, 0, 0xc0]].concat();
            body.extend(value.to_le_bytes());
            text(&mut body, &format!("supply current {test}"));
            body.extend([0, 0b1110, 3, 3, 3]);
            body.extend(0_f32.to_le_bytes());
            body.extend(1e3_f32.to_le_bytes());
            text(&mut body, "A");
            record(&mut out, (15, 10), &body)?;
            content.sum += f64::from(value);
        }
        content.records += u64::from(TESTS) + 2;
        content.measurements += u64::from(TESTS);
        let mut prr =
            [&[1, 1, 0][..], &u16::try_from(TESTS)?.to_le_bytes(), &[1, 0, 1, 0]].concat();
        prr.extend([0, 128, 0, 128, 100, 0, 0, 0]);
        text(&mut prr, &part.to_string());
        record(&mut out, (5, 20), &prr)?;
    }
    record(&mut out, (1, 20), &[0; 4])?;
    out.flush()?;
    Ok(content)
}

/// Reads all fields of all records.
fn read(path: &Path) -> Res<Content> {
    let mut records = Records::new(File::open(path)?)?;
    let mut content = Content::default();
    while let Some(record) = records.next_record()? {
        content.records += 1;
        let values = record.values()?;
        match record.number() {
            (15, 10) => {
                content.measurements += 1;
                if let Some(Value::Single(value)) = values.get(RESULT) {
                    content.sum += f64::from(*value);
                }
            }
            (5, 20) => content.parts += 1,
            _ => {}
        }
    }
    Ok(content)
}

/// Imports into a new store.
fn import(directory: &Path, path: &Path, expected: Content) -> Res<f64> {
    let store = Store::open(directory)?;
    let session = store.session(Identity::user("bench"));
    let (options, control) = (ImportOptions::new(), Control::default());
    let (taken, report) =
        timed(|| Ok(stdf::import(&session, &mut File::open(path)?, &options, &control)?))?;
    assert_eq!(report.results.len(), expected.parts as usize);
    assert_eq!(report.measurements as u64, expected.measurements);
    assert_eq!(report.warnings, [""; 0]);
    let query = QueryResultsRequest::new().take(1).return_count(true);
    assert_eq!(session.query_results(query)?.total_count, Some(u64::from(expected.parts)));
    Ok(taken)
}

fn run(scale: &Scale) -> Res<()> {
    let parts = if scale.is_small() { 50 } else { 5_000 };
    let path = scale.data().join(format!("lot-{parts}.stdf"));
    let expected = write(&path, parts)?;
    let bytes = std::fs::metadata(&path)?.len() as f64;
    let (mut rates, mut speeds) = (Vec::new(), Vec::new());
    for _ in 0..scale.repetitions {
        let (taken, content) = timed(|| read(&path))?;
        assert_eq!(content, expected);
        rates.push(content.records as f64 / taken / 1e6);
        speeds.push(bytes / taken / 1e6);
    }
    scale.emit("STDF", "records", &rates, "Mrecords/s", "all fields, nothing stored");
    scale.emit("STDF", "bytes", &speeds, "MB/s", "all fields, nothing stored");
    let mut rates = Vec::new();
    for _ in 0..scale.repetitions {
        let directory = scale.scratch("stdf-import")?;
        rates.push(expected.measurements as f64 / import(&directory, &path, expected)? / 1e6);
        std::fs::remove_dir_all(&directory)?;
    }
    scale.emit("STDF", "import", &rates, "Mmeasurements/s", "results with steps, one commit");
    Ok(())
}

fn main() -> Res<()> {
    if std::env::args().any(|argument| argument == "--test") {
        let scratch = tempfile::tempdir()?;
        return run(&Scale::small(scratch.path()));
    }
    run(&Scale::from_environment()?)
}
