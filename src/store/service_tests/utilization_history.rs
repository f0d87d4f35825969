//! Stored utilizations: their workspace, and the cost of a history over many of them.

use crate::store::tests::prelude::*;
use chrono::{DateTime, TimeDelta, Utc};

use super::test_store::TestStore;
use crate::services::AssetService;

fn create(session: &Session, count: usize) -> Vec<String> {
    let asset = |number: usize| {
        json!({
            "modelName": "PXI-4071", "vendorName": "NI", "serialNumber": number.to_string(), "busType": "PCI_PXI",
            "location": {"state": {"assetPresence": "PRESENT"}},
        })
    };
    let requests: Value = (0..count).map(asset).collect();
    let made = session.create_assets(serde_json::from_value(requests).unwrap()).unwrap();
    assert_eq!(made.error, None);
    made.assets.unwrap().into_iter().map(|asset| asset.id.unwrap().into()).collect()
}

#[test]
fn records_follow_their_asset_into_another_workspace() {
    let store = TestStore::new();
    let session = store.session();
    let asset = create(&session, 1).remove(0);
    let start = json!({
        "utilizationIdentifier": "u", "minionId": "station-1",
        "assetIdentifications": [
            {"modelName": "PXI-4071", "vendorName": "NI", "serialNumber": "0", "busType": "PCI_PXI"},
        ],
    });
    assert_eq!(
        session.start_utilization(serde_json::from_value(start).unwrap()).unwrap().error,
        None
    );
    let update = serde_json::from_value(json!([{"id": asset, "workspace": "w"}])).unwrap();
    let _ = session.update_assets(update).unwrap();
    let mut workspaces = Vec::new();
    session
        .read(|view| {
            view.for_each::<Utilization>(|record| {
                workspaces.push(record.workspace);
                Ok(true)
            })
        })
        .unwrap();
    assert_eq!(workspaces, ["w"]);
}

/// Writes records like `start_utilization` and `end_utilization`, many in one commit.
fn fill(store: &TestStore, assets: &[String], per_asset: i64, span_ms: i64) {
    let session = store.session();
    let first: DateTime<Utc> = "2020-01-01T00:00:00Z".parse().unwrap();
    for assets in assets.chunks(50) {
        let assets = assets.to_vec();
        session
            .write(move |draft| {
                for asset in &assets {
                    for n in 0..per_asset {
                        let start_timestamp = first + TimeDelta::days(n);
                        let record = Utilization {
                            id: Some(draft.new_key::<Utilization>()?.into()),
                            utilization_identifier: n.to_string(),
                            asset_identifier: asset.clone(),
                            start_timestamp,
                            end_timestamp: Some(start_timestamp + TimeDelta::milliseconds(span_ms)),
                            workspace: "default".into(),
                            ..Default::default()
                        };
                        draft.put(&record, What::Created)?;
                    }
                }
                Ok(())
            })
            .unwrap();
    }
}

/// 100,000 records of 1,000 assets; the query is for one asset in one week.
#[test]
fn the_history_of_one_asset_in_one_week_costs_the_answer() {
    let store = TestStore::new();
    let session = store.session();
    let assets = create(&session, 1000);
    fill(&store, &assets, 100, 3_600_000);
    let week = json!({
        "assetFilter": format!("AssetIdentifier = \"{}\"", assets[500]),
        "startTime": "2020-02-01T00:00:00Z", "endTime": "2020-02-07T23:59:59Z",
    });
    let request = || serde_json::from_value(week.clone()).unwrap();
    let page = session.query_asset_utilization_history(request()).unwrap();
    let found =
        page.asset_utilizations.iter().filter_map(|item| item.utilization_identifier.as_deref());
    assert_eq!(found.collect::<Vec<_>>(), ["31", "32", "33", "34", "35", "36", "37"]);
    let plan = session.explain_query_asset_utilization_history(request()).unwrap();
    assert_eq!(plan.access, "index asset, span length, start of 1 assets");
    // The asset and its seven records.
    assert_eq!((plan.records_touched, plan.entries_touched), (Some(8), Some(7)), "{plan}");
    let all =
        json!({"startTime": "2020-02-01T00:00:00Z", "endTime": "2020-02-07T23:59:59Z", "take": 10});
    let plan = session
        .explain_query_asset_utilization_history(serde_json::from_value(all).unwrap())
        .unwrap();
    assert!(plan.records_touched.unwrap() <= 11, "a page stops when it is full: {plan}");
}
