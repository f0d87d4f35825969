//! Files, upload sessions and packages.

use crate::prelude::*;
use stationdb::faults::limits;

use super::{Client, read};
use crate::calls::wire;
use crate::feeds::{deb, ipk, kind, upload};

fn put(client: &Client, name: &str) {
    let request = UploadFileRequest::new().name(name.to_owned());
    client.session.upload_file(&mut name.as_bytes(), request, &Control::default()).unwrap();
}

#[test]
fn a_checksum_stands_beside_the_record_and_not_in_its_json() {
    let client = Client::new();
    put(&client, "a.txt");
    let page = client.session.get_files(GetFilesRequest::default()).unwrap();
    let checksum = page.available_files[0].checksum.clone().unwrap();
    assert_eq!(checksum, format!("xxh3-128:{:032x}", xxhash_rust::xxh3::xxh3_128(b"a.txt")));
    let json = serde_json::to_value(&page).unwrap();
    let members: Vec<&String> = json["availableFiles"][0].as_object().unwrap().keys().collect();
    let expected = [
        "_links",
        "created",
        "id",
        "lastUpdatedTimestamp",
        "metaDataRevision",
        "properties",
        "serviceGroup",
        "size",
        "size64",
        "workspace",
    ];
    assert_eq!(members, expected);
}

#[test]
fn expression_queries_and_searches_count_their_page_and_say_whether_more_match() {
    let client = Client::new();
    for name in ["a", "b", "c", "d", "e"] {
        put(&client, name);
    }
    let pages = [
        (1, 3, 3, "gte"),
        (2, 3, 3, "eq"),
        (3, 3, 2, "eq"),
        (5, 3, 0, "eq"),
        (0, 0, 0, "gte"),
        (0, 9, 5, "eq"),
    ];
    for (skip, take, value, relation) in pages {
        let body = json!({"skip": skip, "take": take, "orderBy": "name", "exactTotalCount": true});
        let expected = json!({"value": value, "relation": relation});
        let answer = wire(client.session.query_files_linq(read(&body).unwrap()).unwrap());
        assert_eq!(
            (&answer["totalCount"], answer["availableFiles"].as_array().unwrap().len()),
            (&expected, value)
        );
        let answer = wire(client.session.search_files(read(&body).unwrap()).unwrap());
        assert_eq!(
            (&answer["totalCount"], answer["availableFiles"].as_array().unwrap().len()),
            (&expected, value)
        );
        // Rust callers can request the number of all matches.
        let exact =
            |answer: FileLinqQueryResponse| serde_json::to_value(answer.total_count).unwrap();
        let request: FileLinqQueryRequest = read(&body).unwrap();
        let request = request.exact_total_count(true);
        assert_eq!(
            exact(client.session.query_files_linq(request).unwrap()),
            json!({"value": 5, "relation": "eq"})
        );
        let request: SearchFilesRequest = read(&body).unwrap();
        let request = request.exact_total_count(true);
        assert_eq!(
            exact(client.session.search_files(request).unwrap()),
            json!({"value": 5, "relation": "eq"})
        );
    }
}

#[test]
fn a_chunk_after_the_last_one_is_refused_when_it_is_sent() {
    let client = Client::new();
    let session = &client.session;
    let id = session.start_upload_session(None).unwrap().id;
    let send = |index: u32, bytes: u64, close: bool| {
        let mut chunk = std::io::Read::take(std::io::repeat(b'x'), bytes);
        session.append_to_upload_session(
            &id.as_str().into(),
            index,
            &mut chunk,
            close,
            &Control::default(),
        )
    };
    send(1, 10, true).unwrap();
    let error = send(2, 10, true).unwrap_err();
    assert_eq!(
        (error.kind(), error.args()),
        (ErrorKind::InvalidArgument, ["2".to_owned()].as_slice())
    );
    assert_eq!(
        session.query_upload_sessions().unwrap()[0].chunks.len(),
        1,
        "nothing of it is kept"
    );
    // A chunk can be replaced until the session is finished. Without close it is no longer the last
    // one.
    send(1, limits::UPLOAD_CHUNK_BYTES, false).unwrap();
    send(2, 7, true).unwrap();
    send(2, 5, true).unwrap();
    let file =
        session.finish_upload_session(&id.as_str().into(), "whole", Default::default()).unwrap();
    assert_eq!(session.open_file(&file).unwrap().len(), limits::UPLOAD_CHUNK_BYTES + 5);
    assert_eq!(send(2, 5, true).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn the_content_names_a_package_whose_file_name_has_no_extension() {
    let client = Client::new();
    let feed: Value =
        client.get("create_feed", json!({"name": "f", "platform": Platform::ni_linux_rt()}));
    let feed = feed["id"].as_str().unwrap();
    for (bytes, given, name) in [
        (deb("tool", "1"), "upload", "tool_1_amd64.deb"),
        (ipk("small", "2"), "dir/.hidden", "small_2_amd64.ipk"),
        (deb("third", "3"), "ends.", "third_3_amd64.deb"),
    ] {
        let package = upload(&client.session, feed, &bytes, Some(given), false).unwrap();
        assert_eq!(package.file_name, name, "{given}");
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plain");
    std::fs::write(&path, deb("fourth", "4")).unwrap();
    let package =
        client.session.upload_package(&feed.into(), &path, false, &Control::default()).unwrap();
    assert_eq!(package.file_name, "fourth_4_amd64.deb");
    let other = upload(&client.session, feed, &deb("fifth", "5"), Some("fifth.zip"), false);
    assert_eq!(kind(other), ErrorKind::InvalidArgument);
}
