use crate::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use crate::test_store::TestStore;

pub fn request(serial: &str) -> Value {
    json!({
        "name": format!("DMM {serial}"), "modelName": "PXI-4071", "vendorName": "NI", "serialNumber": serial,
        "busType": "PCI_PXI", "location": {"minionId": "station-1", "state": {"assetPresence": "PRESENT"}},
    })
}

pub fn create(service: &impl AssetService, assets: Vec<Value>) -> CreateAssetsPartialSuccess {
    service.create_assets(serde_json::from_value(assets.into()).unwrap()).unwrap()
}

fn create_one(service: &impl AssetService, asset: Value) -> Asset {
    create(service, vec![asset]).assets.unwrap().pop().unwrap()
}

fn update(service: &impl AssetService, assets: Value) -> UpdateAssetsPartialSuccess {
    service.update_assets(serde_json::from_value(assets).unwrap()).unwrap()
}

fn query(service: &impl AssetService, value: Value) -> stationdb::Result<QueryAssetsResponse> {
    service.query_assets(serde_json::from_value(value).unwrap())
}

fn found(service: &impl AssetService, filter: &str) -> Vec<String> {
    let answer = query(service, json!({"filter": filter}))
        .unwrap_or_else(|error| panic!("{filter}: {error}"));
    answer.assets.unwrap().into_iter().filter_map(|asset| asset.serial_number).collect()
}

#[test]
fn creates_are_strict_about_identity() {
    let store = TestStore::new();
    let session = store.session();
    let answer = create(&session, vec![request("1"), request("2")]);
    assert_eq!((answer.assets.unwrap().len(), answer.failed, answer.error), (2, None, None));
    let by_number = |number: Option<u64>, name: &str| {
        let mut value = request("3");
        value["modelNumber"] = json!(number);
        value["modelName"] = name.into();
        value
    };
    let mut incomplete = request("4");
    incomplete["vendorName"] = Value::Null;
    let mut elsewhere = request("1");
    elsewhere["workspace"] = "other".into();
    let answer = create(
        &session,
        vec![
            request("1"),
            request(" 1 "),
            elsewhere,
            incomplete.clone(),
            by_number(Some(7), "a"),
            by_number(Some(7), "b"),
            by_number(None, "a"),
            by_number(Some(8), "a"),
        ],
    );
    assert_eq!(answer.assets.unwrap().len(), 2);
    assert_eq!(answer.failed.unwrap().len(), 6);
    let error = answer.error.unwrap();
    assert_eq!((error.code, error.inner_errors.len()), (Some(-251_040), 6));
    let named = |inner: &stationdb::ApiError| {
        inner.resource_type.as_deref() == Some("Asset") && !inner.args.is_empty()
    };
    assert!(error.inner_errors.iter().all(named), "{error:?}");
    let ids: Vec<_> =
        error.inner_errors.iter().map(|inner| inner.resource_id.as_deref().unwrap()).collect();
    assert_eq!(ids, ["DMM 1", "DMM  1 ", "DMM 1", "DMM 4", "DMM 3", "DMM 3"]);
    let answer = create(&session, vec![incomplete]);
    assert_eq!((answer.assets, answer.failed.unwrap().len()), (Some(vec![]), 1));
    assert_eq!(create(&session, vec![]).assets, Some(vec![]));
    let many =
        serde_json::from_value((0..1001).map(|n| request(&n.to_string())).collect()).unwrap();
    assert_eq!(session.create_assets(many).unwrap_err().kind(), ErrorKind::LimitExceeded);
    let mut without_serial = request("");
    assert_eq!(create(&session, vec![without_serial.clone()]).assets.unwrap().len(), 1);
    assert_eq!(create(&session, vec![without_serial.clone()]).failed.unwrap().len(), 1);
    without_serial["location"]["minionId"] = "station-2".into();
    assert_eq!(create(&session, vec![without_serial]).assets.unwrap().len(), 1);
}

