//! Decimation over many overlapping runs: its answer, and how much it reads.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::*;
use crate::arrow::array::{ArrayRef, Float64Array, Int32Array, Int64Array};
use crate::disk::CountingDisk;

const RUNS: usize = 60;
const ROWS: usize = 3000;

/// Rows that alternate with those of the other runs; runs next to each other share index values.
fn run(schema: &Arc<TableSchema>, number: usize) -> MemoryRun {
    let at = |row: usize| row * RUNS + number;
    let index: ArrayRef =
        Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| at(row) as i64 / 7)));
    let wave = |at: usize| (at as f64 / 900.0).sin() * 50.0 + (at * 7919 % 31) as f64;
    let values: Float64Array =
        (0..ROWS).map(|row| (at(row) % 9 != 0).then(|| wave(at(row)))).collect();
    let steps = Int32Array::from_iter_values((0..ROWS).map(|row| (at(row) / 5000) as i32 % 4));
    let batch = RecordBatch::try_new(
        schema.arrow().clone(),
        vec![index, Arc::new(values), Arc::new(steps)],
    )
    .unwrap();
    MemoryRun::new(schema, &[batch], (number * ROWS) as u64).unwrap()
}

/// The rows are not merged one by one. Only the requested columns are read, a few times and not
/// once for each run or interval, and the answer is that of the merged table.
#[test]
fn many_overlapping_runs_are_decimated_in_a_few_reads_of_their_rows() {
    let schema = Arc::new(
        TableSchema::with_default_limit(vec![
            column("t", DataType::Int64, ColumnType::Index),
            column("v", DataType::Float64, ColumnType::Nullable),
            column("w", DataType::Int32, ColumnType::Normal),
        ])
        .unwrap(),
    );
    let counting = CountingDisk::default();
    let disk: SharedDisk = Arc::new(counting.clone());
    disk.create_dir_all("t").unwrap();
    let segments: Vec<Run> = (0..RUNS)
        .map(|number| Run::from(seal(&disk, &schema, number as u64 + 1, &run(&schema, number))))
        .collect();
    let data_bytes: u64 = segments
        .iter()
        .map(|run| match run.stored() {
            RunStorage::Segment(segment) => segment.meta().data_bytes,
            RunStorage::Memory(_) => 0,
        })
        .sum();
    let merged =
        TableView::new(schema.clone(), vec![merge(&disk, &schema, 1000, segments.clone())]);
    let overlapping = Arc::new(TableView::new(schema.clone(), segments));
    assert_eq!(overlapping.overlapping_runs(), RUNS);
    let merged = Arc::new(merged);
    let filter = |column: &str, operation, value: &str| ColumnFilter {
        column: column.to_owned(),
        operation,
        value: Some(value.to_owned()),
    };
    let filters = [
        vec![],
        vec![
            filter("t", FilterOperation::GreaterThan, "9000"),
            filter("t", FilterOperation::LessThan, "33000"),
        ],
        vec![filter("v", FilterOperation::GreaterThan, "60")],
    ];
    for filters in filters {
        let predicates = Arc::new(Predicates::new(&schema, &filters).unwrap());
        for (method, distribution, intervals) in [
            (DecimationMethod::MaxMin, DecimationDistribution::EqualFrequency, 1000),
            (DecimationMethod::MaxMin, DecimationDistribution::EqualWidth, 1000),
            (DecimationMethod::EntryExit, DecimationDistribution::EqualFrequency, 100),
            (DecimationMethod::EntryExit, DecimationDistribution::EqualWidth, 7),
            (DecimationMethod::Lossy, DecimationDistribution::EqualFrequency, 500),
        ] {
            let decimation = Decimation {
                x: 0,
                y: vec![1, 2],
                intervals,
                method,
                distribution,
                memory_bytes: 1 << 20,
                budget: Arc::default(),
            };
            let rows = |view: &Arc<TableView>| {
                decimate(view, &decimation, &predicates, &[0, 1, 2], &Control::default()).unwrap()
            };
            counting.read.store(0, Ordering::SeqCst);
            let start = Instant::now();
            let found = rows(&overlapping);
            let (elapsed, read) = (start.elapsed(), counting.read.load(Ordering::SeqCst));
            println!(
                "{method:?} {distribution:?} {intervals}: {read} of {data_bytes} bytes read, {elapsed:?}"
            );
            assert!(found == rows(&merged), "{decimation:?}");
            assert!(read <= 6 * data_bytes, "{read} bytes read of {data_bytes}: {decimation:?}");
        }
    }
}
