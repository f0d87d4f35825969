//! The answers of `search_files` and `query_files` to some hundreds of queries, as they were
//! recorded before these queries were planned as filters: `answers.txt`. Times and ids are fixed,
//! so each line has a digest of the whole wire form.
//!
//! `STATIONDB_WRITE_ANSWERS=1` writes the file anew; a changed line is a changed answer.

mod queries;

use std::fmt::Write as _;
use std::path::Path;

use crate::prelude::*;
use serde::Serialize;

use crate::test_store::TestStore;

/// Names, sizes and properties of the files; the id of a file is its position.
const FILES: [(&str, usize, &str, &[(&str, &str)]); 40] = [
    ("Run 7.TDMS", 100, "w1", &[("serial", "SN-42"), ("my key", "a \"b\""), ("OR", "x")]),
    ("run 8.tdms", 101, "w1", &[("serial", "sn-43"), ("star", "a*b"), ("a*", "x")]),
    ("run 70.tdms", 99, "W1", &[("serial", "SN-4")]),
    ("run", 0, "w2", &[]),
    ("RUN.TXT", 1, "w2", &[("serial", "")]),
    ("notes.txt", 1_000, "w1", &[("Serial", "SN-42")]),
    ("notes.tar.gz", 70_000, "w1", &[("empty", "")]),
    (".hidden", 5, "w1", &[]),
    ("ends.", 6, "w1", &[]),
    ("no extension", 7, "w 1", &[]),
    ("a needle in hay.txt", 8, "w1", &[("text", "needle")]),
    ("NEEDLES.bin", 9, "w1", &[("text", "Needles and pins")]),
    ("needle", 10, "w1", &[("text", "the needle")]),
    ("Größe.csv", 11, "w1", &[("text", "Straße")]),
    ("GRÖSSE.CSV", 12, "w1", &[("text", "STRASSE")]),
    ("İstanbul.log", 13, "w1", &[("text", "İ")]),
    ("istanbul.LOG", 14, "w1", &[("text", "i\u{307}")]),
    ("\u{212a}elvin.csv", 15, "w1", &[]),
    ("kelvin.csv", 16, "w1", &[]),
    ("ΟΔΟΣ.txt", 17, "w1", &[]),
    ("οδος.txt", 18, "w1", &[]),
    ("a*b.txt", 19, "w1", &[]),
    ("a-b.txt", 20, "w1", &[]),
    ("back\\slash.txt", 21, "w1", &[("path", "C:\\data\\x")]),
    ("quote\"d.txt", 22, "w1", &[]),
    ("tab\there.txt", 23, "w1", &[]),
    ("(brackets).txt", 24, "w1", &[("a.b", "dotted")]),
    ("[square].txt", 25, "w1", &[]),
    ("colon:name.txt", 26, "w1", &[]),
    ("AND", 27, "w1", &[("AND", "NOT")]),
    ("x.x", 28, "w*", &[]),
    ("xx", 29, "", &[]),
    ("aaa", 30, "w1", &[]),
    ("aaaa", 31, "w1", &[]),
    ("ab.ab.ab", 32, "w1", &[]),
    ("日本.txt", 33, "w1", &[("text", "日本語")]),
    ("run 7.tdms", 2_000, "w3", &[("serial", "SN-42")]),
    ("Run 7.tdms ", 100, "w3", &[("serial", "SN-42 ")]),
    ("1000", 100, "w3", &[("size", "5")]),
    ("émile.txt", 34, "w3", &[("e", "É")]),
];

fn filled() -> (TestStore, Session) {
    // No thread fills the text index meanwhile: plans say when it is used.
    let test = TestStore::with(|options| options.maintenance_thread(false));
    let session = test.session();
    for (at, (name, size, workspace, properties)) in FILES.into_iter().enumerate() {
        // Some files have the same time.
        if at % 3 != 0 {
            test.clock.advance_ms(1_500);
        }
        let request = UploadFileRequest::new()
            .id(format!("{:024x}", 0x00ab_0000 + at * 7 % 40))
            .name(name.to_owned())
            .workspace(workspace.to_owned())
            .metadata(properties.iter().map(|(k, v)| (*k, *v)));
        let content = vec![at as u8; size];
        session.upload_file(&mut &*content, request, &Control::default()).unwrap();
    }
    (test, session)
}

