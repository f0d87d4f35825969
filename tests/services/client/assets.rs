//! Assets, calibration and utilization.

use crate::prelude::*;

use chrono::{DateTime, Utc};

use super::{Client, assert_has};

fn asset(serial: &str, more: Value) -> Value {
    let mut asset = json!({"modelName": "m", "vendorName": "v", "serialNumber": serial,
        "location": {"minionId": "s1", "state": {"assetPresence": "PRESENT"}}});
    for (name, value) in more.as_object().unwrap() {
        asset[name] = value.clone();
    }
    asset
}

#[test]
fn an_asset_answers_as_it_was_stored() {
    let client = Client::new();
    let request = asset(
        "1",
        json!({
        "bus_type": "tcp_ip", "isNIAsset": true, "model_number": 7, "supportsExternalCalibration": false,
        "externalCalibration": {"date": "2024-01-31T23:30:00.1234567-01:00", "recommendedInterval": 1,
            "nextRecommendedDate": "2024-02-20T00:00:00", "resolvedDueDate": "2000-01-01T00:00:00Z", "entryType": "manual"},
        "customCalibrationInterval": 1, "unknown": {"a": []}, "id": "mine", "calibrationStatus": "OK"}),
    );
    let made = client.get("create_assets", json!([request]));
    assert_has(
        &made,
        &json!({"failed": null, "error": null, "assets": [{
        "busType": "TCP_IP", "assetType": "GENERIC", "discoveryType": "MANUAL", "isNIAsset": true, "modelNumber": 7,
        "supportsExternalCalibration": true, "supportsSelfCalibration": null, "calibrationStatus": "APPROACHING_RECOMMENDED_DUE_DATE",
        "externalCalibration": {"date": "2024-02-01T00:30:00.123Z", "recommendedInterval": 1,
            "nextRecommendedDate": "2024-02-20T00:00:00.000Z", "resolvedDueDate": "2024-03-01T00:30:00.123Z", "entryType": "MANUAL"},
        "workspace": "default", "lastUpdatedTimestamp": "2024-03-01T00:00:00.000Z"}]}),
    );
    assert_ne!(made["assets"][0]["id"], "mine");
    assert_eq!(client.get("get_asset", json!({"id": made["assets"][0]["id"]})), made["assets"][0]);
    client.store.clock.advance_ms(1_800_123);
    let page = client.get(
        "query_assets",
        json!({"filter": "CalibrationStatus = \"PAST_RECOMMENDED_DUE_DATE\"",
        "projection": "new(ID, CALIBRATION_STATUS)", "returnCount": true}),
    );
    assert_has(
        &page,
        &json!({"totalCount": 1, "assets": [{"calibrationStatus": "PAST_RECOMMENDED_DUE_DATE", "name": null}]}),
    );
}

#[test]
fn times_of_rust_callers_are_cut_to_milliseconds_like_those_of_others() {
    let client = Client::new();
    let exact = "2024-02-01T00:00:00Z".parse::<DateTime<Utc>>().unwrap()
        + chrono::TimeDelta::nanoseconds(1_999_999);
    let beyond = chrono::DateTime::<chrono::Utc>::MAX_UTC;
    let mut request: CreateAssetRequest = serde_json::from_value(asset(
        "1",
        json!({
        "selfCalibration": {"date": "2024-01-01T00:00:00Z"},
        "externalCalibration": {"date": "2024-01-01T00:00:00Z", "recommendedInterval": 1,
            "nextRecommendedDate": "2025-01-01T00:00:00Z"}}),
    ))
    .unwrap();
    let calibration = request.external_calibration.as_mut().unwrap();
    (calibration.date, calibration.next_custom_due_date) = (Some(exact), Some(beyond));
    request.self_calibration.as_mut().unwrap().date = Some(exact);
    let made = client.session.create_assets(vec![request]).unwrap().assets.unwrap().remove(0);
    assert_eq!(client.session.get_asset(&made.id.as_deref().unwrap().into()).unwrap(), made);
    let made = serde_json::to_value(made).unwrap();
    assert_has(
        &made,
        &json!({"selfCalibration": {"date": "2024-02-01T00:00:00.001Z"},
        "externalCalibration": {"date": "2024-02-01T00:00:00.001Z", "nextCustomDueDate": "9999-12-31T23:59:59.999Z"}}),
    );
    let again: stationdb::assets::Asset = serde_json::from_value(made).unwrap();
    assert!(again.external_calibration.is_some());
}

