//! Files: contents in the record file and beside it, changed, deleted, and several in one transaction.

use stationdb::{
    Control, Error, FileService, GetFilesRequest, ManualClock, Store, StoreOptions, UpdateMetadataRequest,
    UploadFileRequest,
};

use crate::harness::must_hold;
use crate::scenarios::{ada, options};
use crate::sequence::{MAINTAIN, Observation, REOPEN, Sequence, Step, Steps};
use crate::{errors, flips};

pub struct Files;

pub fn content(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at.wrapping_mul(2_654_435_761) >> 11) as u8).collect()
}

pub fn upload(files: &dyn FileService, name: &str, len: usize) -> Result<(), Error> {
    let request = UploadFileRequest { name: Some(name.to_owned()), ..Default::default() };
    files.upload_file(&mut content(len).as_slice(), request, &Control::default()).map(|_| ())
}

/// Name, size, revision and all bytes of each file.
pub fn observe_files(store: &Store, seen: &mut Observation) -> Result<(), Error> {
    let session = ada(store);
    for file in session.get_files(GetFilesRequest::default())?.available_files {
        let mut bytes = Vec::new();
        session.download_file(&file.id, &mut bytes, &Control::default())?;
        let right = bytes == content(bytes.len());
        let text = format!("{} bytes, right: {right}, revision {}", bytes.len(), file.meta_data_revision);
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
                ada(store).update_metadata(&id_of(store, "large")?, UpdateMetadataRequest::default())
            }),
            (REOPEN, |_| Ok(())),
            ("two files at once", |store| {
                ada(store).transaction(|tx| {
                    upload(tx, "first of two", 7_000)?;
                    upload(tx, "second of two", 300)
                })
            }),
            ("a file is deleted", |store| ada(store).delete_file(&id_of(store, "other")?)),
            (MAINTAIN, |store| store.maintain(&Control::default()).map(|_| ())),
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
    errors::fills_up("files", &Sequence::new(Files));
}

#[test]
fn one_wrong_bit_under_files_is_never_a_wrong_answer() {
    flips::one_bit_is_wrong("files", &Sequence::new(Files), 600);
}