fn told<T: Serialize>(answer: Result<T>) -> String {
    let answer = match answer {
        Ok(answer) => serde_json::to_value(answer).unwrap(),
        Err(error) => return failed(&error),
    };
    let id = |file: &Value| {
        let id = file["id"].as_str().unwrap_or_default();
        id.chars().skip(22).collect::<String>()
    };
    let ids: Vec<String> = answer["availableFiles"].as_array().unwrap().iter().map(id).collect();
    let digest = xxhash_rust::xxh3::xxh3_64(answer.to_string().as_bytes());
    format!("{} of {}, {digest:016x}", ids.join(" "), answer["totalCount"])
}

fn failed(error: &Error) -> String {
    let api = error.api_error();
    let name = api.name.unwrap_or_default();
    format!("{:?} {name} at {:?}: {}", error.kind(), error.place(), api.message.unwrap_or_default())
}

fn answers() -> String {
    let (_test, session) = filled();
    answers_of(&session)
}

fn answers_of(session: &Session) -> String {
    let mut text = String::new();
    for request in queries::searches() {
        let parsed = serde_json::from_value::<SearchFilesRequest>(request.clone()).unwrap();
        writeln!(text, "search {request}\n  {}", told(session.search_files(parsed))).unwrap();
    }
    for filter in queries::corpus().exact {
        let mut request = SearchFilesRequest::new().filter(&filter);
        request.exact_total_count = true;
        request.take = Some(2);
        writeln!(text, "exact {filter}\n  {}", told(session.search_files(request))).unwrap();
    }
    for request in queries::structured() {
        let parsed = serde_json::from_value::<QueryFilesRequest>(request.clone()).unwrap();
        writeln!(text, "query {request}\n  {}", told(session.query_files(parsed))).unwrap();
    }
    text
}

#[test]
fn files_are_found_as_they_always_were() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/services/file_queries/answers.txt");
    let found = answers();
    if std::env::var_os("STATIONDB_WRITE_ANSWERS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap();
    let (found, known): (Vec<_>, Vec<_>) = (found.lines().collect(), known.lines().collect());
    assert!(known.len() > 800, "{} lines", known.len());
    let differ: Vec<String> = (found.chunks(2).zip(known.chunks(2)))
        .filter(|(found, known)| found != known)
        .map(|(found, known)| format!("{known:#?}\nbecame\n{found:#?}"))
        .collect();
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
    assert_eq!(found.len(), known.len());
}