#[test]
fn sixteen_threads_create_one_identity_and_one_wins() {
    let store = TestStore::new();
    let won = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let session = store.session();
                for _ in 0..50 {
                    won.fetch_add(
                        create(&session, vec![request("1")]).assets.unwrap().len(),
                        Ordering::Relaxed,
                    );
                }
            });
        }
    });
    assert_eq!(won.into_inner(), 1);
}

#[test]
fn queries_page_count_order_and_project() {
    let store = TestStore::new();
    let session = store.session();
    for serial in ["b", "a", "c"] {
        create_one(&session, request(serial));
        store.clock.advance_ms(1000);
    }
    let serials = |value: Value| -> Vec<String> {
        query(&session, value)
            .unwrap()
            .assets
            .unwrap()
            .into_iter()
            .filter_map(|asset| asset.serial_number)
            .collect()
    };
    assert_eq!(serials(json!({})), ["b", "a", "c"]);
    assert_eq!(serials(json!({"descending": true})), ["b", "a", "c"]);
    assert_eq!(
        serials(json!({"orderBy": "LAST_UPDATED_TIMESTAMP", "descending": true})),
        ["c", "a", "b"]
    );
    assert_eq!(serials(json!({"skip": 1, "take": 1})), ["a"]);
    assert!(serials(json!({"skip": 9})).is_empty());
    let answer = query(&session, json!({"take": 0, "returnCount": true, "skip": 2})).unwrap();
    assert_eq!((answer.assets, answer.total_count), (Some(vec![]), Some(3)));
    assert_eq!(query(&session, json!({"take": -1})).unwrap().total_count, None);
    let answer =
        query(&session, json!({"take": 1, "projection": ["SERIAL_NUMBER", "CALIBRATION_STATUS"]}))
            .unwrap();
    assert_eq!(
        serde_json::to_value(answer).unwrap(),
        json!({"assets": [{"serialNumber": "b", "calibrationStatus": "OK"}]})
    );
    for bad in [
        json!({"take": -2}),
        json!({"take": 1001}),
        json!({"skip": -1}),
        json!({"filter": "Nothing = 1"}),
        json!({"filter": "AssetName = @0"}),
        json!({"filter": "BusType = \"NONE\""}),
        json!({"filter": "ModelNumber = \"x\""}),
    ] {
        assert_eq!(
            query(&session, bad.clone()).unwrap_err().kind(),
            ErrorKind::InvalidArgument,
            "{bad}"
        );
    }
}

