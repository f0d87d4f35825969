//! Statistics of float columns: column chunks with NaN have none, and segments of earlier formats
//! are written again without them.

use std::sync::Arc;

use super::tests::{ROWS, Shape, arrays, segment_on};
use super::*;
use crate::columnar::nan_statistics::as_before_format_6;
use crate::disk::{MemoryDisk, Mode, SharedDisk};
use crate::value::Control;

fn disk() -> SharedDisk {
    let disk: SharedDisk = Arc::new(MemoryDisk::default());
    disk.create_dir_all("t").unwrap();
    disk
}

const RAMP: Shape = Shape { values: 3, nulls: 0 };
/// NaN and nulls.
const NAN: Shape = Shape { values: 0, nulls: 3 };

#[test]
fn float_chunks_with_nan_have_no_statistics() {
    let shapes = [RAMP, RAMP, RAMP, NAN, RAMP, RAMP];
    let (segment, _) = segment_on(&disk(), arrays(&shapes));
    let group = segment.parquet().metadata().row_group(0);
    let has = |column: usize| {
        let chunk = group.column(column);
        assert!(chunk.offset_index_offset().is_some(), "column {column}");
        (chunk.statistics().is_some(), chunk.column_index_offset().is_some())
    };
    assert_eq!([0, 1, 2, 3, 5, 6].map(has), [(true, true); 6]);
    assert_eq!(has(4), (false, false));
    assert_eq!(segment.hidden_nan().unwrap(), []);
}

#[test]
fn a_segment_with_statistics_that_hide_nan_is_written_again() {
    let disk = disk();
    let shapes = [RAMP, RAMP, RAMP, NAN, NAN, RAMP];
    let (old, batch) = as_before_format_6(|| segment_on(&disk, arrays(&shapes)));
    assert_eq!(old.hidden_nan().unwrap(), [(0, 4), (0, 5)]);
    let control = Control::default();
    let meta = old.restate(&disk, "t", || Ok(7), &control).unwrap().unwrap();
    assert!(meta.shows_nan && meta.id == 7 && meta.row_count == ROWS as u64);
    assert_eq!(wrong_bits(&disk, "t", &meta, &control).unwrap(), Some(Vec::new()));
    let new = Segment::open(&disk, "t", meta, Arc::new(old.schema().clone())).unwrap();
    assert_eq!(new.hidden_nan().unwrap(), []);
    let columns: Vec<usize> = (0..7).collect();
    assert_eq!(new.read(&columns, std::slice::from_ref(&(0..ROWS))).unwrap(), batch);
    assert_eq!(new.ordinals(0..ROWS).unwrap(), old.ordinals(0..ROWS).unwrap());
    for column in columns {
        let (old, new) = (old.summary(column).unwrap(), new.summary(column).unwrap());
        assert_eq!(format!("{old:?}"), format!("{new:?}"), "column {column}");
    }
    let wanted = [(0, false), (0, true), (5, true)];
    let [mut from_old, mut from_new] = [Vec::new(), Vec::new()];
    old.read_extreme_rows(1, &wanted, &mut from_old).unwrap();
    new.read_extreme_rows(1, &wanted, &mut from_new).unwrap();
    assert_eq!(from_old, from_new);
    let group = new.parquet().metadata().row_group(0);
    assert!(group.column(4).statistics().is_none() && group.column(6).statistics().is_some());
    assert!(group.column(6).column_index_offset().is_some());
    assert_eq!(group.sorting_columns().map(Vec::len), Some(1));
    let again = new.restate(&disk, "t", || panic!("it needs no number"), &control).unwrap();
    assert_eq!(again, None);
}

#[test]
fn damage_is_not_written_again_under_new_checksums() {
    let disk = disk();
    let shapes = [RAMP, RAMP, RAMP, NAN, NAN, RAMP];
    let (old, _) = as_before_format_6(|| segment_on(&disk, arrays(&shapes)));
    let (meta, schema) = (old.meta().clone(), Arc::new(old.schema().clone()));
    for (name, at) in [(data_name(meta.id), 200), (summary_name(meta.id), 1_000)] {
        let file = disk.open(&format!("t/{name}"), Mode::ReadWrite).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 1], at).unwrap();
        let damaged = Segment::open(&disk, "t", meta.clone(), schema.clone()).unwrap();
        let number = || Ok(at + u64::from(byte[0]));
        let error = damaged.restate(&disk, "t", number, &Control::default()).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Corrupt, "{name}: {error}");
        file.write_all_at(&byte, at).unwrap();
    }
}
