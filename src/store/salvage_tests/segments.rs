//! Manifest entries that are not proven, next to entries that are.

use crate::store::tests::prelude::*;
use std::ops::Range;

use super::{options, request};
use crate::model::Resource as _;
use crate::records::{Change, RecordFile, RecordFileOptions};
use crate::session::tables::{TableSalvage, directory};
use crate::tables::TableService as _;

/// Rows of each of the two segments.
const ROWS: u64 = 1_000;

/// A closed store whose only table has two segments.
fn two_segments() -> Arc<MemoryDisk> {
    let disk = Arc::new(MemoryDisk::new());
    let (store, session) = opened(options(), disk.clone());
    let columns = serde_json::json!({ "columns": [{ "name": "t", "dataType": "INT64", "columnType": "INDEX" }] });
    let table = session.create_table(request(columns)).unwrap();
    for segment in 0..2 {
        let first = segment * ROWS as i64;
        let values = crate::arrow::array::Int64Array::from_iter_values(first..first + ROWS as i64);
        let batch = crate::arrow::array::RecordBatch::try_from_iter([("t", Arc::new(values) as _)])
            .unwrap();
        session.append_batches(&table, &mut std::iter::once(Ok(batch)), None).unwrap();
    }
    drop(session);
    store.close().unwrap();
    disk
}

/// A copy of the record file alone, on its own disk.
fn records_of(disk: &Arc<MemoryDisk>) -> (SharedDisk, RecordFile) {
    let into: SharedDisk = Arc::new(MemoryDisk::new());
    copy_file(&**disk, &*into, "records.redb", |_| Ok(())).unwrap();
    let options = RecordFileOptions { cache_bytes: 1 << 20, quick_repair: false };
    let records = RecordFile::open(&into, options).unwrap();
    (into, records)
}

/// Salvages the table in `records`, whose files are on `disk`. Returns the row count and the ranges
/// that are reported as lost.
fn salvaged(
    disk: &Arc<MemoryDisk>,
    (into, records): (&SharedDisk, &RecordFile),
    unproven: &BTreeSet<Vec<u8>>,
) -> (u64, Vec<Range<u64>>) {
    let from: SharedDisk = disk.clone();
    let mut lost = Vec::new();
    let mut salvage = TableSalvage {
        from: &from,
        into,
        records,
        unproven,
        retentions: &BTreeMap::new(),
        next_segment: 100,
        control: &Control::default(),
        lost: &mut |rows| lost.push(rows.ordinals),
        deleted: crate::value::ranges::RangeSet::default(),
    };
    let rows = salvage.run().unwrap().rows;
    (rows, lost)
}

/// The keys and entries of the manifest.
fn manifest(records: &RecordFile) -> Vec<(Vec<u8>, SegmentMeta)> {
    let snapshot = records.snapshot(0).unwrap();
    let mut cursor = ReadSource::Snapshot(&snapshot).cursor(Space::Segments, &[], None).unwrap();
    let mut found = Vec::new();
    while let Some((key, row)) = cursor.next().unwrap() {
        let meta = envelope::from_row(&key, &row).unwrap();
        found.push((key, meta));
    }
    found
}

/// Salvages the table of `disk` after an entry was added that names the rows `named` and has no
/// files. `unproven` says which of the two true entries are unproven as well. Returns the row count
/// and the ranges that are reported as lost.
fn with_false_entry(
    disk: &Arc<MemoryDisk>,
    named: Range<u64>,
    unproven: &[usize],
) -> (u64, Vec<Range<u64>>) {
    let (into, records) = records_of(disk);
    let entries = manifest(&records);
    assert_eq!(entries.iter().map(|(_, meta)| meta.row_count).collect::<Vec<_>>(), [ROWS, ROWS]);
    let kind = TableMetadata::KIND.id;
    let table = entries[0].0[..kind.key_len()].to_vec();
    let row_count = named.end - named.start;
    let meta = SegmentMeta {
        id: 0,
        first_ordinal: named.start,
        row_count,
        ordinal_count: row_count,
        ..entries[0].1.clone()
    };
    // Its number is less than those of the true entries, so it is first among entries with the same
    // first row.
    let key = [table, 0_u64.to_be_bytes().to_vec()].concat();
    let value = envelope::to_row(&key, &meta).unwrap();
    records
        .write(|turn| turn.apply([Change::Put { space: Space::Segments, key: key.clone(), value }]))
        .unwrap();
    let unproven: BTreeSet<_> =
        unproven.iter().map(|at| entries[*at].0.clone()).chain([key]).collect();
    let (rows, lost) = salvaged(disk, (&into, &records), &unproven);
    let kept: u64 = manifest(&records).iter().map(|(_, meta)| meta.row_count).sum();
    assert_eq!(rows, kept);
    (rows, lost)
}

