//! How many files of a table are open at the same time, and what happens if no more can be opened.

use crate::store::tests::prelude::*;
use std::sync::atomic::Ordering;

use crate::arrow::array::{Int64Array, RecordBatch};
use crate::disk::{CountingDisk, Disk as _};
use crate::model::ScanRequest;
use crate::session::tables as session_tables;
use crate::{ErrorKind, Result, Session};

const SEGMENTS: i64 = 40;
const ROWS: i64 = 50;

fn append(session: &Session, id: &str, number: i64) {
    // All segments overlap: their rows alternate.
    let index = Int64Array::from_iter_values((0..ROWS).map(|row| row * SEGMENTS + number));
    let batch = RecordBatch::try_from_iter([("t", Arc::new(index) as _)]).unwrap();
    session.append_batches(&id.into(), &mut std::iter::once(Ok(batch)), None).unwrap();
}

/// A table of overlapping segments that are not merged yet.
fn table(disk: &CountingDisk) -> (Store, Session, String) {
    let (store, session) =
        opened(Store::options().maintenance_thread(false), Arc::new(disk.clone()));
    let columns = vec![column("t", DataType::Int64, ColumnType::Index)];
    let id = session
        .create_table(CreateTableRequest { columns, ..Default::default() })
        .unwrap()
        .to_string();
    for number in 0..SEGMENTS {
        append(&session, &id, number);
        session_tables::seal(&session, &id, &Control::default()).unwrap();
    }
    (store, session, id)
}

fn segment_files(disk: &CountingDisk, id: &str) -> usize {
    disk.list(&format!("tables/{id}")).unwrap().len()
}

#[test]
fn segments_are_handed_out_with_one_of_them_open() {
    let disk = CountingDisk::default();
    let (store, session, id) = table(&disk);
    let before = disk.open.load(Ordering::SeqCst);
    disk.most_open.store(0, Ordering::SeqCst);
    let mut rows = 0;
    let each = &mut |file: crate::tables::SegmentFile<'_>| {
        let mut bytes = Vec::new();
        file.data.read_to_end(&mut bytes).map_err(|error| Error::io("reading", error))?;
        rows += file.row_count;
        Ok(())
    };
    assert_eq!(
        session
            .export_segments(&id.as_str().into(), each, &Control::default())
            .unwrap()
            .files
            .len(),
        SEGMENTS as usize
    );
    assert_eq!(rows, (SEGMENTS * ROWS) as u64);
    assert_eq!(disk.most_open.load(Ordering::SeqCst), before + 1);
    assert_eq!(disk.open.load(Ordering::SeqCst), before);
    drop(store);
}

/// A merge during `read_segments`: the files stay until the last one was read, and are removed
/// after that.
#[test]
fn a_merge_takes_no_segment_away_that_is_still_to_be_handed_out() {
    let disk = CountingDisk::default();
    let (store, session, id) = table(&disk);
    let files = segment_files(&disk, &id);
    let control = Control::default();
    let mut rows = 0;
    let each = &mut |file: crate::tables::SegmentFile<'_>| -> Result<()> {
        if rows == 0 {
            assert!(store.maintain(&control)?.segments_written > 0);
            // Removes the files that the first pass forgot, unless a reader keeps them.
            store.maintain(&control)?;
        }
        let mut bytes = Vec::new();
        file.data.read_to_end(&mut bytes).map_err(|error| Error::io("reading", error))?;
        assert_eq!(bytes.len() as u64, file.byte_count);
        rows += file.row_count;
        Ok(())
    };
    assert_eq!(
        session.export_segments(&id.as_str().into(), each, &control).unwrap().files.len(),
        SEGMENTS as usize
    );
    assert_eq!(rows, (SEGMENTS * ROWS) as u64);
    assert!(segment_files(&disk, &id) > files);
    assert_eq!(store.maintain(&control).unwrap().files_removed, files as u64);
    assert_eq!(segment_files(&disk, &id), 2, "the merged segment and its summary");
    assert!(store.verify(VerifyLevel::Checksums, &control).unwrap().findings.is_empty());
}

