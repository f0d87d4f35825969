use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::asset::*;
use crate::model::assets::parts::{
    AssetLocationForUpdate, AssetPresenceForUpdate, AssetPresenceStatus, AssetPresenceUpdate,
    CalibrationStatus, SystemConnection,
};
use crate::model::resource::Resource;
use crate::value::{Env, FieldType, RecordKey, Val, stored, time};

fn at(text: &str) -> DateTime<Utc> {
    time::parse(text).unwrap()
}

/// A multimeter with every member of a create request.
fn request() -> Value {
    json!({
        "name": "DMM 1", "modelName": "PXI-4071", "modelNumber": 4071, "serialNumber": "01D6A3F0",
        "vendorName": "NI", "vendorNumber": 4243, "busType": "PCI_PXI", "assetType": "GENERIC",
        "discoveryType": "AUTOMATIC", "firmwareVersion": "1.2", "hardwareVersion": "A",
        "visaResourceName": "PXI1Slot3", "partNumber": "A1000",
        "temperatureSensors": [{"name": "Sensor0", "reading": 25.8125}],
        "supportsSelfCalibration": false, "supportsExternalCalibration": false, "customCalibrationInterval": 24,
        "selfCalibration": {"temperatureSensors": [], "isLimited": false, "date": "2024-01-01T00:00:00.000Z"},
        "externalCalibration": {
            "temperatureSensors": [{"reading": 23.0}], "isLimited": true, "date": "2024-02-29T00:00:00.000Z",
            "recommendedInterval": 12, "nextRecommendedDate": "2025-02-28T00:00:00.000Z",
            "comments": "as found", "entryType": "MANUAL", "checksum": "c",
        },
        "isNIAsset": true, "supportsSelfTest": true, "supportsReset": true,
        "location": {
            "minionId": "station-1", "parent": "chassis", "resourceUri": "3/15/1", "slotNumber": -1,
            "state": {"assetPresence": "PRESENT"},
        },
        "workspace": "w", "properties": {"k_y": "v"}, "keywords": ["k"], "fileIds": ["f"], "scanCode": "s",
    })
}

fn asset() -> Asset {
    let request: CreateAssetRequest = serde_json::from_value(request()).unwrap();
    let mut asset = Asset::create(request, at("2024-03-01T00:00:00Z"), "default").unwrap();
    asset.id = Some(RecordKey::generate(Asset::KIND, 1, 42).into());
    asset
}

fn env(now: &str) -> Env {
    Env { now_ms: at(now).timestamp_millis(), calibration_warning_days: 30 }
}

fn snake(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| {
                let mut out = String::new();
                let name = name.replace("NI", "Ni");
                for c in name.chars() {
                    if c.is_uppercase() {
                        out.push('_');
                    }
                    out.extend(c.to_lowercase());
                }
                let value = if name == "properties" { value.clone() } else { snake(value) };
                (out, value)
            })
            .collect(),
        Value::Array(items) => items.iter().map(snake).collect(),
        other => other.clone(),
    }
}

#[test]
fn a_create_request_reads_in_both_spellings_and_writes_camel_case() {
    let from_camel: CreateAssetRequest = serde_json::from_value(request()).unwrap();
    let from_snake: CreateAssetRequest = serde_json::from_value(snake(&request())).unwrap();
    assert_eq!(from_camel, from_snake);
    assert_eq!(serde_json::to_value(from_camel).unwrap(), request());
}

