//! Results and steps as lines of text.

use std::collections::BTreeMap;

use stationdb::results::{Step, TestResult};

fn pairs<'m>(map: impl IntoIterator<Item = (&'m String, &'m str)>) -> String {
    map.into_iter().map(|(key, text)| format!("{key}={text}")).collect::<Vec<_>>().join(" ")
}

/// The status, the members that are there, and the properties but for the id of the work item.
pub fn result(result: &TestResult) -> String {
    let mut members = BTreeMap::new();
    for (key, text) in [
        ("serial", &result.serial_number),
        ("part", &result.part_number),
        ("program", &result.program_name),
        ("host", &result.host_name),
        ("operator", &result.operator),
    ] {
        members.extend(text.clone().map(|text| (key.to_owned(), text)));
    }
    let properties = result.properties.iter().flatten();
    let properties = properties.map(|(key, text)| (key, text.as_deref().unwrap_or("null")));
    format!(
        "{} at {:?} for {:?} | {} | {}",
        result.status.as_ref().map_or("none", |status| status.status_type.as_str()),
        result.started_at.map(|at| at.timestamp_millis()),
        result.total_time_in_seconds,
        pairs(members.iter().map(|(key, text)| (key, text.as_str()))),
        pairs(properties.filter(|(key, _)| key.as_str() != "workItemId")),
    )
}

/// Type, name, status, properties and measurements.
pub fn step(step: &Step) -> String {
    let parameters = step.data.iter().flat_map(|data| data.parameters.iter().flatten());
    let parameters = parameters
        .map(|entry| format!(" | {}", pairs(entry.iter().map(|(key, text)| (key, text.as_str())))));
    assert_eq!(step.data_model.as_deref(), Some("STDF"));
    format!(
        "{} {:?} {} {}{}",
        step.step_type.as_deref().unwrap_or("none"),
        step.name.as_deref().unwrap_or("none"),
        step.status.as_ref().map_or("none", |status| status.status_type.as_str()),
        pairs(step.properties.iter().flatten().map(|(key, text)| (key, text.as_str()))),
        parameters.collect::<String>(),
    )
}
