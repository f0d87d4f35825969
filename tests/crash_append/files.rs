//! Files whose contents are in the record file or in files of their own: changed, deleted, and
//! several in one transaction.

use crate::prelude::*;

use stationdb::files::UpdateMetadataRequest;

use crate::must_fail;

pub struct Files;

pub fn content(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at.wrapping_mul(2_654_435_761) >> 11) as u8).collect()
}

pub fn upload(files: &dyn FileService, name: &str, len: usize) -> Result<(), Error> {
    let request = UploadFileRequest::new().name(name.to_owned());
    files.upload_file(&mut content(len).as_slice(), request, &Control::default()).map(|_| ())
}

const CHOSEN: &str = "00112233445566778899aabb";

fn upload_as(files: &dyn FileService, id: &str, len: usize) -> Result<(), Error> {
    let request = UploadFileRequest::new().id(id.to_owned());
    files.upload_file(&mut content(len).as_slice(), request, &Control::default()).map(|_| ())
}

/// Observes name, size, revision and all bytes of each file.
pub fn observe_files(store: &Store, seen: &mut Observation) -> Result<(), Error> {
    let session = ada(store);
    for file in session.get_files(GetFilesRequest::default())?.available_files {
        let mut bytes = Vec::new();
        session.download_file(&file.id, &mut bytes, &Control::default())?;
        let right = bytes == content(bytes.len());
        let (revision, workspace) = (file.meta_data_revision, file.workspace);
        let text =
            format!("{} bytes, right: {right}, revision {revision}, in {workspace}", bytes.len());
        seen.insert(format!("file {}", file.properties["Name"]), text);
    }
    Ok(())
}

fn id_of(store: &Store, name: &str) -> Result<String, Error> {
    let files = ada(store).get_files(GetFilesRequest::default())?.available_files;
    Ok(files
        .into_iter()
        .find(|file| file.properties["Name"] == name)
        .map(|file| file.id.to_string())
        .unwrap_or_default())
}

impl Steps for Files {
    fn options(&self) -> StoreOptions {
        options().small_blob_bytes(1000).clock(ManualClock::new(Default::default()))
    }

    fn steps(&self) -> Vec<Step> {
        vec![
            ("a small file", |store| upload(&ada(store), "small", 600)),
            ("a large file", |store| upload(&ada(store), "large", 40_000)),
            ("another", |store| upload(&ada(store), "other", 5_000)),
            ("a new revision", |store| {
                ada(store).update_metadata(
                    &id_of(store, "large")?.into(),
                    UpdateMetadataRequest::default(),
                )
            }),
            (REOPEN, |_| Ok(())),
            ("two files at once", |store| {
                ada(store).transaction(|tx| {
                    upload(tx, "first of two", 7_000)?;
                    upload(tx, "second of two", 300)
                })
            }),
            (MAINTAIN, |store| {
                // A transaction writes bytes and is rolled back; the sweep removes them.
                let taken_back: Result<(), Error> = ada(store).transaction(|tx| {
                    upload(tx, "taken back", 9_000)?;
                    upload(tx, "taken back as well", 200)?;
                    Err(Error::new(ErrorKind::Cancelled, "taken back"))
                });
                taken_back.or_else(|error| {
                    if error.kind() == ErrorKind::Cancelled { Ok(()) } else { Err(error) }
                })?;
                store.maintain(&Control::default()).map(|_| ())
            }),
            ("a file with an id", |store| upload_as(&ada(store), CHOSEN, 3_000)),
            ("other bytes under the id", |store| {
                ada(store).transaction(|tx| {
                    tx.delete_file(&CHOSEN.into())?;
                    upload_as(tx, CHOSEN, 4_500)
                })
            }),
            ("a file is deleted", |store| ada(store).delete_file(&id_of(store, "other")?.into())),
            (MAINTAIN, |store| store.maintain(&Control::default()).map(|_| ())),
            ("a file moves", |store| {
                let properties: Vec<_> = [("Name".to_owned(), "moved".to_owned())].into();
                let workspace = Some("elsewhere".to_owned());
                let request =
                    UpdateMetadataRequest::new().properties(properties).maybe_workspace(workspace);
                ada(store).update_metadata(&id_of(store, "first of two")?.into(), request)
            }),
            ("some are deleted", |store| {
                let ids = vec![
                    id_of(store, "small")?,
                    "0123456789abcdef01234567".to_owned(),
                    id_of(store, "large")?,
                ];
                let deleted = ada(store).delete_files(ids.into_iter().map(Into::into).collect());
                deleted.or_else(|error| {
                    if error.kind() == ErrorKind::PartialFailure { Ok(()) } else { Err(error) }
                })
            }),
            ("a file after it", |store| upload(&ada(store), "last", 2_000)),
        ]
    }

    fn observe(&self, store: &Store) -> Result<Observation, Error> {
        let mut seen = Observation::new();
        observe_files(store, &mut seen)?;
        Ok(seen)
    }
}

#[test]
fn every_change_of_storing_files_can_be_the_last() {
    must_hold("files", &Sequence::new(Files));
}

#[test]
fn the_nth_operation_of_storing_files_fails() {
    errors::operations_fail("files", &Sequence::new(Files), 3);
}

#[test]
fn a_disk_that_fills_up_under_files_loses_nothing() {
    assert!(errors::fills_up("files", &Sequence::new(Files)) > 0);
}

#[test]
fn one_wrong_bit_under_files_is_never_a_wrong_answer() {
    flips::one_bit_is_wrong("files", &Sequence::new(Files), 600);
}

