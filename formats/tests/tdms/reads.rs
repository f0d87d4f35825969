//! Values are the same whichever way their bytes are read: straight into the column, through blocks
//! that are kept, value by value across two blocks, or where there are more columns than blocks.

use stationdb::Control;
use stationdb::arrow::array::AsArray;
use stationdb::arrow::datatypes::{Float64Type, Int32Type, Int64Type};
use stationdb::tables::{ImportTableRequest, TableSchema, TableSource};
use stationdb_formats::tdms::{TdmsOptions, tables};

use crate::bytes::{
    F64, I16, I64, INTERLEAVED, WHOLE, metadata, object, segment, segment_of, values,
};

/// The bytes of the value of a row, which differs from those of all other rows and channels.
fn value(kind: u32, channel: usize, row: usize) -> Vec<u8> {
    let whole = (row * 31 + channel * 7) as i64;
    match kind {
        I16 => (whole as i16).to_le_bytes().to_vec(),
        I64 => whole.to_le_bytes().to_vec(),
        _ => (whole as f64 / 8.0).to_le_bytes().to_vec(),
    }
}

/// Reads a file of such channels, with no table but one, and compares each value.
fn check(bytes: Vec<u8>, kinds: &[u32], rows: usize) {
    let control = Control::default();
    let input = Box::new(std::io::Cursor::new(bytes));
    let mut tables = tables(&ImportTableRequest::new(), input, TdmsOptions::new());
    assert!(tables.advance(&control).unwrap());
    let source = tables.table().unwrap().rows;
    let columns = source.columns().unwrap();
    let schema = TableSchema::new(columns, 5_000).unwrap();
    let mut row = 0;
    while let Some(batch) = source.next_batch(&schema, &control).unwrap() {
        for (channel, kind) in kinds.iter().enumerate() {
            let column = batch.column_by_name(&format!("c{channel}")).unwrap();
            for at in 0..batch.num_rows() {
                let found = match *kind {
                    I16 => {
                        (column.as_primitive::<Int32Type>().value(at) as i16).to_le_bytes().to_vec()
                    }
                    I64 => column.as_primitive::<Int64Type>().value(at).to_le_bytes().to_vec(),
                    _ => column.as_primitive::<Float64Type>().value(at).to_le_bytes().to_vec(),
                };
                assert_eq!(found, value(*kind, channel, row + at), "c{channel}, {}", row + at);
            }
        }
        row += batch.num_rows();
    }
    assert_eq!(row, rows);
    assert!(!tables.advance(&control).unwrap());
}

fn objects(kinds: &[u32], rows: usize) -> Vec<Vec<u8>> {
    let name = |channel: usize| format!("/'g'/'c{channel}'");
    kinds
        .iter()
        .enumerate()
        .map(|(channel, kind)| object(&name(channel), &values(*kind, rows as u64), &[]))
        .collect()
}

/// A segment with these rows, a channel behind the other.
fn contiguous(kinds: &[u32], rows: std::ops::Range<usize>) -> Vec<u8> {
    let mut data = Vec::new();
    for (channel, kind) in kinds.iter().enumerate() {
        rows.clone().for_each(|row| data.extend(value(*kind, channel, row)));
    }
    segment(&objects(kinds, rows.len()), &data)
}

#[test]
fn large_and_small_segments_in_turn() {
    let kinds = [F64, I16, I64, F64];
    let mut bytes = Vec::new();
    let mut from = 0;
    for rows in [40_000, 3, 5_000, 1, 700, 20_000] {
        bytes.extend(contiguous(&kinds, from..from + rows));
        from += rows;
    }
    check(bytes, &kinds, from);
}

#[test]
fn interleaved_values_across_blocks() {
    // Rows of 30 bytes have no common step with a block.
    let kinds = [F64, I16, I64, I16, F64, I16];
    let rows = 30_000;
    let mut data = Vec::new();
    for row in 0..rows {
        for (channel, kind) in kinds.iter().enumerate() {
            data.extend(value(*kind, channel, row));
        }
    }
    let metadata = metadata(&objects(&kinds, rows));
    check(segment_of(WHOLE | INTERLEAVED, &metadata, &data, None), &kinds, rows);
}

#[test]
fn more_columns_than_blocks() {
    let kinds: Vec<u32> = (0..300).map(|at| if at % 3 == 0 { I16 } else { I64 }).collect();
    let bytes = [contiguous(&kinds, 0..6_000), contiguous(&kinds, 6_000..6_010)].concat();
    check(bytes, &kinds, 6_010);
}
