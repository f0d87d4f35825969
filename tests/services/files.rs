use crate::prelude::*;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::DateTime;
use stationdb::faults::{limits, walk};

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at.wrapping_mul(31) >> 3) as u8).collect()
}

fn named(name: &str) -> UploadFileRequest {
    UploadFileRequest::new().name(name.to_owned())
}

fn put(files: &impl FileService, name: &str, content: &[u8]) -> FileId {
    files.upload_file(&mut &*content, named(name), &control()).unwrap()
}

fn get(files: &impl FileService, id: &str) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    files.download_file(&id.into(), &mut out, &control())?;
    Ok(out)
}

fn metadata(files: &impl FileService, id: &str) -> Option<FileMetadata> {
    let request = GetFilesRequest::new().ids([id.to_owned()]);
    files.get_files(request).unwrap().available_files.pop()
}

fn blob_count(disk: &MemoryDisk) -> usize {
    walk(disk, "files").unwrap().len()
}

#[test]
fn content_comes_back_after_reopening_small_and_large() {
    let (disk, store, session) = fresh();
    let sizes = [0, 1, limits::SMALL_BLOB_BYTES, limits::SMALL_BLOB_BYTES + 1, 300_000];
    let ids: Vec<FileId> = sizes.iter().map(|size| put(&session, "a.bin", &bytes(*size))).collect();
    assert_eq!(blob_count(&disk), 2, "only content above the threshold is a file on disk");
    assert!(ids.is_sorted());
    drop((session, store));
    let store = open(&disk);
    let session = store.session(Identity::user("ada"));
    for (id, size) in ids.iter().zip(sizes) {
        assert_eq!(get(&session, id).unwrap(), bytes(size));
        let file = metadata(&session, id).unwrap();
        assert_eq!(
            (file.size64, file.size, file.meta_data_revision),
            (size as i64, size as i32, 1)
        );
        assert_eq!(file.created, file.last_updated_timestamp);
        assert_eq!(
            file.checksum,
            Some(format!("xxh3-128:{:032x}", xxhash_rust::xxh3::xxh3_128(&bytes(size))))
        );
        assert!(file.links.contains_key("self"));
    }
    let next = put(&session, "b", &bytes(400_000));
    assert_eq!(get(&session, &next).unwrap(), bytes(400_000));
}

#[test]
fn the_name_comes_from_the_metadata_then_the_content_then_the_id() {
    let (_disk, _store, session) = fresh();
    let both = {
        let mut made = named("part");
        made.metadata =
            [("Name".to_owned(), "meta".to_owned()), ("k".to_owned(), String::new())].into();
        made
    };
    let id = session.upload_file(&mut &b""[..], both, &control()).unwrap();
    assert_eq!(metadata(&session, &id).unwrap().properties["Name"], "meta");
    let id = put(&session, "part", b"");
    assert_eq!(metadata(&session, &id).unwrap().properties["Name"], "part");
    let id = session.upload_file(&mut &b""[..], UploadFileRequest::default(), &control()).unwrap();
    assert_eq!(metadata(&session, &id).unwrap().properties["Name"], id.as_str());
}