#[test]
fn the_record_has_the_published_members() {
    let read = asset().read_at(&env("2026-02-01T00:00:00Z"));
    let mut expected = request();
    expected["id"] = read.id().into();
    expected["supportsSelfCalibration"] = true.into();
    expected["supportsExternalCalibration"] = true.into();
    for name in ["isSystemController", "outForCalibration"] {
        expected[name] = false.into();
    }
    expected["calibrationStatus"] = "APPROACHING_RECOMMENDED_DUE_DATE".into();
    expected["externalCalibration"]["resolvedDueDate"] = "2026-02-28T00:00:00.000Z".into();
    expected["lastUpdatedTimestamp"] = "2024-03-01T00:00:00.000Z".into();
    assert_eq!(serde_json::to_value(&read).unwrap(), expected);
    assert_eq!(serde_json::from_value::<Asset>(snake(&expected)).unwrap(), read);
    assert_eq!(stored::from_bytes::<Asset>(&stored::to_bytes(&read).unwrap()).unwrap(), read);
    let mut stored = read.without_computed();
    (stored.is_system_controller, stored.out_for_calibration) = (None, None);
    assert_eq!(stored, asset().answered());
}

#[test]
fn the_status_moves_with_the_clock_without_a_write() {
    let asset = asset();
    for (now, status) in [
        ("2024-03-01T00:00:00Z", "OK"),
        ("2026-01-28T23:59:59.999Z", "OK"),
        ("2026-01-29T00:00:00Z", "APPROACHING_RECOMMENDED_DUE_DATE"),
        ("2026-02-28T00:00:00Z", "PAST_RECOMMENDED_DUE_DATE"),
    ] {
        assert_eq!(asset.calibration_status(&env(now)).as_str(), status, "{now}");
        let place =
            Asset::fields().iter().position(|field| field.path == "calibrationStatus").unwrap();
        assert!(matches!(asset.value(place, &env(now)), Val::Str(text) if text == status));
    }
}

#[test]
fn defaults_of_a_small_request() {
    let request: CreateAssetRequest = serde_json::from_value(json!({
        "modelName": "M", "vendorName": "V", "serialNumber": "S", "location": {"state": {"assetPresence": "UNKNOWN"}},
    }))
    .unwrap();
    let asset = Asset::create(request, at("2024-03-01T00:00:00Z"), "default").unwrap();
    assert_eq!(
        serde_json::to_value(asset.read_at(&env("2024-03-01T00:00:00Z"))).unwrap(),
        json!({
            "modelName": "M", "vendorName": "V", "serialNumber": "S",
            "busType": "BUILT_IN_SYSTEM", "assetType": "GENERIC", "discoveryType": "MANUAL",
            "location": {"state": {"assetPresence": "UNKNOWN"}}, "workspace": "default",
            "calibrationStatus": "OK", "temperatureSensors": [], "keywords": [], "fileIds": [], "properties": {},
            "isSystemController": false, "outForCalibration": false, "lastUpdatedTimestamp": "2024-03-01T00:00:00.000Z",
        })
    );
}

#[test]
fn faulty_items_are_refused() {
    let many: Vec<Value> = (0..1001).map(|n| json!({"reading": n})).collect();
    let strings: Vec<String> = (0..1001).map(|n| n.to_string()).collect();
    let map: Value = strings.iter().map(|key| (key.clone(), json!(""))).collect();
    for (path, value) in [
        ("/location", Value::Null),
        ("/location/state", Value::Null),
        ("/location/state/assetPresence", Value::Null),
        ("/temperatureSensors", many.clone().into()),
        ("/temperatureSensors", json!([{"name": "without reading"}])),
        ("/selfCalibration/temperatureSensors", many.into()),
        ("/selfCalibration/date", Value::Null),
        ("/externalCalibration/date", Value::Null),
        ("/externalCalibration/recommendedInterval", Value::Null),
        ("/externalCalibration/nextRecommendedDate", Value::Null),
        ("/keywords", json!(strings)),
        ("/fileIds", json!(strings)),
        ("/properties", map),
        ("/customCalibrationInterval", json!(-1)),
    ] {
        let mut request = request();
        *request.pointer_mut(path).unwrap() = value;
        let request: CreateAssetRequest = serde_json::from_value(request).unwrap();
        let created = Asset::create(request, Utc::now(), "");
        assert!(created.is_err(), "{path}");
    }
}

