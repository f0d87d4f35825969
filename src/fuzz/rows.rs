//! The body of the fuzz target of filters of rows.

use std::sync::{Arc, OnceLock};

use crate::columnar::{
    Aggregation, Bins, Bounds, ColumnAggregate, Key, MemoryRun, Predicates, Run, Segment,
    SegmentWriter, TableSchema, TableView, Term, aggregate, count_rows, frame_to_batch, ticks,
};
use crate::disk::{MemoryDisk, SharedDisk};
use crate::error::Result;
use crate::filter::Times;
use crate::model::tables::data::{DataFrame, DataType};
use crate::services::compile_row_filter;
use crate::value::{Control, Row, Val, Work, time};

/// Which values of a type the rows of each part have: equal ones, nulls and the last, which is NaN
/// for floats, alone and beside each other.
const PARTS: [[Option<usize>; 3]; 7] = [
    [None, None, None],
    [Some(0), Some(0), Some(0)],
    [Some(0), None, Some(0)],
    [Some(1), Some(1), Some(3)],
    [Some(3), Some(3), Some(3)],
    [None, Some(3), None],
    [Some(2), Some(1), Some(0)],
];

fn values(data_type: DataType) -> [&'static str; 4] {
    match data_type {
        DataType::Bool => ["true", "false", "true", "false"],
        DataType::Int32 => ["1", "-2147483648", "2147483647", "0"],
        DataType::Int64 => ["1", "-9223372036854775808", "9223372036854775807", "0"],
        DataType::Float32 | DataType::Float64 => ["1.5", "-Infinity", "-0", "NaN"],
        DataType::String => ["a", "", "a\u{1f600}b", "B"],
        DataType::Timestamp => [
            "1970-01-01T00:00:00.001Z",
            "2023-11-14T22:13:20.000Z",
            "1969-12-31T23:59:59.999Z",
            "2026-01-01T00:00:00.000Z",
        ],
        DataType::TimestampMicros => [
            "1970-01-01T00:00:00.000001Z",
            "2023-11-14T22:13:20.000000Z",
            "1969-12-31T23:59:59.999999Z",
            "2026-01-01T00:00:00.000000Z",
        ],
        DataType::TimestampNanos => [
            "1970-01-01T00:00:00.000000001Z",
            "2023-11-14T22:13:20.000000000Z",
            "1969-12-31T23:59:59.999999999Z",
            "2026-01-01T00:00:00.000000000Z",
        ],
    }
}

/// A row whose cells are texts.
#[derive(Debug)]
struct TextRow<'a> {
    schema: &'a TableSchema,
    cells: &'a [Option<String>],
}

impl Row for TextRow<'_> {
    fn val(&self, index: usize) -> Val<'_> {
        let (Some(Some(text)), Ok(column)) = (self.cells.get(index), self.schema.column(index))
        else {
            return Val::Null;
        };
        match column.data_type {
            DataType::Bool => Val::Bool(text == "true"),
            DataType::Int32 | DataType::Int64 => text.parse().map_or(Val::Null, Val::Int),
            DataType::Float32 | DataType::Float64 => text.parse().map_or(Val::Null, Val::Double),
            DataType::String => Val::from(text.as_str()),
            DataType::Timestamp => {
                time::parse(text).map_or(Val::Null, |at| Val::Time(at.timestamp_millis()))
            }
            DataType::TimestampMicros | DataType::TimestampNanos => {
                ticks::parse(column.data_type, text).map_or(Val::Null, Val::Int)
            }
        }
    }
}

struct Table {
    rows: Vec<Vec<Option<String>>>,
    buffered: TableView,
    sealed: TableView,
}

fn table(schema: &Arc<TableSchema>) -> Result<Table> {
    let disk: SharedDisk = Arc::new(MemoryDisk::new());
    disk.create_dir_all("t")?;
    let (mut rows, mut buffered, mut sealed) = (Vec::new(), Vec::new(), Vec::new());
    for part in PARTS {
        let first = rows.len() as u64;
        let cells: Vec<Vec<Option<String>>> = part
            .iter()
            .enumerate()
            .map(|(at, which)| {
                let index = (first as usize + at).to_string();
                let cell = |at: usize| {
                    let data_type = schema.columns().get(at).map(|column| column.data_type)?;
                    which.map(|which| values(data_type)[which].to_owned())
                };
                std::iter::once(Some(index)).chain((1..schema.len()).map(cell)).collect()
            })
            .collect();
        let batch = frame_to_batch(schema, &DataFrame { columns: None, data: cells.clone() })?;
        let mut writer = SegmentWriter::new(disk.clone(), "t", first + 1, schema.clone(), first)?;
        writer.write(&batch, None)?;
        let segment = Segment::open(&disk, "t", writer.finish()?, schema.clone())?;
        sealed.push(Run::from(Arc::new(segment)));
        buffered.push(Run::from(Arc::new(MemoryRun::new(schema, &[batch], first)?)));
        rows.extend(cells);
    }
    let view = |runs| TableView::new(schema.clone(), runs);
    Ok(Table { rows, buffered: view(buffered), sealed: view(sealed) })
}

