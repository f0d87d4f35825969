//! The imports of W8: the measurement table as CSV and Parquet. The peer's program is
//! `benches/peers/w8.py`, which reads the files that this one leaves in `BENCH_DATA`.
//!
//! `benches/project W8` prints its figures after those of the library, in the same form. With
//! `--test` it runs in a small size, asserts every answer, and prints nothing.

#[path = "../../benches/workloads/aggregates.rs"]
mod aggregates;
#[path = "../../benches/workloads/common.rs"]
#[allow(dead_code, reason = "the library has more workloads")]
mod common;
#[path = "../../benches/workloads/measurements.rs"]
#[allow(dead_code, reason = "the library has more workloads")]
mod measurements;

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use stationdb::prelude::*;
use stationdb::tables::{
    AggregateTableDataRequest, ExportFormat, ExportTableDataRequest, ImportTableRequest,
};
use stationdb::{Control, Session};
use stationdb_formats::ImportFiles;

use aggregates::{Naive, all, check};
use common::{Res, Scale, timed};
use measurements::{batches, create_table, open, schema};

/// One of this many rows is in the CSV file.
const CSV_SHARE: usize = 10;

/// Makes a file once: under another name, and renamed when it is whole.
fn made(path: PathBuf, make: impl FnOnce(&mut BufWriter<File>) -> Res<()>) -> Res<PathBuf> {
    if !path.exists() {
        let begun = path.with_extension("new");
        let mut file = BufWriter::new(File::create(&begun)?);
        make(&mut file)?;
        file.flush()?;
        std::fs::rename(&begun, &path)?;
    }
    Ok(path)
}

fn export(
    session: &Session,
    id: &str,
    format: ExportFormat,
    rows: usize,
    path: PathBuf,
) -> Res<PathBuf> {
    made(path, |file| {
        let request = ExportTableDataRequest::new(format).take(rows as i64);
        session.export_table_data(&id.into(), request, file, &Control::default())?;
        Ok(())
    })
}

/// Imports a file into a new store, and compares the number of rows and the sum of v1.
fn import(dir: &Path, file: &Path, expected: &Naive) -> Res<f64> {
    let session = open(dir)?;
    let request = ImportTableRequest::new().index_column("ts");
    let control = Control::default();
    let input = File::open(file)?;
    let is_csv = file.extension().is_some_and(|found| found == "csv");
    let (taken, imported) = timed(|| {
        Ok(if is_csv {
            session.import_csv(request, &mut BufReader::new(input), &control)?
        } else {
            session.import_parquet(request, Box::new(input), &control)?
        })
    })?;
    let request = AggregateTableDataRequest::new().aggregates(all());
    let answer = session.aggregate_table_data(&imported.id.ok_or("no table")?, request)?;
    check(&answer.groups, std::slice::from_ref(expected))?;
    Ok(taken)
}

fn run(scale: &Scale) -> Res<()> {
    let rows = scale.rows as u64;
    let (mut whole, mut csv) = (Naive::default(), Naive::default());
    for row in 0..rows {
        whole.add(row);
        if row < rows / CSV_SHARE as u64 {
            csv.add(row);
        }
    }
    let dir = scale.scratch("w8")?;
    let session = open(&dir)?;
    let id = create_table(&session, true)?;
    let table = id.as_str().into();
    session.append_batches(&table, &mut batches(&schema(true), scale.rows), Some(true))?;
    let file = |ending: &str| scale.data().join(format!("w8-{rows}.{ending}"));
    let part = scale.rows / CSV_SHARE;
    let text = export(&session, &id, ExportFormat::Csv, part, file("csv"))?;
    let parquet = export(&session, &id, ExportFormat::Parquet, scale.rows, file("parquet"))?;
    drop(session);
    std::fs::remove_dir_all(&dir)?;
    for (metric, file, expected) in
        [("import_csv", &text, &csv), ("import_parquet", &parquet, &whole)]
    {
        let mut rates = Vec::new();
        for _ in 0..scale.repetitions {
            let dir = scale.scratch("w8-import")?;
            rates.push(expected.rows as f64 / import(&dir, file, expected)? / 1e6);
            std::fs::remove_dir_all(&dir)?;
        }
        scale.emit("W8", metric, &rates, "Mrows/s", "durable, into a new store");
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
