//! What a lake table may need so that a publisher understands it.

use serde_json::Value;

/// Why a publisher does not understand a table with this `protocol`.
pub(crate) fn protocol(protocol: &Value) -> Option<String> {
    let number = |member| protocol.get(member).and_then(Value::as_i64).unwrap_or_default();
    let (reader, writer) = (number("minReaderVersion"), number("minWriterVersion"));
    let features = |member| {
        let names = protocol.get(member).and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str).collect::<Vec<_>>()
    };
    let known = ["appendOnly", "invariants"];
    let unknown: Vec<&str> = (features("readerFeatures").into_iter())
        .chain(features("writerFeatures"))
        .filter(|name| !known.contains(name))
        .collect();
    let is_known = matches!(reader, 0 | 1 | 3) && matches!(writer, 0..=2 | 7);
    (!is_known || !unknown.is_empty()).then(|| {
        format!(
            "it needs reader version {reader}, writer version {writer} and the features {unknown:?}"
        )
    })
}

/// Why a reader does not understand a table with this `protocol`. Features for writers are none
/// of its business.
pub(crate) fn reading(protocol: &Value) -> Option<String> {
    let reader = protocol.get("minReaderVersion").and_then(Value::as_i64).unwrap_or_default();
    let features = protocol.get("readerFeatures").and_then(Value::as_array);
    let has_features = features.is_some_and(|features| !features.is_empty());
    (!matches!(reader, 0 | 1 | 3) || has_features).then(|| {
        let features = features.cloned().unwrap_or_default();
        format!("it needs reader version {reader} and the features {features:?}")
    })
}

/// Why the columns of a table with this `metaData` are not those of its files.
pub(crate) fn columns(metadata: &Value) -> Option<String> {
    let partitions = metadata.get("partitionColumns").and_then(Value::as_array);
    if partitions.is_some_and(|columns| !columns.is_empty()) {
        return Some("it is partitioned".to_owned());
    }
    let mode = metadata.get("configuration").and_then(|all| all.get("delta.columnMapping.mode"));
    let mode = mode.and_then(Value::as_str).filter(|mode| *mode != "none")?;
    Some(format!("it has delta.columnMapping.mode = {mode}"))
}

/// Why a publisher does not understand a table with this `metaData`.
pub(crate) fn metadata(metadata: &Value) -> Option<String> {
    if let Some(why) = columns(metadata) {
        return Some(why);
    }
    let configuration = metadata.get("configuration").and_then(Value::as_object);
    let mut refused = configuration.into_iter().flatten().filter(|(key, value)| {
        let is_off = matches!(value.as_str(), Some("none" | "false"));
        match key.as_str() {
            // The position of a station would be forgotten.
            "delta.setTransactionRetentionDuration" => true,
            "delta.enableChangeDataFeed" => !is_off,
            key => key.starts_with("delta.constraints."),
        }
    });
    refused.next().map(|(key, value)| format!("it has {key} = {value}"))
}
