use crate::prelude::*;
use chrono::{DateTime, TimeDelta, Utc};
use proptest::prelude::*;

use crate::assets::{create, request};
use crate::test_store::TestStore;
use crate::wire_time;

fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

/// The id of an asset.
fn id(asset: &Asset) -> &str {
    asset.id.as_deref().unwrap()
}

fn identification(serial: &str) -> Value {
    json!({"modelName": "PXI-4071", "vendorName": "NI", "serialNumber": serial, "busType": "PCI_PXI"})
}

fn start(
    service: &impl AssetService,
    id: Option<&str>,
    serials: &[&str],
) -> StartUtilizationPartialSuccess {
    let assets: Vec<Value> = serials.iter().map(|serial| identification(serial)).collect();
    let request = json!({
        "utilizationIdentifier": id, "minionId": "station-1", "utilizationCategory": "Test", "taskName": "Gain",
        "userName": "ada", "assetIdentifications": assets,
    });
    service.start_utilization(serde_json::from_value(request).unwrap()).unwrap()
}

fn history(
    service: &impl AssetService,
    value: Value,
) -> stationdb::Result<AssetUtilizationHistoryResponse> {
    service.query_asset_utilization_history(serde_json::from_value(value).unwrap())
}

fn identifiers(response: &AssetUtilizationHistoryResponse) -> Vec<&str> {
    response
        .asset_utilizations
        .iter()
        .filter_map(|item| item.utilization_identifier.as_deref())
        .collect()
}

