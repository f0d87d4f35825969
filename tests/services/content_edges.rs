//! Extreme inputs of files and feeds: long names, full disks, unusual packages, deadlines.

use crate::prelude::*;
use std::io::{self, Read, Write};
use std::time::Instant;

use crate::feeds::{deb, deb_with, download, feed, gz, kind, tarball, upload};

fn named(name: impl Into<String>) -> UploadFileRequest {
    UploadFileRequest::new().name(name)
}

fn put(files: &impl FileService, name: impl Into<String>, content: &[u8]) -> FileId {
    files.upload_file(&mut &*content, named(name), &control()).unwrap()
}

/// A gzipped tar with this control file, padded to whole records as common tools do.
fn package(text: &str) -> Vec<u8> {
    let mut control_tar = tarball(&[("control", text.as_bytes())]);
    control_tar.resize(control_tar.len().next_multiple_of(10_240), 0);
    let control_tar = gz(&control_tar);
    gz(&tarball(&[
        ("debian-binary", b"2.0\n"),
        ("control.tar.gz", &control_tar),
        ("data.tar.gz", b"x"),
    ]))
}

#[test]
fn many_files_go_with_one_call_whatever_their_names_take() {
    let (_disk, _store, session) = fresh();
    // The names alone exceed the size of a record.
    let ids: Vec<String> =
        (0..3).map(|at| put(&session, format!("{at}").repeat(1_500_000), b"").into()).collect();
    session.delete_files(ids.into_iter().map(Into::into).collect()).unwrap();
    assert_eq!(session.get_files(GetFilesRequest::default()).unwrap().total_count, 0);
    put(&session, "next", b"");
}

#[test]
fn packages_are_deleted_where_the_disk_is_full() {
    let disk = SimDisk::new(3);
    let options =
        StoreOptions::default().maintenance_thread(false).seed(Some(1)).reserve_bytes(1 << 23);
    let (_store, session) = opened(options, Arc::new(disk.clone()));
    let rt = feed(&session, Platform::ni_linux_rt());
    let ids: Vec<PackageId> = ["1", "2", "3"]
        .map(|version| upload(&session, &rt.id, &deb("t", version), None, false).unwrap().id)
        .into();
    disk.set_capacity(Some(1 << 40));
    let used = (1u64 << 40) - disk.free_bytes().unwrap().unwrap();
    // The commit needs more space than the record file has free.
    disk.set_capacity(Some(used + (1 << 22)));
    assert_eq!(kind(upload(&session, &rt.id, &deb("t", "4"), None, false)), ErrorKind::NoSpace);
    session.delete_package(&ids[0]).unwrap();
    session.delete_packages(vec![ids[1].to_string().into()]).unwrap();
    session.transaction(|tx| tx.delete_package(&ids[2])).unwrap();
    assert!(session.query_packages(&rt.id).unwrap().packages.is_empty());
    // Writes that do not delete fail until there is space again.
    let rename = UpdateFeedRequest::new().name("other");
    assert_eq!(kind(session.update_feed(&rt.id, rename)), ErrorKind::NoSpace);
    session.delete_feed(&rt.id).unwrap();
}

#[cfg(unix)]
#[test]
fn a_file_name_that_this_system_takes_is_uploaded_and_exported() {
    let (_disk, _store, session) = fresh();
    let rt = feed(&session, Platform::ni_linux_rt());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tool_1:2.0_amd64.deb");
    std::fs::write(&path, deb("tool", "1:2.0")).unwrap();
    let package = session.upload_package(&rt.id, &path, false, &control()).unwrap();
    assert_eq!(package.file_name, "tool_1:2.0_amd64.deb");
    // The last component of a path counts, whatever system wrote it.
    let odd = dir.path().join("C:\\tools\\other.deb");
    std::fs::write(&odd, deb("other", "1")).unwrap();
    assert_eq!(
        session.upload_package(&rt.id, &odd, false, &control()).unwrap().file_name,
        "other.deb"
    );
    upload(&session, &rt.id, &deb("third", "a:b"), None, false).unwrap();
    let target = dir.path().join("feed");
    assert_eq!(session.export_feed(&rt.id, &target, &control()).unwrap(), 3);
    assert_eq!(std::fs::read(target.join("tool_1:2.0_amd64.deb")).unwrap(), deb("tool", "1:2.0"));
    assert_eq!(std::fs::read(target.join("third_a:b_amd64.deb")).unwrap(), deb("third", "a:b"));
    assert!(session.packages_index(&rt.id).unwrap().contains("\nFilename: tool_1:2.0_amd64.deb\n"));
}