fn updated(update: Value) -> crate::Result<Asset> {
    let mut asset = asset();
    asset.update(serde_json::from_value(update).unwrap(), at("2024-04-01T00:00:00Z"))?;
    Ok(asset)
}

#[test]
fn updates_replace_what_they_name_and_leave_the_rest() {
    let asset = updated(
        json!({"name": "DMM 2", "serialNumber": "other", "keywords": [], "isVendorAsset": false}),
    );
    let asset = asset.unwrap();
    assert_eq!(asset.name.as_deref(), Some("DMM 2"));
    assert_eq!(asset.serial_number.as_deref(), Some("01D6A3F0"));
    assert_eq!(asset.keywords, Some(vec![]));
    assert_eq!(asset.is_vendor_asset, Some(false));
    assert_eq!(asset.file_ids, Some(vec!["f".into()]));
    assert_eq!(asset.last_updated_timestamp, Some(at("2024-04-01T00:00:00Z")));
}

#[test]
fn a_newer_calibration_ends_being_away() {
    let calibration = |date: &str| json!({"date": date, "recommendedInterval": 12, "nextRecommendedDate": "2030-01-01T00:00:00Z"});
    let mut asset = updated(json!({"outForCalibration": true})).unwrap();
    assert_eq!(
        asset.calibration_status(&env("2040-01-01T00:00:00Z")),
        CalibrationStatus::OutForCalibration
    );
    let mut update = |value: Value| {
        asset.update(serde_json::from_value(value).unwrap(), at("2024-05-01T00:00:00Z")).unwrap();
        asset.out_for_calibration
    };
    assert_eq!(
        update(json!({"externalCalibration": calibration("2024-02-29T00:00:00Z")})),
        Some(true)
    );
    assert_eq!(
        update(json!({"externalCalibration": calibration("2024-02-29T00:00:00.001Z")})),
        Some(false)
    );
    assert_eq!(
        update(
            json!({"externalCalibration": calibration("2024-03-29T00:00:00Z"), "outForCalibration": true})
        ),
        Some(true)
    );
}

#[test]
fn giving_up_external_calibration_deletes_it() {
    let asset = updated(json!({"supportsExternalCalibration": false})).unwrap();
    assert_eq!(asset.external_calibration, None);
    assert_eq!(asset.supports_external_calibration, Some(false));
    assert_eq!(asset.due_date(), None);
    let asset = updated(json!({"supportsSelfCalibration": false})).unwrap();
    assert_eq!(asset.supports_self_calibration, Some(true), "the self-calibration is still there");
}

#[test]
fn moves_between_places() {
    let moved = |location: Value| {
        updated(json!({"location": location})).map(|asset| asset.location.unwrap())
    };
    let place =
        moved(json!({"minionId": "station-2", "state": {"assetPresence": "PRESENT"}})).unwrap();
    assert_eq!(
        (place.minion_id.as_deref(), place.parent, place.slot_number),
        (Some("station-2"), None, None)
    );
    let place = moved(json!({"slotNumber": 4})).unwrap();
    assert_eq!((place.parent.as_deref(), place.slot_number), (Some("chassis"), Some(4)));
    let place = moved(json!({"physicalLocation": "shelf 7"})).unwrap();
    assert_eq!((place.minion_id, place.physical_location.as_deref()), (None, Some("shelf 7")));
    let place = moved(json!({"state": {"assetPresence": "REMOVED"}})).unwrap();
    assert_eq!((place.minion_id, place.parent, place.slot_number), (None, None, None));
    assert_eq!(place.state.unwrap().asset_presence, Some(AssetPresenceStatus::NotPresent));
    let left = |minion: &str| {
        moved(json!({
            "minionId": minion, "parent": "chassis", "slotNumber": -1, "state": {"assetPresence": "NOT_PRESENT"},
        }))
    };
    assert_eq!(
        left("station-1").unwrap().state.unwrap().asset_presence,
        Some(AssetPresenceStatus::NotPresent)
    );
    assert_eq!(left("station-2").unwrap_err().kind(), crate::ErrorKind::Conflict);
    let update = AssetLocationForUpdate {
        state: Some(AssetPresenceForUpdate {
            asset_presence: Some(AssetPresenceUpdate::Initializing),
        }),
        ..Default::default()
    };
    assert_eq!(
        serde_json::to_value(update).unwrap(),
        json!({"state": {"assetPresence": "INITIALIZING"}})
    );
}