#[test]
fn ids_can_be_chosen_once_in_any_case() {
    let (disk, _store, session) = fresh();
    let with = |id: &str| named("a").id(id.to_owned());
    let id =
        session.upload_file(&mut &b"1"[..], with("ABCDEF0123456789ABCDEF01"), &control()).unwrap();
    assert_eq!(id.as_str(), "abcdef0123456789abcdef01");
    assert_eq!(get(&session, "ABCDEF0123456789abcdef01").unwrap(), b"1");
    let content = bytes(100_000);
    let error = session.upload_file(&mut &*content, with(&id), &control()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(error.resource(), Some(("file", id.as_str())));
    assert_eq!(blob_count(&disk), 0);
    for bad in ["", "xyz", "abcdef0123456789abcdef0", "abcdef0123456789abcdef0g"] {
        let error = session.upload_file(&mut &b""[..], with(bad), &control()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{bad}");
    }
    session.delete_file(&id).unwrap();
    session.upload_file(&mut &b"2"[..], with(&id), &control()).unwrap();
    assert_eq!(get(&session, &id).unwrap(), b"2");
}

#[test]
fn a_refused_upload_leaves_nothing() {
    let disk = Arc::new(MemoryDisk::new());
    let options = StoreOptions::default().maintenance_thread(false).file_bytes_max(Some(50_000));
    let (_store, session) = opened(options, disk.clone());
    let error = session.upload_file(&mut &*bytes(50_001), named("a"), &control()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    put(&session, "a", &bytes(50_000));
    let empty_key = named("a").metadata([(String::new(), "x".to_owned())]);
    assert_eq!(
        session.upload_file(&mut &*bytes(20_000), empty_key, &control()).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    let cancelled = control();
    cancelled.cancel();
    let error = session.upload_file(&mut &*bytes(40_000), named("a"), &cancelled).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    struct Broken(usize);
    impl Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0 += buffer.len();
            if self.0 > 40_000 { Err(std::io::Error::other("unplugged")) } else { Ok(buffer.len()) }
        }
    }
    assert_eq!(
        session.upload_file(&mut Broken(0), named("a"), &control()).unwrap_err().kind(),
        ErrorKind::Io
    );
    assert_eq!(blob_count(&disk), 1);
    assert_eq!(session.get_files(GetFilesRequest::default()).unwrap().total_count, 1);
}

#[test]
fn progress_is_reported_both_ways_and_a_download_can_be_stopped() {
    let (_disk, _store, session) = fresh();
    let content = bytes(1_000_000);
    let seen = Arc::new(AtomicU64::new(0));
    let count = seen.clone();
    let watching =
        control().with_progress(move |progress| count.store(progress.done, Ordering::SeqCst));
    let id = session.upload_file(&mut &*content, named("a"), &watching).unwrap();
    assert_eq!(seen.swap(0, Ordering::SeqCst), 1_000_000);
    session.download_file(&id, &mut std::io::sink(), &watching).unwrap();
    assert_eq!(seen.load(Ordering::SeqCst), 1_000_000);
    let stop = control();
    stop.cancel();
    let error = session.download_file(&id, &mut std::io::sink(), &stop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

#[test]
fn a_handle_reads_ranges_and_outlives_its_file() {
    let (disk, store, session) = fresh();
    for size in [5_000, 500_000] {
        let id = put(&session, "a", &bytes(size));
        let mut handle = session.open_file(&id).unwrap();
        session.delete_file(&id).unwrap();
        store.maintain(&control()).unwrap();
        assert_eq!(get(&session, &id).unwrap_err().kind(), ErrorKind::NotFound);
        handle.seek(SeekFrom::Start(size as u64 - 700)).unwrap();
        let mut out = Vec::new();
        handle.read_to_end(&mut out).unwrap();
        assert_eq!(out, bytes(size)[size - 700..]);
    }
    store.maintain(&control()).unwrap();
    assert_eq!(blob_count(&disk), 0, "maintenance removes what no record names");
}

#[test]
fn metadata_is_merged_replaced_renamed_moved_and_versioned() {
    let (_disk, _store, session) = fresh();
    let map = |pairs: &[(&str, &str)]| {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect::<BTreeMap<_, _>>()
    };
    let id = put(&session, "a.txt", b"x");
    let change = |request: UpdateMetadataRequest| session.update_metadata(&id, request);
    let now = || metadata(&session, &id).unwrap();
    change(UpdateMetadataRequest::new().properties(map(&[("a", "1"), ("b", "2")]))).unwrap();
    change(UpdateMetadataRequest::new().properties(map(&[("a", "3")])).expected_revision(2))
        .unwrap();
    assert_eq!(now().properties, map(&[("Name", "a.txt"), ("a", "3"), ("b", "2")]));
    assert_eq!(now().meta_data_revision, 3);
    let error =
        change(UpdateMetadataRequest::new().properties(map(&[("a", "4")])).expected_revision(2))
            .unwrap_err();
    assert_eq!(
        (error.kind(), error.args()),
        (ErrorKind::Conflict, ["3".to_owned(), "2".to_owned()].as_slice())
    );
    change(UpdateMetadataRequest::new().replace_existing(true).properties(map(&[("c", "")])))
        .unwrap();
    assert_eq!(now().properties, map(&[("Name", "a.txt"), ("c", "")]));
    change(UpdateMetadataRequest::new().properties(map(&[("Name", "b.dat")]))).unwrap();
    assert_eq!(now().properties["Name"], "b.dat");
    change(UpdateMetadataRequest::new().workspace("w2")).unwrap();
    assert_eq!((now().workspace.as_str(), now().meta_data_revision), ("w2", 6));
    change(UpdateMetadataRequest::default()).unwrap();
    assert_eq!(now().meta_data_revision, 7);
    for bad in [map(&[("Name", "")]), map(&[("", "x")])] {
        let error = change(UpdateMetadataRequest::new().properties(bad)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
    assert_eq!(now().meta_data_revision, 7);
    let error = session
        .update_metadata(&"0123456789abcdef01234567".into(), UpdateMetadataRequest::default())
        .unwrap_err();
    let api = error.api_error();
    assert_eq!((api.name.as_deref(), api.code), (Some("FileIngestion.IdNotFound"), Some(-251_608)));
    assert_eq!((api.resource_type.as_deref(), api.args.len()), (Some("file"), 1));
}

#[test]
fn listing_pages_orders_and_counts() {
    let disk = Arc::new(MemoryDisk::new());
    let clock = Arc::new(ManualClock::new(DateTime::from_timestamp_millis(1_000).unwrap()));
    let (_store, session) =
        opened(StoreOptions::default().maintenance_thread(false).shared_clock(clock.clone()), disk);
    let ids: Vec<FileId> = [30, 10, 20, 10]
        .iter()
        .map(|size| {
            clock.advance_ms(10);
            put(&session, "a", &bytes(*size))
        })
        .collect();
    let list = |request: GetFilesRequest| {
        let answer = session.get_files(request).unwrap();
        let position = |file: &FileMetadata| ids.iter().position(|id| *id == file.id).unwrap();
        (answer.available_files.iter().map(position).collect::<Vec<_>>(), answer.total_count)
    };
    let by = |key, descending| GetFilesRequest::new().order_by(key).order_by_descending(descending);
    assert_eq!(list(GetFilesRequest::default()), (vec![0, 1, 2, 3], 4));
    assert_eq!(list(by(FileQueryOrderBy::Size, false)).0, [1, 3, 2, 0]);
    assert_eq!(
        list(by(FileQueryOrderBy::Size, true)).0,
        [0, 2, 1, 3],
        "ties by id ascending in both directions"
    );
    assert_eq!(list(by(FileQueryOrderBy::Created, true)).0, [3, 2, 1, 0]);
    assert_eq!(list(by(FileQueryOrderBy::Id, false)).0, [0, 1, 2, 3]);
    clock.advance_ms(1000);
    session.update_metadata(&ids[1], UpdateMetadataRequest::default()).unwrap();
    assert_eq!(list(by(FileQueryOrderBy::LastUpdatedTimestamp, true)).0, [1, 3, 2, 0]);
    assert_eq!(list(GetFilesRequest::new().skip(1).take(2)), (vec![1, 2], 4));
    assert_eq!(list(GetFilesRequest::new().skip(9).take(2)), (vec![], 4));
    let some =
        vec![ids[2].to_uppercase(), "unknown".to_owned(), ids[0].to_string(), ids[0].to_string()];
    assert_eq!(list(GetFilesRequest::new().ids(some)), (vec![0, 2], 2));
    for bad in [
        GetFilesRequest::new().take(-1),
        GetFilesRequest::new().skip(-1),
        GetFilesRequest::new().take(10_001),
    ] {
        assert_eq!(session.get_files(bad).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    assert!(session.get_files(GetFilesRequest::new().take(10_000)).is_ok());
    let request: GetFilesRequest = serde_json::from_str(
        r#"{"order_by":"lastUpdatedTimestamp","orderByDescending":true,"take":1}"#,
    )
    .unwrap();
    assert_eq!(list(request).0, [1]);
    assert!(serde_json::from_str::<GetFilesRequest>(r#"{"orderBy":"colour"}"#).is_err());
}

/// In expressions `userId` is the user who uploaded the file.
#[test]
fn queries_filter_by_expression_search_and_structure() {
    let (_disk, _store, session) = fresh();
    let upload = |name: &str, size: usize, serial: &str| {
        let metadata = [("Name", name), ("serial", serial)]
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let request = UploadFileRequest::new().metadata(metadata);
        session.upload_file(&mut &*bytes(size), request, &control()).unwrap()
    };
    upload("run1.tdms", 100, "A");
    upload("run2.tdms", 200, "B");
    upload("notes.txt", 300, "A");
    let names = |answer: FileLinqQueryResponse| {
        assert_eq!(answer.total_count.relation, TotalCountRelation::Equal);
        answer
            .available_files
            .iter()
            .map(|file| file.properties["Name"].clone())
            .collect::<Vec<_>>()
    };
    let linq = |filter: &str, descending| {
        session.query_files_linq(
            FileLinqQueryRequest::new()
                .filter(filter.to_owned())
                .order_by(FileLinqQueryOrderBy::Name)
                .maybe_order_by_descending(descending),
        )
    };
    assert_eq!(names(linq("", Some(false)).unwrap()), ["notes.txt", "run1.tdms", "run2.tdms"]);
    assert_eq!(names(linq("", None).unwrap()), ["run2.tdms", "run1.tdms", "notes.txt"]);
    for (filter, expected) in [
        ("extension == \"tdms\"", vec!["run1.tdms", "run2.tdms"]),
        ("size > 100 && properties[\"serial\"] = \"A\"", vec!["notes.txt"]),
        ("properties.serial = \"B\"", vec!["run2.tdms"]),
        (
            "DateTime(created) > DateTime.parse(\"2001-01-01\") and name.Contains(\"run\")",
            vec!["run1.tdms", "run2.tdms"],
        ),
        ("userId == \"ada\"", vec!["notes.txt", "run1.tdms", "run2.tdms"]),
        ("userId == \"bob\"", vec![]),
    ] {
        assert_eq!(names(linq(filter, Some(false)).unwrap()), expected, "{filter}");
    }
    let error = linq("colour == 1", None).unwrap_err();
    assert_eq!(
        (error.kind(), error.place()),
        (ErrorKind::InvalidArgument, Some(&Place::Offset(0)))
    );
    let search = |filter: &str| {
        let request = SearchFilesRequest::new()
            .filter(filter.to_owned())
            .order_by(FileLinqQueryOrderBy::Size);
        names(session.search_files(request).unwrap())
    };
    assert_eq!(search("name:(\"RUN*\") AND size:[0 TO 200]"), ["run2.tdms", "run1.tdms"]);
    assert_eq!(search("properties.serial:(\"A\")"), ["notes.txt", "run1.tdms"]);
    let page = SearchFilesRequest::new().skip(1).take(1);
    let answer = session.search_files(page).unwrap();
    let counted =
        (answer.available_files.len(), answer.total_count.value, answer.total_count.relation);
    assert_eq!(counted, (1, 1, TotalCountRelation::AtLeast));
    let structured: QueryFilesRequest = serde_json::from_str(
        r#"{"extension_query":{"operation":"EQUAL","value":"tdms"},"sizeMinQuery":{"operation":"GREATER_THAN","value":100},
            "propertiesQuery":[{"key":"serial","operation":"NOT_CONTAINS","value":"A"}]}"#,
    )
    .unwrap();
    let answer = session.query_files(structured).unwrap();
    assert_eq!((answer.total_count, answer.available_files[0].size), (1, 200));
    let bad: QueryFilesRequest =
        serde_json::from_str(r#"{"idQuery":{"operation":"LESS_THAN","value":"x"}}"#).unwrap();
    assert_eq!(session.query_files(bad).unwrap_err().kind(), ErrorKind::InvalidArgument);
    let error = session.query_files(QueryFilesRequest::new().take(1001)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn deleting_many_deletes_what_is_there_and_names_what_is_not() {
    let (_disk, _store, session) = fresh();
    let ids =
        [put(&session, "a", b"1"), put(&session, "b", &bytes(100_000)), put(&session, "c", b"3")];
    session.delete_files(vec![]).unwrap();
    session.delete_files(vec![ids[0].to_string().into(), ids[0].to_uppercase().into()]).unwrap();
    let missing = "0123456789abcdef01234567".to_owned();
    let error = session
        .delete_files(vec![
            missing.clone().into(),
            ids[1].to_string().into(),
            "x".to_owned().into(),
            missing.clone().into(),
        ])
        .unwrap_err();
    let api = error.api_error();
    assert_eq!((error.kind(), api.code), (ErrorKind::PartialFailure, Some(-251_040)));
    let inner: Vec<_> =
        api.inner_errors.iter().map(|inner| inner.resource_id.clone().unwrap()).collect();
    assert_eq!(inner, [missing, "x".to_owned()]);
    assert_eq!(session.get_files(GetFilesRequest::default()).unwrap().total_count, 1);
    assert_eq!(session.delete_file(&ids[1]).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_transaction_takes_files_along_or_none() {
    let (disk, store, session) = fresh();
    let kept = session
        .transaction(|tx| {
            let id = put(tx, "a", &bytes(100_000));
            assert_eq!(get(tx, &id).unwrap().len(), 100_000);
            assert_eq!(get(&session, &id).unwrap_err().kind(), ErrorKind::NotFound);
            let small = put(tx, "b", b"small");
            assert_eq!(get(tx, &small).unwrap(), b"small");
            Ok(id)
        })
        .unwrap();
    assert_eq!(get(&session, &kept).unwrap().len(), 100_000);
    let aborted: Result<()> = session.transaction(|tx| {
        put(tx, "c", &bytes(100_000));
        Err(Error::invalid("no"))
    });
    assert!(aborted.is_err());
    let again = put(&session, "d", &bytes(120_000));
    assert_eq!(get(&session, &again).unwrap().len(), 120_000);
    assert_eq!(session.get_files(GetFilesRequest::default()).unwrap().total_count, 3);
    let refused = session.transaction(|tx| {
        let mut long = std::io::repeat(7).take(limits::TRANSACTION_CONTENT_BYTES + 1);
        tx.upload_file(&mut long, named("long"), &control())
    });
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unsupported);
    let refused = session.transaction(|tx| tx.start_upload_session(None));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unsupported);
    drop((session, store));
    let store = open(&disk);
    assert_eq!(
        blob_count(&disk),
        2,
        "content of an aborted transaction is removed at the next open"
    );
    drop(store);
}

#[test]
fn upload_sessions_take_chunks_in_any_order_over_a_restart() {
    let (disk, store, session) = fresh();
    let full = bytes(limits::UPLOAD_CHUNK_BYTES as usize);
    let started = session.start_upload_session(Some("w".to_owned())).unwrap();
    let append = |session: &Session, index: u32, content: &[u8], close: bool| {
        session.append_to_upload_session(
            &started.id.as_str().into(),
            index,
            &mut &*content,
            close,
            &control(),
        )
    };
    append(&session, 2, b"tail", true).unwrap();
    append(&session, 2, b"the tail", true).unwrap();
    for (index, content) in
        [(1, &full[..full.len() - 1]), (1, &[full.as_slice(), b"x"].concat()), (0, &full)]
    {
        assert_eq!(
            append(&session, index, content, false).unwrap_err().kind(),
            ErrorKind::InvalidArgument
        );
    }
    let gap = session
        .finish_upload_session(&started.id.as_str().into(), "a", BTreeMap::new())
        .unwrap_err();
    assert_eq!((gap.kind(), gap.args()), (ErrorKind::InvalidArgument, ["1".to_owned()].as_slice()));
    drop((session, store));
    let store = open(&disk);
    let session = store.session(Identity::user("ada"));
    let waiting = session.query_upload_sessions().unwrap();
    assert_eq!(
        (waiting.len(), waiting[0].workspace.as_str(), waiting[0].chunks.len()),
        (1, "w", 1)
    );
    assert_eq!(waiting[0].chunks[0], UploadedChunk::new().index(2).size(8).close(true));
    append(&session, 1, &full, false).unwrap();
    assert_eq!(session.get_files(GetFilesRequest::default()).unwrap().total_count, 0);
    let properties =
        [("Name".to_owned(), "loses".to_owned()), ("k".to_owned(), "v".to_owned())].into();
    let id =
        session.finish_upload_session(&started.id.as_str().into(), "wins", properties).unwrap();
    let whole = [full.as_slice(), b"the tail"].concat();
    assert_eq!(get(&session, &id).unwrap(), whole);
    let mut handle = session.open_file(&id).unwrap();
    handle.seek(SeekFrom::Start(full.len() as u64 - 2)).unwrap();
    let mut out = [0; 10];
    handle.read_exact(&mut out).unwrap();
    assert_eq!(out, whole[full.len() - 2..]);
    let file = metadata(&session, &id).unwrap();
    assert_eq!((file.properties["Name"].as_str(), file.workspace.as_str()), ("wins", "w"));
    assert!(session.query_upload_sessions().unwrap().is_empty());
    assert_eq!(append(&session, 3, b"", true).unwrap_err().kind(), ErrorKind::NotFound);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = seen.clone();
    let watching = control().with_progress(move |progress| notes.lock().unwrap().push(progress));
    session.download_file(&id, &mut std::io::sink(), &watching).unwrap();
    let seen = seen.lock().unwrap();
    assert!(
        seen.windows(2).all(|two| two[0].done < two[1].done),
        "progress is that of the whole file"
    );
    assert!(seen.iter().all(|progress| progress.total == Some(whole.len() as u64)));
    assert_eq!(seen.last().unwrap().done, whole.len() as u64);
    // The reader opens each chunk when it gets to it, and finds it although the file is deleted.
    session.delete_file(&id).unwrap();
    store.maintain(&control()).unwrap();
    for _ in 0..2 {
        let mut out = Vec::new();
        handle.rewind().unwrap();
        handle.read_to_end(&mut out).unwrap();
        assert_eq!(out, whole);
    }
    drop(handle);
    store.maintain(&control()).unwrap();
    assert_eq!(blob_count(&disk), 0);
}

#[test]
fn upload_sessions_can_be_empty_cancelled_and_wrong() {
    let (disk, store, session) = fresh();
    let start = || session.start_upload_session(None).unwrap().id;
    let append = |id: &str, index: u32, content: &[u8]| {
        session.append_to_upload_session(&id.into(), index, &mut &*content, true, &control())
    };
    let finish = |id: &str| session.finish_upload_session(&id.into(), "a", BTreeMap::new());
    let empty = start();
    assert_eq!(finish(&empty).unwrap_err().kind(), ErrorKind::InvalidArgument);
    append(&empty, 1, b"").unwrap();
    let id = finish(&empty).unwrap();
    assert_eq!(get(&session, &id).unwrap(), b"");
    let wrong = start();
    append(&wrong, 2, b"y").unwrap();
    append(&wrong, 1, b"x").unwrap();
    assert_eq!(finish(&wrong).unwrap_err().kind(), ErrorKind::InvalidArgument);
    session.cancel_upload_session(&wrong.as_str().into()).unwrap();
    assert_eq!(
        session.cancel_upload_session(&wrong.as_str().into()).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(finish("nonsense").unwrap_err().kind(), ErrorKind::NotFound);
    store.maintain(&control()).unwrap();
    assert_eq!(blob_count(&disk), 0);
}

#[test]
fn concurrent_downloads_are_whole_or_not_found() {
    let (disk, store, session) = fresh();
    let threads = 8;
    let rounds = 12;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let session = session.clone();
            let store = store.clone();
            scope.spawn(move || {
                for round in 0..rounds {
                    let seed = (thread * rounds + round) as u8;
                    let size = if round % 2 == 0 { 1_000 } else { 150_000 };
                    let content = vec![seed; size];
                    let id = put(&session, &format!("{seed}"), &content);
                    let all = session.get_files(GetFilesRequest::default()).unwrap();
                    for file in all.available_files.iter().rev().take(4) {
                        match get(&session, &file.id) {
                            Ok(bytes) => {
                                assert_eq!(bytes.len() as i64, file.size64);
                                assert!(
                                    bytes
                                        .iter()
                                        .all(|byte| byte.to_string() == file.properties["Name"])
                                );
                            }
                            Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{error}"),
                        }
                    }
                    if round % 3 == 0 {
                        store.maintain(&control()).unwrap();
                    }
                    session.delete_file(&id).unwrap();
                }
            });
        }
    });
    store.maintain(&control()).unwrap();
    assert_eq!(session.get_files(GetFilesRequest::default()).unwrap().total_count, 0);
    assert_eq!(blob_count(&disk), 0);
}

#[test]
fn verification_finds_damaged_and_missing_contents() {
    let (disk, store, session) = fresh();
    let ids = [
        put(&session, "a", &bytes(100_000)),
        put(&session, "b", &bytes(100_000)),
        put(&session, "c", b"small"),
    ];
    let report = store.verify(VerifyLevel::Checksums, &control()).unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!((report.files, report.file_bytes), (3, 200_005));
    let paths = walk(&*disk, "files").unwrap();
    disk.open(&paths[0].0, Mode::ReadWrite).unwrap().write_all_at(b"x", 80_000).unwrap();
    disk.remove_file(&paths[1].0).unwrap();
    let findings = |level| {
        let report = store.verify(level, &control()).unwrap();
        report.findings.into_iter().map(|finding| finding.file).collect::<Vec<_>>()
    };
    assert_eq!(findings(VerifyLevel::Headers), [paths[1].0.clone()]);
    assert_eq!(findings(VerifyLevel::Checksums), [paths[0].0.clone(), paths[1].0.clone()]);
    assert_eq!(get(&session, &ids[0]).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(get(&session, &ids[1]).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(get(&session, &ids[2]).unwrap(), b"small");
}

/// Every order of files reads only the page.
#[test]
fn every_order_of_files_is_read_from_an_index() {
    let (_store, session) =
        opened(Store::options().maintenance_thread(false), Arc::new(MemoryDisk::new()));
    for order in FileLinqQueryOrderBy::ALL {
        let request = FileLinqQueryRequest::new().order_by(*order);
        let plan = session.explain_query_files_linq(request).unwrap().to_string();
        assert!(plan.contains(" in order") && !plan.contains("all records"), "{order}: {plan}");
    }
    for filter in ["workspace == \"lab\"", "size > 100"] {
        let request = FileLinqQueryRequest::new().filter(filter.to_owned());
        let plan = session.explain_query_files_linq(request).unwrap().to_string();
        assert!(plan.starts_with("index "), "{filter}: {plan}");
    }
}