#[test]
fn a_long_description_may_say_one_thing_again_and_again() {
    let (_disk, _store, session) = fresh();
    let rt = feed(&session, Platform::ni_linux_rt());
    let lines = " the same line\n".repeat(4_300);
    let text = format!("Package: t\nVersion: 1\nArchitecture: all\nDescription: long\n{lines}");
    let uploaded = upload(&session, &rt.id, &package(&text), None, false).unwrap();
    let description = uploaded.metadata.description.unwrap();
    assert_eq!(description.lines().count(), 4_301);
}

#[test]
fn a_field_of_control_characters_is_a_missing_field() {
    let (_disk, _store, session) = fresh();
    let rt = feed(&session, Platform::ni_linux_rt());
    for missing in ["Package", "Version", "Architecture"] {
        let value = |name: &str| if name == missing { "\u{1}" } else { "x" };
        let text = ["Package", "Version", "Architecture"]
            .map(|name| format!("{name}: {}\n", value(name)))
            .concat();
        let error = upload(&session, &rt.id, &package(&text), Some("a.ipk"), false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains(missing), "{error}");
    }
}

#[test]
fn an_index_spells_its_fields_as_package_managers_do() {
    let (_disk, _store, session) = fresh();
    let rt = feed(&session, Platform::ni_linux_rt());
    let text = "PACKAGE: t\nversion: 1\nARCHITECTURE: all\nPRE-DEPENDS: a\ninstalled-size: 5\nMy-FIELD: x\nA\u{1}b: y\n";
    let uploaded = upload(&session, &rt.id, &package(text), None, false).unwrap();
    assert_eq!(
        uploaded.metadata.attributes["PACKAGE"], "t",
        "the metadata has the field as the package gives it"
    );
    let index = session.packages_index(&rt.id).unwrap();
    assert!(index.starts_with("Package: t\nVersion: 1\nArchitecture: all\n"), "{index}");
    for line in ["\nPre-Depends: a\n", "\nInstalled-Size: 5\n", "\nMy-FIELD: x\n", "\nA b: y\n"] {
        assert!(index.contains(line), "{line:?}: {index}");
    }
}

/// A reader that waits before each piece, so that a deadline passes between the pieces.
struct Slow {
    left: u32,
}

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        std::thread::sleep(Duration::from_millis(20));
        self.left = self.left.saturating_sub(1);
        Ok(if self.left == 0 { 0 } else { buffer.len() })
    }
}

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        std::thread::sleep(Duration::from_millis(20));
        self.left -= 1;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_deadline_of_a_session_ends_its_uploads_and_downloads() {
    let (_disk, _store, session) = fresh();
    let rt = feed(&session, Platform::ni_linux_rt());
    let content = vec![7; 10 << 20];
    let id = put(&session, "a", &content);
    let package = upload(&session, &rt.id, &deb_with("t", "1", 2 << 20), None, false).unwrap();
    let upload_session = session.start_upload_session(None).unwrap().id;
    let soon = || session.with_deadline(Instant::now() + Duration::from_millis(50));
    // Each upload would take seconds.
    let endless = || Slow { left: 100_000 };
    let mut target = endless();
    assert_eq!(
        kind(soon().download_file(&id, &mut target, &control())),
        ErrorKind::DeadlineExceeded
    );
    assert!(target.left > 99_900, "{}", target.left);
    let mut target = endless();
    assert_eq!(
        kind(soon().download_package(&package.id, &mut target, &control())),
        ErrorKind::DeadlineExceeded
    );
    assert!(target.left > 99_900, "{}", target.left);
    let refused =
        soon().download_package_file(&rt.id, &package.file_name, &mut endless(), &control());
    assert_eq!(kind(refused), ErrorKind::DeadlineExceeded);
    assert_eq!(
        kind(soon().upload_file(&mut endless(), named("b"), &control())),
        ErrorKind::DeadlineExceeded
    );
    let refused = soon().append_to_upload_session(
        &upload_session.as_str().into(),
        1,
        &mut endless(),
        true,
        &control(),
    );
    assert_eq!(kind(refused), ErrorKind::DeadlineExceeded);
    let refused = soon().upload_package_content(&rt.id, &mut endless(), None, false, &control());
    assert_eq!(kind(refused), ErrorKind::DeadlineExceeded);
    // The deadlines of the call and of the session both apply. Neither passes here.
    let own = control().with_deadline(Instant::now() + Duration::from_secs(600));
    let late = session.with_deadline(Instant::now() + Duration::from_secs(300));
    late.download_package(&package.id, &mut io::sink(), &own).unwrap();
    assert_eq!(
        download(&session, &package.id).unwrap().len(),
        package.metadata.size.unwrap() as usize
    );
}

