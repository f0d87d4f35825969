//! Aggregates and deletions of records by a query, beside the same done by hand.

use crate::prelude::*;

use stationdb::chrono::{DateTime, Datelike, Days, Utc};

/// Guests see the workspace `open`, ada changes everything, bob deletes nothing.
const ROLES: Rule = Rule(|who, _, action| match (who.user_id(), action) {
    ("guest", _) => Visibility::workspaces(["open"]),
    ("bob", Action::Delete) => Visibility::None,
    _ => Visibility::All,
});

struct Bench {
    store: Store,
    ada: Session,
    clock: Arc<ManualClock>,
}

fn bench() -> Bench {
    let clock = Arc::new(ManualClock::new("2024-01-30T00:00:00Z".parse().unwrap()));
    let options = Store::options().maintenance_thread(false).access_policy(ROLES);
    let (store, ada) = opened(options.shared_clock(clock.clone()), Arc::new(MemoryDisk::default()));
    Bench { store, ada, clock }
}

fn asked(session: &Session, value: Value) -> Result<TableAggregates, Error> {
    session.aggregate_records(request(value))
}

/// Specifications with few different categories, lots and limits, over half a year.
fn fill(bench: &Bench, count: usize) {
    let mut random = Random::new(7);
    let mut at = 0;
    while at < count {
        bench.clock.advance_ms(random.below(80 * 3_600_000) as i64);
        let specs: Vec<Value> = (0..1 + random.below(9))
            .map(|_| {
                at += 1;
                let mut spec = json!({
                    "productId": "P", "specId": format!("S-{at}"), "type": "PARAMETRIC",
                    "workspace": if random.below(2) == 0 { "open" } else { "closed" },
                    "properties": { "lot": format!("L{}", random.below(3)), "a.b": "dotted" },
                });
                if random.below(8) > 0 {
                    spec["category"] =
                        json!(["Noise", "Offset", "Zebra"][random.below(3) as usize]);
                }
                if random.below(5) > 0 {
                    // Sums of these are exact in any order.
                    let min = random.below(4000) as f64 / 8.0 - 250.0;
                    spec["limit"] = json!({ "min": min });
                }
                spec
            })
            .collect();
        let made = bench.ada.create_specs(request(json!({ "specs": specs }))).unwrap();
        assert!(made.error.is_none(), "{made:?}");
    }
}

fn all(session: &Session) -> Vec<Value> {
    let (mut specs, mut token) = (Vec::new(), Value::Null);
    loop {
        let asked = json!({ "productIds": ["P"], "take": 1000, "continuationToken": token });
        let page = serde_json::to_value(session.query_specs(request(asked)).unwrap()).unwrap();
        specs.extend(page["specs"].as_array().unwrap().clone());
        token = page["continuationToken"].clone();
        if token.is_null() {
            break;
        }
    }
    specs.sort_by_key(|spec| spec["id"].as_str().unwrap().to_owned());
    specs
}

fn monday(text: &str) -> String {
    let date = text.parse::<DateTime<Utc>>().unwrap().date_naive();
    let monday = date - Days::new(u64::from(date.weekday().num_days_from_monday()));
    format!("{monday}T00:00:00.000Z")
}