#[test]
fn connections_fold_into_two_for_filters() {
    let mut asset = asset();
    let place = Asset::fields()
        .iter()
        .position(|field| field.path == "location.state.systemConnection")
        .unwrap();
    for connection in SystemConnection::ALL {
        asset.location.as_mut().unwrap().state.as_mut().unwrap().system_connection =
            Some(*connection);
        let expected =
            if connection.as_str().starts_with("CONNECTED") { "CONNECTED" } else { "DISCONNECTED" };
        assert!(
            matches!(asset.value(place, &env("2024-01-01T00:00:00Z")), Val::Str(text) if text == expected)
        );
        assert_eq!(asset.is_active(), expected == "CONNECTED");
    }
    let FieldType::Enum(texts) = Asset::fields()[place].ty else { panic!("an enumeration") };
    let known: usize = texts.iter().map(|(_, more)| 1 + more.len()).sum();
    assert_eq!(known, SystemConnection::ALL.len());
}

#[test]
fn a_projection_keeps_exactly_the_listed_members() {
    let mut asset = asset().read_at(&env("2024-03-01T00:00:00Z"));
    asset.is_system_controller = Some(true);
    asset.out_for_calibration = Some(false);
    let all = AssetField::ALL;
    assert_eq!(asset.clone().project(&[]), asset);
    let everything = asset.clone().project(all);
    assert_eq!(everything, asset, "every member has a projection");
    for member in all {
        let kept = serde_json::to_value(asset.clone().project(&[*member])).unwrap();
        assert_eq!(kept.as_object().unwrap().len(), 1, "{member}");
    }
}

#[test]
fn a_projection_is_read_as_an_array_and_as_the_text_that_a_public_client_sends() {
    use AssetField::{FilesIds, Id, IsNiAsset, LastUpdate, ModelName};
    let read = |json: serde_json::Value| {
        serde_json::from_value::<crate::assets::QueryAssetsRequest>(json!({"projection": json}))
            .map(|query| query.projection)
    };
    for (json, expected) in [
        (json!(["ID", "MODEL_NAME"]), vec![Id, ModelName]),
        (json!("new(ID,MODEL_NAME)"), vec![Id, ModelName]),
        (
            json!(" New ( id , modelName, fileIds, lastUpdatedTimestamp,isNIAsset ) "),
            vec![Id, ModelName, FilesIds, LastUpdate, IsNiAsset],
        ),
        (json!("new()"), vec![]),
        (json!(""), vec![]),
    ] {
        assert_eq!(read(json.clone()).unwrap(), Some(expected), "{json}");
    }
    assert_eq!(read(json!(null)).unwrap(), None);
    for bad in [
        json!("ID"),
        json!("new(ID"),
        json!("new(COLOUR)"),
        json!(["COLOUR"]),
        json!(7),
        json!("né"),
    ] {
        let error = read(bad.clone()).unwrap_err().to_string();
        assert!(error.starts_with("member `projection"), "{bad}: {error}");
    }
}

#[test]
fn paths_and_index_numbers_are_unique() {
    let mut paths: Vec<&str> = Asset::fields().iter().map(|field| field.path).collect();
    paths.sort_unstable();
    paths.dedup();
    assert_eq!(paths.len(), Asset::fields().len());
    let numbers: std::collections::BTreeSet<u8> =
        Asset::indexes().iter().map(|index| index.number).collect();
    assert_eq!(numbers.len(), Asset::indexes().len());
    for index in Asset::indexes() {
        assert!(index.fields.iter().all(|path| paths.contains(path)));
    }
}
