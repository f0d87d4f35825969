//! Operations whose answer is a text that is no JSON, which the library does not call by name.

use stationdb::by_name::Services;
use stationdb::feeds::FeedId;
use stationdb::{Error, Result, from_json, serde_json};

#[derive(serde::Deserialize)]
struct OfFeed {
    #[serde(alias = "feedId")]
    feed_id: FeedId,
}

/// The answer of such an operation as JSON; `None` for any other operation.
///
/// # Errors
/// Those of the operation; `InvalidArgument` for arguments that it does not have.
pub fn called(services: &dyn Services, operation: &str, json: &str) -> Result<Option<String>> {
    let json = json.as_bytes();
    let text = match operation {
        "query_results_csv" => services.query_results_csv(from_json(json)?)?,
        "query_steps_csv" => services.query_steps_csv(from_json(json)?)?,
        "packages_index" => services.packages_index(&from_json::<OfFeed>(json)?.feed_id)?,
        _ => return Ok(None),
    };
    serde_json::to_string(&text)
        .map(Some)
        .map_err(|error| Error::invalid(format!("the answer of {operation} has no JSON: {error}")))
}