#[test]
fn the_properties_of_the_reference_can_be_filtered() {
    let store = TestStore::new();
    let session = store.session();
    let mut full = request("full");
    for (path, value) in [
        ("modelNumber", json!(4071)),
        ("vendorNumber", json!(4243)),
        ("partNumber", json!("P")),
        ("firmwareVersion", json!("1.2")),
        ("hardwareVersion", json!("A")),
        ("isNIAsset", json!(true)),
        ("keywords", json!(["a", "b"])),
        ("properties", json!({"k": "v", "l": "w"})),
        ("scanCode", json!("S")),
        ("customCalibrationInterval", json!(24)),
        ("selfCalibration", json!({"date": "2024-01-01T00:00:00Z"})),
        (
            "externalCalibration",
            json!({
                "date": "2024-02-01T00:00:00Z", "recommendedInterval": 12, "isLimited": false, "comments": "fine",
                "nextRecommendedDate": "2025-02-01T00:00:00Z", "nextCustomDueDate": "2024-03-15T00:00:00Z",
            }),
        ),
    ] {
        full[path] = value;
    }
    full["location"]["slotNumber"] = 3.into();
    full["location"]["parent"] = "chassis".into();
    let other = json!({
        "modelName": "Other", "vendorName": "Acme", "serialNumber": "other", "busType": "USB",
        "location": {"physicalLocation": "shelf", "state": {"assetPresence": "NOT_PRESENT"}},
    });
    let created = create(&session, vec![full, other]).assets.unwrap();
    session
        .set_system_connection("station-1", Some(SystemConnection::ConnectedUpdatePending))
        .unwrap();
    let id = created[0].id.clone().unwrap();
    for filter in [
        &*format!("AssetIdentifier = \"{id}\""),
        "SerialNumber = \"full\" and AssetName.Contains(\"DMM\")",
        "ModelName.Contains(\"PXI\") and (BusType = \"PCI_PXI\" or BusType = \"GPIB\")",
        "VendorName = \"NI\" and VendorNumber >= 4243 and ModelNumber < 5000",
        "PartNumber = \"P\" and FirmwareVersion = \"1.2\" and HardwareVersion > \"0\"",
        "IsNIAsset = True",
        "isvendorasset = true",
        "Keywords=[\"a\",\"b\"]",
        "Keywords.Contains(\"a\")",
        "Properties=[\"k\":\"v\",\"l\":\"w\"]",
        "Location.MinionId = \"station-1\" && Location.SlotNumber = 3",
        "Location.Parent = \"chassis\"",
        "Locations.Any(l => l.MinionId = \"station-1\" || l.PhysicalLocation = \"none\")",
        "Location.AssetState.SystemConnection = \"CONNECTED\"",
        "Location.AssetState.SystemConnection = \"CONNECTED_UPDATE_FAILED\"",
        "Location.AssetState.AssetPresence = \"PRESENT\"",
        "SupportsSelfCalibration = true and SupportsExternalCalibration = true",
        "SelfCalibration.CalibrationDate >= \"2024-01-01\"",
        "CalibrationStatus = \"APPROACHING_RECOMMENDED_DUE_DATE\"",
        "CustomCalibrationInterval = 24 and ExternalCalibration.RecommendedInterval = 12",
        "ExternalCalibration.CalibrationDate = \"2024-02-01T00:00:00Z\"",
        "ExternalCalibration.NextRecommendedDate = \"2024-03-15\"",
        "ExternalCalibration.Comments = \"fine\" and ExternalCalibration.IsLimited = false",
        "ScanCode = \"S\" and Workspace = \"default\"",
        "!AssetName.Contains(\"Other\") and PartNumber = \"P\"",
    ] {
        assert_eq!(found(&session, filter), ["full"], "{filter}");
    }
    for filter in [
        "Location.PhysicalLocation = \"shelf\"",
        "Keywords!=[\"a\"]",
        "IsNIAsset != true",
        "CalibrationStatus = \"OK\"",
        "Location.AssetState.AssetPresence = \"NOT_PRESENT\"",
    ] {
        assert_eq!(found(&session, filter), ["other"], "{filter}");
    }
}