/// Tests the suite: it must fail without the syncs that make a content durable before its record.
#[test]
fn each_removed_sync_of_contents_is_found() {
    let scenario = Sequence::new(Files);
    let history = History::new(SimDisk::new(first_seed()));
    scenario.run(&history).unwrap();
    let syncs: Vec<_> =
        history.barriers().into_iter().filter(|(.., path)| path.starts_with("files")).collect();
    let (root, ..) = syncs.iter().find(|(.., path)| &**path == "files").unwrap();
    for (name, pick) in [
        ("the sync of every content", Pick::kind(OpKind::Sync).on_path("files/")),
        ("the sync of every directory of contents", Pick::kind(OpKind::SyncDir).on_path("files/")),
        ("the sync of the name of such a directory", Pick::op(*root)),
    ] {
        must_fail(name, &scenario, pick);
    }
    if does("crash_each_sync") {
        for (op, kind, path) in syncs {
            must_fail(&format!("operation {op} ({kind:?} {path:?})"), &scenario, Pick::op(op));
        }
    }
}

/// The disk has room for a part of the content only: the error is clear, nothing is stored, and the
/// store goes on without being reopened.
#[test]
fn a_disk_that_is_full_in_the_middle_of_an_upload_keeps_nothing_of_it() {
    let disk = SimDisk::new(first_seed());
    let store = Files.options().open_disk(Arc::new(disk.clone())).unwrap();
    let names = || {
        let files = ada(&store).get_files(GetFilesRequest::default()).unwrap().available_files;
        files.into_iter().map(|file| file.properties["Name"].clone()).collect::<Vec<_>>()
    };
    let on_disk = || disk.list("files/00").map_or(0, |entries| entries.len());
    upload(&ada(&store), "before", 20_000).unwrap();
    const LEN: usize = 2_000_000;
    for part in 0..16 {
        // At most half of the upload, because the record file may become shorter meanwhile. It may
        // also double once, for the records, which a real store has the reserve for.
        let records = disk.open("records.redb", Mode::Read).unwrap().len().unwrap();
        let capacity = errors::bytes_on(&disk, "") + records + (LEN * part / 32) as u64;
        disk.set_capacity(Some(capacity));
        let error = upload(&ada(&store), "too large", LEN).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSpace, "{capacity}: {error:?}");
        let text = error.message();
        assert!(
            text.contains("files/00") || text.contains("bytes left"),
            "the error does not name the attempt: {error}"
        );
        let package = ada(&store).start_upload_session(None);
        if let Ok(session) = package {
            let chunk = content(LEN);
            let id = &session.id;
            let sent = ada(&store).append_to_upload_session(
                &id.into(),
                1,
                &mut chunk.as_slice(),
                true,
                &Control::default(),
            );
            assert_eq!(sent.unwrap_err().kind(), ErrorKind::NoSpace);
            ada(&store).cancel_upload_session(&id.into()).unwrap();
        }
        // Content that is written in pieces is gone while its writer still lives.
        let mut writer = ada(&store).write_file(&Control::default()).unwrap();
        std::io::Write::write_all(&mut writer, &content(LEN)).unwrap_err();
        assert_eq!((names(), on_disk()), (vec!["before".to_owned()], 1), "{capacity}");
        let error = ada(&store).commit_file(writer, UploadFileRequest::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
        // Deletes and reads need no room.
        disk.set_capacity(None);
        upload(&ada(&store), "after", 30_000).unwrap();
        ada(&store).delete_file(&id_of(&store, "after").unwrap().as_str().into()).unwrap();
        store.maintain(&Control::default()).unwrap();
    }
    drop(store);
    let store = Files.options().open_disk(Arc::new(disk.clone())).unwrap();
    assert!(store.verify(VerifyLevel::Checksums, &Control::default()).unwrap().is_sound());
    assert_eq!(on_disk(), 1);
}

/// Long content is synced while it arrives. A failed sync fails the upload, and the file is not
/// synced again.
#[test]
fn a_sync_in_the_middle_of_a_long_upload_may_fail() {
    let disk = SimDisk::new(first_seed());
    let store = Files.options().open_disk(Arc::new(disk.clone())).unwrap();
    for mib in [33, 66] {
        disk.inject(Pick::kind(OpKind::Sync).on_path("files/").once(), Fault::Io);
        let mut zeros = std::io::Read::take(std::io::repeat(0), mib * 1024 * 1024);
        let error = ada(&store)
            .upload_file(&mut zeros, UploadFileRequest::default(), &Control::default())
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.message().contains("syncing files/"), "{error}");
        disk.heal();
        assert_eq!(disk.list("files/00").unwrap(), []);
    }
    let syncs = disk
        .trace()
        .into_iter()
        .filter(|entry| entry.kind == OpKind::Sync && entry.path.starts_with("files/"));
    assert_eq!(syncs.count(), 2, "one for each upload");
    upload(&ada(&store), "small", 2_000).unwrap();
}

/// An upload leaves the reserve free, which the store needs to go on.
#[test]
fn an_upload_does_not_use_up_the_reserve() {
    let disk = SimDisk::new(first_seed());
    let reserve = 8 * 1024 * 1024;
    let store = Files.options().reserve_bytes(reserve).open_disk(Arc::new(disk.clone())).unwrap();
    disk.set_capacity(Some(errors::bytes_on(&disk, "") + reserve + 6 * 1024 * 1024));
    // 30 MiB of zeros, of which only a part fits.
    let mut zeros = std::io::Read::take(std::io::repeat(0), 30 * 1024 * 1024);
    let error = ada(&store)
        .upload_file(&mut zeros, UploadFileRequest::default(), &Control::default())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    assert!(error.message().contains("reserve"), "{error}");
    assert!(
        zeros.limit() > 30 * 1024 * 1024 - 14 * 1024 * 1024,
        "{} bytes were not read",
        zeros.limit()
    );
    upload(&ada(&store), "small", 2_000).unwrap();
}
