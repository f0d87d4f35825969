//! Contents that are written before they are named: written once, and gone without a trace where
//! the name is refused.

use crate::store::tests::prelude::*;
use std::io::Write as _;

use crate::files::ContentWriter;
use crate::store::salvage_tests::package;
use crate::{Control, ErrorKind, Session};

fn open() -> (SimDisk, Store, Session) {
    let disk = SimDisk::new(1);
    let options = StoreOptions::default().maintenance_thread(false).small_blob_bytes(1000);
    let (store, session) = opened(options, Arc::new(disk.clone()));
    (disk, store, session)
}

/// Bytes that were written to paths below `place` since operation `from`.
fn written(disk: &SimDisk, from: usize, place: &str) -> usize {
    let trace = disk.trace();
    let writes = trace.iter().skip(from).filter(|entry| entry.kind == OpKind::Write);
    writes.filter(|entry| entry.path.starts_with(place)).map(|entry| entry.bytes).sum()
}

fn fill(mut writer: ContentWriter, bytes: &[u8]) -> ContentWriter {
    bytes.chunks(10_000).for_each(|piece| writer.write_all(piece).unwrap());
    writer
}

#[test]
fn a_content_is_written_once_and_while_it_arrives() {
    let (disk, _store, session) = open();
    let content: Vec<u8> = (0..2_000_000_u32).map(|at| (at >> 8) as u8).collect();
    let from = disk.trace().len();
    let writer = fill(session.write_file(&Control::default()).unwrap(), &content);
    let arrived = written(&disk, from, "files/");
    // The last of them are still in its buffer.
    assert!(arrived * 2 > content.len(), "{arrived} bytes before the commit");
    session.commit_file(writer, UploadFileRequest::new().name("long")).unwrap();
    let all = written(&disk, from, "");
    assert!(all * 10 < content.len() * 12, "{all} bytes for {}", content.len());
}

#[cfg(feature = "packages")]
#[test]
fn a_package_that_is_refused_after_its_bytes_leaves_nothing() {
    let (disk, store, session) = open();
    let feed = session
        .create_feed(CreateFeedRequest::new("tools").platform(Platform::ni_linux_rt()))
        .unwrap();
    let deb = package::package("tool");
    assert!(deb.len() > 1000, "too short for a file of its own");
    let control = Control::default();
    let write = |bytes: &[u8]| fill(session.write_package(&control).unwrap(), bytes);
    let contents = || walk(&disk, "files").unwrap().len();
    let from = disk.trace().len();
    let commit = |feed: &str, bytes: &[u8], name: &str| {
        let made = session.commit_package(&feed.into(), write(bytes), Some(name), false, &control);
        made.map(drop).map_err(|error| error.kind())
    };
    commit(feed.id.as_ref(), &deb, "tool.deb").unwrap();
    let once = written(&disk, from, "files/");
    assert!(once * 10 < deb.len() * 12, "{once} bytes for {}", deb.len());
    let before = (contents(), session.query_packages(&feed.id).unwrap().packages);
    assert_eq!((before.0, before.1.len()), (1, 1));
    for (what, feed, bytes, name, kind) in [
        ("its name is taken", feed.id.as_ref(), deb.as_slice(), "tool.deb", ErrorKind::Conflict),
        ("it is no package", feed.id.as_ref(), &[7; 5_000], "new.deb", ErrorKind::InvalidArgument),
        ("no such feed", "nowhere", &deb, "new.deb", ErrorKind::NotFound),
    ] {
        assert_eq!(commit(feed, bytes, name), Err(kind), "{what}");
        assert_eq!(contents(), 1, "{what}");
    }
    drop(write(&deb));
    // A transaction that is taken back takes its package with it.
    let written = write(&package::package("other"));
    let taken_back: crate::Result<()> = session.transaction(|tx| {
        tx.commit_package(&feed.id, written, None, false, &control)?;
        Err(crate::Error::conflict("taken back"))
    });
    assert_eq!(taken_back.unwrap_err().kind(), ErrorKind::Conflict);
    store.maintain(&control).unwrap();
    assert_eq!((contents(), session.query_packages(&feed.id).unwrap().packages), before);
}
