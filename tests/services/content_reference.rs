//! Statements of `docs/reference/files.md` and `docs/reference/feeds.md` that no other test covers.
//! Each test says which section it covers.

use crate::prelude::*;
use std::io::Read;

use chrono::{DateTime, Utc};
use stationdb::faults::limits;

use crate::feeds::{deb, feed, gz, kind, tarball, upload};
use crate::wire_time;

struct Bench {
    clock: Arc<ManualClock>,
    _store: Store,
    session: Session,
}

fn bench() -> Bench {
    let clock = Arc::new(ManualClock::new("2024-03-01T00:00:00Z".parse().unwrap()));
    let options =
        StoreOptions::default().maintenance_thread(false).seed(Some(1)).shared_clock(clock.clone());
    let (store, session) = opened(options, Arc::new(MemoryDisk::new()));
    Bench { clock, _store: store, session }
}

fn put(session: &Session, name: &str, properties: &[(&str, &str)], len: usize) -> FileId {
    let metadata = properties.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let request = UploadFileRequest::new().name(name.to_owned()).metadata(metadata);
    session.upload_file(&mut vec![7; len].as_slice(), request, &control()).unwrap()
}

fn file(session: &Session, id: &str) -> FileMetadata {
    let request = GetFilesRequest::new().ids([id.to_owned()]);
    session.get_files(request).unwrap().available_files.remove(0)
}

fn json<T: serde::de::DeserializeOwned>(text: &str) -> T {
    from_json(text.as_bytes()).unwrap()
}

#[test]
fn every_link_leads_where_the_reference_says() {
    let bench = bench();
    let id = put(&bench.session, "a", &[], 1);
    let listing = bench.session.get_files(GetFilesRequest::default()).unwrap();
    let hrefs = |links: &BTreeMap<String, Link>| {
        links.iter().map(|(name, link)| format!("{name} {}", link.href)).collect::<Vec<_>>()
    };
    let base = "/nifile/v1/service-groups/Default";
    assert_eq!(
        hrefs(&listing.links),
        [
            format!("deleteFiles {base}/delete-files"),
            format!("query {base}/query-files"),
            format!("search {base}/files"),
            format!("self {base}/files"),
            format!("upload {base}/upload-files"),
        ]
    );
    assert_eq!(
        hrefs(&listing.available_files[0].links),
        [
            format!("data {base}/files/{id}/data"),
            format!("delete {base}/files/{id}"),
            format!("self {base}/files/{id}"),
            format!("updateMetadata {base}/files/{id}/update-metadata"),
        ]
    );
}

#[test]
fn the_operations_of_files_have_the_versions_of_the_reference() {
    let operations = bench().session.file_api_info().unwrap().operations;
    let versions: Vec<_> =
        operations.iter().map(|(name, operation)| (name.as_str(), operation.version)).collect();
    assert_eq!(
        versions,
        [
            ("deleteFiles", 2),
            ("downloadData", 1),
            ("listFiles", 3),
            ("queryFiles", 1),
            ("searchFiles", 1),
            ("updateMetadata", 1),
            ("uploadFiles", 1)
        ]
    );
    assert!(operations.values().all(|operation| operation.available));
}

