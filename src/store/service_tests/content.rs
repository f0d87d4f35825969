//! Bytes that no record names: after a rollback, after expiry, after a crash; and many threads on a
//! real directory.

use crate::store::tests::prelude::*;
use std::collections::HashMap;
use std::sync::Mutex;

use crate::files::*;
use crate::*;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

fn control() -> Control {
    Control::default()
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at.wrapping_mul(31) >> 3) as u8).collect()
}

fn put(files: &impl FileService, name: &str, content: &[u8]) -> FileId {
    let request = UploadFileRequest { name: Some(name.to_owned()), ..Default::default() };
    files.upload_file(&mut &*content, request, &control()).unwrap()
}

fn get(files: &impl FileService, id: &str) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    files.download_file(&id.into(), &mut out, &control())?;
    Ok(out)
}

struct Bench {
    disk: Arc<MemoryDisk>,
    clock: Arc<ManualClock>,
    days: Option<u32>,
}

impl Bench {
    fn new(days: Option<u32>) -> Self {
        let clock = Arc::new(ManualClock::new(time::parse("2024-03-01T00:00:00Z").unwrap()));
        Self { disk: Arc::default(), clock, days }
    }

    fn open(&self) -> (Store, Session) {
        let options = StoreOptions::default()
            .maintenance_thread(false)
            .seed(Some(1))
            .upload_session_days(self.days);
        let (store, session) = opened(options.shared_clock(self.clock.clone()), self.disk.clone());
        (store, session)
    }

    fn files(&self) -> usize {
        walk(&*self.disk, "files").unwrap().len()
    }
}

fn rows(session: &Session) -> usize {
    session.read(|view| Ok(view.raw_prefix(Space::Blobs, b"")?.len())).unwrap()
}

fn chunk(session: &Session, id: &str, index: u32) -> Result<()> {
    session.append_to_upload_session(&id.into(), index, &mut &b"the end"[..], true, &control())
}

#[test]
fn a_transaction_that_is_taken_back_leaves_no_file_behind_in_the_running_store() {
    let bench = Bench::new(None);
    let (store, session) = bench.open();
    let kept = session.transaction(|tx| Ok(put(tx, "kept", &bytes(60_000)))).unwrap();
    let taken_back: Result<()> = session.transaction(|tx| {
        put(tx, "gone", &bytes(70_000));
        put(tx, "gone too", &bytes(80_000));
        Err(Error::invalid("no"))
    });
    assert!(taken_back.is_err());
    assert_eq!(bench.files(), 3);
    assert_eq!(store.maintain(&control()).unwrap().files_removed, 2);
    assert_eq!(bench.files(), 1);
    assert_eq!(store.maintain(&control()).unwrap().files_removed, 0, "each is checked once");
    assert_eq!(get(&session, &kept).unwrap(), bytes(60_000));
    // The number of a file that was rolled back is not given to another one.
    let next = put(&session, "next", &bytes(90_000));
    assert_eq!(get(&session, &next).unwrap(), bytes(90_000));
    assert!(store.verify(VerifyLevel::Checksums, &control()).unwrap().is_sound());
}

#[test]
fn a_name_stands_for_each_blob_as_long_as_something_names_it() {
    let bench = Bench::new(None);
    let (store, session) = bench.open();
    let file = put(&session, "a", &bytes(60_000));
    put(&session, "small", b"small");
    assert_eq!(rows(&session), 1, "content in the record file has no file on disk");
    let upload = session.start_upload_session(None).unwrap().id;
    chunk(&session, &upload, 1).unwrap();
    chunk(&session, &upload, 1).unwrap();
    assert_eq!(rows(&session), 2, "no record names a replaced chunk");
    session.finish_upload_session(&upload.as_str().into(), "chunked", BTreeMap::new()).unwrap();
    assert_eq!(rows(&session), 2);
    session.delete_file(&file).unwrap();
    assert_eq!(rows(&session), 1);
    assert!(store.verify(VerifyLevel::Checksums, &control()).unwrap().is_sound());
}