#[test]
fn an_unproven_entry_does_not_take_the_place_of_proven_rows() {
    let disk = two_segments();
    for named in [0..ROWS + 500, 0..5, ROWS..ROWS + 1, ROWS - 1..ROWS, 0..10 * ROWS] {
        assert_eq!(
            with_false_entry(&disk, named.clone(), &[]),
            (2 * ROWS, vec![]),
            "{named:?} is named"
        );
    }
}

#[test]
fn of_unproven_entries_the_one_whose_files_are_there_has_the_place() {
    let disk = two_segments();
    for unproven in [&[0][..], &[1], &[0, 1]] {
        for named in [0..ROWS + 500, 0..5, ROWS..ROWS + 1, 0..2 * ROWS] {
            let found = with_false_entry(&disk, named.clone(), unproven);
            assert_eq!(found, (2 * ROWS, vec![]), "{named:?} is named, {unproven:?} are unproven");
        }
    }
}

#[test]
fn the_rows_that_only_a_false_entry_names_are_told_as_lost_once() {
    let disk = two_segments();
    let entries = manifest(&records_of(&disk).1);
    let id = TableMetadata::KIND.id;
    let table =
        crate::value::RecordKey::from_bytes(id, &entries[1].0[..id.key_len()]).unwrap().to_id(id);
    // The files of the second segment are missing, and its entry is not proven.
    let path = format!("{}/{}", directory(&table), crate::columnar::data_name(entries[1].1.id));
    crate::disk::Disk::remove_file(&*disk, &path).unwrap();
    assert_eq!(
        with_false_entry(&disk, ROWS..2 * ROWS, &[1]),
        (ROWS, std::iter::once(ROWS..2 * ROWS).collect())
    );
}

/// A part of the list of deleted rows is lost, and the part that says what went by the retention is
/// not.
#[test]
fn what_went_by_the_retention_does_not_come_back_when_its_list_is_lost() {
    let disk = two_segments();
    let (into, records) = records_of(&disk);
    let entries = manifest(&records);
    let table = entries[0].0[..TableMetadata::KIND.id.key_len()].to_vec();
    let key = [table, 0_u64.to_be_bytes().to_vec()].concat();
    let part = DeletedPart { retention: vec![10, 20], ..DeletedPart::default() };
    let row = envelope::to_row(&key, &part).unwrap();
    let space = Space::DeletedRows;
    let put = Change::Put { space, key: key.clone(), value: row };
    records.write(|turn| turn.apply([put])).unwrap();
    let found = salvaged(&disk, (&into, &records), &BTreeSet::new());
    assert_eq!(found, (2 * ROWS - 20, vec![]));
    let snapshot = records.snapshot(0).unwrap();
    let row = ReadSource::Snapshot(&snapshot).get(space, &key).unwrap().unwrap();
    let whole = DeletedPart { gaps_and_lengths: vec![10, 20], retention: vec![10, 20] };
    assert_eq!(envelope::from_row::<DeletedPart>(&key, &row).unwrap(), whole);
}

/// A lake may have the only copy of rows that are lost, and drops what a caller deleted.
#[test]
fn rows_that_are_lost_do_not_count_as_deleted_by_a_caller() {
    let disk = two_segments();
    let (into, records) = records_of(&disk);
    let entries = manifest(&records);
    let kind = TableMetadata::KIND.id;
    let table = entries[0].0[..kind.key_len()].to_vec();
    let key = [table.clone(), 0_u64.to_be_bytes().to_vec()].concat();
    let part = DeletedPart { gaps_and_lengths: vec![10, 20], ..DeletedPart::default() };
    let row = envelope::to_row(&key, &part).unwrap();
    let put = Change::Put { space: Space::DeletedRows, key: key.clone(), value: row };
    records.write(|turn| turn.apply([put])).unwrap();
    let id = crate::value::RecordKey::from_bytes(kind, &table).unwrap().to_id(kind);
    let path = format!("{}/{}", directory(&id), crate::columnar::data_name(entries[1].1.id));
    crate::disk::Disk::remove_file(&*disk, &path).unwrap();
    let found = salvaged(&disk, (&into, &records), &BTreeSet::new());
    assert_eq!(found, (ROWS - 20, std::iter::once(ROWS..2 * ROWS).collect()));
    let snapshot = records.snapshot(0).unwrap();
    let row = ReadSource::Snapshot(&snapshot).get(Space::DeletedRows, &key).unwrap().unwrap();
    let listed = DeletedPart {
        gaps_and_lengths: vec![10, 20, ROWS - 30, ROWS],
        retention: vec![ROWS, ROWS],
    };
    assert_eq!(envelope::from_row::<DeletedPart>(&key, &row).unwrap(), listed);
}