#[test]
fn a_store_is_not_opened_with_a_vendor_prefix_that_names_nothing() {
    for bad in ["", "N I", "1A"] {
        let disk = Arc::new(MemoryDisk::new());
        let error = StoreOptions::default().vendor_prefix(bad).open_disk(disk.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{bad:?}");
        StoreOptions::default().vendor_prefix("Acme").open_disk(disk).unwrap();
    }
}

#[test]
fn the_vendor_prefix_names_the_filter_property() {
    let store = TestStore::with(|options| options.vendor_prefix("Acme".to_owned()));
    let session = store.session();
    let mut asset = request("1");
    asset["isVendorAsset"] = true.into();
    create_one(&session, asset);
    assert_eq!(found(&session, "IsAcmeAsset = true"), ["1"]);
    assert_eq!(found(&session, "IsVendorAsset = true"), ["1"]);
}

#[test]
fn the_calibration_status_follows_the_clock() {
    let store = TestStore::new();
    let session = store.session();
    let mut asset = request("1");
    asset["externalCalibration"] = json!({
        "date": "2024-02-29T00:00:00Z", "recommendedInterval": 12, "nextRecommendedDate": "2025-02-28T00:00:00Z",
        "resolvedDueDate": "1999-01-01T00:00:00Z",
    });
    let id = create_one(&session, asset).id.unwrap();
    for (now, status) in [
        ("2025-01-28T23:59:59Z", "OK"),
        ("2025-01-29T00:00:00Z", "APPROACHING_RECOMMENDED_DUE_DATE"),
        ("2025-02-28T00:00:00Z", "PAST_RECOMMENDED_DUE_DATE"),
    ] {
        store.clock.set(now.parse().unwrap());
        let asset = session.get_asset(&id).unwrap();
        assert_eq!(asset.calibration_status.unwrap().as_str(), status);
        assert_eq!(
            asset.external_calibration.unwrap().resolved_due_date,
            Some("2025-02-28T00:00:00Z".parse().unwrap())
        );
        assert_eq!(found(&session, &format!("CalibrationStatus = \"{status}\"")), ["1"], "{now}");
    }
    let _ = update(&session, json!([{"id": id, "outForCalibration": true}]));
    assert_eq!(
        found(&session, "CalibrationStatus = \"OUT_FOR_CALIBRATION\" and OutForCalibration = true"),
        ["1"]
    );
    let summary = session.asset_summary().unwrap();
    assert_eq!((summary.total, summary.total_calibrated, summary.out_for_calibration), (1, 1, 1));
    let answer = update(
        &session,
        json!([{"id": id, "externalCalibration": {
            "date": "2025-03-01T00:00:00Z", "recommendedInterval": 12, "nextRecommendedDate": "2026-03-01T00:00:00Z",
        }}]),
    );
    let asset = answer.assets.unwrap().remove(0);
    assert_eq!(
        (asset.out_for_calibration, asset.calibration_status),
        (Some(false), Some(CalibrationStatus::Ok))
    );
}

#[test]
fn updates_find_by_id_or_identity_and_create_nothing() {
    let store = TestStore::new();
    let session = store.session();
    let created = create(&session, vec![request("1"), request("2")]).assets.unwrap();
    store.clock.advance_ms(1000);
    let answer = update(
        &session,
        json!([
            {"id": created[0].id, "name": "by id", "serialNumber": "ignored"},
            {"modelName": "PXI-4071", "vendorName": "NI", "serialNumber": "2", "busType": "PCI_PXI", "name": "by identity"},
            {"modelName": "PXI-4071", "vendorName": "NI", "serialNumber": "3", "busType": "PCI_PXI"},
            {"id": "x", "name": "nobody"},
            {"name": "nothing to find it by"},
        ]),
    );
    let assets = answer.assets.unwrap();
    assert_eq!(
        assets.iter().filter_map(|a| a.name.as_deref()).collect::<Vec<_>>(),
        ["by id", "by identity"]
    );
    assert_eq!(assets[0].serial_number.as_deref(), Some("1"));
    assert!(assets[0].last_updated_timestamp > created[0].last_updated_timestamp);
    assert_eq!(answer.failed.unwrap().len(), 3);
    let error = answer.error.unwrap();
    assert_eq!(error.inner_errors[1].code, Some(-253_426));
    assert_eq!(query(&session, json!({"returnCount": true})).unwrap().total_count, Some(2));
    // Without serial numbers, the system is part of the identity. So a move may collide with
    // another asset.
    let mut one = request("");
    one["location"]["minionId"] = "station-8".into();
    let mut two = request("");
    two["location"]["minionId"] = "station-9".into();
    let created = create(&session, vec![one, two]).assets.unwrap();
    let answer =
        update(&session, json!([{"id": created[0].id, "location": {"minionId": "station-9"}}]));
    assert_eq!((answer.assets.unwrap().len(), answer.failed.unwrap().len()), (0, 1));
    let answer = update(
        &session,
        json!([{"id": created[0].id, "location": {"state": {"assetPresence": "REMOVED"}}}]),
    );
    assert_eq!(answer.assets.unwrap()[0].location.as_ref().unwrap().minion_id, None);
}

#[test]
fn deletes_answer_with_a_record_always() {
    let store = TestStore::new();
    let session = store.session();
    let id = create_one(&session, request("1")).id.unwrap().to_string();
    let answer =
        session.delete_assets(vec![id.clone().into(), id.clone().into(), "x".into()]).unwrap();
    assert_eq!((answer.ids, answer.failed), (Some(vec![id.clone()]), Some(vec!["x".to_owned()])));
    let inner = &answer.error.unwrap().inner_errors[0];
    assert_eq!((inner.code, inner.resource_type.as_deref()), (Some(-253_426), Some("Asset")));
    let answer = session.delete_assets(vec![]).unwrap();
    assert_eq!((answer.ids, answer.failed, answer.error), (Some(vec![]), None, None));
    assert_eq!(session.get_asset(&id.as_str().into()).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(
        session.delete_assets(vec![id.into(); 1001]).unwrap_err().kind(),
        ErrorKind::LimitExceeded
    );
    assert_eq!(create(&session, vec![request("1")]).assets.unwrap().len(), 1);
}

#[test]
fn files_are_linked_once_and_unlinked() {
    let store = TestStore::new();
    let session = store.session();
    let asset = create_one(&session, request("1"));
    let id = asset.id.clone().unwrap();
    let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    store.clock.advance_ms(1000);
    assert_eq!(
        session.link_files(&id, ids(&["f1", "f2"]).into_iter().map(Into::into).collect()).unwrap(),
        None
    );
    let linked = session.get_asset(&id).unwrap();
    assert!(linked.last_updated_timestamp > asset.last_updated_timestamp);
    let answer = session
        .link_files(&id, ids(&["f2", " ", "f3"]).into_iter().map(Into::into).collect())
        .unwrap()
        .unwrap();
    assert_eq!((answer.succeeded, answer.failed), (Some(ids(&["f2", "f3"])), Some(ids(&[" "]))));
    let inner = &answer.error.unwrap().inner_errors[0];
    assert_eq!(
        (inner.code, inner.resource_type.as_deref(), &inner.args),
        (Some(-254_806), Some("Asset"), &ids(&[" "]))
    );
    assert_eq!(session.get_asset(&id).unwrap().file_ids, Some(ids(&["f1", "f2", "f3"])));
    let answer =
        session.link_files(&id, ids(&[""]).into_iter().map(Into::into).collect()).unwrap().unwrap();
    assert_eq!((answer.succeeded, answer.failed.unwrap().len()), (Some(vec![]), 1));
    session.unlink_file(&id, &"f2".into()).unwrap();
    session.unlink_file(&id, &"f9".into()).unwrap();
    assert_eq!(session.get_asset(&id).unwrap().file_ids, Some(ids(&["f1", "f3"])));
    let many: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
    let answer = session
        .link_files(&id, many.clone().into_iter().map(Into::into).collect())
        .unwrap()
        .unwrap();
    assert_eq!(
        (answer.succeeded.unwrap().len(), answer.failed.unwrap()),
        (998, ids(&["998", "999"]))
    );
    assert_eq!(
        session
            .link_files(&"x".into(), many.into_iter().map(Into::into).collect())
            .unwrap_err()
            .api_error()
            .code,
        Some(-253_426)
    );
    assert_eq!(
        session.unlink_file(&"x".into(), &"f".into()).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        session
            .link_files(&id, ids(&["f"; 1001]).into_iter().map(Into::into).collect())
            .unwrap_err()
            .kind(),
        ErrorKind::LimitExceeded
    );
}

#[test]
fn a_connection_belongs_to_the_system_and_reaches_later_assets() {
    let store = TestStore::new();
    let session = store.session();
    create_one(&session, request("1"));
    assert_eq!(
        session.set_system_connection("station-1", Some(SystemConnection::Connected)).unwrap(),
        1
    );
    assert_eq!(
        session.set_system_connection("station-1", Some(SystemConnection::Connected)).unwrap(),
        0
    );
    let later = create_one(&session, request("2"));
    assert_eq!(later.system_connection(), Some(SystemConnection::Connected));
    let summary = session.asset_summary().unwrap();
    assert_eq!((summary.total, summary.active, summary.not_active), (2, 2, 0));
    let moved = update(&session, json!([{"id": later.id, "location": {"minionId": "station-2"}}]));
    assert_eq!(moved.assets.unwrap()[0].system_connection(), None);
    drop(session);
    let store = store.reopen();
    let session = store.session();
    assert_eq!(found(&session, "Location.AssetState.SystemConnection = \"CONNECTED\""), ["1"]);
    assert_eq!(session.set_system_connection("station-1", None).unwrap(), 1);
    assert_eq!(session.asset_summary().unwrap().active, 0);
    assert!(session.set_system_connection(" ", None).is_err());
}

#[derive(Clone, Debug)]
enum Step {
    Create(u8),
    Rename(u8, u8),
    Link(u8, u8),
    Delete(u8),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u8..6).prop_map(Step::Create),
        3 => (0u8..6, 0u8..3).prop_map(|(serial, name)| Step::Rename(serial, name)),
        3 => (0u8..6, 0u8..3).prop_map(|(serial, file)| Step::Link(serial, file)),
        2 => (0u8..6).prop_map(Step::Delete),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The service compared with a map from serial number to asset, with reopenings.
    #[test]
    fn the_service_equals_its_model(steps in proptest::collection::vec(step(), 1..40)) {
        let mut store = TestStore::new();
        let mut model: BTreeMap<String, Asset> = BTreeMap::new();
        for step in steps {
            let session = store.session();
            match step {
                Step::Create(serial) => {
                    let serial = serial.to_string();
                    let created = create(&session, vec![request(&serial)]).assets.unwrap();
                    prop_assert_eq!(created.len(), usize::from(!model.contains_key(&serial)));
                    model.extend(created.into_iter().map(|asset| (serial.clone(), asset)));
                }
                Step::Rename(serial, name) => {
                    let mut change = request(&serial.to_string());
                    change["name"] = name.to_string().into();
                    let answer = update(&session, json!([change]));
                    let stored = model.get_mut(&serial.to_string());
                    prop_assert_eq!(answer.failed.is_none(), stored.is_some());
                    if let Some(stored) = stored {
                        stored.name = Some(name.to_string());
                    }
                }
                Step::Link(serial, file) => {
                    let stored = model.get_mut(&serial.to_string());
                    let id = stored.as_ref().and_then(|asset| asset.id.clone()).unwrap_or_default();
                    let answer = session.link_files(&id, vec![file.to_string().into()]);
                    prop_assert_eq!(answer.is_ok(), stored.is_some());
                    if let Some(stored) = stored {
                        let files = stored.file_ids.get_or_insert_default();
                        if !files.contains(&file.to_string()) {
                            files.push(file.to_string());
                        }
                    }
                }
                Step::Delete(serial) => {
                    let removed = model.remove(&serial.to_string());
                    let id = removed.as_ref().and_then(|asset| asset.id.clone()).unwrap_or_default();
                    let answer = session.delete_assets(vec![id.to_string().into()]).unwrap();
                    prop_assert_eq!(answer.failed.is_none(), removed.is_some());
                }
                Step::Reopen => {
                    drop(session);
                    store = store.reopen();
                }
            }
            let mut stored = query(&store.session(), json!({})).unwrap().assets.unwrap();
            stored.sort_by(|a, b| a.serial_number.cmp(&b.serial_number));
            prop_assert_eq!(stored, model.values().cloned().collect::<Vec<_>>());
        }
    }
}
