//! Statistics of float columns: column chunks with NaN have none.

use std::sync::Arc;

use super::tests::{Shape, arrays, segment_on};
use crate::disk::{MemoryDisk, SharedDisk};

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
}