fn texts(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// The keys of groups as they are sorted: null last.
type Keys = Vec<(bool, Option<String>)>;

fn sorted_key(text: Option<String>) -> (bool, Option<String>) {
    (text.is_none(), text)
}

#[test]
fn groups_of_fields_and_weeks_agree_with_the_records() {
    let bench = bench();
    fill(&bench, 1_500);
    let guest = bench.store.session(Identity::user("guest"));
    let functions = ["COUNT", "MIN", "MAX", "SUM", "MEAN", "POPULATION_DEVIATION"];
    let mut aggregates: Vec<Value> = functions
        .iter()
        .map(|function| json!({ "function": function, "column": "limit.min" }))
        .collect();
    aggregates.push(json!({ "function": "FIRST", "column": "id" }));
    aggregates.push(json!({ "function": "LAST", "column": "specId" }));
    aggregates
        .push(json!({ "function": "PERCENTILE_NEAREST", "column": "limit.min", "percentile": 50 }));
    let keys = json!([{ "field": "category" }, { "field": "updatedAt", "bucket": "WEEK" },
        { "field": "properties.lot" }]);
    for session in [&bench.ada, &guest] {
        for filter in ["", "category != \"Offset\" and limit.min < 100"] {
            let answer = asked(
                session,
                json!({ "kind": "SPECIFICATION", "groupBy": keys, "aggregates": aggregates,
                    "filter": filter }),
            )
            .unwrap();
            let mut expected: BTreeMap<Keys, Vec<Value>> = BTreeMap::new();
            for spec in all(session) {
                let min = spec.pointer("/limit/min").and_then(Value::as_f64);
                let is_in = spec["category"] != "Offset" && min.is_some_and(|min| min < 100.0);
                if !filter.is_empty() && !is_in {
                    continue;
                }
                let keys = [
                    texts(&spec["category"]),
                    Some(monday(spec["updatedAt"].as_str().unwrap())),
                    texts(&spec["properties"]["lot"]),
                ];
                expected.entry(keys.map(sorted_key).to_vec()).or_default().push(spec);
            }
            assert!(expected.len() > 100, "{}", expected.len());
            assert_eq!(answer.groups.len(), expected.len());
            for (group, (keys, specs)) in answer.groups.iter().zip(&expected) {
                let keys: Vec<Option<String>> = keys.iter().map(|key| key.1.clone()).collect();
                assert_eq!(group.keys, keys);
                assert_eq!(group.rows, specs.len() as i64);
                let mut values: Vec<f64> = specs
                    .iter()
                    .filter_map(|spec| spec.pointer("/limit/min").and_then(Value::as_f64))
                    .collect();
                values.sort_by(f64::total_cmp);
                let count = values.len() as f64;
                let sum: f64 = values.iter().sum();
                let mean = sum / count;
                let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
                let number = |at: usize| -> Option<f64> {
                    group.values[at].value.as_ref().map(|text| text.parse().unwrap())
                };
                assert_eq!(number(0), Some(count));
                assert_eq!(number(1), values.first().copied());
                assert_eq!(number(2), values.last().copied());
                assert_eq!(number(3), (count > 0.0).then_some(sum));
                let near = |at: usize, wanted: f64| match number(at) {
                    None => count == 0.0,
                    Some(found) => (found - wanted).abs() <= 1e-11 * (1.0 + wanted.abs()),
                };
                assert!(near(4, mean) && near(5, (squares / count).sqrt()), "{group:?}");
                assert_eq!(group.values[6].value, texts(&specs[0]["id"]));
                assert_eq!(group.values[7].value, texts(&specs[specs.len() - 1]["specId"]));
                let rank = (values.len() as f64 / 2.0).ceil() as usize;
                assert_eq!(number(8), rank.checked_sub(1).map(|at| values[at]));
            }
        }
    }
    // A guest counts what it sees, and nothing else.
    let count = |session: &Session| {
        asked(session, json!({ "kind": "SPECIFICATION" })).unwrap().groups[0].rows
    };
    let open = all(&bench.ada).iter().filter(|spec| spec["workspace"] == "open").count();
    let whole = all(&bench.ada).len() as i64;
    assert!(whole >= 1_500 && (1..whole).contains(&(open as i64)));
    assert_eq!((count(&bench.ada), count(&guest)), (whole, open as i64));
}

#[test]
fn a_transaction_counts_its_own_records_and_any_kind_has_groups() {
    let bench = bench();
    fill(&bench, 10);
    let count = all(&bench.ada).len() as i64;
    bench
        .ada
        .transaction(|tx| {
            let one = json!({ "productId": "P", "specId": "X", "type": "PARAMETRIC" });
            let made = tx.create_specs(request(json!({ "specs": [one] })))?;
            assert!(made.error.is_none());
            let request: AggregateRecordsRequest = request(json!({ "kind": "SPECIFICATION" }));
            assert_eq!(tx.aggregate_records(request)?.groups[0].rows, count + 1);
            Ok(())
        })
        .unwrap();
    for kind in RecordKind::ALL {
        let by = json!({ "kind": kind.as_str(), "groupBy": [{ "field": "id" }] });
        let found = asked(&bench.ada, by);
        let is_spec = *kind == RecordKind::Specification;
        match found {
            Ok(found) => assert_eq!(
                found.groups.len(),
                if is_spec { count as usize + 1 } else { 0 },
                "{kind}"
            ),
            // Not every kind has the field.
            Err(error) => {
                assert!(!is_spec && error.kind() == ErrorKind::InvalidArgument, "{kind}: {error}");
                let all = asked(&bench.ada, json!({ "kind": kind.as_str() })).unwrap();
                assert_eq!(all.groups[0].rows, 0, "{kind}");
            }
        }
    }
    // Without keys there is one group, also of nothing.
    let none =
        json!({ "kind": "ASSET", "aggregates": [{ "function": "SUM", "column": "modelNumber" }] });
    let none = asked(&bench.ada, none).unwrap().groups;
    assert_eq!((none.len(), none[0].rows, none[0].values[0].value.clone()), (1, 0, None));
}

#[test]
fn what_has_no_groups_is_refused_with_its_place() {
    let bench = bench();
    fill(&bench, 3);
    let refused = |value: Value| {
        let mut whole = json!({ "kind": "SPECIFICATION" });
        whole.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
        let error = asked(&bench.ada, whole).unwrap_err();
        format!("{:?} {error}", error.kind())
    };
    let by = |key: Value| refused(json!({ "groupBy": [key] }));
    for (text, parts) in [
        (by(json!({ "field": "categroy" })), ["groupBy[0].field", "`category`"]),
        (by(json!({ "field": "properties" })), ["groupBy[0].field", "properties.lot"]),
        (by(json!({ "field": "keywords" })), ["groupBy[0].field", "keywords"]),
        (by(json!({ "field": "category", "bucket": "DAY" })), ["groupBy[0].bucket", "DAY"]),
        (by(json!({ "field": "category", "width": 2.0 })), ["groupBy[0].width", "STRING"]),
        (
            by(json!({ "field": "updatedAt", "bucket": "DAY", "width": 2.0 })),
            ["groupBy[0].width", "not both"],
        ),
        (
            refused(json!({ "aggregates": [{ "function": "SUM", "column": "category" }] })),
            ["aggregates[0].function", "SUM"],
        ),
        (
            refused(json!({ "aggregates": [{ "function": "SUM" }] })),
            ["aggregates[0].column", "SUM"],
        ),
        (refused(json!({ "filter": "limit.min <" })), ["InvalidArgument", "filter"]),
    ] {
        assert!(text.starts_with("InvalidArgument"), "{text}");
        assert!(parts.iter().all(|part| text.contains(part)), "{parts:?} in {text}");
    }
    // The key of an entry may have a dot of its own.
    let dotted = json!({ "kind": "SPECIFICATION", "groupBy": [{ "field": "properties.a.b" }] });
    assert_eq!(asked(&bench.ada, dotted).unwrap().groups[0].keys, [Some("dotted".to_owned())]);
    let cancelled = Control::default();
    cancelled.cancel();
    let late = bench.ada.with_control(&cancelled);
    let error = asked(&late, json!({ "kind": "SPECIFICATION" })).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

fn delete(session: &Session, value: Value) -> Result<i64, Error> {
    let request: DeleteRecordsRequest = request(value);
    session.delete_records(request, &Control::default()).map(|answer| answer.deleted_count)
}

#[test]
fn records_that_match_are_deleted_in_steps_with_their_events() {
    let bench = bench();
    fill(&bench, 2_600);
    let before = all(&bench.ada);
    let is_noise = |spec: &Value| spec["category"] == "Noise";
    let position = bench.ada.position();
    let few = json!({ "kind": "SPECIFICATION", "filter": "category = @0",
        "substitutions": ["Noise"], "take": 5 });
    assert_eq!(delete(&bench.ada, few.clone()).unwrap(), 5);
    let first: Vec<&Value> = before.iter().filter(|spec| is_noise(spec)).take(5).collect();
    let left = all(&bench.ada);
    assert!(first.iter().all(|spec| !left.contains(spec)), "the least ids go first");
    let many = json!({ "kind": "SPECIFICATION", "filter": "category != \"Noise\"" });
    let count = before.iter().filter(|spec| !is_noise(spec)).count();
    assert!(count > 1_000, "several steps");
    assert_eq!(delete(&bench.ada, many.clone()).unwrap(), count as i64);
    let left: Vec<Value> = before.iter().filter(|spec| is_noise(spec)).skip(5).cloned().collect();
    assert!(all(&bench.ada) == left);
    assert_eq!(delete(&bench.ada, many).unwrap(), 0);
    let mut changes = bench.ada.changes(position);
    let events: Vec<_> = std::iter::from_fn(|| changes.poll().unwrap()).collect();
    assert_eq!(events.len(), 5 + count);
    assert!(events.iter().all(|event| event.what == What::Deleted && event.who == "ada"));
    let commits: std::collections::BTreeSet<u64> =
        events.iter().map(|event| event.sequence).collect();
    assert_eq!(commits.len(), 1 + count.div_ceil(1_000));
}

#[test]
fn a_deletion_asks_the_policy_and_needs_a_filter() {
    let bench = bench();
    fill(&bench, 300);
    let whole = all(&bench.ada).len();
    let guest = bench.store.session(Identity::user("guest"));
    let bob = bench.store.session(Identity::user("bob"));
    let any = json!({ "kind": "SPECIFICATION", "filter": "id != \"\"" });
    let error = delete(&bob, any.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert_eq!(all(&bench.ada).len(), whole);
    // Only what the caller sees.
    let open = all(&guest).len() as i64;
    assert_eq!(delete(&guest, any.clone()).unwrap(), open);
    assert_eq!(all(&bench.ada).len() as i64, whole as i64 - open);
    for filter in [Value::Null, json!(""), json!("  ")] {
        let error = delete(&bench.ada, json!({ "kind": "SPECIFICATION", "filter": filter }));
        assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    let negative = json!({ "kind": "SPECIFICATION", "filter": "id != \"\"", "take": -1 });
    assert_eq!(delete(&bench.ada, negative).unwrap_err().kind(), ErrorKind::InvalidArgument);
    for kind in ["FEED", "ASSET_UTILIZATION"] {
        let error = delete(&bench.ada, json!({ "kind": kind, "filter": "id != \"\"" }));
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Unsupported, "{kind}");
    }
    let error = delete(&bench.ada.pinned(), any.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let control = Control::default();
    control.cancel();
    let error = bench.ada.delete_records(request(any.clone()), &control).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(all(&bench.ada).len() as i64, whole as i64 - open);
    // In a transaction nothing is deleted if it fails.
    let failed: Result<(), Error> = bench.ada.transaction(|tx| {
        let request = request(any.clone());
        let deleted = tx.delete_records(request, &Control::default())?.deleted_count;
        assert_eq!(deleted, whole as i64 - open);
        Err(Error::invalid("no"))
    });
    assert!(failed.is_err());
    assert_eq!(all(&bench.ada).len() as i64, whole as i64 - open);
}

/// What belongs to a record goes with it, as when it is deleted by its id.
#[test]
fn files_tables_and_assets_go_with_what_belongs_to_them() {
    let bench = bench();
    let ada = &bench.ada;
    let file = request(json!({ "name": "a.bin" }));
    ada.upload_file(&mut vec![7_u8; 1 << 20].as_slice(), file, &Control::default()).unwrap();
    let columns = json!([{ "name": "t", "dataType": "INT64", "columnType": "INDEX" }]);
    let table = ada.create_table(request(json!({ "name": "T", "columns": columns }))).unwrap();
    let rows = json!({ "frame": { "data": [["1"], ["2"]] } });
    ada.append_table_data(&table, request(rows)).unwrap();
    let asset = json!({ "modelName": "M", "vendorName": "V", "serialNumber": "1",
        "location": { "minionId": "bench", "state": { "assetPresence": "PRESENT" } } });
    let made = ada.create_assets(vec![request(asset)]).unwrap();
    assert!(made.error.is_none(), "{made:?}");
    for (kind, filter) in
        [("FILE", "name = \"a.bin\""), ("TABLE", "name = \"T\""), ("ASSET", "serialNumber = \"1\"")]
    {
        assert_eq!(delete(ada, json!({ "kind": kind, "filter": filter })).unwrap(), 1, "{kind}");
        assert_eq!(delete(ada, json!({ "kind": kind, "filter": filter })).unwrap(), 0, "{kind}");
    }
    assert_eq!(ada.get_table_metadata(&table).unwrap_err().kind(), ErrorKind::NotFound);
    let removed = || bench.store.maintain(&Control::default()).unwrap().files_removed;
    assert!(removed() + removed() >= 1, "the content of the file");
    let mut changes = ada.changes(Position::START);
    let events: Vec<_> = std::iter::from_fn(|| changes.poll().unwrap()).collect();
    assert_eq!(events.iter().filter(|event| event.what == What::Deleted).count(), 3);
    let level = stationdb::VerifyLevel::Checksums;
    let report = bench.store.verify(level, &Control::default()).unwrap();
    assert!(report.is_sound(), "{report:?}");
}
