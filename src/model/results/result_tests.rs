use std::collections::BTreeMap;

use serde_json::json;

use crate::ErrorKind;
use crate::model::resource::Resource;
use crate::model::results::*;
use crate::value::{RecordKey, stored, time};

fn request() -> CreateResultRequest {
    CreateResultRequest::new()
        .program_name("Gain")
        .status(StatusType::Passed)
        .part_number("156502A-11L")
        .total_time_in_seconds(29.9)
        .keywords(["a", "b", "a"])
}

fn result() -> TestResult {
    let request = CreateResultRequest {
        properties: Some(BTreeMap::from([
            ("lot".to_owned(), Some("7".to_owned())),
            ("empty".to_owned(), None),
        ])),
        ..request()
    };
    let now = time::parse("2024-02-29T12:00:00.5Z").unwrap();
    let mut result = TestResult::create(request, now, "default").unwrap();
    result.id = Some(RecordKey::generate(TestResult::KIND, 1, 42).into());
    result
}

#[test]
fn an_answer_has_the_published_members_and_no_others() {
    let mut result = result();
    result.steps_created = 7;
    let id = result.id().to_owned();
    let wire = json!({
        "id": id, "programName": "Gain", "status": {"statusType": "PASSED"},
        "partNumber": "156502A-11L", "startedAt": "2024-02-29T12:00:00.500Z",
        "totalTimeInSeconds": 29.9, "keywords": ["a", "b"],
        "properties": {"lot": "7", "empty": null}, "fileIds": [], "dataTableIds": [],
        "workspace": "default", "updatedAt": "2024-02-29T12:00:00.500Z",
        "statusTypeSummary": {
            "LOOPING": 0, "SKIPPED": 0, "CUSTOM": 0, "DONE": 0, "PASSED": 0, "FAILED": 0,
            "RUNNING": 0, "WAITING": 0, "TERMINATED": 0, "ERRORED": 0, "TIMED_OUT": 0,
        },
    });
    assert_eq!(serde_json::to_value(result.clone().answered()).unwrap(), wire);
    let read = serde_json::from_value::<TestResult>(wire).unwrap();
    assert_eq!(TestResult { steps_created: 7, ..read }, result.clone().answered());
    // What the wire does not show is stored.
    let stored = stored::from_bytes::<TestResult>(&stored::to_bytes(&result).unwrap()).unwrap();
    assert_eq!(stored, result);
}

#[test]
fn a_status_is_read_in_every_spelling_and_keeps_its_name() {
    let read = |value| serde_json::from_value::<Status>(value).unwrap();
    assert_eq!(read(json!({"status_type": "TimedOut"})), StatusType::TimedOut.into());
    let custom = read(json!({"statusType": "custom", "statusName": "Odd"}));
    assert_eq!(custom, Status::new(StatusType::Custom).status_name("Odd"));
    let named = read(json!({"statusType": "PASSED", "statusName": null}));
    assert_eq!(serde_json::to_value(named).unwrap(), json!({"statusType": "PASSED"}));
    let missing = serde_json::from_value::<Status>(json!({"statusName": "Passed"})).unwrap_err();
    assert!(missing.to_string().contains("statusType"), "{missing}");
    assert_eq!(StatusType::ALL.len(), 11);
    assert!(StatusType::TimedOut > StatusType::Errored && StatusType::Looping < StatusType::Done);
}

#[test]
fn an_item_that_breaks_a_rule_is_refused_at_its_member() {
    let refused = |request: CreateResultRequest| {
        let error = TestResult::create(request, time::from_millis(0), "w").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        match error.place() {
            Some(crate::Place::Member(member)) => member.clone(),
            place => panic!("{place:?}"),
        }
    };
    for blank in ["", " ", "\t"] {
        assert_eq!(refused(request().program_name(blank)), "programName");
    }
    assert_eq!(refused(CreateResultRequest { status: None, ..request() }), "status");
    for seconds in [-0.5, f64::NAN, f64::INFINITY] {
        assert_eq!(refused(request().total_time_in_seconds(seconds)), "totalTimeInSeconds");
    }
    assert_eq!(refused(request().properties([("", "v")])), "properties");
}