#[test]
fn asset_filters_of_clients_find_what_they_name() {
    let client = Client::new();
    let made = client.get("create_assets", json!([
        asset("1", json!({"name": "DMM", "keywords": ["a", "b"], "properties": {"k": "v"}, "busType": "PCI_PXI", "isNIAsset": true,
            "modelNumber": 10, "scanCode": "c1", "partNumber": "p"})),
        asset("2", json!({"assetType": "FIXTURE", "keywords": ["a"], "properties": {"k": "w"}, "isNIAsset": false,
            "location": {"physicalLocation": "shelf", "slotNumber": -1, "state": {"assetPresence": "NOT_PRESENT"}}})),
        asset("3", json!({"workspace": "w", "outForCalibration": true})),
    ]));
    assert_eq!(made["assets"].as_array().unwrap().len(), 3);
    for (filter, expected) in [
        (r#"SerialNumber = "1""#, "1"),
        (r#"AssetName.Contains("MM") and (BusType = "PCI_PXI" or BusType = "USB")"#, "1"),
        (r#"!AssetName.Contains("MM")"#, "23"),
        (r#"AssetName != "DMM""#, "23"),
        (r#"IsNIAsset = True"#, "1"),
        (r#"isvendorasset != true"#, "23"),
        (r#"ModelNumber >= 10"#, "1"),
        (r#"ModelNumber != 10"#, "23"),
        (r#"Keywords=["a","b"]"#, "1"),
        (r#"Keywords!=["a","b"]"#, "23"),
        (r#"Keywords.Contains("a")"#, "12"),
        (r#"Properties=["k":"v"]"#, "1"),
        (r#"Properties != ["k" : "v"]"#, "23"),
        (r#"Properties["k"] = "w""#, "2"),
        (r#"Location.MinionId = "s1""#, "13"),
        (r#"Location.SlotNumber < 0"#, "2"),
        (
            r#"Location.PhysicalLocation = "shelf" && Location.AssetState.AssetPresence == "not present""#,
            "2",
        ),
        (r#"Locations.Any(l => l.MinionId = "s1" || l.PhysicalLocation = "shelf")"#, "123"),
        (r#"AssetType = "FIXTURE" or Workspace = "w""#, "23"),
        (r#"CalibrationStatus = "OK""#, "123"),
        (r#"ScanCode <> "c1""#, "23"),
        ("  ", "123"),
    ] {
        let page = client.get(
            "query_assets",
            json!({"filter": filter, "projection": ["SERIAL_NUMBER"], "returnCount": true}),
        );
        let found: String = page["assets"]
            .as_array()
            .unwrap()
            .iter()
            .map(|a| a["serialNumber"].as_str().unwrap())
            .collect();
        assert_eq!(found, expected, "{filter}");
        assert_eq!(page["totalCount"], expected.len(), "{filter}");
        assert!(
            page["assets"].as_array().unwrap().iter().all(|a| a.as_object().unwrap().len() == 1)
        );
    }
    for filter in [
        r#"SerialNumber = @0"#,
        r#"Serial = "1""#,
        r#"ModelNumber = "x""#,
        r#"Keywords = "a""#,
        "BusType > \"USB\"",
        r#"Keywords=["a""#,
        "CalibrationStatus = \"DUE\"",
        "IsNIAsset = 1",
    ] {
        assert_eq!(
            client.refusal("query_assets", json!({"filter": filter})).kind(),
            ErrorKind::InvalidArgument,
            "{filter}"
        );
    }
    for query in [json!({"take": 1001}), json!({"take": -2}), json!({"skip": -1})] {
        assert_eq!(client.refusal("query_assets", query).kind(), ErrorKind::InvalidArgument);
    }
    assert_has(
        &client.get("query_assets", json!({"take": 0, "returnCount": true})),
        &json!({"assets": [], "totalCount": 3}),
    );
    assert_has(
        &client.get("query_assets", json!({"skip": 3, "descending": true})),
        &json!({"assets": [], "totalCount": null}),
    );
}

#[test]
fn utilization_is_started_kept_alive_ended_and_remembered() {
    let client = Client::new();
    client.get("create_assets", json!([asset("1", json!({})), asset("2", json!({}))]));
    let unit = |serial: &str| json!({"modelName": "m", "vendorName": "v", "serialNumber": serial});
    let started = client.get("start_utilization", json!({"utilizationIdentifier": "u", "minionId": "s1",
        "assetIdentifications": [unit("2"), unit("9"), unit("1")], "utilizationCategory": "Test", "taskName": "t", "userName": "bo",
        "utilizationTimestamp": "2024-02-29T23:00:00+00:00"}));
    assert_has(
        &started,
        &json!({"assetsWithStartedUtilization": [{"serialNumber": "2"}, {"serialNumber": "1"}],
        "failed": [{"serialNumber": "9"}], "error": {"code": -251_040, "innerErrors": [{"code": -253_426,
            "name": "AssetPerformanceManagement.NonExistingAssetWithIdentifier"}]}}),
    );
    let beat = client.get(
        "utilization_heartbeat",
        json!({"ids": ["u", "x", "u"], "timestamp": "2024-02-29T23:30:00Z"}),
    );
    assert_has(&beat, &json!({"updatedUtilizationIds": ["u"], "failed": ["x"]}));
    let early = client.get(
        "end_utilization",
        json!({"utilizationIdentifiers": ["u"], "utilizationTimestamp": "2024-02-29T22:00:00Z"}),
    );
    assert_has(&early, &json!({"updatedUtilizationIds": [], "failed": ["u"]}));
    assert_has(
        &client.get("end_utilization", json!({"utilizationIdentifiers": ["u"]})),
        &json!({"updatedUtilizationIds": ["u"], "failed": null}),
    );
    assert_has(
        &client.get("end_utilization", json!({"utilizationIdentifiers": ["u"]})),
        &json!({"failed": ["u"]}),
    );
    let page = client.get(
        "query_asset_utilization_history",
        json!({"utilizationFilter": "Category = \"Test\" and StartTimestamp < \"2024-03-01\"",
        "assetFilter": "SerialNumber = \"1\"", "orderBy": "START_TIMESTAMP", "orderByDescending": true}),
    );
    assert_has(
        &page,
        &json!({"continuationToken": null, "assetUtilizations": [{"utilizationIdentifier": "u", "minionId": "s1",
        "category": "Test", "taskName": "t", "userName": "bo", "startTimestamp": "2024-02-29T23:00:00.000Z",
        "heartbeatTimestamp": "2024-02-29T23:30:00.000Z", "endTimestamp": "2024-03-01T00:00:00.000Z"}]}),
    );
    let none = client.get(
        "query_asset_utilization_history",
        json!({"startTime": "2024-03-01T00:00:00.001Z", "endTime": "2024-03-02T00:00:00Z"}),
    );
    assert_eq!(none, json!({"assetUtilizations": []}));
}

#[test]
fn a_start_of_which_no_asset_is_found_fails_as_a_call() {
    let client = Client::new();
    client.get("create_assets", json!([asset("1", json!({}))]));
    let unit = |serial: &str| json!({"modelName": "m", "vendorName": "v", "serialNumber": serial});
    let start =
        |units: Vec<Value>| json!({"utilizationIdentifier": "u", "assetIdentifications": units});
    for units in [vec![unit("8")], vec![unit("8"), unit("9")]] {
        let error = client.refusal("start_utilization", start(units.clone()));
        assert_eq!((error.kind(), error.resource()), (ErrorKind::NotFound, Some(("Asset", "8"))));
        let error = error.api_error();
        assert_eq!(error.code, Some(-253_426));
        let named: Vec<_> =
            error.inner_errors.iter().filter_map(|inner| inner.resource_id.as_deref()).collect();
        assert_eq!(named, if units.len() == 2 { vec!["8", "9"] } else { vec![] });
    }
    assert_eq!(
        client.get("query_asset_utilization_history", json!({})),
        json!({"assetUtilizations": []})
    );
    // One asset that is found, or rejected for another reason, is enough for a record.
    let some = client.get("start_utilization", start(vec![unit("8"), unit("1")]));
    assert_has(
        &some,
        &json!({"assetsWithStartedUtilization": [unit("1")], "failed": [unit("8")],
        "error": {"innerErrors": [{"resourceType": "Asset", "resourceId": "8"}]}}),
    );
    let incomplete =
        client.get("start_utilization", start(vec![json!({"modelName": "m"}), unit("9")]));
    assert_has(
        &incomplete,
        &json!({"assetsWithStartedUtilization": [], "failed": [{"modelName": "m"}, unit("9")]}),
    );
    assert_has(
        &client.get("start_utilization", start(vec![])),
        &json!({"assetsWithStartedUtilization": [], "failed": null}),
    );
}

#[test]
fn the_first_heartbeat_of_a_utilization_is_its_start() {
    let client = Client::new();
    client.get("create_assets", json!([asset("1", json!({}))]));
    let unit = json!({"modelName": "m", "vendorName": "v", "serialNumber": "1"});
    client.get(
        "start_utilization",
        json!({"utilizationIdentifier": "u", "assetIdentifications": [unit],
        "utilizationTimestamp": "2024-02-29T23:00:00Z"}),
    );
    let beats = |time: &str| {
        let filter = format!("HeartbeatTimestamp = \"{time}\"");
        let page =
            client.get("query_asset_utilization_history", json!({"utilizationFilter": filter}));
        assert_has(&page, &json!({"assetUtilizations": [{"heartbeatTimestamp": time}]}));
    };
    beats("2024-02-29T23:00:00.000Z");
    // A heartbeat with a time before the start changes nothing.
    client.get("utilization_heartbeat", json!({"ids": ["u"], "timestamp": "2024-02-29T22:00:00Z"}));
    beats("2024-02-29T23:00:00.000Z");
    client.get("utilization_heartbeat", json!({"ids": ["u"], "timestamp": "2024-02-29T23:10:00Z"}));
    beats("2024-02-29T23:10:00.000Z");
}

#[test]
fn flags_that_nobody_set_are_false() {
    let client = Client::new();
    let made = client.get(
        "create_assets",
        json!([asset("1", json!({})), asset("2", json!({"isSystemController": true}))]),
    );
    let flags = |is_controller: bool, is_out: bool| json!({"isSystemController": is_controller, "outForCalibration": is_out});
    assert_has(&made, &json!({"assets": [flags(false, false), flags(true, false)]}));
    let id = &made["assets"][0]["id"];
    assert_eq!(client.get("get_asset", json!({"id": id})), made["assets"][0]);
    let found = |filter: &str| {
        let page = client.get(
            "query_assets",
            json!({"filter": filter, "projection": ["SERIAL_NUMBER",
            "IS_SYSTEM_CONTROLLER", "OUT_FOR_CALIBRATION"], "orderBy": "ID"}),
        );
        let serial = |asset: &Value| asset["serialNumber"].as_str().unwrap().to_owned();
        (
            page["assets"].as_array().unwrap().iter().map(serial).collect::<Vec<_>>(),
            page["assets"][0].clone(),
        )
    };
    let (serials, first) = found("isSystemController = false");
    assert_eq!(serials, ["1"]);
    assert_has(&first, &flags(false, false));
    assert_eq!(found("outForCalibration = false").0, ["1", "2"]);
    assert_eq!(
        found("isSystemController = null or outForCalibration = null").0,
        Vec::<String>::new()
    );
    client.get(
        "update_assets",
        json!([{"id": id, "isSystemController": true, "outForCalibration": true}]),
    );
    assert_eq!(found("isSystemController = true").0, ["1", "2"]);
    assert_eq!(found("outForCalibration = true").0, ["1"]);
}

/// A policy: reads everywhere, changes in one workspace.
#[derive(Debug)]
struct ChangesIn(&'static str);

impl AccessPolicy for ChangesIn {
    fn visible(&self, who: &Identity, _: Service, action: Action) -> Visibility {
        if action == Action::Read || who.user_id() == "root" {
            Visibility::All
        } else {
            Visibility::Workspaces(Arc::new(BTreeSet::from([self.0.to_owned()])))
        }
    }
}

#[test]
fn a_refused_heartbeat_leaves_every_record_of_its_identifier_as_it_was() {
    let options = StoreOptions::default().seed(Some(1)).access_policy(ChangesIn("a"));
    let store = options.open_disk(Arc::new(MemoryDisk::new())).unwrap();
    let (root, user) =
        (store.session(Identity::user("root")), store.session(Identity::user("ada")));
    let assets = vec![asset("1", json!({"workspace": "a"})), asset("2", json!({"workspace": "b"}))];
    let _ = root.create_assets(serde_json::from_value(Value::Array(assets)).unwrap()).unwrap();
    let unit = |serial: &str| json!({"modelName": "m", "vendorName": "v", "serialNumber": serial});
    let start =
        json!({"utilizationIdentifier": "u", "assetIdentifications": [unit("1"), unit("2")]});
    assert_eq!(
        root.start_utilization(serde_json::from_value(start).unwrap()).unwrap().failed,
        None
    );
    let before = root.query_asset_utilization_history(Default::default()).unwrap();
    assert_eq!(before.asset_utilizations.len(), 2);
    for answer in [
        user.utilization_heartbeat(vec!["u".into()], None),
        user.end_utilization(vec!["u".into()], None),
    ] {
        assert_eq!(answer.unwrap().failed, Some(vec!["u".to_owned()]));
        assert_eq!(root.query_asset_utilization_history(Default::default()).unwrap(), before);
    }
}