#[test]
fn what_a_crash_left_goes_at_open_and_what_a_record_names_stays_whatever_the_rows_say() {
    let bench = Bench::new(None);
    let (store, session) = bench.open();
    let file = put(&session, "a", &bytes(60_000));
    let stray =
        |name: &str| bench.disk.open(name, Mode::CreateNew).unwrap().write_all_at(b"x", 0).unwrap();
    stray("files/00/00000000000000ff");
    stray("files/00/notes.txt");
    drop((store, session));
    let (store, session) = bench.open();
    assert_eq!(bench.files(), 2, "the file that is not a blob is kept");
    // A lost row is damage of the record file. It is reported, and no content is removed.
    session
        .write(|draft| {
            for (key, _) in draft.raw_prefix(Space::Blobs, b"")? {
                draft.delete_raw(Space::Blobs, key);
            }
            Ok(())
        })
        .unwrap();
    let report = store.verify(VerifyLevel::Headers, &control()).unwrap();
    assert!(report.findings[0].problem.contains("row of the blob"), "{report:?}");
    drop((store, session));
    let (store, session) = bench.open();
    assert_eq!(get(&session, &file).unwrap(), bytes(60_000));
    session
        .write(|draft| {
            draft.put_raw(Space::Blobs, 0u64.to_be_bytes().to_vec(), 0u64.to_be_bytes().to_vec());
            draft.put_raw(Space::Blobs, 77u64.to_be_bytes().to_vec(), 0u64.to_be_bytes().to_vec());
            Ok(())
        })
        .unwrap();
    let report = store.verify(VerifyLevel::Headers, &control()).unwrap();
    assert!(
        report.findings.iter().any(|finding| finding.problem.contains("belong to no record")),
        "{report:?}"
    );
}

/// A file may be deleted, and maintenance may run, between the start of a reader's view and its
/// opening of the content.
#[test]
fn a_reader_opens_what_was_there_when_it_began() {
    let bench = Bench::new(None);
    let (store, session) = bench.open();
    let file = put(&session, "a", &bytes(60_000));
    let read = session.read(|view| {
        session.delete_file(&file)?;
        assert_eq!(store.maintain(&control())?.files_removed, 0);
        let record = view
            .get::<FileRecord>(&file)?
            .ok_or_else(|| Error::not_found("file", file.as_str()))?;
        let mut out = Vec::new();
        crate::services::content::open(view, &record.content)?.copy_to(&mut out, &control())?;
        Ok(out)
    });
    assert_eq!(read.unwrap(), bytes(60_000));
    assert_eq!(store.maintain(&control()).unwrap().files_removed, 1);
    assert_eq!(bench.files(), 0);
}

#[test]
fn an_upload_session_expires_after_its_last_chunk_in_the_running_store() {
    let bench = Bench::new(Some(3));
    let (store, session) = bench.open();
    let quiet = session.start_upload_session(None).unwrap().id;
    let busy = session.start_upload_session(None).unwrap().id;
    chunk(&session, &quiet, 1).unwrap();
    let expires = |id: &str| {
        let waiting = session.query_upload_sessions().unwrap();
        waiting.into_iter().find(|state| state.id == id).and_then(|state| state.expires_at)
    };
    let began = time::parse("2024-03-01T00:00:00Z").unwrap();
    assert_eq!(expires(&quiet), Some(began + chrono::TimeDelta::days(3)));
    bench.clock.advance_ms(2 * DAY_MS);
    chunk(&session, &busy, 1).unwrap();
    bench.clock.advance_ms(DAY_MS);
    assert_eq!(
        store.maintain(&control()).unwrap().upload_sessions_expired,
        0,
        "it has not expired exactly at the limit"
    );
    bench.clock.advance_ms(1);
    let report = store.maintain(&control()).unwrap();
    assert_eq!((report.upload_sessions_expired, report.files_removed), (1, 1));
    assert_eq!((bench.files(), rows(&session)), (1, 1));
    assert_eq!(chunk(&session, &quiet, 1).unwrap_err().kind(), ErrorKind::NotFound);
    let file =
        session.finish_upload_session(&busy.as_str().into(), "busy", BTreeMap::new()).unwrap();
    bench.clock.advance_ms(100 * DAY_MS);
    store.maintain(&control()).unwrap();
    assert_eq!(get(&session, &file).unwrap(), b"the end", "a finished session has become a file");
}

#[test]
fn an_upload_session_expires_at_open_or_never() {
    let bench = Bench::new(None);
    let (store, session) = bench.open();
    let id = session.start_upload_session(None).unwrap().id;
    chunk(&session, &id, 1).unwrap();
    assert_eq!(session.query_upload_sessions().unwrap()[0].expires_at, None);
    bench.clock.advance_ms(10_000 * DAY_MS);
    drop((store, session));
    let (store, session) = bench.open();
    assert_eq!(
        session.query_upload_sessions().unwrap().len(),
        1,
        "without a limit it never expires"
    );
    drop((store, session));
    let bench = Bench { days: Some(7), ..bench };
    let (_store, session) = bench.open();
    assert!(session.query_upload_sessions().unwrap().is_empty());
    assert_eq!(rows(&session), 0);
    let by_default = StoreOptions::default()
        .maintenance_thread(false)
        .open_on(Arc::new(MemoryDisk::new()))
        .unwrap();
    assert_eq!(by_default.settings().upload_session_days, Some(7));
}