/// Any text is a filter of rows or an error. The masks over many rows and the summaries of segments
/// select the rows that the filter matches one by one, and the aggregates of these rows do not depend
/// on how they lie.
pub(super) fn fuzz_row_filter(data: &[u8]) {
    static TABLE: OnceLock<Option<(Arc<TableSchema>, Table)>> = OnceLock::new();
    let Ok(text) = std::str::from_utf8(data) else { return };
    let known = TABLE.get_or_init(|| {
        let schema = Arc::new(super::every_type()?);
        table(&schema).ok().map(|table| (schema, table))
    });
    assert!(known.is_some(), "the table of the fuzz target could not be made");
    let Some((schema, table)) = known else { return };
    let times = Times::new(time::from_millis(1_700_000_000_000), None);
    let values = [1.into(), "a".into(), true.into(), serde_json::Value::Null];
    let Ok(Some(filter)) = compile_row_filter(schema, Some(text), &values, &times) else { return };
    let mut expected = 0;
    for cells in &table.rows {
        let check = || Ok(());
        let work = Work::new(&check);
        let holds = filter.matches_with(&TextRow { schema, cells }, &|_| false, &work);
        if work.finish().is_err() {
            return;
        }
        expected += u64::from(holds);
    }
    let mut answers = Vec::new();
    for view in [&table.buffered, &table.sealed] {
        let predicates = Predicates::default().with_filter(schema, filter.shape());
        assert!(predicates.is_ok(), "{text:?} is checked, but has no tests");
        let Ok(predicates) = predicates else { return };
        let found = count_rows(view, &predicates, &Control::default());
        assert_eq!(found.ok(), Some(expected), "rows selected by {text:?}");
        let budget = Arc::default();
        let aggregation = Aggregation {
            keys: vec![Key { column: text.len() % schema.len(), width: None }],
            terms: terms(schema, text.len().is_multiple_of(2)),
            predicates: &predicates,
            bounds: Bounds { groups: 1_000, bytes: 1 << 28, budget: &budget },
        };
        let answer = aggregate(view, &aggregation, &Control::default());
        answers.push(answer.map(|answer| answer.groups).map_err(|error| error.to_string()));
    }
    assert!(answers.iter().all(Result::is_ok), "aggregates of {text:?}: {answers:?}");
    assert_eq!(answers.first(), answers.last(), "aggregates of {text:?}");
}

/// Aggregates of every column, or those of numbers that summaries have.
fn terms(schema: &TableSchema, are_in_summaries: bool) -> Vec<Term> {
    let is_number = |at: &usize| {
        schema.column(*at).is_ok_and(|column| {
            column.data_type.is_numeric() && column.data_type != DataType::Timestamp
        })
    };
    let all = [
        ColumnAggregate::Count,
        ColumnAggregate::Min,
        ColumnAggregate::Max,
        ColumnAggregate::First,
        ColumnAggregate::Last,
    ];
    let numbers = [
        ColumnAggregate::Sum,
        ColumnAggregate::Mean,
        ColumnAggregate::Deviation { is_sample: true },
        ColumnAggregate::Percentile { percent: 40.0, is_linear: true },
        ColumnAggregate::Histogram(Bins { lower: -1.0, upper: 2.0, count: 3 }),
    ];
    let each = |wants: Vec<ColumnAggregate>, at: usize| {
        wants.into_iter().map(move |want| Term { want, column: Some(at) })
    };
    let columns = 0..schema.len();
    if are_in_summaries {
        let has_summary =
            |at: &usize| schema.column(*at).is_ok_and(|column| column.data_type.is_numeric());
        let wants = [ColumnAggregate::Count, ColumnAggregate::Min, ColumnAggregate::Max].to_vec();
        return columns.filter(has_summary).flat_map(|at| each(wants.clone(), at)).collect();
    }
    let numeric = columns.clone().filter(is_number);
    columns
        .flat_map(|at| each(all.to_vec(), at))
        .chain(numeric.flat_map(|at| each(numbers.to_vec(), at)))
        .collect()
}
