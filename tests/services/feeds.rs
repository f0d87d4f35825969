use crate::prelude::*;
use std::io::Write;
use std::path::Path;

use stationdb::faults::{limits, walk};

use crate::holds_at::holds_at;

pub fn feed(session: &impl FeedService, platform: Platform) -> Feed {
    let request = CreateFeedRequest::new("tools").platform(platform);
    session.create_feed(request).unwrap()
}

pub fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn tarball(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append_data(&mut header, name, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

pub fn control_text(name: &str, version: &str) -> String {
    format!(
        "Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: Ada <ada@example.org>\n\
         Depends: libc6 (>= 2.3), other | another\nPriority: standard\nEssential: no\nXB-Plugin: file\n\
         Description: Tool\n First\n .\n  fixed\n"
    )
}

pub fn deb_with(name: &str, version: &str, payload: usize) -> Vec<u8> {
    let control = gz(&tarball(&[("control", control_text(name, version).as_bytes())]));
    let mut out = b"!<arch>\n".to_vec();
    let data = gz(&tarball(&[("usr/share/payload", &vec![b'x'; payload])]));
    let filler: Vec<u8> = (0..payload).map(|at| (at * 7) as u8).collect();
    for (member, content) in [
        ("debian-binary", b"2.0\n".as_slice()),
        ("control.tar.gz", &control),
        ("data.tar.gz", &data),
        ("_filler", &filler),
    ] {
        out.extend_from_slice(
            format!("{member:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 100_644, content.len())
                .as_bytes(),
        );
        out.extend_from_slice(content);
        if content.len() % 2 == 1 {
            out.push(b'\n');
        }
    }
    out
}

pub fn deb(name: &str, version: &str) -> Vec<u8> {
    deb_with(name, version, 10)
}

pub fn ipk(name: &str, version: &str) -> Vec<u8> {
    let control = gz(&tarball(&[("./control", control_text(name, version).as_bytes())]));
    gz(&tarball(&[
        ("./debian-binary", b"2.0\n"),
        ("./data.tar.gz", b"data"),
        ("./control.tar.gz", &control),
    ]))
}

pub fn upload(
    session: &impl FeedService,
    feed: &str,
    bytes: &[u8],
    name: Option<&str>,
    overwrite: bool,
) -> Result<Package> {
    session.upload_package_content(&feed.into(), &mut &*bytes, name, overwrite, &control())
}

pub fn download(session: &impl FeedService, id: &str) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    session.download_package(&id.into(), &mut out, &control())?;
    Ok(out)
}

pub fn kind<T: std::fmt::Debug>(result: Result<T>) -> ErrorKind {
    result.unwrap_err().kind()
}

#[test]
fn feeds_are_created_queried_changed_and_deleted() {
    let (_disk, _store, session) = fresh();
    let create = |text: &str| session.create_feed(serde_json::from_str(text).unwrap());
    let one = create(r#"{"name":"a","platform":"WINDOWS","description":"d"}"#).unwrap();
    let two = create(r#"{"name":"a","platform":"ni-linux-rt","workspace":"w2"}"#).unwrap();
    assert_eq!((one.workspace.as_str(), one.created_at), ("default", one.updated_at));
    assert_eq!((two.platform.as_str(), two.description.as_deref()), ("NI_LINUX_RT", None));
    for bad in [
        r#"{"name":" ","platform":"WINDOWS"}"#,
        r#"{"name":"a"}"#,
        r#"{"name":"a","platform":"BEOS"}"#,
    ] {
        assert_eq!(kind(create(bad)), ErrorKind::InvalidArgument, "{bad}");
    }
    let query = |text: &str| {
        let feeds = session.query_feeds(serde_json::from_str(text).unwrap()).unwrap().feeds;
        feeds.into_iter().map(|feed| feed.id).collect::<Vec<_>>()
    };
    assert_eq!(query("{}"), [one.id.clone(), two.id.clone()]);
    assert_eq!(query(r#"{"platform":"windows"}"#), std::slice::from_ref(&one.id));
    assert_eq!(query(r#"{"workspace":"w2"}"#), std::slice::from_ref(&two.id));
    assert_eq!(query(r#"{"platform":"WINDOWS","workspace":"w2"}"#), []);
    assert_eq!(query(r#"{"workspace":"unknown"}"#), []);
    let package = upload(&session, &two.id, &deb("t", "1"), None, false).unwrap();
    let request = UpdateFeedRequest::new().name("b").workspace("w3");
    let updated = session.update_feed(&two.id, request).unwrap();
    assert_eq!((updated.name.as_str(), updated.workspace.as_str()), ("b", "w3"));
    assert_eq!(session.get_package(&package.id).unwrap().workspace, "w3");
    let blank = UpdateFeedRequest::new().name(String::new());
    assert_eq!(kind(session.update_feed(&two.id, blank)), ErrorKind::InvalidArgument);
    session.delete_feed(&two.id).unwrap();
    for error in [
        session.delete_feed(&two.id).unwrap_err(),
        session.get_feed(&two.id).unwrap_err(),
        session.query_packages(&two.id).unwrap_err(),
        session.update_feed(&two.id, UpdateFeedRequest::default()).unwrap_err(),
        upload(&session, &two.id, &deb("t", "1"), None, false).unwrap_err(),
        session.get_package(&package.id).unwrap_err(),
        download(&session, &package.id).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.resource().is_some());
    }
}

#[test]
fn the_vendor_prefix_names_platform_and_extension() {
    let options =
        StoreOptions::default().maintenance_thread(false).vendor_prefix("Acme".to_owned());
    let (_store, session) = opened(options, Arc::new(MemoryDisk::new()));
    let linux = feed(&session, Platform::new("acme_linux_rt"));
    assert_eq!(linux.platform.as_str(), "ACME_LINUX_RT");
    let windows = feed(&session, Platform::windows());
    let package = upload(&session, &windows.id, &deb("t", "1"), None, false).unwrap();
    assert_eq!(package.file_name, "t_1_amd64.acmepkg");
    let request = CreateFeedRequest::new("a").platform(Platform::ni_linux_rt());
    assert_eq!(kind(session.create_feed(request)), ErrorKind::InvalidArgument);
}

#[test]
fn metadata_comes_from_the_package_and_bytes_come_back() {
    let (disk, store, session) = fresh();
    let rt = feed(&session, Platform::ni_linux_rt());
    for (bytes, expected) in [
        (deb("tool", "2:1.0-1"), "tool_1.0-1_amd64.deb"),
        (deb_with("large", "1", 200_000), "large_1_amd64.deb"),
        (ipk("small", "3"), "small_3_amd64.ipk"),
    ] {
        let package = upload(&session, &rt.id, &bytes, None, false).unwrap();
        assert_eq!(package.file_name, expected);
        let metadata = &package.metadata;
        assert_eq!(metadata.file_name.as_deref(), Some(expected));
        assert_eq!(metadata.size, Some(bytes.len() as i64));
        assert_eq!(metadata.description.as_deref(), Some("Tool\nFirst\n\n fixed"));
        assert_eq!(
            metadata.depends.as_deref(),
            Some(["libc6 (>= 2.3)".to_owned(), "other | another".to_owned()].as_slice())
        );
        assert_eq!(
            (metadata.priority, metadata.essential, metadata.breaks.clone()),
            (Some(4), Some(false), None)
        );
        assert_eq!(metadata.attributes["Plugin"], "file");
        assert_eq!(metadata.attributes["Filename"], expected);
        assert_eq!((package.workspace.as_str(), &package.feed_id), ("default", &rt.id));
        assert_eq!(download(&session, &package.id).unwrap(), bytes);
        let mut by_name = Vec::new();
        session.download_package_file(&rt.id, expected, &mut by_name, &control()).unwrap();
        assert_eq!(by_name, bytes);
        let json = serde_json::to_value(&package).unwrap();
        assert!(
            json["metadata"]["packageName"].is_string() && json["feedId"].is_string(),
            "{json}"
        );
        assert!(json.get("content").is_none());
        let read: Package = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), json);
    }
    assert_eq!(
        kind(session.download_package_file(&rt.id, "other", &mut Vec::new(), &control())),
        ErrorKind::NotFound
    );
    let packages = session.query_packages(&rt.id).unwrap().packages;
    assert_eq!(
        packages.iter().map(|package| package.file_name.as_str()).collect::<Vec<_>>(),
        ["tool_1.0-1_amd64.deb", "large_1_amd64.deb", "small_3_amd64.ipk"]
    );
    drop((session, store));
    let session = open(&disk).session(Identity::user("ada"));
    assert_eq!(session.query_packages(&rt.id).unwrap().packages, packages);
    assert_eq!(download(&session, &packages[1].id).unwrap(), deb_with("large", "1", 200_000));
}

#[test]
fn names_must_fit_the_platform_and_content_must_be_a_package() {
    let (disk, store, session) = fresh();
    let rt = feed(&session, Platform::ni_linux_rt());
    let windows = feed(&session, Platform::windows());
    let good = deb("t", "1");
    for (feed, name) in [
        (&rt, "t.nipkg"),
        (&rt, "t.zip"),
        (&rt, "t.deb.x"),
        (&windows, "t.deb"),
        (&windows, "t.ipk"),
    ] {
        let error = upload(&session, &feed.id, b"anything", Some(name), false).unwrap_err();
        assert_eq!(error.api_error().name.as_deref(), Some("Feeds.InvalidExtension"), "{name}");
    }
    let long = |len: usize| format!("{}.deb", "n".repeat(len - 4));
    for name in ["", "/", "a/", "a\\", "..", "a\0.deb", "a\nb.deb", " a.deb"] {
        assert_eq!(
            kind(upload(&session, &rt.id, &good, Some(name), false)),
            ErrorKind::InvalidArgument,
            "{name:?}"
        );
    }
    holds_at(limits::PACKAGE_FILE_NAME_BYTES, ErrorKind::InvalidArgument, |bytes| {
        let package = upload(&session, &rt.id, &good, Some(&long(bytes)), false)?;
        session.delete_package(&package.id)
    });
    for content in [b"".as_slice(), b"not a package", &good[..good.len() / 2]] {
        let error = upload(&session, &rt.id, content, Some("t.deb"), false).unwrap_err();
        assert_eq!(error.api_error().name.as_deref(), Some("Feeds.InvalidPackage"));
    }
    assert_eq!(
        kind(upload(&session, &windows.id, &ipk("t", "1"), Some("t.nipkg"), false)),
        ErrorKind::InvalidArgument
    );
    for evil in [deb("../../evil", "1"), deb("t", &"1".repeat(300))] {
        assert_eq!(kind(upload(&session, &rt.id, &evil, None, false)), ErrorKind::InvalidArgument);
    }
    assert!(session.query_packages(&rt.id).unwrap().packages.is_empty());
    store.maintain(&control()).unwrap();
    assert!(walk(&*disk, "files").unwrap().is_empty());
    // The content decides the format. A path is reduced to its last component. The letter case of
    // the extension is free.
    assert_eq!(
        upload(&session, &rt.id, &ipk("a", "1"), Some("C:\\x\\a.DEB"), false).unwrap().file_name,
        "a.DEB"
    );
    assert_eq!(
        upload(&session, &rt.id, &good, Some("some/dir/bä.ipk"), false).unwrap().file_name,
        "bä.ipk"
    );
}

#[test]
fn overwriting_keeps_the_identity_and_replaces_the_bytes() {
    let (disk, store, session) = fresh();
    let rt = feed(&session, Platform::ni_linux_rt());
    let first = deb_with("t", "1", 100_000);
    let second = deb_with("t", "1", 120_000);
    let old = upload(&session, &rt.id, &first, Some("t.deb"), true).unwrap();
    let error = upload(&session, &rt.id, &second, Some("t.deb"), false).unwrap_err();
    assert_eq!(
        (error.kind(), error.resource()),
        (ErrorKind::Conflict, Some(("package", old.id.as_str())))
    );
    assert_eq!(
        kind(upload(&session, &rt.id, &second, Some("other.deb"), false)),
        ErrorKind::Conflict,
        "same identity"
    );
    assert_eq!(
        kind(upload(&session, &rt.id, &deb("u", "2"), Some("t.deb"), false)),
        ErrorKind::Conflict,
        "same name"
    );
    assert_eq!(download(&session, &old.id).unwrap(), first);
    let new = upload(&session, &rt.id, &second, Some("t.deb"), true).unwrap();
    assert_eq!((&new.id, new.created_at), (&old.id, old.created_at));
    assert_eq!(download(&session, &new.id).unwrap(), second);
    let renamed = upload(&session, &rt.id, &second, None, true).unwrap();
    assert_eq!((&renamed.id, renamed.file_name.as_str()), (&old.id, "t_1_amd64.deb"));
    upload(&session, &rt.id, &deb("t", "2"), None, false).unwrap();
    let two = upload(&session, &rt.id, &deb("t", "1"), Some("t_2_amd64.deb"), true).unwrap_err();
    assert_eq!(two.kind(), ErrorKind::Conflict, "one package by name, another by identity");
    let elsewhere = feed(&session, Platform::ni_linux_rt());
    upload(&session, &elsewhere.id, &second, None, false).unwrap();
    store.maintain(&control()).unwrap();
    assert_eq!(walk(&*disk, "files").unwrap().len(), 2, "one large package in each feed");
    assert!(session.get_feed(&rt.id).unwrap().updated_at >= rt.updated_at);
}

#[test]
fn packages_are_deleted_one_and_many() {
    let (disk, store, session) = fresh();
    let rt = feed(&session, Platform::ni_linux_rt());
    let ids: Vec<PackageId> = (0..4)
        .map(|version| {
            upload(&session, &rt.id, &deb_with("t", &format!("{version}"), 50_000), None, false)
                .unwrap()
                .id
        })
        .collect();
    session.delete_package(&ids[0]).unwrap();
    assert_eq!(kind(session.delete_package(&ids[0])), ErrorKind::NotFound);
    session.delete_packages(vec![]).unwrap();
    let asked = vec![ids[1].to_string(), ids[2].to_uppercase(), ids[0].to_string(), "x".to_owned()];
    let error = session.delete_packages(asked.into_iter().map(Into::into).collect()).unwrap_err();
    assert_eq!(
        (error.kind(), error.api_error().inner_errors.len()),
        (ErrorKind::PartialFailure, 3)
    );
    assert_eq!(session.query_packages(&rt.id).unwrap().packages.len(), 2);
    session.delete_feed(&rt.id).unwrap();
    store.maintain(&control()).unwrap();
    assert!(walk(&*disk, "files").unwrap().is_empty());
}

#[test]
fn paths_are_read_and_their_faults_told_apart() {
    let (_disk, _store, session) = fresh();
    let rt = feed(&session, Platform::ni_linux_rt());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("given name.deb");
    std::fs::write(&path, deb("t", "1")).unwrap();
    let package = session.upload_package(&rt.id, &path, false, &control()).unwrap();
    assert_eq!(package.file_name, "given name.deb");
    assert_eq!(download(&session, &package.id).unwrap(), deb("t", "1"));
    let missing = dir.path().join("missing.deb");
    assert_eq!(kind(session.upload_package(&rt.id, &missing, false, &control())), ErrorKind::Io);
    let wrong = dir.path().join("missing.zip");
    assert_eq!(
        kind(session.upload_package(&rt.id, &wrong, false, &control())),
        ErrorKind::InvalidArgument
    );
    assert_eq!(
        kind(session.upload_package(&"none".into(), &missing, false, &control())),
        ErrorKind::NotFound
    );
    assert_eq!(
        kind(session.upload_package(&rt.id, Path::new("/"), false, &control())),
        ErrorKind::InvalidArgument
    );
}

#[test]
fn the_index_names_what_was_measured_and_cannot_be_forged() {
    let (_disk, _store, session) = fresh();
    let rt = feed(&session, Platform::ni_linux_rt());
    assert_eq!(session.packages_index(&rt.id).unwrap(), "");
    let package = upload(&session, &rt.id, &deb("t", "1"), None, false).unwrap();
    upload(&session, &rt.id, &deb("u", "1"), None, false).unwrap();
    let text = session.packages_index(&rt.id).unwrap();
    let stanzas: Vec<&str> = text.split("\n\n").collect();
    assert_eq!(stanzas.len(), 2);
    assert!(stanzas[0].starts_with("Package: t\nVersion: 1\nArchitecture: amd64\n"), "{text}");
    assert!(stanzas[0].contains("\nDescription: Tool\n First\n .\n  fixed\n"), "{text}");
    assert!(stanzas[0].contains("\nFilename: t_1_amd64.deb\n"));
    assert!(stanzas[0].contains(&format!("\nMD5sum: {}\n", package.metadata.attributes["MD5Sum"])));
    let control_file = b"Package: x\nVersion: 1\nArchitecture: all\nSize: 1\nSHA256: 00\nFilename: ../../etc/passwd\n";
    let forged = gz(&tarball(&[
        ("debian-binary", b"2.0\n"),
        ("control.tar.gz", &gz(&tarball(&[("control", control_file)]))),
        ("data.tar.gz", b"x"),
    ]));
    upload(&session, &rt.id, &forged, None, false).unwrap();
    let text = session.packages_index(&rt.id).unwrap();
    assert!(!text.contains("passwd") && !text.contains("SHA256: 00\n"), "{text}");
    let mut inflated = String::new();
    let compressed = session.packages_index_gz(&rt.id).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&*compressed), &mut inflated)
        .unwrap();
    assert_eq!(inflated, text);
}

/// A package may contain any fields. They must not damage the index entries of other packages of
/// the feed.
#[test]
fn odd_fields_of_one_package_do_not_cost_the_others_their_index() {
    let (_disk, _store, session) = fresh();
    let rt = feed(&session, Platform::ni_linux_rt());
    let text = "Package: odd\nVersion: 1\nArchitecture: amd64\nDepends: a (>= \nConflicts: b,, c |\n d\nBreaks: [x]\n\
        Description-md5: 0\nXB-Eula: a\x01b\nXB-foo: 1\nXC-Foo: 2\n";
    let odd = gz(&tarball(&[
        ("debian-binary", b"2.0\n"),
        ("control.tar.gz", &gz(&tarball(&[("control", text.as_bytes())]))),
        ("data.tar.gz", b"x"),
    ]));
    let package = upload(&session, &rt.id, &odd, None, false).unwrap();
    assert_eq!(package.metadata.depends.as_deref(), Some(["a (>=".to_owned()].as_slice()));
    assert_eq!(
        package.metadata.attributes["Breaks"], "[x]",
        "the metadata has the field as the package gives it"
    );
    let text = session.packages_index(&rt.id).unwrap();
    let names: Vec<&str> =
        text.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name).collect();
    for (name, is_there) in
        [("Depends", false), ("Breaks", false), ("Description-md5", false), ("Conflicts", true)]
    {
        assert_eq!(names.contains(&name), is_there, "{name}: {text}");
    }
    assert!(text.contains("\nConflicts: b, c | d\n") && text.contains("\nEula: a b\n"), "{text}");
    assert_eq!(names.iter().filter(|name| name.eq_ignore_ascii_case("foo")).count(), 1, "{text}");
}

#[test]
fn an_upload_stops_while_the_package_is_read() {
    let (disk, store, session) = fresh();
    let rt = feed(&session, Platform::ni_linux_rt());
    /// A source that cancels the upload after its last byte, before the metadata is read.
    struct StopsAtEnd<'b>(&'b [u8], Control);
    impl std::io::Read for StopsAtEnd<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let count = self.0.read(buffer)?;
            if count == 0 {
                self.1.cancel();
            }
            Ok(count)
        }
    }
    let bytes = deb_with("t", "1", 400_000);
    let stopping = control();
    let mut source = StopsAtEnd(&bytes, stopping.clone());
    let error =
        session.upload_package_content(&rt.id, &mut source, None, false, &stopping).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    store.maintain(&control()).unwrap();
    assert!(walk(&*disk, "files").unwrap().is_empty());
    assert!(session.query_packages(&rt.id).unwrap().packages.is_empty());
}

#[test]
fn a_transaction_takes_packages_along_or_none() {
    let (_disk, _store, session) = fresh();
    let failed: Result<()> = session.transaction(|tx| {
        let rt = feed(tx, Platform::ni_linux_rt());
        upload(tx, &rt.id, &deb("t", "1"), None, false)?;
        assert_eq!(tx.query_packages(&rt.id)?.packages.len(), 1);
        Err(Error::invalid("no"))
    });
    assert!(failed.is_err());
    assert!(session.query_feeds(QueryFeedsRequest::default()).unwrap().feeds.is_empty());
    let rt = session
        .transaction(|tx| {
            let rt = feed(tx, Platform::ni_linux_rt());
            upload(tx, &rt.id, &deb_with("t", "1", 60_000), None, false)?;
            Ok(rt)
        })
        .unwrap();
    let package = session.query_packages(&rt.id).unwrap().packages.remove(0);
    assert_eq!(download(&session, &package.id).unwrap(), deb_with("t", "1", 60_000));
}

#[test]
fn concurrent_overwrites_leave_one_whole_package() {
    let (disk, store, session) = fresh();
    let rt = feed(&session, Platform::ni_linux_rt());
    let package = |thread: usize, round: usize| deb_with("t", "1", 20_000 + thread * 100 + round);
    let all: Vec<Vec<Vec<u8>>> =
        (0..6).map(|thread| (0..5).map(|round| package(thread, round)).collect()).collect();
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let (session, rt, all) = (session.clone(), rt.clone(), &all);
            scope.spawn(move || {
                for round in 0..5 {
                    upload(&session, &rt.id, &all[thread][round], None, true).unwrap();
                    let package = session.query_packages(&rt.id).unwrap().packages.remove(0);
                    // Another overwrite may happen in between, but the bytes are those of one of
                    // the packages.
                    let read = download(&session, &package.id).unwrap();
                    assert!(all.concat().contains(&read), "{} bytes of none", read.len());
                }
            });
        }
    });
    assert_eq!(session.query_packages(&rt.id).unwrap().packages.len(), 1);
    store.maintain(&control()).unwrap();
    assert_eq!(walk(&*disk, "files").unwrap().len(), 1);
}

#[test]
fn feeds_of_a_workspace_that_is_not_registered_are_refused() {
    let (_, _, session) = fresh();
    let ask = |workspace: &str| session.query_feeds(QueryFeedsRequest::new().workspace(workspace));
    assert_eq!(ask("lab").unwrap().feeds, [], "the registry is not in force");
    let made = session.create_workspace(CreateWorkspaceRequest::new("Lab").id("lab"));
    assert!(made.is_ok(), "{made:?}");
    assert_eq!(ask("lab").unwrap().feeds, []);
    assert_eq!(ask("default").unwrap().feeds, [], "the default workspace is always registered");
    let error = ask("Lab").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(error.api_error().name.as_deref(), Some("Feeds.UnauthorizedWorkspaceError"));
    assert!(session.query_feeds(QueryFeedsRequest::new()).is_ok());
}
