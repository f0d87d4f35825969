//! Contents that are written before they are named: committed, given up, refused, and committed in
//! a transaction.

use std::io::Write;

use crate::prelude::*;
use stationdb::files::ContentWriter;

pub struct Written;

/// The bytes in pieces, as a body comes from a network.
fn write(store: &Store, len: usize) -> Result<ContentWriter, Error> {
    let mut writer = ada(store).write_file(&Control::default())?;
    for piece in content(len).chunks(1_500) {
        writer.write_all(piece).map_err(own_error)?;
    }
    Ok(writer)
}

pub fn own_error(error: std::io::Error) -> Error {
    let own = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()).cloned();
    own.unwrap_or_else(|| Error::io("writing content", error))
}

fn store_as(store: &Store, name: &str, len: usize) -> Result<(), Error> {
    let writer = write(store, len)?;
    ada(store).commit_file(writer, UploadFileRequest::new().name(name)).map(|_| ())
}

impl Steps for Written {
    fn options(&self) -> StoreOptions {
        options().small_blob_bytes(1000).clock(ManualClock::new(Default::default()))
    }

    fn steps(&self) -> Vec<Step> {
        vec![
            ("a file", |store| store_as(store, "large", 20_000)),
            (MAINTAIN, |store| {
                drop(write(store, 5_000)?);
                // A refusal that comes with the metadata, after the bytes.
                let refused = ada(store)
                    .commit_file(write(store, 4_000)?, UploadFileRequest::new().id("no id"));
                refused.map(|_| ()).or_else(|error| match error.kind() {
                    ErrorKind::InvalidArgument => Ok(()),
                    _ => Err(error),
                })
            }),
            (REOPEN, |_| Ok(())),
            ("a file in a transaction", |store| {
                let (one, two) = (write(store, 7_000)?, write(store, 300)?);
                ada(store).transaction(|tx| {
                    tx.commit_file(one, UploadFileRequest::new().name("first of two"))?;
                    tx.commit_file(two, UploadFileRequest::new().name("second of two")).map(|_| ())
                })
            }),
            (MAINTAIN, |store| {
                let writer = write(store, 9_000)?;
                let taken_back: Result<(), Error> = ada(store).transaction(|tx| {
                    tx.commit_file(writer, UploadFileRequest::new().name("taken back"))?;
                    Err(Error::new(ErrorKind::Cancelled, "taken back"))
                });
                taken_back.or_else(|error| {
                    if error.kind() == ErrorKind::Cancelled { Ok(()) } else { Err(error) }
                })?;
                store.maintain(&Control::default()).map(|_| ())
            }),
        ]
    }

    fn observe(&self, store: &Store) -> Result<Observation, Error> {
        let mut seen = Observation::new();
        observe_files(store, &mut seen)?;
        Ok(seen)
    }
}

#[test]
fn every_change_of_written_contents_can_be_the_last() {
    must_hold("written", &Sequence::new(Written));
}

#[test]
fn the_nth_operation_of_written_contents_fails() {
    errors::operations_fail("written", &Sequence::new(Written), 3);
}

#[test]
fn a_disk_that_fills_up_under_written_contents_loses_nothing() {
    assert!(errors::fills_up("written", &Sequence::new(Written)) > 0);
}
