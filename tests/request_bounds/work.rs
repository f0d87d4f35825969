//! A deadline, a cancellation and the limit of work end a filter within one record.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use stationdb::files::*;
use stationdb::prelude::*;
use stationdb::products::*;
use stationdb::tables::*;
use stationdb::*;

/// How long after its deadline a call may return in this test, on a busy machine and without
/// optimisation.
const SLACK: Duration = Duration::from_secs(4);
/// Number of list elements: a filter that compares all combinations of three takes minutes.
const ELEMENTS: usize = 900;

struct World {
    session: Session,
    _store: Store,
    _directory: tempfile::TempDir,
}

fn long_text(start: &str) -> String {
    format!("{start}{}", "0123456789abcdef".repeat(110_000))
}

/// A store with one product with a long list and two long texts, and one file with a long property.
fn world() -> World {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let texts: BTreeMap<String, String> = [("a", "x"), ("b", "y")]
        .into_iter()
        .map(|(key, start)| (key.to_owned(), long_text(start)))
        .collect();
    let product = CreateProductRequest::new("P")
        .keywords((0..ELEMENTS).map(|at| format!("k{at}")))
        .properties(texts.iter().map(|(key, text)| (key.clone(), text.clone())));
    let made = session.create_products(vec![product]).unwrap();
    assert_eq!(made.error, None);
    let file = UploadFileRequest::new().metadata(texts);
    session.upload_file(&mut std::io::empty(), file, &Control::default()).unwrap();
    World { session, _store: store, _directory: directory }
}

fn nested() -> String {
    "keywords.Any(a => keywords.Any(b => keywords.Any(c => a + b + c = \"no\")))".to_owned()
}

fn products(session: &Session, filter: String) -> Result<usize> {
    let query = QueryProductsRequest::new().filter(filter);
    session.query_products(query).map(|page| page.products.len())
}

/// Calls that would work on one record for very long.
fn hostile(session: &Session, name: &str) -> Result<usize> {
    let many =
        |one: &dyn Fn(usize) -> String, by: &str| (0..3_000).map(one).collect::<Vec<_>>().join(by);
    match name {
        "nested lists" => products(session, nested()),
        "parts of long texts" => products(
            session,
            many(&|at| format!("properties[\"a\"].ToLower().Contains(\"no{at}\")"), " or "),
        ),
        "a search of files" => {
            // As long as an expression may be.
            let terms: Vec<String> =
                (0..2_000).map(|at| format!("properties.a:(\"*no{at}*\")")).collect();
            let filter = terms.join(" OR ");
            let request = SearchFilesRequest::new().filter(filter);
            session.search_files(request).map(|found| found.available_files.len())
        }
        "properties of files" => {
            let one = |at: usize| {
                PropertyQuery::new(
                    "a",
                    FileQueryOperation::NotContains,
                    format!("{}no{at}", "0123456789abcdef".repeat(50)),
                )
            };
            let properties_query: Vec<_> = (0..9_000).map(one).collect();
            let request = QueryFilesRequest::new().properties_query(properties_query);
            session.query_files(request).map(|found| found.available_files.len())
        }
        _ => panic!("no hostile call is named {name}"),
    }
}

const HOSTILE: [&str; 4] =
    ["nested lists", "parts of long texts", "a search of files", "properties of files"];

#[test]
fn a_deadline_is_looked_at_inside_one_record() {
    let world = world();
    for name in HOSTILE {
        let started = Instant::now();
        let session = world.session.with_deadline(started + Duration::from_millis(200));
        let error = hostile(&session, name).unwrap_err();
        let elapsed = started.elapsed();
        assert_eq!(error.kind(), ErrorKind::DeadlineExceeded, "{name}: {error}");
        assert!(elapsed < Duration::from_millis(200) + SLACK, "{name} took {elapsed:?}");
        println!("{name}: {elapsed:?}");
    }
}