#[test]
fn requests_with_members_of_other_types_are_refused() {
    for text in [
        r#"{"replaceExisting":false,"properties":{"a":1}}"#,
        r#"{"replaceExisting":false,"properties":{"a":null}}"#,
        r#"{"replaceExisting":"no","properties":{}}"#,
        r#"{"replaceExisting":false,"properties":{},"expectedRevision":"1"}"#,
        // Both members are required. An empty map counts as present.
        r#"{"properties":{}}"#,
        r#"{"replaceExisting":true}"#,
        r#"{"replaceExisting":null,"properties":{}}"#,
    ] {
        let error = from_json::<UpdateMetadataRequest>(text.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{text}");
    }
    for text in [
        r#"{"idQuery":{"operation":"EQUAL"}}"#,
        r#"{"idsQuery":{"ids":[]}}"#,
        r#"{"sizeMinQuery":{"operation":"EQUAL","value":null}}"#,
        r#"{"sizeMinQuery":{"operation":"EQUAL","value":"1"}}"#,
        r#"{"createdQuery":{"operation":"EQUAL"}}"#,
        r#"{"propertiesQuery":[{"operation":"EQUAL","value":""}]}"#,
    ] {
        let error = from_json::<QueryFilesRequest>(text.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{text}");
    }
    assert!(from_json::<UploadFileRequest>(br#"{"metadata":{"a":["b"]}}"#).is_err());
    // Members that have a meaning only on the wire, and unknown members, are accepted and ignored.
    let request: UpdateMetadataRequest = json(
        r#"{"replace_existing":true,"properties":{},"expected_revision":2,"force":true,"inline":1}"#,
    );
    assert_eq!((request.replace_existing, request.expected_revision), (true, Some(2)));
}

#[test]
fn ids_of_another_shape_are_unknown_ids() {
    let Bench { session, .. } = bench();
    for id in ["", "x", "5afb2ce3-741f-4a4e-8b0f-2d5a8f1e9a11", "0123456789abcdef01234567"] {
        assert_eq!(
            kind(session.download_file(&id.into(), &mut Vec::new(), &control())),
            ErrorKind::NotFound,
            "{id}"
        );
        assert_eq!(kind(session.open_file(&id.into())), ErrorKind::NotFound, "{id}");
        assert_eq!(
            kind(session.update_metadata(&id.into(), UpdateMetadataRequest::default())),
            ErrorKind::NotFound,
            "{id}"
        );
        let error = session.delete_file(&id.into()).unwrap_err();
        let api = error.api_error();
        assert_eq!(
            (error.kind(), api.name.as_deref()),
            (ErrorKind::NotFound, Some("FileIngestion.IdNotFound"))
        );
        assert_eq!(
            (api.code, api.resource_id.as_deref(), api.args),
            (Some(-251_608), Some(id), vec![id.to_owned()])
        );
    }
}

#[test]
fn times_of_files_never_run_backwards() {
    let Bench { clock, session, .. } = bench();
    let id = put(&session, "a", &[], 1);
    let created = file(&session, &id).created;
    clock.advance_ms(-3_600_000);
    session.update_metadata(&id, UpdateMetadataRequest::default()).unwrap();
    assert_eq!(file(&session, &id).last_updated_timestamp, created);
    clock.advance_ms(3_600_500);
    session.update_metadata(&id, UpdateMetadataRequest::default()).unwrap();
    let now = file(&session, &id);
    assert_eq!(
        (now.created, now.last_updated_timestamp),
        (created, created + chrono::TimeDelta::milliseconds(500))
    );
}

#[test]
fn listings_have_the_defaults_of_the_reference() {
    let Bench { clock, session, .. } = bench();
    let ids: Vec<FileId> = ["b.txt", "a.dat", "c"]
        .into_iter()
        .enumerate()
        .map(|(at, name)| {
            clock.advance_ms(1_000);
            put(&session, name, &[], 10 - at)
        })
        .collect();
    let names = |files: Vec<FileMetadata>| {
        files.iter().map(|file| file.properties["Name"].clone()).collect::<Vec<_>>()
    };
    // A direction without a key is ignored; zero means the default page size.
    let request = GetFilesRequest::new().order_by_descending(true).take(0);
    assert_eq!(names(session.get_files(request).unwrap().available_files), ["b.txt", "a.dat", "c"]);
    clock.advance_ms(1_000);
    session.update_metadata(&ids[1], UpdateMetadataRequest::default()).unwrap();
    let linq = |order_by, order_by_descending| {
        let request = FileLinqQueryRequest::new()
            .maybe_order_by(order_by)
            .maybe_order_by_descending(order_by_descending);
        let answer = session.query_files_linq(request.clone()).unwrap();
        let search = SearchFilesRequest::new()
            .maybe_order_by(order_by)
            .maybe_order_by_descending(order_by_descending);
        assert_eq!(session.search_files(search).unwrap(), answer);
        answer
            .available_files
            .iter()
            .map(|file| file.properties["Name"].clone())
            .collect::<Vec<_>>()
    };
    use FileLinqQueryOrderBy as By;
    assert_eq!(linq(None, None), ["a.dat", "c", "b.txt"], "the newest change first");
    assert_eq!(linq(Some(By::Updated), Some(false)), ["b.txt", "c", "a.dat"]);
    assert_eq!(linq(Some(By::Name), Some(false)), ["a.dat", "b.txt", "c"]);
    assert_eq!(linq(Some(By::Created), Some(false)), ["b.txt", "a.dat", "c"]);
    assert_eq!(linq(Some(By::Extension), Some(false)), ["c", "a.dat", "b.txt"]);
    assert_eq!(linq(Some(By::Size), Some(false)), ["c", "a.dat", "b.txt"]);
    assert_eq!(
        linq(Some(By::Workspace), Some(true)),
        ["b.txt", "a.dat", "c"],
        "ties by id ascending"
    );
    let none = FileLinqQueryRequest::new().take(0);
    let answer = session.query_files_linq(none).unwrap();
    assert_eq!((answer.available_files.len(), answer.total_count.value), (0, 0));
    let record =
        serde_json::to_value(session.query_files_linq(FileLinqQueryRequest::default()).unwrap())
            .unwrap();
    assert_eq!(record["totalCount"], serde_json::json!({"relation": "eq", "value": 3}));
    let members: Vec<_> =
        record["availableFiles"][0].as_object().unwrap().keys().cloned().collect();
    assert_eq!(
        members,
        ["created", "id", "properties", "serviceGroup", "size", "size64", "updated", "workspace"],
        "no links, path or revision"
    );
}

/// Every operation of every part of a structured query, compared with a plain comparison.
#[test]
fn structured_queries_compare_as_they_say() {
    let Bench { clock, session, .. } = bench();
    let begin: DateTime<Utc> = "2024-03-01T00:00:00Z".parse().unwrap();
    let mut ids = Vec::new();
    for (at, (name, serial)) in
        [("a.txt", "A1"), ("b.dat", "A2"), ("c.txt", "B1"), ("d", "")].into_iter().enumerate()
    {
        let properties: &[(&str, &str)] =
            if serial.is_empty() { &[] } else { &[("serial", serial)] };
        ids.push(put(&session, name, properties, 10 * at));
        clock.advance_ms(1_000);
    }
    let query = |text: String| {
        let answer = session.query_files(json(&text)).unwrap();
        assert_eq!(answer.total_count, answer.available_files.len() as u64, "{text}");
        let at = |file: &FileMetadata| ids.iter().position(|id| *id == file.id).unwrap();
        answer.available_files.iter().map(at).collect::<Vec<_>>()
    };
    let where_ = |test: &dyn Fn(usize) -> bool| (0..4).filter(|at| test(*at)).collect::<Vec<_>>();
    type Compare = fn(i64, i64) -> bool;
    let comparisons: [(&str, Compare); 6] = [
        ("EQUAL", |a, b| a == b),
        ("NOT_EQUAL", |a, b| a != b),
        ("GREATER_THAN", |a, b| a > b),
        ("GREATER_THAN_OR_EQUAL", |a, b| a >= b),
        ("LESS_THAN", |a, b| a < b),
        ("LESS_THAN_OR_EQUAL", |a, b| a <= b),
    ];
    for (operation, compare) in comparisons {
        for part in ["sizeMinQuery", "sizeMaxQuery"] {
            for value in [0, 10, 15, 30] {
                let found =
                    query(format!(r#"{{"{part}":{{"operation":"{operation}","value":{value}}}}}"#));
                assert_eq!(
                    found,
                    where_(&|at| compare(10 * at as i64, value)),
                    "{part} {operation} {value}"
                );
            }
        }
        let value = wire_time(begin + chrono::TimeDelta::seconds(2));
        let found =
            query(format!(r#"{{"createdQuery":{{"operation":"{operation}","value":"{value}"}}}}"#));
        assert_eq!(found, where_(&|at| compare(at as i64, 2)), "created {operation}");
    }
    let text = |operation: &str, member: &str, value: &str| {
        query(format!(r#"{{"{member}":{{"operation":"{operation}","value":"{value}"}}}}"#))
    };
    assert_eq!(text("EQUAL", "extensionQuery", "txt"), [0, 2]);
    assert_eq!(text("NOT_EQUAL", "extensionQuery", "txt"), [1, 3]);
    assert!(text("EQUAL", "extensionQuery", "TXT").is_empty(), "with letter case");
    assert_eq!(text("EQUAL", "extensionQuery", ""), [3]);
    assert_eq!(text("EQUAL", "idQuery", &ids[1].to_uppercase()), [1]);
    assert_eq!(text("NOT_EQUAL", "idQuery", &ids[1]), [0, 2, 3]);
    let two = format!(r#""ids":["{}","{}","unknown"]"#, ids[0], ids[3]);
    assert_eq!(query(format!(r#"{{"idsQuery":{{"operation":"EQUAL",{two}}}}}"#)), [0, 3]);
    assert_eq!(query(format!(r#"{{"ids_query":{{"operation":"NOT_EQUAL",{two}}}}}"#)), [1, 2]);
    let property = |operation: &str, value: &str| {
        query(format!(
            r#"{{"propertiesQuery":[{{"key":"serial","operation":"{operation}","value":"{value}"}}]}}"#
        ))
    };
    assert_eq!(property("EQUAL", "A1"), [0]);
    assert_eq!(property("NOT_EQUAL", "A1"), [1, 2, 3], "a file without the property is not equal");
    assert_eq!(property("CONTAINS", "A"), [0, 1]);
    assert_eq!(property("NOT_CONTAINS", "A"), [2, 3]);
    let both = r#"{"extensionQuery":{"operation":"EQUAL","value":"txt"},"sizeMinQuery":{"operation":"LESS_THAN","value":10},"#;
    assert_eq!(query(format!(r#"{both}"skip":0,"take":0}}"#)), [0], "all parts hold together");
    assert!(query(format!(r#"{both}"workspace":"elsewhere"}}"#)).is_empty());
    for (part, operation) in [
        ("extensionQuery", "CONTAINS"),
        ("idQuery", "GREATER_THAN"),
        ("extensionQuery", "LESS_THAN"),
    ] {
        let text = format!(r#"{{"{part}":{{"operation":"{operation}","value":"x"}}}}"#);
        assert_eq!(kind(session.query_files(json(&text))), ErrorKind::InvalidArgument, "{text}");
    }
    let page = session.query_files(json(r#"{"skip":1,"take":2}"#)).unwrap();
    assert_eq!((page.available_files.len(), page.total_count), (2, 4));
}

#[test]
fn chunks_come_at_once_and_need_no_closing_when_all_are_full() {
    let Bench { session, .. } = bench();
    let id = session.start_upload_session(None).unwrap().id;
    let len = limits::UPLOAD_CHUNK_BYTES;
    std::thread::scope(|scope| {
        for index in [3u32, 1, 2] {
            let (session, id) = (session.clone(), id.clone());
            scope.spawn(move || {
                let mut chunk = std::io::repeat(index as u8).take(len);
                session
                    .append_to_upload_session(
                        &id.as_str().into(),
                        index,
                        &mut chunk,
                        false,
                        &control(),
                    )
                    .unwrap();
            });
        }
    });
    for index in [0, limits::UPLOAD_CHUNKS + 1] {
        let sent = session.append_to_upload_session(
            &id.as_str().into(),
            index,
            &mut std::io::empty(),
            true,
            &control(),
        );
        assert_eq!(kind(sent), ErrorKind::InvalidArgument);
    }
    let properties = [("Name".to_owned(), "of the properties".to_owned())].into();
    let file_id = session.finish_upload_session(&id.as_str().into(), "", properties).unwrap();
    let made = file(&session, &file_id);
    assert_eq!(
        (made.size64 as u64, made.properties["Name"].as_str()),
        (3 * len, "of the properties")
    );
    let mut handle = session.open_file(&file_id).unwrap();
    for index in 1..=3u64 {
        let mut ends = [0; 1];
        for at in [(index - 1) * len, index * len - 1] {
            assert_eq!(handle.read_at(&mut ends, at).unwrap(), 1);
            assert_eq!(u64::from(ends[0]), index);
        }
    }
}

#[test]
fn every_control_field_becomes_the_member_of_the_reference() {
    let Bench { session, .. } = bench();
    let rt = feed(&session, Platform::ni_linux_rt());
    let text = "Package: tool\nVersion: 1:2.0-1\nArchitecture: amd64\nDescription: Tool\n First\n .\n  fixed\n\
        Maintainer: Ada <ada@example.org>\nHomepage: https://example.org\nSection: utils\nSource: tools (1.9)\n\
        XB-Tags: a, b\nRelease-Notes: New\n line\nDepends: a (>=  1.0), b | c\nPre-Depends: d\nRecommends: e\n\
        Suggests: f, , g\nEnhances: h\nBreaks: i (<< 2)\nConflicts: j\nReplaces: k\nProvides: l (= 1)\nEssential: Yes\n\
        Installed-Size: 42\nPriority: important\nSize: 1\nFilename: elsewhere.deb\nDescription-de: Werkzeug\n\
        Supplements: m\nXB-DisplayName: The Tool\nX-Own: value\n";
    let control_tar = gz(&tarball(&[("control", text.as_bytes())]));
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, content) in [
        ("debian-binary", b"2.0\n".as_slice()),
        ("control.tar.gz", &control_tar),
        ("data.tar", b""),
    ] {
        bytes.extend(
            format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, content.len())
                .bytes(),
        );
        bytes.extend(content);
        bytes.extend((content.len() % 2 == 1).then_some(b'\n'));
    }
    let package = upload(&session, &rt.id, &bytes, None, false).unwrap();
    let mut json = serde_json::to_value(&package.metadata).unwrap();
    let attributes = json.as_object_mut().unwrap().remove("attributes").unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "packageName": "tool", "version": "1:2.0-1", "architecture": "amd64",
            "description": "Tool\nFirst\n\n fixed", "homepage": "https://example.org",
            "maintainer": "Ada <ada@example.org>", "releaseNotes": "New\nline", "section": "utils",
            "source": "tools (1.9)", "tags": "a, b", "fileName": "tool_2.0-1_amd64.deb",
            "breaks": ["i (<< 2)"], "conflicts": ["j"], "depends": ["a (>= 1.0)", "b | c"], "enhances": ["h"],
            "predepends": ["d"], "provides": ["l (= 1)"], "recommends": ["e"], "replaces": ["k"], "suggests": ["f", "g"],
            "essential": true, "installedSize": 42, "size": bytes.len(), "priority": 3,
        })
    );
    for (key, value) in [
        ("Priority", "important"),
        ("Filename", "elsewhere.deb"),
        ("Size", "1"),
        ("Description-de", "Werkzeug"),
        ("Supplements", "m"),
        ("XB-DisplayName", "The Tool"),
        ("DisplayName", "The Tool"),
        ("X-Own", "value"),
        ("XB-Tags", "a, b"),
    ] {
        assert_eq!(attributes[key], value, "{key}");
    }
    assert_eq!(attributes["MD5Sum"].as_str().unwrap().len(), 32);
    assert_eq!(attributes["SHA256"].as_str().unwrap().len(), 64);
}

#[test]
fn packages_have_the_size_limit_of_the_store() {
    let options = StoreOptions::default().maintenance_thread(false).file_bytes_max(Some(600));
    let (_store, session) = opened(options, Arc::new(MemoryDisk::new()));
    let rt = feed(&session, Platform::ni_linux_rt());
    let small = deb("t", "1");
    assert!(
        small.len() < 600
            || kind(upload(&session, &rt.id, &small, None, false)) == ErrorKind::LimitExceeded
    );
    let large = crate::feeds::deb_with("t", "2", 5_000);
    assert_eq!(kind(upload(&session, &rt.id, &large, None, false)), ErrorKind::LimitExceeded);
    assert_eq!(kind(upload(&session, &rt.id, &large, None, false)), ErrorKind::LimitExceeded);
}

#[test]
fn file_names_of_packages_compare_exactly_and_overwriting_nothing_is_an_upload() {
    let Bench { clock, session, .. } = bench();
    let rt = feed(&session, Platform::ni_linux_rt());
    clock.advance_ms(10);
    let one = upload(&session, &rt.id, &deb("t", "1"), Some("T.deb"), true).unwrap();
    assert_eq!(session.get_feed(&rt.id).unwrap().updated_at, one.updated_at);
    upload(&session, &rt.id, &deb("t", "2"), Some("t.deb"), false).unwrap();
    clock.advance_ms(10);
    let again = upload(&session, &rt.id, &deb("t", "1"), Some("T.deb"), true).unwrap();
    assert_eq!((&again.id, again.created_at), (&one.id, one.created_at));
    assert!(again.updated_at > one.updated_at);
    assert_eq!(session.get_feed(&rt.id).unwrap().updated_at, again.updated_at);
    clock.advance_ms(10);
    session.delete_package(&again.id).unwrap();
    assert!(session.get_feed(&rt.id).unwrap().updated_at > again.updated_at);
    let listed = session.query_packages(&rt.id).unwrap().packages;
    assert_eq!(
        listed.iter().map(|package| package.file_name.as_str()).collect::<Vec<_>>(),
        ["t.deb"]
    );
}

#[cfg(feature = "search")]
#[test]
fn full_text_finds_files_and_packages_by_every_text_that_they_have() {
    let Bench { session, .. } = bench();
    let log = put(
        &session,
        "vibration.tdms",
        &[("operator", "Lovelace"), ("remark", "bearing noise")],
        10,
    );
    let rt = feed(&session, Platform::ni_linux_rt());
    let text = "Package: spectrum\nVersion: 1\nArchitecture: all\nMaintainer: Grace Hopper <grace@example.org>\n\
        Tag: measurement, resonance\nRelease-Notes: faster startup\nDescription: Analyses signals\n Of turbines.\n";
    let control_tar = gz(&tarball(&[("./control", text.as_bytes())]));
    let bytes = gz(&tarball(&[
        ("debian-binary", b"2.0\n"),
        ("control.tar.gz", &control_tar),
        ("data.tar.gz", b"x"),
    ]));
    let package = upload(&session, &rt.id, &bytes, None, false).unwrap();
    let find = |text: &str, kinds: &[&str]| {
        let kinds: Vec<_> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        let request = SearchRequest::new().text(text.to_owned()).kinds(kinds);
        session
            .search(request)
            .unwrap()
            .hits
            .into_iter()
            .map(|hit| (hit.kind, hit.id))
            .collect::<Vec<_>>()
    };
    let the_file = ("file".to_owned(), log.to_string());
    for words in [
        "vibration",
        "name:vibration",
        "lovelace",
        "operator",
        "\"bearing noise\"",
        "properties:bearing",
    ] {
        assert_eq!(find(words, &[]), std::slice::from_ref(&the_file), "{words}");
        assert_eq!(find(words, &["package"]), [], "{words}");
    }
    let the_package = ("package".to_owned(), package.id.to_string());
    for words in [
        "spectrum",
        "name:spectrum",
        "signals",
        "turbines",
        "description:turbines",
        "hopper",
        "maintainer:grace",
        "resonance",
        "tags:measurement",
        "startup",
    ] {
        assert_eq!(find(words, &[]), std::slice::from_ref(&the_package), "{words}");
    }
    let renamed = UpdateMetadataRequest::new()
        .replace_existing(true)
        .properties([("Name".to_owned(), "acoustics.tdms".to_owned())]);
    session.update_metadata(&log, renamed).unwrap();
    assert_eq!(find("acoustics", &["file"]).len(), 1);
    assert_eq!(find("vibration", &[]), []);
    assert_eq!(find("lovelace", &[]), []);
    session.delete_file(&log).unwrap();
    session.delete_feed(&rt.id).unwrap();
    assert_eq!(find("acoustics", &[]), []);
    assert_eq!(find("spectrum", &[]), []);
}
