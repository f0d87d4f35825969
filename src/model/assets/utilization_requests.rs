//! Requests and responses of the utilization operations of the asset service.

use chrono::{DateTime, Utc};

use crate::error::ApiError;
use crate::model::assets::identity::AssetIdentification;
use crate::model::assets::utilization::{Utilization, UtilizationOrderBy};
use crate::value::wire::record;

record! {
    /// A request to start the use of assets that are used together.
    wire pub struct StartUtilizationRequest new(asset_identifications: Vec<AssetIdentification>) {
        /// The caller's key of the utilization; generated when absent.
        pub utilization_identifier: Option<String>,
        /// The system where the assets are used.
        pub minion_id: Option<String>,
        /// The assets, 1 to 100.
        pub asset_identifications: Vec<AssetIdentification>,
        /// Purpose of the use, such as `Test`.
        pub utilization_category: Option<String>,
        /// The task.
        pub task_name: Option<String>,
        /// The operator.
        pub user_name: Option<String>,
        /// Start of the use; the store's clock when absent.
        pub utilization_timestamp: Option<DateTime<Utc>>,
    }

    /// The result of starting a utilization.
    batch pub struct StartUtilizationPartialSuccess {
        /// The assets whose utilization started, as sent.
        pub assets_with_started_utilization: Option<Vec<AssetIdentification>>,
        /// The assets whose utilization did not start, as sent.
        pub failed: Option<Vec<AssetIdentification>>,
        /// One inner error for each failed asset.
        pub error: Option<ApiError>,
    }

    /// A request to record a heartbeat of utilizations or to end them.
    wire pub struct UpdateUtilizationRequest
    also("ids" = "utilizationIdentifiers", "timestamp" = "utilizationTimestamp") {
        /// Utilization identifiers.
        pub utilization_identifiers: Vec<String>,
        /// Time of the heartbeat or end; the store's clock when absent.
        pub utilization_timestamp: Option<DateTime<Utc>>,
    }

    /// The result of a heartbeat or an end.
    batch pub struct UpdateUtilizationPartialSuccess {
        /// Identifiers with at least one record that was updated.
        pub updated_utilization_ids: Option<Vec<String>>,
        /// Identifiers without an updated record.
        pub failed: Option<Vec<String>>,
        /// One inner error for each failed identifier.
        pub error: Option<ApiError>,
    }

    /// A query for utilization history.
    wire pub struct QueryAssetUtilizationHistoryRequest new() {
        /// Filter on the utilization records.
        pub utilization_filter: Option<String>,
        /// Filter on their assets.
        pub asset_filter: Option<String>,
        /// Page size; 1000 when absent.
        pub take: Option<i64>,
        /// The token of the previous page.
        pub continuation_token: Option<String>,
        /// Order; by start when absent.
        pub order_by: Option<UtilizationOrderBy>,
        /// Whether the order is descending; needs `order_by`.
        pub order_by_descending: Option<bool>,
        /// Start of the range; 90 days ago when absent.
        pub start_time: Option<DateTime<Utc>>,
        /// End of the range; now when absent.
        pub end_time: Option<DateTime<Utc>>,
    }

    /// One entry of the utilization history.
    wire pub struct AssetUtilizationHistoryItem {
        /// The caller's key of the utilization.
        pub utilization_identifier: Option<String>,
        /// Id of the asset.
        pub asset_identifier: Option<String>,
        /// The system where the asset was used.
        pub minion_id: Option<String>,
        /// Purpose of the use.
        pub category: Option<String>,
        /// The task.
        pub task_name: Option<String>,
        /// The operator.
        pub user_name: Option<String>,
        /// Start of the use.
        pub start_timestamp: Option<DateTime<Utc>>,
        /// End of the use; absent while it runs.
        pub end_timestamp: Option<DateTime<Utc>>,
        /// The latest heartbeat, or the start until the first heartbeat.
        pub heartbeat_timestamp: Option<DateTime<Utc>>,
    }

    /// A page of utilization history.
    answer pub struct AssetUtilizationHistoryResponse {
        /// The entries.
        pub asset_utilizations: Vec<AssetUtilizationHistoryItem>,
        /// The token of the next page; absent on the last one.
        pub continuation_token: Option<String>,
    }
}

impl From<Utilization> for AssetUtilizationHistoryItem {
    fn from(record: Utilization) -> Self {
        let heartbeat_timestamp = Some(record.last_heartbeat());
        let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        Self {
            utilization_identifier: Some(record.utilization_identifier),
            asset_identifier: Some(record.asset_identifier),
            minion_id: filled(record.minion_id),
            category: filled(record.category),
            task_name: record.task_name,
            user_name: record.user_name,
            start_timestamp: Some(record.start_timestamp),
            end_timestamp: record.end_timestamp,
            heartbeat_timestamp,
        }
    }
}
