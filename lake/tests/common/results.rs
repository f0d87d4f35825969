//! Results with steps and measurements, and a naive reader of what a lake has of them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use stationdb::Control;
use stationdb::Session;
use stationdb::prelude::*;
use stationdb::results::{ScanMeasurementsRequest, ScanStepsRequest};
use stationdb::scans::RecordStream;

use super::{NULL, Objects, Row, complete, from, names, number, records, table, texts};

/// Rows by result, step and position.
pub type Parts = BTreeMap<(String, String, String), Row>;

/// What results consist of, as the lake names it.
pub const PARTS: [&str; 2] = ["measurement", "step"];

/// Creates a result with three nested steps and four measurements, and returns its id.
pub fn tested(session: &Session, workspace: &str, serial: &str, status: &str) -> String {
    let result = json!({ "programName": "Gain", "partNumber": "AMP", "serialNumber": serial,
        "status": { "statusType": status }, "workspace": workspace, "operator": "ada" });
    let made = session.create_results(vec![from(result)]).unwrap().into_result().unwrap();
    let id = made.results[0].id.as_ref().unwrap().to_string();
    let measured = |name: &str, text: &str| {
        json!({ "name": name, "measurement": text, "units": "dB", "lowLimit": "0",
            "status": "Passed", "other": "kept" })
    };
    let steps = json!({ "resultId": id, "stepId": "top", "name": "Sequence",
        "data": { "parameters": [measured("gain", "3.10")] },
        "children": [
            { "resultId": id, "stepId": "left", "name": "Left", "stepType": "NumericLimitTest",
                "status": { "statusType": status },
                "data": { "parameters": [measured("gain", serial), { "name": "no value" }, measured("text", "yes")] },
                "children": [{ "resultId": id, "stepId": "deep", "name": "Deep",
                    "inputs": [{ "name": "i", "value": { "deep": [1, "1"] } }],
                    "data": { "parameters": [measured("gain", "nan")] } }] },
        ] });
    session.create_steps(vec![from(steps)], false).unwrap().require_all().unwrap();
    id
}

/// Gives a step of a result another measurement.
pub fn measure(session: &Session, id: &str, step: &str, text: &str) {
    let step = json!({ "resultId": id, "stepId": step, "data": { "parameters": [
        { "name": "gain", "measurement": text }, { "name": "again", "measurement": "7" }] } });
    session.update_steps(vec![from(step)], false, false, false).unwrap().require_all().unwrap();
}

/// What the latest results of a station in the lake consist of. Panics on a row that is there twice.
pub fn lake_parts(objects: &Objects, root: &str, station: &str, part: &str) -> Parts {
    let Some((last, first)) = complete(objects, root, station) else { return Parts::new() };
    let is_own = |row: &Row| row["_station"] == station && number(row, "_batch") <= last;
    let mut changes = table(objects, root, "test_result_changes").rows;
    changes.retain(is_own);
    let passes = changes.iter().filter(|row| row["_what"] == "PASS");
    let pass = passes.map(|row| number(row, "_batch")).max().unwrap_or(first);
    changes.retain(|row| number(row, "_batch") >= pass && row["_what"] != "PASS");
    changes.sort_by_key(|row| (number(row, "_batch"), number(row, "_sequence")));
    let latest: BTreeMap<&str, &Row> =
        changes.iter().map(|row| (row["_id"].as_str(), row)).collect();
    let mut found = Parts::new();
    for mut row in table(objects, root, &format!("{part}_changes")).rows {
        let names_it = latest.get(row["result_id"].as_str()).is_some_and(|change| {
            change["_what"] != "DELETED" && change.get("_sending") == Some(&row["_sending"])
        });
        if row["_station"] != station || !names_it {
            continue;
        }
        assert!(number(&row, "_batch") <= last, "a row of a later batch counts");
        assert_eq!(row["_workspace"], row["workspace"]);
        row.retain(|name, _| !name.starts_with('_'));
        let twice = found.insert(key(&row), row);
        assert!(twice.is_none(), "{part} is there twice: {twice:?}");
    }
    found
}

fn key(row: &Row) -> (String, String, String) {
    let position = row.get("position").cloned().unwrap_or_default();
    (row["result_id"].clone(), row["step_id"].clone(), position)
}

/// What results of a store in some workspaces consist of, without steps that outlived theirs.
pub fn store_parts(session: &Session, part: &str, is_wanted: impl Fn(&str) -> bool) -> Parts {
    let results = records(session, stationdb::scans::RecordKind::TestResult, |_| true);
    let ids: Vec<String> = results
        .iter()
        .map(|record| serde_json::from_str::<Value>(record).unwrap()["id"].as_str().unwrap().into())
        .collect();
    let mut found = Parts::new();
    let control = Control::default();
    let stream: RecordStream = match part {
        "step" => session.scan_steps(ScanStepsRequest::new(), &control).unwrap(),
        _ => session.scan_measurements(ScanMeasurementsRequest::new(), &control).unwrap(),
    };
    for batch in stream {
        let batch = batch.unwrap();
        let schema = batch.schema();
        let columns = schema.fields().iter().zip(batch.columns());
        let columns: Vec<_> =
            columns.map(|(field, values)| (field.name().clone(), texts(values))).collect();
        for at in 0..batch.num_rows() {
            let cell = |(name, values): &(String, Vec<String>)| {
                (values[at] != NULL).then(|| (name.clone(), values[at].clone()))
            };
            let row: Row = columns.iter().filter_map(cell).collect();
            if is_wanted(&row["workspace"]) && ids.contains(&row["result_id"]) {
                assert!(found.insert(key(&row), row).is_none());
            }
        }
    }
    found
}

/// Asserts that one root has exactly the steps and measurements of the results of these workspaces.
pub fn assert_same_parts(
    session: &Session,
    objects: &Objects,
    root: &str,
    station: &str,
    is_wanted: impl Fn(&str) -> bool + Copy,
) {
    for part in PARTS {
        let lake = lake_parts(objects, root, station, part);
        let store = store_parts(session, part, is_wanted);
        let lost: Vec<_> = store.keys().filter(|key| !lake.contains_key(*key)).take(5).collect();
        let more: Vec<_> = lake.keys().filter(|key| !store.contains_key(*key)).take(5).collect();
        assert!(lost.is_empty() && more.is_empty(), "{part}: lost {lost:?}, too many {more:?}");
        for (key, row) in &store {
            assert_eq!(row, &lake[key], "{part} {key:?}");
        }
    }
}

/// Rows in the files of a lake table, also those that do not count.
pub fn stored(objects: &Objects, root: &str, name: &str) -> usize {
    let has = names(objects, root).iter().any(|known| known == name);
    if has { table(objects, root, name).rows.len() } else { 0 }
}