#[test]
fn a_cancellation_ends_a_filter_inside_one_record() {
    let world = world();
    for name in HOSTILE {
        let control = Control::default();
        let session = world.session.with_control(&control);
        let started = Instant::now();
        let error = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(100));
                control.cancel();
            });
            hostile(&session, name).unwrap_err()
        });
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{name}: {error}");
        assert!(started.elapsed() < SLACK, "{name} took {:?}", started.elapsed());
    }
    // The flag of a session and the control of a call are both checked.
    let control = Control::default();
    let session = world.session.with_control(&control);
    control.cancel();
    let mut out = Vec::new();
    let id = world.session.get_files(GetFilesRequest::default()).unwrap().available_files[0]
        .id
        .to_string();
    let error =
        session.download_file(&id.as_str().into(), &mut out, &Control::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

#[test]
fn the_bound_on_the_work_of_one_record_is_an_error_of_its_own() {
    let world = world();
    // Each comparison counts as a scan of both texts, although their first letters differ.
    let filter = vec!["properties[\"a\"] = properties[\"b\"]"; 4_000].join(" or ");
    let error = products(&world.session, filter.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    assert_eq!(error.place(), Some(&Place::Member("filter".to_owned())));
    assert!(error.message().contains("FILTER_WORK"), "{error}");
    assert_eq!(error.resource().map(|(kind, _)| kind), Some("Product"));
    // Half of the filter is within the limit.
    let half = filter.split(" or ").take(2_000).collect::<Vec<_>>().join(" or ");
    assert_eq!(products(&world.session, half).unwrap(), 0);
}

#[test]
fn a_long_text_that_a_filter_names_often_is_not_copied_for_each() {
    if !crate::is_child("work::a_long_text_that_a_filter_names_often_is_not_copied_for_each") {
        return;
    }
    let world = world();
    let started = Instant::now();
    // A long constant, with 9,000 fields in one list.
    let long = "x".repeat(180_000);
    let fields = ["id", "partNumber", "name", "family"].iter().cycle().take(9_000);
    let filter = format!("\"{long}\" in ({})", fields.copied().collect::<Vec<_>>().join(","));
    assert!(filter.len() < 256 * 1024);
    assert_eq!(products(&world.session, filter).unwrap(), 0);
    // A long substitution that the filter uses 10,000 times.
    let query = QueryProductsRequest::new()
        .filter(vec!["name.Contains(@0)"; 10_000].join(" or "))
        .substitutions([serde_json::Value::from(long)]);
    let error = world.session.query_products(query).unwrap_err();
    assert!(error.message().contains("FILTER_SUBSTITUTED_BYTES"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

#[test]
fn a_deadline_is_looked_at_between_the_tests_of_rows() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let index = Column::new("i", DataType::Int64).column_type(ColumnType::Index);
    let text = Column::new("s", DataType::String);
    let table = CreateTableRequest::new([index, text]);
    let table = session.create_table(table).unwrap().to_string();
    let long = "0123456789abcdef".repeat(256);
    let data: Vec<_> =
        (0..4_000).map(|row| vec![Some(row.to_string()), Some(long.clone())]).collect();
    let frame = Some(DataFrame::new().data(data));
    session
        .append_table_data(&table.as_str().into(), AppendTableDataRequest::new().maybe_frame(frame))
        .unwrap();
    let test = |at: usize| {
        ColumnFilter::new("s", FilterOperation::NotContains).value(format!("fedcba{at}"))
    };
    let filters = Some((0..10_000).map(test).collect::<Vec<_>>());
    let started = Instant::now();
    let session = session.with_deadline(started + Duration::from_millis(200));
    let query = QueryTableDataRequest::new().maybe_filters(filters);
    let error = session.query_table_data(&table.as_str().into(), query).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded, "{error}");
    assert!(started.elapsed() < SLACK, "{:?}", started.elapsed());
}
