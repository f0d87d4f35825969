//! What is read from a segment is what was written, whatever the form of its pages.

use std::ops::Range;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array,
    RecordBatch, StringArray, TimestampNanosecondArray, UInt32Array,
};
use crate::arrow::buffer::BooleanBuffer;
use crate::arrow::compute::{take, take_record_batch};
use crate::arrow::convert::{to_float64, to_text};
use crate::arrow::datatypes::DataType as Arrow;
use crate::arrow::integers::to_int64;
use crate::columnar::column_slice::{array_extremes, array_of_words, nan_count};
use crate::columnar::schema::TableSchema;
use crate::disk::{MemoryDisk, SharedDisk};
use crate::model::tables::data::{Column, ColumnType, DataType};

pub(super) const ROWS: usize = 12_805;

/// The pattern of a column's values, and of its nulls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// 0 constant, 1 few values in runs, 2 few values mixed, 3 ramp, 4 arbitrary, 5 extreme values.
    pub(super) values: u8,
    /// 0 none, 1 all, 2 in runs, 3 some.
    pub(super) nulls: u8,
}

fn hash(row: usize, salt: u64) -> u64 {
    let z =
        (row as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ salt.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (z ^ (z >> 29)).wrapping_mul(0x94D0_49BB_1331_11EB).rotate_left(31)
}

impl Shape {
    fn is_valid(self, row: usize, salt: u64) -> bool {
        match self.nulls {
            0 => true,
            1 => false,
            2 => (row / 1500).is_multiple_of(2),
            _ => !hash(row, salt + 1).is_multiple_of(5),
        }
    }

    fn number(self, row: usize, salt: u64) -> i64 {
        match self.values {
            0 => 7,
            1 => (row / 700) as i64 - 3,
            2 => (hash(row, salt) % 50) as i64 - 20,
            3 => 1000 + 3 * row as i64,
            4 => hash(row, salt).cast_signed(),
            _ if row.is_multiple_of(2) => i64::MAX,
            _ => i64::MIN,
        }
    }
}

pub(super) fn arrays(shapes: &[Shape]) -> Vec<ArrayRef> {
    let types = [
        DataType::Int32,
        DataType::Int64,
        DataType::TimestampNanos,
        DataType::Float32,
        DataType::Float64,
        DataType::String,
    ];
    let mut out: Vec<ArrayRef> =
        vec![Arc::new(Int64Array::from_iter_values((0..ROWS as i64).map(|row| row / 3)))];
    for (salt, (shape, data_type)) in shapes.iter().zip(types).enumerate() {
        let salt = salt as u64 * 100;
        let cells = (0..ROWS).map(|row| shape.is_valid(row, salt).then(|| shape.number(row, salt)));
        let real = |value: i64| match value {
            7 => f64::NAN,
            i64::MAX => f64::INFINITY,
            i64::MIN => f64::NEG_INFINITY,
            value => value as f64 / 8.0,
        };
        out.push(match data_type {
            DataType::Int32 => {
                Arc::new(cells.map(|cell| cell.map(|v| v as i32)).collect::<Int32Array>())
            }
            DataType::Int64 => Arc::new(cells.collect::<Int64Array>()),
            DataType::TimestampNanos => {
                Arc::new(cells.collect::<TimestampNanosecondArray>().with_timezone("UTC"))
            }
            DataType::Float32 => {
                Arc::new(cells.map(|cell| cell.map(|v| real(v) as f32)).collect::<Float32Array>())
            }
            DataType::Float64 => {
                Arc::new(cells.map(|cell| cell.map(real)).collect::<Float64Array>())
            }
            _ => {
                Arc::new(cells.map(|cell| cell.map(|v| format!("{v:x}"))).collect::<StringArray>())
            }
        });
    }
    out
}

fn segment(arrays: Vec<ArrayRef>) -> (Segment, RecordBatch) {
    let disk: SharedDisk = Arc::new(MemoryDisk::default());
    disk.create_dir_all("t").unwrap();
    segment_on(&disk, arrays)
}

pub(super) fn segment_on(disk: &SharedDisk, arrays: Vec<ArrayRef>) -> (Segment, RecordBatch) {
    let types = [
        DataType::Int64,
        DataType::Int32,
        DataType::Int64,
        DataType::TimestampNanos,
        DataType::Float32,
        DataType::Float64,
        DataType::String,
    ];
    let columns = types.iter().enumerate().map(|(at, data_type)| Column {
        name: format!("c{at}"),
        data_type: *data_type,
        column_type: match at {
            0 => ColumnType::Index,
            _ if arrays.get(at).is_some_and(|array| array.null_count() > 0) => ColumnType::Nullable,
            _ => ColumnType::Normal,
        },
        ..Column::default()
    });
    let schema = Arc::new(TableSchema::with_default_limit(columns.collect()).unwrap());
    let batch = RecordBatch::try_new(schema.arrow().clone(), arrays).unwrap();
    let mut writer = SegmentWriter::new(disk.clone(), "t", 1, schema.clone(), 0).unwrap();
    for from in [0, 1000, 9000] {
        let to = [1000, 9000, ROWS].into_iter().find(|to| *to > from).unwrap();
        writer.write(&batch.slice(from, to - from), None).unwrap();
    }
    let meta = writer.finish().unwrap();
    (Segment::open(disk, "t", meta, schema).unwrap(), batch)
}

fn ranges(cuts: &[usize]) -> Vec<Range<usize>> {
    let mut cuts = cuts.to_vec();
    cuts.sort_unstable();
    cuts.dedup();
    cuts.chunks_exact(2).map(|pair| pair[0]..pair[1]).collect()
}

fn rows_of(ranges: &[Range<usize>]) -> UInt32Array {
    ranges.iter().flat_map(|range| range.start as u32..range.end as u32).collect()
}

/// Whether a cell passes: its text has an even number of bytes. Nulls pass when `nulls` says so.
fn test_array(array: &ArrayRef, nulls: bool) -> BooleanBuffer {
    let text = to_text(&plain(array)).unwrap();
    let text = text.as_any().downcast_ref::<StringArray>().unwrap();
    BooleanBuffer::collect_bool(text.len(), |at| {
        if text.is_null(at) { nulls } else { text.value(at).len().is_multiple_of(2) }
    })
}

fn test_part(part: Part<'_>, nulls: bool, like: &ArrayRef) -> BooleanBuffer {
    let array: ArrayRef = match part {
        Part::Array(array) => array,
        Part::Numbers(slice) => {
            let mut words = Vec::new();
            slice.push_words(&mut words);
            let data_type = match like.data_type() {
                Arrow::Int32 => DataType::Int32,
                Arrow::Int64 => DataType::Int64,
                Arrow::Float32 => DataType::Float32,
                Arrow::Float64 => DataType::Float64,
                _ => DataType::TimestampNanos,
            };
            array_of_words(data_type, words, None).unwrap()
        }
    };
    test_array(&array, nulls)
}

fn shape() -> impl Strategy<Value = Shape> {
    (0u8..6, 0u8..4).prop_map(|(values, nulls)| Shape { values, nulls })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_page_reads_as_it_was_written(
        shapes in proptest::collection::vec(shape(), 6),
        cuts in proptest::collection::vec(0..=ROWS, 0..60),
        small in proptest::collection::vec(0..ROWS, 0..40),
        nulls in any::<bool>(),
    ) {
        let (segment, batch) = segment(arrays(&shapes));
        let cuts: Vec<usize> = small.iter().flat_map(|at| [*at, at + 1]).chain(cuts).collect();
        let all: Vec<usize> = (0..batch.num_columns()).collect();
        for ranges in [ranges(&cuts), std::iter::once(0..ROWS).collect(), vec![PAGE_ROWS - 1..PAGE_ROWS + 1, ROWS - 1..ROWS]] {
            let wanted = take_record_batch(&batch, &rows_of(&ranges)).unwrap();
            prop_assert_eq!(&segment.read(&all, &ranges).unwrap(), &wanted);
            for (column, array) in batch.columns().iter().enumerate() {
                let mask = test_array(wanted.column(column), nulls);
                let test = |part: Part<'_>| test_part(part, nulls, array);
                let found = segment.filter(column, &ranges, &test, FilterOutput::Values).unwrap();
                let Some(found) = found else { continue };
                let kept = crate::arrow::compute::filter(wanted.column(column), &BooleanArray::new(mask.clone(), None)).unwrap();
                prop_assert_eq!(found.count, mask.count_set_bits());
                prop_assert_eq!(&found.values.unwrap(), &kept);
                let rows = rows_of(&found.ranges);
                prop_assert_eq!(&take(array, &rows, None).unwrap(), &kept);
                let counted = segment.filter(column, &ranges, &test, FilterOutput::Count).unwrap().unwrap();
                prop_assert_eq!(counted.count, found.count);
            }
        }
    }
}

#[test]
fn the_usual_pages_are_read_without_the_library() {
    let shapes = [2, 3, 3, 4, 4, 2].map(|values| Shape { values, nulls: 0 });
    let (segment, batch) = segment(arrays(&shapes));
    for column in 0..batch.num_columns() {
        let test = |_: Part<'_>| BooleanBuffer::new_unset(0);
        let found = segment.filter(column, &[], &test, FilterOutput::Count).unwrap();
        assert!(found.is_some());
        let all = |part: Part<'_>| test_part(part, true, batch.column(column));
        let rows = std::slice::from_ref(&(0..ROWS));
        assert!(
            segment.filter(column, rows, &all, FilterOutput::Count).unwrap().is_some(),
            "column {column}"
        );
    }
}

#[test]
fn totals_are_those_of_the_rows_and_keep_no_summary() {
    let shape = |nulls| Shape { values: 4, nulls };
    let (segment, rows) = segment(arrays(&[0, 1, 2, 3, 2, 3].map(shape)));
    let mut count = 0;
    for (column, array) in rows.columns().iter().enumerate() {
        let Some(totals) = segment.totals(column).unwrap() else { continue };
        assert!(!segment.keeps_summary(column), "{column}");
        assert_eq!(totals.nulls, array.null_count() as u64, "{column}");
        assert_eq!(totals.nans, nan_count(array) as u64, "{column}");
        let found = array_extremes(array, 0, array.len()).unwrap();
        assert_eq!(totals.range, found.map(|found| (found.min, found.max)), "{column}");
        // The same from a summary that is kept.
        let kept = segment.summary(column).unwrap().unwrap();
        assert_eq!(kept.totals(), totals, "{column}");
        count += 1;
    }
    assert_eq!(count, 6, "all but the texts");
}

#[test]
fn rows_of_extremes_are_those_of_the_summary() {
    for shapes in [[0u8, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [4, 4, 4, 4, 4, 4]] {
        for nulls in 0..4 {
            let shapes = shapes.map(|values| Shape { values, nulls });
            let (segment, batch) = segment(arrays(&shapes));
            let layout = ExtremeRows::of(segment.schema()).unwrap();
            assert!(segment.has_extreme_rows() && layout.has(0) && !layout.has(6));
            for column in 1..6 {
                let blocks: Vec<(bool, [usize; 2])> = match segment
                    .summary(column)
                    .unwrap()
                    .unwrap()
                {
                    ColumnSummary::Int(levels) => levels.blocks().iter().map(positions).collect(),
                    ColumnSummary::Float(levels) => levels.blocks().iter().map(positions).collect(),
                };
                // Every block, every third block, and one block only.
                for step in [1, 3, blocks.len()] {
                    let chosen: Vec<usize> =
                        (0..blocks.len()).step_by(step).filter(|at| blocks[*at].0).collect();
                    let wanted: Vec<(usize, bool)> =
                        chosen.iter().flat_map(|at| [(*at, false), (*at, true)]).collect();
                    let mut bytes = Vec::new();
                    segment.read_extreme_rows(column, &wanted, &mut bytes).unwrap();
                    assert_eq!(bytes.len(), wanted.len() * layout.row_bytes());
                    let rows: UInt32Array = wanted
                        .iter()
                        .map(|(at, is_max)| {
                            (at * BLOCK_ROWS + blocks[*at].1[usize::from(*is_max)]) as u32
                        })
                        .collect();
                    for (other, array) in batch.columns().iter().enumerate() {
                        let data_type = segment.schema().columns()[other].data_type;
                        let found = layout.array(&bytes, other, data_type);
                        assert_eq!(
                            found,
                            layout.has(other).then(|| take(array, &rows, None).unwrap()),
                            "{other}"
                        );
                    }
                }
            }
            let none = segment.read_extreme_rows(0, &[(0, false)], &mut Vec::new());
            assert_eq!(none.map_err(|error| error.kind()), Err(crate::ErrorKind::Corrupt));
        }
    }
}

fn positions<T>(block: &Block<T>) -> (bool, [usize; 2]) {
    (block.is_usable(), [usize::from(block.min_at), usize::from(block.max_at)])
}

#[test]
fn parts_hold_whatever_can_win() {
    /// The first row of the least value in `rows`, if `known` is not less; `sign` reverses the
    /// order.
    fn winner(
        values: &[Option<f64>],
        rows: &Range<usize>,
        known: Option<f64>,
        sign: f64,
    ) -> Option<usize> {
        let mut best: Option<(f64, usize)> = None;
        for row in rows.clone() {
            let Some(value) = values[row].map(|value| value * sign).filter(|value| !value.is_nan())
            else {
                continue;
            };
            if best.is_none_or(|(least, _)| value < least) {
                best = Some((value, row));
            }
        }
        best.filter(|(value, _)| known.is_none_or(|known| *value <= known * sign))
            .map(|(_, row)| row)
    }
    let mut skipped = 0;
    for (round, shapes) in
        [[0u8, 1, 2, 3, 3, 5], [5, 3, 4, 1, 2, 0], [3, 4, 4, 2, 4, 4]].into_iter().enumerate()
    {
        for nulls in 0..4 {
            let shapes = shapes.map(|values| Shape { values, nulls });
            let (segment, batch) = segment(arrays(&shapes));
            for column in 0..6 {
                let number = numbers(&plain(batch.column(column)));
                let number = number.as_any().downcast_ref::<Float64Array>().unwrap();
                let values: Vec<Option<f64>> = number.iter().collect();
                for draw in 0..60 {
                    let salt = (round * 1000 + nulls as usize * 100 + column) as u64;
                    let block = hash(draw, salt) as usize % (ROWS / BLOCK_ROWS + 1) * BLOCK_ROWS;
                    let end = ROWS.min(block + BLOCK_ROWS);
                    let (a, b) = (hash(draw, salt + 1) as usize, hash(draw, salt + 2) as usize);
                    let cut = block + a % (end - block);
                    let rows = [block..cut, cut..end, block..end][b % 3].clone();
                    if rows.is_empty() {
                        continue;
                    }
                    let some = |salt2: u64| {
                        let row = hash(draw, salt + salt2) as usize % ROWS;
                        values[row].filter(|value| {
                            !value.is_nan() && !hash(draw, salt + 7).is_multiple_of(3)
                        })
                    };
                    let (least, greatest) = (some(3), some(4));
                    let found = match segment.summary(column).unwrap().unwrap() {
                        ColumnSummary::Int(levels) => {
                            let int = |value: Option<f64>| value.map(|value| value as i64);
                            levels.candidates(&rows, int(least), int(greatest))
                        }
                        ColumnSummary::Float(levels) => levels.candidates(&rows, least, greatest),
                    };
                    assert!(found.windows(2).all(|pair| pair[0].end < pair[1].start));
                    assert!(found.iter().all(|part| rows.start <= part.start
                        && part.end <= rows.end
                        && !part.is_empty()));
                    for row in
                        [winner(&values, &rows, least, 1.0), winner(&values, &rows, greatest, -1.0)]
                            .into_iter()
                            .flatten()
                    {
                        assert!(
                            found.iter().any(|part| part.contains(&row)),
                            "{column} {rows:?} {row} {found:?}"
                        );
                    }
                    skipped += rows.len() - found.iter().map(ExactSizeIterator::len).sum::<usize>();
                }
            }
        }
    }
    assert!(skipped > 100_000, "{skipped} rows need not be looked at");
}

/// Times as integers.
/// Numbers as they are, true as 1, and texts of numbers by their value.
fn numbers(array: &ArrayRef) -> Float64Array {
    if let Some(truths) = array.as_boolean_opt() {
        return truths.iter().map(|truth| Some(f64::from(truth?))).collect();
    }
    to_float64(array)
        .unwrap_or_else(|| to_text(array).unwrap().iter().map(|text| text?.parse().ok()).collect())
}

fn plain(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        crate::arrow::datatypes::DataType::Timestamp(..) => Arc::new(to_int64(array).unwrap()),
        _ => array.clone(),
    }
}
