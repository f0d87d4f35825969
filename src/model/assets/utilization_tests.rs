use chrono::{DateTime, Utc};
use proptest::prelude::*;
use serde_json::json;

use super::utilization::*;
use crate::model::assets::utilization_requests::*;
use crate::value::time;

fn at_ms(ms: i64) -> DateTime<Utc> {
    time::from_millis(ms)
}

fn span(start_ms: i64, length_ms: Option<i64>) -> Utilization {
    Utilization {
        start_timestamp: at_ms(start_ms),
        end_timestamp: length_ms.map(|length| at_ms(start_ms + length)),
        ..Default::default()
    }
}

proptest! {
    #[test]
    fn every_span_that_meets_a_range_lies_in_the_range_of_its_class(
        start in 0i64..100_000, length in proptest::option::of(0i64..100_000),
        from in 0i64..100_000, width in 0i64..100_000, now in 0i64..200_000,
    ) {
        let record = span(start, length);
        let (from, to, now) = (at_ms(from), at_ms(from + width), at_ms(now));
        let ranges = class_ranges(from, to, now);
        let range = ranges.iter().find(|range| range.class == record.span_class()).unwrap();
        let is_candidate = (range.start_from_ms..=range.start_to_ms).contains(&start);
        if record.meets(from, to, now) {
            prop_assert!(is_candidate);
        } else if is_candidate {
            // Entries outside of the answer start before the range, by less than one longest span
            // of their class.
            prop_assert!(length.is_some_and(|length| start + 2 * length + 1 >= from.timestamp_millis()));
        }
    }
}

#[test]
fn the_longest_span_of_a_class_that_touches_a_range_lies_in_the_range_of_its_class() {
    let from = at_ms(1 << 40);
    for bits in 1..40 {
        let longest = (1i64 << bits) - 1;
        let record = span(from.timestamp_millis() - longest, Some(longest));
        assert!(record.meets(from, from, from));
        let ranges = class_ranges(from, from, from);
        let range = ranges.iter().find(|range| range.class == record.span_class()).unwrap();
        assert!(range.start_from_ms <= record.start_timestamp.timestamp_millis(), "{bits} bits");
    }
}

#[test]
fn the_longest_span_has_a_class() {
    assert_eq!(span(time::MIN_MS, Some(time::MAX_MS - time::MIN_MS)).span_class(), CLASSES - 1);
    assert_eq!(span(0, Some(0)).span_class(), 1);
    assert_eq!(span(0, Some(1)).span_class(), 2);
    assert_eq!(span(0, None).span_class(), RUNNING);
}

#[test]
fn in_use_follows_the_last_sign_of_life() {
    let timeout_ms = 600_000;
    let mut record = span(0, None);
    assert!(record.is_in_use(at_ms(599_999), timeout_ms));
    assert!(!record.is_in_use(at_ms(600_000), timeout_ms));
    assert!(!record.is_in_use(at_ms(-1), timeout_ms));
    record.heartbeat_timestamp = Some(at_ms(300_000));
    assert!(record.is_in_use(at_ms(899_999), timeout_ms));
    assert!(!record.is_in_use(at_ms(900_000), timeout_ms));
    record.end_timestamp = Some(at_ms(400_000));
    assert!(!record.is_in_use(at_ms(400_000), timeout_ms));
}

#[test]
fn requests_and_answers_have_their_published_members_in_both_spellings() {
    let camel = json!({
        "utilizationIdentifier": "u", "minionId": "m", "utilizationCategory": "Test", "taskName": "t",
        "assetIdentifications": [{
            "modelName": "M", "modelNumber": 1, "serialNumber": "S", "vendorName": "V", "vendorNumber": 2,
            "busType": "PCI_PXI",
        }],
        "userName": "ada", "utilizationTimestamp": "2024-01-01T00:00:00.000Z",
    });
    let snake = json!({
        "utilization_identifier": "u", "minion_id": "m", "utilization_category": "Test", "task_name": "t",
        "asset_identifications": [{
            "model_name": "M", "model_number": 1, "serial_number": "S", "vendor_name": "V", "vendor_number": 2,
            "bus_type": "PciPxi",
        }],
        "user_name": "ada", "utilization_timestamp": "2024-01-01T00:00:00",
    });
    let request: StartUtilizationRequest = serde_json::from_value(camel.clone()).unwrap();
    assert_eq!(serde_json::from_value::<StartUtilizationRequest>(snake).unwrap(), request);
    assert_eq!(serde_json::to_value(request).unwrap(), camel);

    for text in [
        json!({"ids": ["u"], "timestamp": "2024-01-01T00:00:00Z"}),
        json!({"utilization_identifiers": ["u"], "utilization_timestamp": "2024-01-01T00:00:00Z"}),
    ] {
        let request: UpdateUtilizationRequest = serde_json::from_value(text).unwrap();
        assert_eq!(
            serde_json::to_value(request).unwrap(),
            json!({"utilizationIdentifiers": ["u"], "utilizationTimestamp": "2024-01-01T00:00:00.000Z"})
        );
    }

    let query: QueryAssetUtilizationHistoryRequest = serde_json::from_value(json!({
        "utilization_filter": "a", "asset_filter": "b", "take": 5, "continuation_token": "", "order_by": "START_TIMESTAMP",
        "order_by_descending": true, "start_time": "2024-01-01T00:00:00Z", "end_time": "2024-01-02T00:00:00Z",
    }))
    .unwrap();
    assert_eq!(
        serde_json::to_value(query).unwrap(),
        json!({
            "utilizationFilter": "a", "assetFilter": "b", "take": 5, "continuationToken": "",
            "orderBy": "START_TIMESTAMP", "orderByDescending": true,
            "startTime": "2024-01-01T00:00:00.000Z", "endTime": "2024-01-02T00:00:00.000Z",
        })
    );

    let record = Utilization {
        utilization_identifier: "u".into(),
        asset_identifier: "a".into(),
        category: Some(" ".into()),
        task_name: Some("t".into()),
        ..span(0, None)
    };
    assert_eq!(
        serde_json::to_value(AssetUtilizationHistoryItem::from(record)).unwrap(),
        json!({
            "utilizationIdentifier": "u", "assetIdentifier": "a", "taskName": "t",
            "heartbeatTimestamp": "1970-01-01T00:00:00.000Z", "startTimestamp": "1970-01-01T00:00:00.000Z",
        })
    );
    let started = StartUtilizationPartialSuccess {
        assets_with_started_utilization: Some(vec![]),
        ..Default::default()
    };
    assert_eq!(serde_json::to_value(started).unwrap(), json!({"assetsWithStartedUtilization": []}));
    let updated = UpdateUtilizationPartialSuccess {
        updated_utilization_ids: Some(vec![]),
        ..Default::default()
    };
    assert_eq!(serde_json::to_value(updated).unwrap(), json!({"updatedUtilizationIds": []}));
    assert_eq!(
        serde_json::to_value(AssetUtilizationHistoryResponse::default()).unwrap(),
        json!({"assetUtilizations": []})
    );
}