/// A reader that reports more bytes than the buffer has room for.
struct Boaster;

impl Read for Boaster {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(buffer.len() + 20_000_000)
    }
}

#[test]
fn a_reader_that_claims_too_much_is_refused() {
    let (_disk, _store, session) = fresh();
    let rt = feed(&session, Platform::ni_linux_rt());
    let upload_session = session.start_upload_session(None).unwrap().id;
    assert_eq!(
        kind(session.upload_file(&mut Boaster, named("a"), &control())),
        ErrorKind::InvalidArgument
    );
    let refused = session.append_to_upload_session(
        &upload_session.as_str().into(),
        1,
        &mut Boaster,
        true,
        &control(),
    );
    assert_eq!(kind(refused), ErrorKind::InvalidArgument);
    let refused = session.upload_package_content(&rt.id, &mut Boaster, None, false, &control());
    assert_eq!(kind(refused), ErrorKind::InvalidArgument);
}

#[test]
fn an_empty_file_has_one_checksum_however_it_came() {
    let (_disk, _store, session) = fresh();
    put(&session, "a", b"");
    let upload = session.start_upload_session(None).unwrap().id;
    session
        .append_to_upload_session(&upload.as_str().into(), 1, &mut io::empty(), true, &control())
        .unwrap();
    session.finish_upload_session(&upload.as_str().into(), "b", Default::default()).unwrap();
    let files = session.get_files(GetFilesRequest::default()).unwrap().available_files;
    assert_eq!((files.len(), &files[0].checksum), (2, &files[1].checksum));
}

#[test]
fn a_page_far_behind_the_start_is_that_of_one_long_page() {
    const FILES: usize = 1_100;
    let (_disk, _store, session) = fresh();
    session
        .transaction(|tx| {
            for at in 0..FILES {
                put(tx, format!("{at}"), &vec![1; at * 7 % 50]);
            }
            Ok(())
        })
        .unwrap();
    for order_by in [None, Some(FileQueryOrderBy::Size), Some(FileQueryOrderBy::Id)] {
        let page = |skip, take| {
            let request = GetFilesRequest::new()
                .skip(skip)
                .take(take)
                .order_by_descending(true)
                .maybe_order_by(order_by);
            session.get_files(request).unwrap()
        };
        let whole = page(0, 10_000).available_files;
        assert_eq!(whole.len(), FILES);
        for (skip, take) in [(1_024, 10), (1_025, 10), (1_095, 10), (1_100, 10), (i64::MAX, 10)] {
            let found = page(skip, take);
            let from = usize::try_from(skip).unwrap().min(FILES);
            assert_eq!(
                found.available_files,
                whole[from..(from + 10).min(FILES)],
                "{order_by:?} {skip}"
            );
            assert_eq!(found.total_count, FILES as u64);
        }
    }
}