#[test]
fn updates_merge_or_replace_and_absent_members_stay() {
    let later = time::parse("2024-03-01T00:00:00Z").unwrap();
    let change = || {
        UpdateResultRequest::new()
            .id("id")
            .status(StatusType::Failed)
            .keywords(["c", "a"])
            .file_ids(["f"])
            .properties([("size", "8"), ("lot", "9")])
    };
    let mut merged = result();
    merged.update(change(), false, later).unwrap();
    let texts = |list: &[&str]| Some(list.iter().map(|text| (*text).to_owned()).collect());
    assert_eq!(merged.keywords, texts(&["a", "b", "c"]));
    assert_eq!(merged.file_ids, texts(&["f"]));
    assert_eq!(merged.status, Some(StatusType::Failed.into()));
    assert_eq!(
        (merged.program_name.as_deref(), merged.total_time_in_seconds),
        (Some("Gain"), Some(29.9))
    );
    assert_eq!(merged.updated_at, Some(later));
    let properties = merged.properties.unwrap();
    assert_eq!(
        (properties.len(), properties["lot"].as_deref(), &properties["empty"]),
        (3, Some("9"), &None)
    );

    let mut replaced = result();
    replaced.update(change(), true, later).unwrap();
    assert_eq!(replaced.keywords, texts(&["c", "a"]));
    assert_eq!(replaced.properties.map(|properties| properties.len()), Some(2));

    let empty = || UpdateResultRequest {
        keywords: Some(Vec::new()),
        properties: Some(BTreeMap::new()),
        ..UpdateResultRequest::new().id("id")
    };
    let mut kept = result();
    kept.update(empty(), false, later).unwrap();
    assert_eq!((kept.keywords, kept.properties), (result().keywords, result().properties));
    let mut cleared = result();
    cleared.update(empty(), true, later).unwrap();
    assert_eq!((cleared.keywords, cleared.properties), (Some(Vec::new()), Some(BTreeMap::new())));

    // The time of a record never goes backwards.
    let mut early = result();
    early.update(UpdateResultRequest::new().id("id"), false, time::from_millis(0)).unwrap();
    assert_eq!(early.updated_at, result().updated_at);
}

#[test]
fn a_whole_answer_passes_as_an_update_request() {
    let mut answer = serde_json::to_value(result().answered()).unwrap();
    answer["operator"] = json!(null);
    let request: UpdateResultRequest = serde_json::from_value(answer).unwrap();
    let mut stored = TestResult { operator: Some("ada".to_owned()), ..result() };
    stored.update(request, true, time::from_millis(0)).unwrap();
    assert_eq!(stored.operator.as_deref(), Some("ada"));
    assert_eq!(stored.properties, result().properties);
}

#[test]
fn requests_have_their_published_members() {
    let wire = json!({
        "filter": "partNumber == @0", "substitutions": ["P"], "productFilter": "family == @0",
        "productSubstitutions": ["F"], "orderBy": "PROPERTIES", "orderByKey": "lot",
        "orderByComparisonType": "NUMERIC", "descending": true, "projection": ["ID", "FILE_IDS"],
        "take": -1, "continuationToken": "t", "returnCount": true, "responseFormat": "CSV",
    });
    let query: QueryResultsRequest = serde_json::from_value(wire.clone()).unwrap();
    assert_eq!(query.order_by, Some(ResultOrderBy::Properties));
    assert_eq!(serde_json::to_value(&query).unwrap(), wire);
    let snake: QueryResultsRequest = serde_json::from_value(json!({
        "order_by": "partNumber", "order_by_comparison_type": "lexicographic",
        "product_filter": "a", "projection": ["partNumber", "statusTypeSummary"],
    }))
    .unwrap();
    assert_eq!(snake.order_by, Some(ResultOrderBy::PartNumber));
    assert_eq!(
        snake.projection,
        Some(vec![ResultProjection::PartNumber, ResultProjection::StatusTypeSummary])
    );
    let all = |texts: Vec<&str>| texts.join(" ");
    assert_eq!(
        all(ResultOrderBy::ALL.iter().map(|order| order.as_str()).collect()),
        "ID STARTED_AT UPDATED_AT PROGRAM_NAME SYSTEM_ID HOST_NAME OPERATOR SERIAL_NUMBER \
         PART_NUMBER TOTAL_TIME_IN_SECONDS PROPERTIES PRODUCT"
    );
    assert_eq!(
        all(ResultProjection::ALL.iter().map(|member| member.as_str()).collect()),
        "ID STATUS STARTED_AT UPDATED_AT PROGRAM_NAME SYSTEM_ID HOST_NAME OPERATOR SERIAL_NUMBER \
         PART_NUMBER TOTAL_TIME_IN_SECONDS KEYWORDS PROPERTIES FILE_IDS DATA_TABLE_IDS \
         STATUS_TYPE_SUMMARY WORKSPACE"
    );
    assert!(
        serde_json::from_value::<QueryResultValuesRequest>(json!({"field": "PROPERTIES"})).is_err()
    );
    assert_eq!(
        serde_json::to_value(CreateResultsPartialSuccess::default()).unwrap(),
        json!({"results": []})
    );
    assert_eq!(
        serde_json::to_value(DeleteResultsPartialSuccess::default()).unwrap(),
        json!({"ids": []})
    );
}