/// The words of the text index name candidates for what begins with a star. Letters that fold to
/// others (`İ`, the Kelvin sign) or that the index splits at lose no file.
#[test]
fn files_are_found_alike_with_and_without_the_words_of_the_text_index() {
    let (test, session) = filled();
    let plan = |filter: &str| {
        session.explain_search_files(SearchFilesRequest::new().filter(filter)).unwrap().access
    };
    let stars = [r#"name:("*kelv*")"#, r#"name:("*stan*")"#, r#"name:("*eedl*")"#];
    assert_eq!(stars.map(plan), ["index updated in order"; 3]);
    let without = answers_of(&session);
    test.store.maintain(&Control::default()).unwrap();
    for filter in stars {
        let access = plan(filter);
        assert!(access.ends_with(" ids"), "{filter} does not use the words: {access}");
    }
    let with = answers_of(&session);
    let differ: Vec<_> = with.lines().zip(without.lines()).filter(|(a, b)| a != b).collect();
    assert!(differ.is_empty(), "{} differ: {differ:#?}", differ.len());
    assert_eq!(with.len(), without.len());
}

/// A long list of values, and deep nesting, are answered or refused as before.
#[test]
fn bounds_of_searches_are_kept() {
    let (_test, session) = filled();
    let search = |filter: String| {
        told(session.search_files(serde_json::from_value(json!({ "filter": filter })).unwrap()))
    };
    let many: Vec<String> = (0..3_000).map(|at| format!("\"x{at}*y\"")).collect();
    let found = search(format!("name:({} \"run 8*\")", many.join(" OR ")));
    assert!(found.starts_with("07 of"), "{found}");
    let deep = |depth: usize| format!("{}name:run{}", "(".repeat(depth), ")".repeat(depth));
    assert!(search(deep(32)).starts_with("15 of"));
    assert!(search(deep(33)).starts_with("LimitExceeded"));
    assert!(search("x".repeat(70_000)).starts_with("LimitExceeded"));
}

/// What is read for a search, beside what its plan says.
#[test]
fn searches_of_files_are_planned_and_say_so() {
    let (test, session) = filled();
    for at in 0..400 {
        let request = UploadFileRequest::new().name(format!("other {at}.dat")).workspace("far");
        session.upload_file(&mut &b"x"[..], request, &Control::default()).unwrap();
    }
    let plan = |filter: &str| {
        session.explain_search_files(SearchFilesRequest::new().filter(filter)).unwrap()
    };
    for (filter, index, most) in [
        (r#"name:("RUN 7.tdms")"#, "foldedName", 2),
        (r#"name:("run*")"#, "foldedName", 7),
        (r#"name:("Run*.TDMS")"#, "foldedName", 7),
        (r#"name:("run 7*" OR "needle*" OR "x")"#, "foldedName", 9),
        (r#"extension:("TDMS")"#, "foldedExtension", 5),
        (r#"extension:("t*" OR "csv")"#, "foldedExtension", 26),
        ("size:[1000 TO *]", "size", 4),
        ("size:0", "size", 2),
        (r#"workspaceId:("w3")"#, "workspace", 5),
        (r#"properties.serial:("*4*")"#, "properties", 8),
        (r#"NOT name:("a*") AND properties.text:("*")"#, "properties", 8),
        (r#"extension:("tdms") OR size:[1000 TO *]"#, "foldedExtension", 9),
        (r#"extension:("txt") AND size:[1000 TO *]"#, "index", 4),
    ] {
        let plan = plan(filter);
        assert!(plan.access.contains(index), "{filter}: {plan}");
        assert!(plan.records_touched <= Some(most), "{filter}: {plan}");
    }
    // Leading stars: every file, until the words of the text index name the candidates.
    let scan = plan(r#"name:("*eedl*")"#);
    assert_eq!(scan.access, "index updated in order", "{scan}");
    test.store.maintain(&Control::default()).unwrap();
    let words = plan(r#"name:("*eedl*")"#);
    assert_eq!((words.access.as_str(), words.records_touched), ("3 ids", Some(3)), "{words}");
    let id = plan(r#"id:("000000000000000000AB0003")"#);
    assert_eq!((id.access.as_str(), id.records_touched), ("1 ids", Some(1)), "{id}");
    // What no index has is read in order of the answer, or as a whole, and the plan says so.
    for filter in [
        "",
        r#"name:("*")"#,
        r#"name:("*ö*")"#,
        r#"extension:("*s")"#,
        r#"id:("*3")"#,
        r#"NOT size:[1 TO 2000]"#,
        r#"name:("run*") OR extension:("*s")"#,
    ] {
        let plan = plan(filter);
        assert_eq!(plan.access, "index updated in order", "{filter}: {plan}");
        assert_eq!(plan.records_touched, Some(440), "{filter}: {plan}");
    }
    let residual = plan(r#"name:("*\**.t*") AND NOT properties.a:("b")"#).residual.unwrap();
    assert_eq!(residual, r#"foldedName like "*\**.t*" and !(properties["a"].ToLower() like "b")"#);
    let plan = |request: Value| {
        session.explain_query_files(serde_json::from_value(request).unwrap()).unwrap()
    };
    let equal = |value: Value| json!({ "operation": "EQUAL", "value": value });
    for (request, index, most) in [
        (json!({ "extensionQuery": equal(json!("tdms")) }), "extension", 4),
        (json!({ "sizeMinQuery": equal(json!(0)) }), "size", 1),
        (json!({ "workspace": "w3" }), "workspace", 4),
        (json!({ "createdQuery": equal(json!("2024-03-01T00:00:12.000Z")) }), "created", 2),
        (json!({ "idQuery": equal(json!("000000000000000000AB0003")) }), "1 ids", 1),
        (
            json!({ "propertiesQuery": [
                {"key": "serial", "operation": "EQUAL", "value": "SN-42"}] }),
            "properties",
            2,
        ),
    ] {
        let plan = plan(request);
        assert!(plan.access.contains(index), "{plan}");
        assert!(plan.records_touched <= Some(most), "{plan}");
    }
    let all = plan(json!({ "idQuery": {"operation": "NOT_EQUAL", "value": "x"} }));
    assert_eq!(all.access, "all records of file", "{all}");
}
