//! Packages and upload sessions: waiting chunks, and packages uploaded, overwritten, moved, and
//! deleted with their feed.

use crate::prelude::*;
use std::io::Write as _;

use stationdb::feeds::{
    CreateFeedRequest, FeedService, Platform, QueryFeedsRequest, UpdateFeedRequest,
};

use crate::written::own_error;

pub struct Packages;

/// A package with one long member, which nobody decompresses.
fn deb(version: &str, payload: usize) -> Vec<u8> {
    let text = format!("Package: tool\nVersion: {version}\nArchitecture: all\n");
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    let mut control = tar::Builder::new(Vec::new());
    control.append_data(&mut header, "control", text.as_bytes()).unwrap();
    let control = control.into_inner().unwrap();
    let mut out = b"!<arch>\n".to_vec();
    let data = content(payload);
    for (name, content) in
        [("debian-binary", b"2.0\n".as_slice()), ("control.tar", &control), ("data.tar", &data)]
    {
        out.extend(
            format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, content.len())
                .bytes(),
        );
        out.extend(content);
        out.extend((content.len() % 2 == 1).then_some(b'\n'));
    }
    out
}

fn package(store: &Store, version: &str, payload: usize) -> Result<(), Error> {
    let session = ada(store);
    let feed = session.query_feeds(QueryFeedsRequest::default())?.feeds.remove(0);
    let bytes = deb(version, payload);
    session
        .upload_package_content(&feed.id, &mut bytes.as_slice(), None, true, &Control::default())
        .map(|_| ())
}

/// As [`package`], for bytes that are written before they are named.
fn written(store: &Store, version: &str, payload: usize, overwrite: bool) -> Result<(), Error> {
    let session = ada(store);
    let feed = session.query_feeds(QueryFeedsRequest::default())?.feeds.remove(0);
    let mut writer = session.write_package(&Control::default())?;
    for piece in deb(version, payload).chunks(1_500) {
        writer.write_all(piece).map_err(own_error)?;
    }
    session.commit_package(&feed.id, writer, None, overwrite, &Control::default()).map(|_| ())
}

fn append(store: &Store, len: usize) -> Result<(), Error> {
    let session = ada(store);
    let waiting = session.query_upload_sessions()?.remove(0);
    let bytes = content(len);
    session.append_to_upload_session(
        &waiting.id.as_str().into(),
        1,
        &mut bytes.as_slice(),
        true,
        &Control::default(),
    )
}

impl Steps for Packages {
    fn options(&self) -> StoreOptions {
        options().small_blob_bytes(1000).clock(ManualClock::new(Default::default()))
    }

    fn steps(&self) -> Vec<Step> {
        vec![
            ("an upload session", |store| ada(store).start_upload_session(None).map(|_| ())),
            ("a chunk", |store| append(store, 3_000)),
            ("the chunk again", |store| append(store, 4_000)),
            (REOPEN, |_| Ok(())),
            ("the file of the chunk", |store| {
                let session = ada(store);
                let waiting = session.query_upload_sessions()?.remove(0);
                session
                    .finish_upload_session(&waiting.id.as_str().into(), "chunks", BTreeMap::new())
                    .map(|_| ())
            }),
            ("a feed", |store| {
                let platform = Some(Platform::ni_linux_rt());
                let request = CreateFeedRequest::new("tools").maybe_platform(platform);
                ada(store).create_feed(request).map(|_| ())
            }),
            ("a package", |store| package(store, "1", 5_000)),
            ("another version", |store| package(store, "2", 0)),
            ("the first again", |store| written(store, "1", 6_000, true)),
            (MAINTAIN, |store| {
                // Refused after its bytes, because the name is taken.
                written(store, "2", 5_000, false).or_else(|error| match error.kind() {
                    ErrorKind::Conflict => Ok(()),
                    _ => Err(error),
                })?;
                store.maintain(&Control::default()).map(|_| ())
            }),
            ("a written package", |store| written(store, "3", 5_000, false)),
            ("the feed moves", |store| {
                let session = ada(store);
                let feed = session.query_feeds(QueryFeedsRequest::default())?.feeds.remove(0);
                let request = UpdateFeedRequest::new().workspace("elsewhere");
                session.update_feed(&feed.id, request).map(|_| ())
            }),
            ("the feed goes, a feed comes", |store| {
                ada(store).transaction(|tx| {
                    let feed = tx.query_feeds(QueryFeedsRequest::default())?.feeds.remove(0);
                    tx.delete_feed(&feed.id)?;
                    let platform = Some(Platform::windows());
                    tx.create_feed(CreateFeedRequest::new("new").maybe_platform(platform))?;
                    Ok(())
                })
            }),
        ]
    }

    fn observe(&self, store: &Store) -> Result<Observation, Error> {
        let mut seen = Observation::new();
        observe_files(store, &mut seen)?;
        let session = ada(store);
        for waiting in session.query_upload_sessions()? {
            seen.insert(format!("session {}", waiting.id), format!("{:?}", waiting.chunks));
        }
        for feed in session.query_feeds(QueryFeedsRequest::default())?.feeds {
            seen.insert(format!("feed {}", feed.name), feed.workspace);
            for package in session.query_packages(&feed.id)?.packages {
                let mut bytes = Vec::new();
                session.download_package(&package.id, &mut bytes, &Control::default())?;
                let version = package.metadata.version.unwrap_or_default();
                let right =
                    [0, 5_000, 6_000].into_iter().any(|payload| deb(&version, payload) == bytes);
                let text =
                    format!("{} bytes, right: {right}, in {}", bytes.len(), package.workspace);
                seen.insert(format!("package {}", package.file_name), text);
            }
        }
        Ok(seen)
    }
}

#[test]
fn every_change_of_packages_and_chunks_can_be_the_last() {
    must_hold("packages", &Sequence::new(Packages));
}

#[test]
fn the_nth_operation_of_packages_and_chunks_fails() {
    errors::operations_fail("packages", &Sequence::new(Packages), 7);
}

#[test]
fn a_disk_that_fills_up_under_packages_loses_nothing() {
    assert!(errors::fills_up("packages", &Sequence::new(Packages)) > 0);
}

#[test]
fn one_wrong_bit_under_packages_is_never_a_wrong_answer() {
    flips::one_bit_is_wrong("packages", &Sequence::new(Packages), 100);
}