/// A read opens no more files than it reads at a time, if the process may have no more. Without a
/// file to open it reports which one it could not open. The store does not latch, and works on when
/// files can be opened again.
#[test]
fn a_table_of_many_segments_is_read_with_few_open_files() {
    let disk = CountingDisk::default();
    let (store, session, id) = table(&disk);
    drop((store, session));
    let (_store, session) =
        opened(Store::options().maintenance_thread(false), Arc::new(disk.clone()));
    let before = disk.open.load(Ordering::SeqCst);
    let scan = || -> Result<usize> {
        let stream =
            session.scan(&id.as_str().into(), ScanRequest::default(), &Control::default())?;
        stream.map(|batch| Ok(batch?.num_rows())).sum()
    };
    for spare in [0, 4, 0, 4] {
        disk.open_max.store(before + spare, Ordering::SeqCst);
        if spare == 0 {
            let error = scan().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{error}");
            assert!(error.message().contains("tables/"), "{error}");
            // Nothing stays open.
            assert_eq!(disk.open.load(Ordering::SeqCst), before);
        } else {
            assert_eq!(scan().unwrap(), (SEGMENTS * ROWS) as usize);
        }
        let exported =
            session.export_segments(&id.as_str().into(), &mut |_| Ok(()), &Control::default());
        // It opens its file beside those of segments.
        assert_eq!(exported.is_ok(), spare > 0, "{exported:?}");
    }
    // Writes still succeed.
    append(&session, &id, 0);
    disk.open_max.store(u64::MAX, Ordering::SeqCst);
    assert_eq!(scan().unwrap(), ((SEGMENTS + 1) * ROWS) as usize);
    assert!(disk.open.load(Ordering::SeqCst) - before <= 2 * SEGMENTS as u64);
}

/// A read that began before a merge goes on with the files that the merge replaced, although most
/// of them are closed: they are removed when it has ended.
#[test]
fn a_merge_removes_no_file_that_a_read_still_needs() {
    let disk = CountingDisk::default();
    let (store, session, id) = table(&disk);
    let files = segment_files(&disk, &id);
    let before = disk.open.load(Ordering::SeqCst);
    let stream =
        session.scan(&id.as_str().into(), ScanRequest::default(), &Control::default()).unwrap();
    assert!(store.maintain(&Control::default()).unwrap().segments_written > 0);
    assert_eq!(store.maintain(&Control::default()).unwrap().files_removed, 0);
    // Other files take the places of those that the read had open.
    disk.open_max.store(before + 4, Ordering::SeqCst);
    let rows: usize = stream.map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, (SEGMENTS * ROWS) as usize);
    disk.open_max.store(u64::MAX, Ordering::SeqCst);
    assert_eq!(store.maintain(&Control::default()).unwrap().files_removed, files as u64);
    assert_eq!(segment_files(&disk, &id), 2, "the merged segment and its summary");
}

#[test]
fn the_directory_of_a_deleted_table_goes() {
    let disk = CountingDisk::default();
    let (store, session, id) = table(&disk);
    let other = {
        let columns = vec![column("t", DataType::Int64, ColumnType::Index)];
        let id = session
            .create_table(CreateTableRequest { columns, ..Default::default() })
            .unwrap()
            .to_string();
        append(&session, &id, 0);
        session_tables::seal(&session, &id, &Control::default()).unwrap();
        id
    };
    let exists = |id: &str| disk.exists(&format!("tables/{id}")).unwrap();
    assert!(exists(&id) && exists(&other));
    session.delete_table(&id.as_str().into()).unwrap();
    store.maintain(&Control::default()).unwrap();
    assert!(!exists(&id) && exists(&other));
    // One that an earlier build left goes when the store is opened.
    session.delete_table(&other.as_str().into()).unwrap();
    store.maintain(&Control::default()).unwrap();
    drop((session, store));
    disk.create_dir_all(&format!("tables/{other}")).unwrap();
    let store = Store::options().maintenance_thread(false).open_on(Arc::new(disk.clone())).unwrap();
    assert!(!exists(&other));
    assert!(store.verify(VerifyLevel::Checksums, &Control::default()).unwrap().is_sound());
}