#[test]
fn a_backup_takes_what_is_named_and_nothing_of_an_upload_under_way() {
    let bench = Bench::new(None);
    let (store, session) = bench.open();
    let file = put(&session, "a", &bytes(60_000));
    bench
        .disk
        .open("files/00/0000000000000099", Mode::CreateNew)
        .unwrap()
        .write_all_at(b"half", 0)
        .unwrap();
    let target = Arc::new(MemoryDisk::new());
    let report = store.backup_to(&(target.clone() as crate::disk::SharedDisk), &control()).unwrap();
    assert_eq!((report.files, walk(&*target, "files").unwrap().len()), (1, 1));
    let copy = StoreOptions::default().maintenance_thread(false).open_on(target).unwrap();
    assert_eq!(get(&copy.session(Identity::user("ada")), &file).unwrap(), bytes(60_000));
}

/// The state of the files as 8 threads know it: id to the byte that fills it, and its length.
type Known = Mutex<HashMap<String, (u8, usize)>>;

#[test]
fn eight_threads_on_a_real_directory_download_whole_files_or_none() {
    let dir = tempfile::tempdir().unwrap();
    // The maintenance thread runs, so that deleted files are removed while others read.
    let store = Store::options().open(dir.path().join("store")).unwrap();
    let session = store.session(Identity::user("ada"));
    let known = Known::default();
    let (mut downloads, mut missing) = (0, 0);
    let rounds = 20;
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8u8)
            .map(|thread| {
                let (session, store, known) = (session.clone(), store.clone(), &known);
                scope.spawn(move || {
                    let (mut whole, mut gone) = (0, 0);
                    for round in 0..rounds {
                        let fill = thread * rounds + round;
                        let len =
                            [700, 40_000, 300_000][usize::from(round) % 3] + usize::from(fill);
                        let id = put(&session, "f", &vec![fill; len]);
                        known.lock().unwrap().insert(id.to_string(), (fill, len));
                        let some: Vec<(String, (u8, usize))> = known
                            .lock()
                            .unwrap()
                            .iter()
                            .take(6)
                            .map(|(id, is)| (id.clone(), *is))
                            .collect();
                        for (id, (fill, len)) in some {
                            match get(&session, &id) {
                                Ok(bytes) => {
                                    assert!(
                                        bytes.len() == len
                                            && bytes.iter().all(|byte| *byte == fill),
                                        "{id}"
                                    );
                                    whole += 1;
                                }
                                Err(error) => {
                                    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
                                    gone += 1;
                                }
                            }
                        }
                        // Not only its own files, so that others are read while they are deleted.
                        let victim = known.lock().unwrap().keys().next().cloned();
                        if let (Some(victim), true) = (victim, round % 4 != 3) {
                            match session.delete_file(&victim.as_str().into()) {
                                Ok(()) => {}
                                Err(error) => {
                                    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
                                }
                            }
                            if thread % 2 == 0 {
                                known.lock().unwrap().remove(&victim);
                            }
                        }
                        if round % 5 == 0 {
                            store.maintain(&control()).unwrap();
                        }
                    }
                    (whole, gone)
                })
            })
            .collect();
        for worker in workers {
            let (whole, gone) = worker.join().unwrap();
            downloads += whole;
            missing += gone;
        }
    });
    println!("{downloads} whole downloads, {missing} of files that were gone");
    assert!(downloads > 100 && missing > 0);
    let left = session.get_files(GetFilesRequest::default()).unwrap().available_files;
    for file in &left {
        let bytes = get(&session, &file.id).unwrap();
        assert!(bytes.len() as i64 == file.size64 && bytes.iter().all(|byte| *byte == bytes[0]));
    }
    let large = left.iter().filter(|file| file.size64 > limits::SMALL_BLOB_BYTES as i64).count();
    // A second pass, in case the thread of the store was at work during the first.
    for _ in 0..50 {
        store.maintain(&control()).unwrap();
        if files_below(&dir.path().join("store/files")) == large {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(files_below(&dir.path().join("store/files")), large);
    assert!(store.verify(VerifyLevel::Checksums, &control()).unwrap().is_sound());
}

fn files_below(directory: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { files_below(&path) } else { 1 }).sum()
}