fn ids(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

#[test]
fn a_utilization_starts_lives_and_ends() {
    let store = TestStore::new();
    let session = store.session();
    let assets = create(&session, vec![request("1"), request("2")]).assets.unwrap();
    let answer = start(&session, Some("u"), &["1", "2"]);
    assert_eq!(answer.assets_with_started_utilization.unwrap().len(), 2);
    assert_eq!((answer.failed, answer.error), (None, None));
    let answer = start(&session, Some("u"), &["1", "3", ""]);
    assert_eq!(
        (answer.assets_with_started_utilization, answer.failed.unwrap().len()),
        (Some(vec![]), 3)
    );
    let inner = answer.error.unwrap().inner_errors;
    assert_eq!(
        inner[1].name.as_deref(),
        Some("AssetPerformanceManagement.NonExistingAssetWithIdentifier")
    );
    let before = session.get_asset(&assets[0].id.as_deref().unwrap().into()).unwrap();
    assert_eq!(
        before.last_updated_timestamp, assets[0].last_updated_timestamp,
        "utilization is no change of the asset"
    );

    assert_eq!(session.assets_in_use().unwrap().len(), 2);
    store.clock.advance_ms(599_999);
    assert_eq!(session.asset_summary().unwrap().in_use, 2);
    let answer = session.utilization_heartbeat(ids(&["u", "u", "none"]), None).unwrap();
    assert_eq!(
        (answer.updated_utilization_ids, answer.failed),
        (Some(ids(&["u"])), Some(ids(&["none"])))
    );
    store.clock.advance_ms(599_999);
    assert_eq!(session.assets_in_use().unwrap().len(), 2);
    store.clock.advance_ms(1);
    assert_eq!(session.asset_summary().unwrap().not_in_use, 2);
    let earlier = at("2024-03-01T00:01:00Z");
    assert_eq!(session.utilization_heartbeat(ids(&["u"]), Some(earlier)).unwrap().failed, None);

    let answer = session.end_utilization(ids(&["u"]), Some(at("2024-02-01T00:00:00Z"))).unwrap();
    assert_eq!(answer.failed, Some(ids(&["u"])), "before its start");
    let answer = session.end_utilization(ids(&["u"]), None).unwrap();
    assert_eq!(
        (answer.updated_utilization_ids, answer.failed, answer.error),
        (Some(ids(&["u"])), None, None)
    );
    for answer in [
        session.end_utilization(ids(&["u"]), None).unwrap(),
        session.utilization_heartbeat(ids(&["u"]), None).unwrap(),
    ] {
        assert_eq!(
            (answer.updated_utilization_ids, answer.failed),
            (Some(vec![]), Some(ids(&["u"])))
        );
    }
    let items = history(&session, json!({})).unwrap().asset_utilizations;
    assert_eq!(
        serde_json::to_value(&items[0]).unwrap(),
        json!({
            "utilizationIdentifier": "u", "assetIdentifier": assets[0].id, "minionId": "station-1", "category": "Test",
            "taskName": "Gain", "userName": "ada", "startTimestamp": "2024-03-01T00:00:00.000Z",
            "endTimestamp": "2024-03-01T00:19:59.999Z", "heartbeatTimestamp": "2024-03-01T00:09:59.999Z",
        })
    );
    let _ = session.delete_assets(vec![assets[0].id.clone().unwrap()]).unwrap();
    assert_eq!(history(&session, json!({})).unwrap().asset_utilizations.len(), 1);
}

#[test]
fn one_identifier_with_ended_and_running_records_acts_on_the_running() {
    let store = TestStore::new();
    let session = store.session();
    let _ = create(&session, vec![request("1"), request("2")]);
    let _ = start(&session, Some("u"), &["1"]);
    let _ = session.end_utilization(ids(&["u"]), None).unwrap();
    store.clock.advance_ms(1000);
    let _ = start(&session, Some("u"), &["2"]);
    assert_eq!(session.end_utilization(ids(&["u"]), None).unwrap().failed, None);
    let ends: Vec<_> = history(&session, json!({}))
        .unwrap()
        .asset_utilizations
        .iter()
        .map(|i| i.end_timestamp)
        .collect();
    assert_eq!(ends, [Some(at("2024-03-01T00:00:00Z")), Some(at("2024-03-01T00:00:01Z"))]);
    let answer = start(&session, None, &["1"]);
    assert_eq!(answer.error, None);
    let all = history(&session, json!({})).unwrap();
    assert!(identifiers(&all).iter().any(|id| id.len() == 36), "a generated GUID");
    let many = StartUtilizationRequest::new(vec![AssetIdentification::default(); 101]);
    assert_eq!(session.start_utilization(many).unwrap_err().kind(), ErrorKind::LimitExceeded);
    let none = session.start_utilization(StartUtilizationRequest::default()).unwrap();
    assert_eq!((none.assets_with_started_utilization, none.failed), (Some(vec![]), None));
}

#[test]
fn history_filters_orders_and_pages() {
    let store = TestStore::new();
    let session = store.session();
    let _ = create(&session, vec![request("1"), request("2")]);
    for (id, serial) in [("c", "1"), ("b", "1"), ("a", "2"), ("d", "2")] {
        let _ = start(&session, Some(id), &[serial]);
        if id != "c" {
            store.clock.advance_ms(60_000);
        }
    }
    let all = |value: Value| {
        let mut value = value;
        let mut seen: Vec<String> = Vec::new();
        loop {
            let page = history(&session, value.clone()).unwrap();
            assert!(page.asset_utilizations.len() <= 1);
            seen.extend(identifiers(&page).iter().map(|id| (*id).to_owned()));
            match page.continuation_token {
                Some(token) => value["continuationToken"] = token.into(),
                None => return seen,
            }
        }
    };
    assert_eq!(all(json!({"take": 1})), ["b", "c", "a", "d"], "ties by identifier");
    assert_eq!(
        all(json!({"take": 1, "orderByDescending": true})),
        ["b", "c", "a", "d"],
        "no order, no direction"
    );
    let newest = json!({"take": 1, "orderBy": "START_TIMESTAMP", "orderByDescending": true});
    assert_eq!(all(newest), ["d", "a", "b", "c"], "the direction is that of the start");
    assert_eq!(all(json!({"take": 1, "assetFilter": "SerialNumber = \"2\""})), ["a", "d"]);
    // The direction is part of the token.
    let mut page = history(
        &session,
        json!({"take": 1, "orderBy": "START_TIMESTAMP", "orderByDescending": true}),
    )
    .unwrap();
    let mut seen = vec![identifiers(&page)[0].to_owned()];
    while let Some(token) = page.continuation_token {
        page = history(&session, json!({"take": 1, "continuationToken": token})).unwrap();
        seen.extend(identifiers(&page).iter().map(|id| (*id).to_owned()));
        let other = json!({"take": 1, "continuationToken": token, "orderBy": "START_TIMESTAMP"});
        assert_eq!(history(&session, other).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    assert_eq!(seen, ["d", "a", "b", "c"]);
    let found = |value: Value| {
        let page = history(&session, value).unwrap();
        identifiers(&page).iter().map(|id| (*id).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        found(json!({"utilizationFilter": "StartTimestamp > \"2024-03-01T00:00:30Z\""})),
        ["a", "d"]
    );
    assert_eq!(
        found(json!({
            "utilizationFilter": "Category = \"Test\" and UserName = \"ada\" and TaskName = \"Gain\" and EndTimestamp = null",
            "assetFilter": "ModelName.Contains(\"PXI\") and SerialNumber = \"1\"",
        })),
        ["b", "c"]
    );
    assert!(found(json!({"assetFilter": "SerialNumber = \"9\""})).is_empty());
    assert!(found(json!({"utilizationFilter": "MinionId = \"other\""})).is_empty());
    assert!(found(json!({"take": 0})).is_empty());
    assert_eq!(history(&session, json!({"take": 0})).unwrap().continuation_token, None);
    let token = history(&session, json!({"take": 1})).unwrap().continuation_token;
    for bad in [
        json!({"take": -1}),
        json!({"startTime": "2024-03-02T00:00:00Z", "endTime": "2024-03-01T00:00:00Z"}),
        json!({"utilizationFilter": "Nothing = 1"}),
        json!({"assetFilter": "Nothing = 1"}),
        json!({"continuationToken": "x"}),
        json!({"continuationToken": token, "assetFilter": "SerialNumber = \"1\""}),
    ] {
        assert_eq!(
            history(&session, bad.clone()).unwrap_err().kind(),
            ErrorKind::InvalidArgument,
            "{bad}"
        );
    }
}

#[test]
fn a_range_keeps_what_meets_it() {
    let store = TestStore::new();
    let session = store.session();
    let _ = create(&session, vec![request("1")]);
    for (id, from, to) in [
        ("before", "2024-01-01T00:00:00Z", Some("2024-01-02T00:00:00Z")),
        ("touches", "2024-01-01T00:00:00Z", Some("2024-01-10T00:00:00Z")),
        ("inside", "2024-01-11T00:00:00Z", Some("2024-01-12T00:00:00Z")),
        ("around", "2023-06-01T00:00:00Z", Some("2024-02-01T00:00:00Z")),
        ("running", "2023-01-01T00:00:00Z", None),
        ("after", "2024-01-20T00:00:00.001Z", Some("2024-01-21T00:00:00Z")),
        ("future", "2030-01-01T00:00:00Z", None),
    ] {
        let request = json!({
            "utilizationIdentifier": id, "utilizationTimestamp": from, "assetIdentifications": [identification("1")],
        });
        let _ = session.start_utilization(serde_json::from_value(request).unwrap()).unwrap();
        if let Some(to) = to {
            let _ = session.end_utilization(ids(&[id]), Some(at(to))).unwrap();
        }
    }
    let week = json!({"startTime": "2024-01-10T00:00:00Z", "endTime": "2024-01-20T00:00:00Z"});
    assert_eq!(
        identifiers(&history(&session, week).unwrap()),
        ["running", "around", "touches", "inside"]
    );
    let default = history(&session, json!({})).unwrap();
    assert_eq!(
        identifiers(&default),
        ["running", "around", "before", "touches", "inside", "after"]
    );
    let future = json!({"startTime": "2029-01-01T00:00:00Z", "endTime": "2031-01-01T00:00:00Z"});
    assert_eq!(
        identifiers(&history(&session, future).unwrap()),
        ["future"],
        "nothing else reaches past now"
    );
}

#[test]
fn a_policy_hides_assets_and_their_use_and_refuses_items() {
    let store = TestStore::with(|options| options.access_policy(GuestsRead("one")));
    let session = store.session();
    let in_workspace = |serial: &str, workspace: &str| {
        let mut value = request(serial);
        value["workspace"] = workspace.into();
        value
    };
    let assets =
        create(&session, vec![in_workspace("1", "one"), in_workspace("2", "two")]).assets.unwrap();
    let _ = start(&session, Some("u"), &["1", "2"]);
    let guest = store.store.session(Identity::user("guest"));
    assert_eq!(guest.asset_summary().unwrap().total, 1);
    assert_eq!(guest.assets_in_use().unwrap(), [id(&assets[0]).to_owned()]);
    let items = history(&guest, json!({})).unwrap().asset_utilizations;
    assert_eq!(
        items.iter().filter_map(|item| item.asset_identifier.as_deref()).collect::<Vec<_>>(),
        [id(&assets[0])]
    );
    assert_eq!(guest.get_asset(&id(&assets[1]).into()).unwrap_err().kind(), ErrorKind::NotFound);
    // The identity of an asset is taken even if the guest may not see it.
    for refused in [in_workspace("2", "one"), in_workspace("3", "one")] {
        assert_eq!(create(&guest, vec![refused]).failed.unwrap().len(), 1);
    }
    let inner = |error: Option<stationdb::ApiError>| error.unwrap().inner_errors.remove(0).code;
    assert_eq!(inner(start(&guest, Some("v"), &["1"]).error), Some(-251_009));
    assert_eq!(inner(start(&guest, Some("v"), &["2", "1"]).error), Some(-253_426));
    assert_eq!(inner(guest.end_utilization(ids(&["u"]), None).unwrap().error), Some(-251_009));
    let denied = guest.link_files(&id(&assets[0]).into(), vec!["f".into()]).unwrap_err();
    assert_eq!(denied.kind(), ErrorKind::PermissionDenied);
    let denied =
        guest.set_system_connection("station-1", Some(SystemConnection::Connected)).unwrap_err();
    assert_eq!(denied.kind(), ErrorKind::PermissionDenied);
    assert_eq!(session.get_asset(&id(&assets[0]).into()).unwrap().system_connection(), None);
    store.assert_sound();
}

#[test]
fn a_transaction_sees_its_own_utilizations_and_leaves_nothing_when_it_fails() {
    let store = TestStore::new();
    let session = store.session();
    let failed = session.transaction(|tx| {
        let _ = create(tx, vec![request("1")]);
        assert_eq!(start(tx, Some("u"), &["1"]).error, None);
        assert_eq!(tx.assets_in_use()?.len(), 1);
        assert_eq!(tx.utilization_heartbeat(ids(&["u"]), None)?.failed, None);
        assert_eq!(
            history(tx, json!({"assetFilter": "SerialNumber = \"1\""}))?.asset_utilizations.len(),
            1
        );
        Err::<(), _>(stationdb::Error::conflict("no"))
    });
    assert_eq!(failed.unwrap_err().message(), "no");
    assert!(history(&session, json!({})).unwrap().asset_utilizations.is_empty());
    assert_eq!(session.asset_summary().unwrap(), AssetSummary::default());
    store.assert_sound();
}

#[test]
fn a_large_asset_is_refused_alone_and_leaves_no_index_entries() {
    let store = TestStore::new();
    let session = store.session();
    let mut large = request("1");
    large["properties"] = json!({"text": "x".repeat(stationdb::faults::limits::RECORD_BYTES)});
    let answer = create(&session, vec![large, request("2")]);
    assert_eq!((answer.assets.unwrap().len(), answer.failed.unwrap().len()), (1, 1));
    store.assert_sound();
    assert_eq!(create(&session, vec![request("1")]).assets.unwrap().len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// History pages compared with a scan of all records.
    #[test]
    fn history_equals_a_scan(
        spans in proptest::collection::vec((0i64..1000, proptest::option::of(0i64..1000), 0usize..3), 0..40),
        from in 0i64..1500, width in 0i64..500, take in 1usize..5, descending: bool, some_assets: bool,
    ) {
        let store = TestStore::new();
        let session = store.session();
        let created = create(&session, (0..3).map(|n| request(&n.to_string())).collect()).assets.unwrap();
        let base = at("2024-02-01T00:00:00Z");
        for (number, (start_ms, length, asset)) in spans.iter().enumerate() {
            let start_at = base + TimeDelta::milliseconds(*start_ms);
            let request = json!({
                "utilizationIdentifier": number.to_string(), "utilizationTimestamp": wire_time(start_at),
                "assetIdentifications": [identification(&asset.to_string())],
            });
            let _ = session.start_utilization(serde_json::from_value(request).unwrap()).unwrap();
            if let Some(length) = length {
                let end_at = start_at + TimeDelta::milliseconds(*length);
                let _ = session.end_utilization(vec![number.to_string()], Some(end_at)).unwrap();
            }
        }
        drop(session);
        let store = store.reopen();
        let session = store.session();
        let mut expected: Vec<(i64, String, String)> = spans.iter().enumerate().filter(|(_, (start, length, asset))| {
            *start <= from + width && length.is_none_or(|length| start + length >= from) && !(some_assets && *asset == 0)
        }).map(|(number, (start, _, asset))| {
            (*start, number.to_string(), created[*asset].id.clone().unwrap().to_string())
        }).collect();
        expected.sort();
        if descending {
            expected.sort_by_key(|(start, ..)| std::cmp::Reverse(*start));
        }
        let mut query = json!({
            "take": take, "startTime": wire_time(base + TimeDelta::milliseconds(from)),
            "endTime": wire_time(base + TimeDelta::milliseconds(from + width)),
            "orderBy": "START_TIMESTAMP", "orderByDescending": descending,
            "assetFilter": if some_assets { "SerialNumber != \"0\"" } else { "" },
        });
        let mut seen = Vec::new();
        loop {
            let page = history(&session, query.clone()).unwrap();
            prop_assert!(page.asset_utilizations.len() <= take);
            seen.extend(identifiers(&page).iter().map(|id| (*id).to_owned()));
            match page.continuation_token {
                Some(token) => query["continuationToken"] = token.into(),
                None => break,
            }
        }
        prop_assert_eq!(seen, expected.into_iter().map(|(_, id, _)| id).collect::<Vec<_>>());
    }
}
